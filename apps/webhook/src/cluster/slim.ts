import { podIpsAnnotation, poolsAnnotation, type IpPool } from "@antrea/crd";
import { type KubeObject, type Namespace, type Pod } from "@antrea/kube";

interface PodTemplate {
    readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec?: { readonly hostNetwork?: boolean };
}

/**
 * A Deployment, or another kind with a Pod template (a CronJob has it in `jobTemplate`), with the fields that are read
 * here.
 */
export interface Workload extends KubeObject {
    readonly spec?: {
        readonly replicas?: number;
        readonly template?: PodTemplate;
        readonly jobTemplate?: { readonly spec?: { readonly template?: PodTemplate } };
    };
}

// Objects are reduced to the fields in use: a cluster has many, and most fields are unused here.

/** Reduces an IPPool to its spec and the metadata in use; without its status and labels. Returns a new object. */
export function slimPool(pool: IpPool): IpPool {
    const { name, uid, resourceVersion, generation, deletionTimestamp } = pool.metadata ?? {};
    return {
        metadata: {
            ...(name !== undefined && { name }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            ...(generation !== undefined && { generation }),
            ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
        spec: pool.spec,
    };
}

/**
 * Reduces a Namespace to name, UID, resourceVersion and the annotations of IPAM (pools, Pod IPs). Returns a new object.
 */
export function slimNamespace(namespace: Namespace): Namespace {
    return slimMetadata(namespace, ours(namespace.metadata?.annotations));
}

/**
 * Reduces a Pod to name, Namespace, UID, resourceVersion and the annotations of IPAM; of one on the host network, whose
 * annotations have no effect, only that fact is kept. Returns a new object.
 */
export function slimPod(pod: Pod): Pod {
    if (pod.spec?.hostNetwork === true) {
        return { ...slimMetadata(pod), spec: { containers: [], hostNetwork: true } };
    }
    return slimMetadata(pod, ours(pod.metadata?.annotations));
}

/**
 * Reduces a workload to name, Namespace, UID, resourceVersion, replicas and, if it has any, the template's annotations
 * of IPAM; the template of a CronJob's Jobs becomes `spec.template`. Of a template on the host network, whose
 * annotations have no effect, only that fact is kept. Returns a new object.
 */
export function slimWorkload(workload: Workload): Workload {
    const { replicas, template = workload.spec?.jobTemplate?.spec?.template } = workload.spec ?? {};
    const kept = template && slimTemplate(template);
    return {
        ...slimMetadata(workload),
        spec: { ...(replicas !== undefined && { replicas }), ...(kept !== undefined && { template: kept }) },
    };
}

function slimTemplate({ metadata, spec }: PodTemplate): PodTemplate | undefined {
    if (spec?.hostNetwork === true) return { spec: { hostNetwork: true } };
    const annotations = ours(metadata?.annotations);
    return Object.keys(annotations).length > 0 ? { metadata: { annotations } } : undefined;
}

function slimMetadata(
    object: KubeObject,
    annotations: Readonly<Record<string, string>> = {},
): { readonly metadata: NonNullable<KubeObject["metadata"]> } {
    const { name, namespace, uid, resourceVersion } = object.metadata ?? {};
    return {
        metadata: {
            ...(name !== undefined && { name }),
            ...(namespace !== undefined && { namespace }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            ...(Object.keys(annotations).length > 0 && { annotations }),
        },
    };
}

/** Selects the IPAM annotations. */
function ours(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const { [poolsAnnotation]: pools, [podIpsAnnotation]: ips } = annotations;
    return {
        ...(pools !== undefined && { [poolsAnnotation]: pools }),
        ...(ips !== undefined && { [podIpsAnnotation]: ips }),
    };
}
