export { checkInterface, CheckError, type CheckComponents, type CheckInput } from "./check.ts";
export { NodeSubnet, NodeSubnetError } from "./node-subnet.ts";
export {
    flowOwner,
    PodNetwork,
    PodNetworkError,
    type AddRequest,
    type PodInterface,
    type PodNetworkComponents,
    type PodNetworkOptions,
} from "./pod-network.ts";
export { type KnownPod, type StoredPort } from "./rebuild.ts";
export { PodReconciler, type ReconcilerComponents, type ReconcilerOptions } from "./reconciler.ts";
export { recordKey, type PodAddress, type PodRecord } from "./record.ts";
