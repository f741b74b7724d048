export {
    allowed,
    decodeReview,
    encodeReview,
    ReviewError,
    type AdmissionRequest,
    type Decision,
    type JsonObject,
    type Operation,
} from "./admission-review.ts";
export { reviewApp, type Reviewer, type ReviewComponents, type ReviewRoute } from "./app.ts";
export { reviewMetrics, type ReviewMetrics } from "./metrics.ts";
