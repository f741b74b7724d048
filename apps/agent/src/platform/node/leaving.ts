import type { Node } from "@antrea/kube";

/** The taint of a Node that the cluster autoscaler is about to delete. */
export const toBeDeletedTaint = "ToBeDeletedByClusterAutoscaler";

/** Whether a Node is going: it is gone (undefined), being deleted, or the cluster autoscaler is about to delete it. */
export function isLeaving(node: Pick<Node, "metadata" | "spec"> | undefined): boolean {
    if (node === undefined || node.metadata?.deletionTimestamp !== undefined) return true;
    return (node.spec?.taints ?? []).some(({ key }) => key === toBeDeletedTaint);
}
