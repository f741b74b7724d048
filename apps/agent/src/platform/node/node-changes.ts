import { type ChangeType, type Node } from "@antrea/kube";

/**
 * Whether the change of a Node, reduced by `slimNode`, may affect the routes to it: it is new, deleted, or has other
 * annotations, podCIDRs, addresses or taints. False for a heartbeat of the kubelet, and for an object delivered again.
 */
export function changesRoutes(type: ChangeType, node: Node, old: Node | undefined): boolean {
    const parts = ({ metadata, spec, status }: Node): string => JSON.stringify([metadata?.annotations, spec, status]);
    return type !== "updated" || old === undefined || old === node || parts(node) !== parts(old);
}

/**
 * Whether the change of a Node, reduced by `slimNode`, may affect the podCIDRs of the cluster: it is new, deleted, or
 * has another spec (podCIDRs and kept taints). False for changes of annotations, addresses and heartbeats.
 */
export function changesPodCidrs(type: ChangeType, node: Node, old: Node | undefined): boolean {
    return type !== "updated" || old === undefined || JSON.stringify(node.spec) !== JSON.stringify(old.spec);
}
