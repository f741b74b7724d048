import { podIpsAnnotation, poolsAnnotation, type IpPool } from "@antrea/crd";
import { type KubeObject, type Namespace, type Node, type Pod } from "@antrea/kube";

/** A Deployment or StatefulSet, as far as it is read here. */
export interface Workload extends KubeObject {
    readonly spec?: {
        readonly replicas?: number;
        readonly template?: {
            readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
            readonly spec?: { readonly hostNetwork?: boolean };
        };
    };
}

// What is kept of objects: a cluster has many of them, and most of each is of no use here.

export function slimPool(pool: IpPool): IpPool {
    const { name, uid, resourceVersion, generation } = pool.metadata ?? {};
    return {
        metadata: {
            ...(name !== undefined && { name }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            ...(generation !== undefined && { generation }),
        },
        spec: pool.spec,
    };
}

export function slimNode(node: Node): Node {
    const { podCIDR, podCIDRs } = node.spec ?? {};
    const { addresses } = node.status ?? {};
    return {
        ...slimMetadata(node),
        spec: { ...(podCIDR !== undefined && { podCIDR }), ...(podCIDRs !== undefined && { podCIDRs }) },
        status: { ...(addresses !== undefined && { addresses }) },
    };
}

export function slimNamespace(namespace: Namespace): Namespace {
    return slimMetadata(namespace, ours(namespace.metadata?.annotations));
}

/** Of a Pod on its Node's network nothing matters; of one without pools of its own, the addresses that it has. */
export function slimPod(pod: Pod): Pod {
    if (pod.spec?.hostNetwork === true) {
        return { ...slimMetadata(pod), spec: { containers: [], hostNetwork: true } };
    }
    const { podIPs } = pod.status ?? {};
    const inherits = pod.metadata?.annotations?.[poolsAnnotation] === undefined;
    return {
        ...slimMetadata(pod, ours(pod.metadata?.annotations)),
        ...(inherits && podIPs !== undefined && { status: { podIPs } }),
    };
}

export function slimWorkload(workload: Workload): Workload {
    const { replicas, template } = workload.spec ?? {};
    const annotations = template?.spec?.hostNetwork === true ? {} : ours(template?.metadata?.annotations);
    return {
        ...slimMetadata(workload),
        spec: {
            ...(replicas !== undefined && { replicas }),
            ...(Object.keys(annotations).length > 0 && { template: { metadata: { annotations } } }),
        },
    };
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

/** The annotations that are about addresses. */
function ours(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    const { [poolsAnnotation]: pools, [podIpsAnnotation]: ips } = annotations;
    return {
        ...(pools !== undefined && { [poolsAnnotation]: pools }),
        ...(ips !== undefined && { [podIpsAnnotation]: ips }),
    };
}
