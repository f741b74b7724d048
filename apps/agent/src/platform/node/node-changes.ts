import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { outOfServiceTaint } from "@antrea/ipam";
import { type ChangeType, type Node } from "@antrea/kube";

const announced: ReadonlySet<string> = new Set([transportAnnotation, macAnnotation]);

/** Reduces a Node to the fields that the agent reads; a cluster may have thousands. */
export function slimNode(node: Node): Node {
    const { name, uid, resourceVersion } = node.metadata ?? {};
    const annotations = Object.entries(node.metadata?.annotations ?? {}).filter(([key]) => announced.has(key));
    const taints = (node.spec?.taints ?? []).filter(({ key }) => key === outOfServiceTaint);
    return {
        metadata: {
            ...(name && { name }),
            ...(uid && { uid }),
            ...(resourceVersion && { resourceVersion }),
            ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
        },
        spec: {
            ...(node.spec?.podCIDR && { podCIDR: node.spec.podCIDR }),
            ...(node.spec?.podCIDRs && { podCIDRs: node.spec.podCIDRs }),
            ...(taints.length > 0 && { taints }),
        },
        status: { ...(node.status?.addresses && { addresses: node.status.addresses }) },
    };
}

/**
 * Whether the change affects the routes of other Nodes: podCIDRs, addresses, or deletion of the Node; false for a
 * heartbeat of the kubelet.
 */
export function changesRoutes(type: ChangeType, node: Node, old: Node | undefined): boolean {
    const parts = ({ metadata, spec, status }: Node): string => JSON.stringify([metadata?.annotations, spec, status]);
    return type !== "updated" || old === undefined || old === node || parts(node) !== parts(old);
}

/** Whether the change affects the podCIDRs of the cluster. */
export function changesPodCidrs(type: ChangeType, node: Node, old: Node | undefined): boolean {
    return type !== "updated" || old === undefined || JSON.stringify(node.spec) !== JSON.stringify(old.spec);
}
