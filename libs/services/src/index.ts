// Objects of the API server.
export {
    headlessLabel,
    loadBalancerModeAnnotation,
    serviceNameLabel,
    serviceProxyNameLabel,
    triggerTimeAnnotation,
    zoneLabel,
    type EndpointObject,
    type HintObject,
    type IngressObject,
    type NodeObject,
    type ObjectMetadata,
    type ServiceObject,
    type ServiceObjects,
    type ServicePortObject,
    type ServiceSpecObject,
    type SliceObject,
    type SlicePortObject,
} from "./objects.ts";
export { slimService, slimSlice } from "./slim.ts";

// What is served.
export { type Protocol } from "./triple.ts";
export { type Scope } from "./choice.ts";
export { type Endpoint } from "./endpoints.ts";
export { type NodeView, type ServiceExplanation, type UnusedSlice } from "./explanation.ts";
export { type ExplainedEndpoint, type Rejection, type RejectionReason } from "./rejection.ts";
export { type UnservedPlace } from "./unserved.ts";
export { type AddressKind } from "./planned-addresses.ts";
export { problemText, type Problem, type ProblemReason } from "./problem.ts";
export {
    type ClientScopes,
    type ServedAddress,
    type ServedHealthCheck,
    type ServedNodePort,
    type ServedPort,
    type ServedService,
} from "./served.ts";
export { ServiceIndex } from "./service-index.ts";
export { type IgnoredReason, type LoadBalancerMode, type ServiceSettings } from "./settings.ts";

// Groups: how OVS divides connections among endpoints.
export {
    bucketCount,
    bucketIds,
    bucketSelection,
    deadBucketId,
    type BucketSelection,
    type BucketTarget,
    type DeadBucket,
} from "./buckets.ts";
