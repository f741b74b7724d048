/** By this taint an administrator says that a Node's machine is shut down and its Pods do not run. */
export const outOfServiceTaint = "node.kubernetes.io/out-of-service";

/** The part of a Node (core/v1) that has its taints. */
export interface NodeWithTaints {
    readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
}

/** Whether an administrator says that nothing runs on the Node: its addresses may be taken from it. */
export function isOutOfService({ spec }: NodeWithTaints): boolean {
    return (spec?.taints ?? []).some(({ key }) => key === outOfServiceTaint);
}
