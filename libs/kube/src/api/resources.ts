import {
    type ConfigMap,
    type CronJob,
    type DaemonSet,
    type Deployment,
    type EndpointSlice,
    type KubeEvent,
    type KubeObject,
    type Lease,
    type Namespace,
    type Node,
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
} from "./types.ts";

/** The REST mapping of one kind of API object; `T` is its type. */
export interface Resource<T extends KubeObject> {
    /** Empty for the core group. */
    readonly group: string;
    readonly version: string;
    /** Plural name, as in the path: `nodes`. */
    readonly plural: string;
    readonly kind: string;
    readonly namespaced: boolean;
    /** Carries the type only; never set. */
    readonly object?: T;
}

/** Identifies an object of a known kind; `namespace` is required for namespaced kinds only. */
export interface ObjectRef {
    readonly name: string;
    readonly namespace?: string;
}

export const nodes: Resource<Node> = core("nodes", "Node", false);
export const namespaces: Resource<Namespace> = core("namespaces", "Namespace", false);
export const pods: Resource<Pod> = core("pods", "Pod", true);
export const services: Resource<Service> = core("services", "Service", true);
export const configMaps: Resource<ConfigMap> = core("configmaps", "ConfigMap", true);
export const secrets: Resource<Secret> = core("secrets", "Secret", true);
export const daemonSets: Resource<DaemonSet> = apps("daemonsets", "DaemonSet");
export const deployments: Resource<Deployment> = apps("deployments", "Deployment");
export const replicaSets: Resource<ReplicaSet> = apps("replicasets", "ReplicaSet");
export const statefulSets: Resource<StatefulSet> = apps("statefulsets", "StatefulSet");
export const cronJobs: Resource<CronJob> = {
    group: "batch",
    version: "v1",
    plural: "cronjobs",
    kind: "CronJob",
    namespaced: true,
};
export const leases: Resource<Lease> = {
    group: "coordination.k8s.io",
    version: "v1",
    plural: "leases",
    kind: "Lease",
    namespaced: true,
};
/** Events of events.k8s.io/v1, not of core/v1. */
export const events: Resource<KubeEvent> = {
    group: "events.k8s.io",
    version: "v1",
    plural: "events",
    kind: "Event",
    namespaced: true,
};
export const tokenReviews: Resource<TokenReview> = {
    group: "authentication.k8s.io",
    version: "v1",
    plural: "tokenreviews",
    kind: "TokenReview",
    namespaced: false,
};
export const subjectAccessReviews: Resource<SubjectAccessReview> = {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "subjectaccessreviews",
    kind: "SubjectAccessReview",
    namespaced: false,
};
export const endpointSlices: Resource<EndpointSlice> = {
    group: "discovery.k8s.io",
    version: "v1",
    plural: "endpointslices",
    kind: "EndpointSlice",
    namespaced: true,
};
export const serviceCidrs: Resource<ServiceCidr> = {
    group: "networking.k8s.io",
    version: "v1",
    plural: "servicecidrs",
    kind: "ServiceCIDR",
    namespaced: false,
};
export const validatingWebhookConfigurations: Resource<ValidatingWebhookConfiguration> = {
    group: "admissionregistration.k8s.io",
    version: "v1",
    plural: "validatingwebhookconfigurations",
    kind: "ValidatingWebhookConfiguration",
    namespaced: false,
};
/** Its definition is that of the Network Plumbing Working Group, not of this project. */
export const networkAttachmentDefinitions: Resource<NetworkAttachmentDefinition> = {
    group: "k8s.cni.cncf.io",
    version: "v1",
    plural: "network-attachment-definitions",
    kind: "NetworkAttachmentDefinition",
    namespaced: true,
};

function core<T extends KubeObject>(plural: string, kind: string, namespaced: boolean): Resource<T> {
    return { group: "", version: "v1", plural, kind, namespaced };
}

function apps<T extends KubeObject>(plural: string, kind: string): Resource<T> {
    return { group: "apps", version: "v1", plural, kind, namespaced: true };
}

/** Returns the `apiVersion` of a resource: `v1`, `coordination.k8s.io/v1`. */
export function apiVersionOf(resource: Resource<KubeObject>): string {
    return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}

/**
 * Returns the URL path of one object, of its subresource, or without `ref.name` of the collection (in all namespaces
 * without `ref.namespace`).
 */
export function pathOf(resource: Resource<KubeObject>, ref: Partial<ObjectRef> = {}, subresource?: string): string {
    const parts = [resource.group === "" ? "/api" : `/apis/${resource.group}`, resource.version];
    if (resource.namespaced && ref.namespace !== undefined) {
        parts.push("namespaces", encodeURIComponent(ref.namespace));
    }
    parts.push(resource.plural);
    if (ref.name !== undefined) parts.push(encodeURIComponent(ref.name));
    if (subresource !== undefined) parts.push(subresource);
    return parts.join("/");
}
