export {
    isScaled,
    WorkloadReviewer,
    type ScaledKind,
    type WorkloadRequest,
    type WorkloadReviewComponents,
} from "./reviewer.ts";
