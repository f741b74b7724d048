export { checkInterface, CheckError, type CheckComponents, type CheckInput } from "./check.ts";
export { HostRoutes, isRoutedToPod } from "./host-routes.ts";
export { type PodNamespaces } from "./link.ts";
export { isOfNetwork } from "./network-mark.ts";
export { NodeSubnet, NodeSubnetError, type NodeSubnetErrorCode } from "./node-subnet.ts";
export { flowOwner } from "./parts.ts";
export { PodNetwork } from "./pod-network.ts";
export {
    PodNetworkError,
    type AddRequest,
    type PodInterface,
    type PodNetworkComponents,
    type PodNetworkOptions,
    type PodPools,
    type PoolGrant,
    type PoolWish,
} from "./types.ts";
export { type KnownPod, type StoredPort } from "./rebuild.ts";
export { PodReconciler, type ReconcilerComponents, type ReconcilerOptions, type RecordClaims } from "./reconciler.ts";
export { containerOfAlias, isPoolRecord, recordKey, type PodAddress, type PodRecord } from "./record.ts";
export { UnwiredPods, type UnwiredPod } from "./unwired.ts";
