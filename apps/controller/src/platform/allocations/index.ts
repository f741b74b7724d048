/** The controller's cache of allocations, and how its features write them. */
export { describeHolder, setKeyOf, type Allocation, type AllocationPod } from "./allocation.ts";
export {
    AllocationCache,
    type BlockAllocations,
    type AllocationCacheComponents,
    type AllocationListener,
} from "./allocation-cache.ts";
export { AllocationWriter, type Fate, type Judge, type Reservation } from "./allocation-writer.ts";
export { AllocationWriterError } from "./errors.ts";
export { reclaimMetrics, type ReclaimReason, type Reclaims } from "./reclaims.ts";
export { claimedBlocks, type ClaimedInBlock } from "./claimed-blocks.ts";
