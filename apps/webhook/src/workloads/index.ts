export {
    WorkloadReviewer,
    type WorkloadKind,
    type WorkloadRequest,
    type WorkloadReviewComponents,
} from "./reviewer.ts";
