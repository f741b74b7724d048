/**
 * Taint by which an administrator declares that a Node is shut down and its Pods do not run (Kubernetes, non-graceful
 * node shutdown).
 */
export const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/** The part of a Node (core/v1) with its taints. */
export interface NodeWithTaints {
    readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
}

/** True if the Node has the out-of-service taint: its Pods do not run, so their addresses may be released. */
export function isOutOfService({ spec }: NodeWithTaints): boolean {
    return (spec?.taints ?? []).some(({ key }) => key === outOfServiceTaint);
}
