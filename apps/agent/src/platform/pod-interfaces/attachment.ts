import type { NamedPod } from "../pod-object.ts";

/** A container and an interface in it: the identity that CNI gives an attachment. */
export interface Attachment {
    readonly containerId: string;
    readonly ifName: string;
}

/** What interfaces are kept by: "container id/interface". */
export function attachmentKey({ containerId, ifName }: Attachment): string {
    return `${containerId}/${ifName}`;
}

export function isSameAttachment(one: Attachment, other: Attachment): boolean {
    return one.containerId === other.containerId && one.ifName === other.ifName;
}

/** An attachment and the Pod that it is of. */
export interface PodAttachment extends Attachment, NamedPod {}

/** The Pod as "namespace/name", for logs and messages. */
export function podText({ podNamespace, podName }: Omit<NamedPod, "podUid">): string {
    return `${podNamespace}/${podName}`;
}
