import { type ChangeType, type Node } from "@antrea/kube";

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
