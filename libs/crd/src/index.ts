export {
    allocationAddress,
    allocationName,
    AllocationNameError,
    blockOf,
    blockText,
    forceDeleteAnnotation,
    macAnnotation,
    noNicConnected,
    podIpsAnnotation,
    poolsAnnotation,
    secondaryBridgeCondition,
    transportAnnotation,
    uplinkCondition,
} from "./names.ts";
export { isOfPods } from "./owners.ts";
export { ipAllocations, ipPools } from "./resources.ts";
export type {
    AllocationOwner,
    AllocationPod,
    AllocationState,
    Condition,
    IpAllocation,
    IpAllocationSpec,
    IpPool,
    IpPoolSpec,
    IpPoolStatus,
    IpPoolUsage,
    IpRangeSpec,
    Metadata,
} from "./types.ts";
