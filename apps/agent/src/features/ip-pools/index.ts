export { PoolAllocator } from "./allocator.ts";
export { ClaimReconciler } from "./claim-reconciler.ts";
export { IpPoolError, type IpPoolErrorCode } from "./errors.ts";
export {
    IpPools,
    type AddressGrant,
    type AddressRequest,
    type IpPoolsComponents,
    type IpPoolsOptions,
} from "./ip-pools.ts";
export { PodPools } from "./pod-pools.ts";
export { type DatedNodeSource } from "./node-addresses.ts";
export { isolatedInterfacesMetric } from "./metrics.ts";
export { anothersSubnetNote } from "./pod-events.ts";
export { SubnetClaims, type SubnetWired, type SubnetWiring } from "./subnet-claims.ts";
export { SubnetHolders } from "./subnet-holders.ts";
export {
    type Attachment,
    type ClaimedAddress,
    type ClaimRequest,
    type PodIdentity,
    type PoolsWanted,
} from "./types.ts";
export { type WiredInterface, type Wiring } from "./wiring.ts";
