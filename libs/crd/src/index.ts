export {
    allocationAddress,
    allocationName,
    AllocationNameError,
    blockOf,
    blockText,
    forceDeleteAnnotation,
    podIpsAnnotation,
    poolsAnnotation,
    transportAnnotation,
} from "./names.ts";
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
