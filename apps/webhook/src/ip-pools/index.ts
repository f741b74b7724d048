export { AllocationReader } from "./allocations.ts";
export { PoolReviewer, type PoolRanges, type PoolReviewComponents } from "./reviewer.ts";
