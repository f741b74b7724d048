export { attachmentKey, isSameAttachment, podText, type Attachment, type PodAttachment } from "./attachment.ts";
export { type InterfaceControl } from "./control.ts";
export { eventNote, type Sandbox } from "./event-note.ts";
export { fromExternalIds, toExternalIds, unfinishedExternalIds } from "./external-ids.ts";
export { containerOfAlias, fromAlias, pendingAlias, releasedAlias, toAlias, type AliasRecord } from "./link-alias.ts";
export { fromNetworkAlias, toNetworkAlias, type NetworkAlias } from "./network-alias.ts";
export { type NetworkAllocations } from "./network-allocations.ts";
export { fromNetworkIds, toNetworkIds } from "./network-ids.ts";
export { isOfNetwork, networkHash, networkOfHash, networkText } from "./network-mark.ts";
export { NetworkInterfaces, type NetworkInterface, type NetworkInterfaceView } from "./network-interfaces.ts";
export { type DeviceId, type FunctionDevice, type NetworkRecord, type NetworkRecordAddress } from "./network-record.ts";
export { type DeviceDemand, type FoundDevice, type PlannedNetwork, type WiredNetworks } from "./planned-network.ts";
export { bridgedPod, type BridgedPod, type PodInterface } from "./pod-interface.ts";
export { isPoolRecord, type InterfaceAddress, type PodAddress, type PodRecord } from "./record.ts";
export {
    type AddRequest,
    type AddressAllocation,
    type AddressRequest,
    type NetworkAddress,
    type NetworkAddresses,
    type NetworkCall,
    type PoolDemand,
} from "./requests.ts";
export {
    isAddCompleted,
    PodInterfaces,
    type ReleasePolicy,
    type PodInterfaceChange,
    type PodInterfaceView,
} from "./table.ts";
