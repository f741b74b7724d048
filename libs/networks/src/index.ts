export {
    addressesOf,
    planAddresses,
    type AddressPlan,
    type PlannedDemand,
    type PoolMatch,
    type PoolOf,
} from "./address-plan.ts";
export { NetworkError, type NetworkErrorDetails } from "./error.ts";
export { keysText } from "./ignored-keys.ts";
export { ipamResult } from "./ipam-result.ts";
export { antreaIpamType, parseIpamSection, type IpamSection, type StaticAddress } from "./ipam-section.ts";
export { ipv6MtuFault } from "./mtu.ts";
export {
    networkOfCall,
    parseNetwork,
    resourceNameAnnotation,
    type ForeignNetwork,
    type NetworkDefinition,
    type OwnNetwork,
} from "./network.ts";
export { ownPartsOf, type OwnSection } from "./own-parts.ts";
export { hasStaticAddress, takesFromPool, type NamedPool } from "./pool-users.ts";
export { type RequestedIp } from "./requested-ip.ts";
export { requestedMac } from "./requested-mac.ts";
export { wantedAddresses, type WantedAddress, type WantedAddresses } from "./requested.ts";
export { maxNetworks, parseSelections, mayHaveInterface } from "./selection.ts";
export { type NetworkSelection } from "./network-selection.ts";
export { networksAnnotation } from "./refused-selection.ts";
export {
    mergeStatus,
    statusAnnotation,
    writtenStatuses,
    type DeviceInfo,
    type NetworkStatus,
    type StatusOfOurs,
} from "./status.ts";
