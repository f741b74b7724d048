/** The controller's cache of allocations, and how its features write them. */
export { describeHolder, setKeyOf, uidsOf, type Claim, type ClaimPod } from "./claim.ts";
export {
    AllocationCache,
    type BlockClaims,
    type AllocationCacheComponents,
    type ClaimListener,
} from "./allocation-cache.ts";
export { ClaimWriter, type Fate, type Judge, type Reservation } from "./claim-writer.ts";
export { ClaimWriterError } from "./errors.ts";
export { reclaimMetrics, type ReclaimReason, type Reclaims } from "./reclaims.ts";
export { claimedBlocks, type ClaimedInBlock } from "./claimed-blocks.ts";
