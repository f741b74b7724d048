export { AllocationReader } from "./allocations.ts";
export { PoolReviewer, type PoolReviewComponents } from "./reviewer.ts";
