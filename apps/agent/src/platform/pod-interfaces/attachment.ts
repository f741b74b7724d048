import type { NamedPod } from "../pod-object.ts";

/** A container and an interface in it, which identify an attachment in CNI. */
export interface Attachment {
    readonly containerId: string;
    readonly ifName: string;
}

/** The key of an interface in maps and of its flows: "container id/interface", unique on the Node. */
export function attachmentKey({ containerId, ifName }: Attachment): string {
    return `${containerId}/${ifName}`;
}

/** Whether both have the same container and interface. */
export function isSameAttachment(one: Attachment, other: Attachment): boolean {
    return one.containerId === other.containerId && one.ifName === other.ifName;
}

/** An attachment and its Pod; the names and UID may be empty, see NamedPod. */
export interface PodAttachment extends Attachment, NamedPod {}

/** The Pod as "namespace/name", for logs and messages; "/" while its name is not known. */
export function podText({ podNamespace, podName }: Omit<NamedPod, "podUid">): string {
    return `${podNamespace}/${podName}`;
}
