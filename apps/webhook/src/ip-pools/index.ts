export { ClaimReader } from "./claims.ts";
export { PoolReviewer, type PoolReviewComponents } from "./reviewer.ts";
