export { checkInterface, type CheckComponents, type CheckInput } from "./check.ts";
export { checkNetworkInterface } from "./check-network.ts";
export { CheckError } from "./check-ends.ts";
export { wiringErrorCode } from "./cni-codes.ts";
export { PodNetworkError } from "./errors.ts";
export {
    FurtherInterfaces,
    type FurtherInterfacesComponents,
    type NetworkClaims,
    type NetworkPorts,
} from "./further-interfaces.ts";
export { HostRoutes } from "./host-routes.ts";
export { type PodNamespaces } from "./link.ts";
export { NodeSubnet, NodeSubnetError, type NodeSubnetErrorCode } from "./node-subnet.ts";
export { flowOwner } from "./parts.ts";
export { PodNetwork } from "./pod-network.ts";
export { type PodNetworkComponents, type PodNetworkOptions, type PodPools } from "./types.ts";
export { type KnownPod, type StoredPort } from "./found-records.ts";
export { SingleNetworks } from "./single-networks.ts";
export { PodReconciler, type ReconcilerComponents } from "./reconciler.ts";
export { type RecordAllocations } from "./take-over.ts";
export { isRoutedToPod } from "./routed.ts";
export { UnwiredPods, type UnwiredPod } from "./unwired.ts";
