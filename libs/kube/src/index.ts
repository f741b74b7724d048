export {
    type CallOptions,
    type DeleteOptions,
    type ListOptions,
    type ListResult,
    type WatchOptions,
    type WriteOptions,
} from "./api/call-options.ts";
export { ApiClient, type ApiClientComponents, type ApiClientOptions, metadataOnly } from "./api/client.ts";
export { type Connection } from "./api/credentials.ts";
export { kubeconfigContexts } from "./api/kubeconfig.ts";
export { socketAddress, type HttpRequest, type HttpResponse, type Send } from "./api/transport.ts";
export { annotationsPatch, onlyIf, pointer, type JsonPatchOperation, type Patch } from "./api/patches.ts";
export {
    apiVersionOf,
    configMaps,
    cronJobs,
    daemonSets,
    deployments,
    endpointSlices,
    events,
    leases,
    namespaces,
    nodes,
    pathOf,
    pods,
    replicaSets,
    secrets,
    networkAttachmentDefinitions,
    serviceCidrs,
    services,
    statefulSets,
    subjectAccessReviews,
    tokenReviews,
    validatingWebhookConfigurations,
    type ObjectRef,
    type Resource,
} from "./api/resources.ts";
export {
    type ConfigMap,
    type CoreEvent,
    type CronJob,
    type DaemonSet,
    type Deployment,
    type EndpointSlice,
    type Json,
    type KubeEvent,
    type KubeObject,
    type Lease,
    type Namespace,
    type Node,
    type ObjectMeta,
    type Pod,
    type ReplicaSet,
    type Secret,
    type Service,
    type NetworkAttachmentDefinition,
    type ServiceCidr,
    type StatefulSet,
    type SubjectAccessReview,
    type TokenReview,
    type ValidatingWebhookConfiguration,
} from "./api/types.ts";
export { keyOf, refOf } from "./api/object-key.ts";
export { createKubeClients, type KubeClientOptions, type KubeClients } from "./clients.ts";
export { KubeError, isKubeError, type KubeErrorCode, type KubeErrorOptions } from "./errors.ts";
export {
    EventRecorder,
    referenceTo,
    type EventInput,
    type EventRecorderComponents,
    type EventRecorderOptions,
    type ObjectReference,
} from "./events/recorder.ts";
export { Informer, withoutManagedFields } from "./informer/informer.ts";
export { type InformerComponents, type InformerOptions, type InformerState } from "./informer/types.ts";
export { type ChangeListener, type ChangeSource, type ChangeType } from "./informer/store.ts";
export {
    LeaderElection,
    type Lead,
    type LeaderElectionComponents,
    type LeaderElectionOptions,
} from "./leader-election.ts";
export { type KubeLogger } from "./logger.ts";
export { microTime } from "./micro-time.ts";
export { configHashAnnotation, configMirrorAnnotation, hasPodUid, podUids, staticUidOf } from "./pod-uids.ts";
export { podIdentity, podLookup, type NamedPodUid, type PodIdentity } from "./pod-lookup.ts";
export { slimNode, type SlimNodeOptions } from "./slim-node.ts";
export { TokenReviewAuthorizer, type TokenReviewOptions } from "./token-review.ts";
export {
    WorkQueue,
    type Reconcile,
    type ReconcileResult,
    type WorkQueueComponents,
    type WorkQueueOptions,
} from "./work-queue.ts";
/** A work queue does not retry work that failed with this error. */
export { TerminalError } from "@antrea/runtime";
