import { messageOf } from "@antrea/errors";

/** What differs from sandbox to sandbox of a Pod. */
export interface Sandbox {
    readonly containerId: string;
    /** Path of its network namespace; undefined if no message has it. */
    readonly netns?: string | undefined;
}

/**
 * The message of an error with those of its causes, as note of an event on the Pod: without the container's ID and the path
 * of its network namespace, which the log has. For each attempt the runtime makes a new sandbox, and only events with
 * the same note become one.
 */
export function eventNote(error: unknown, { containerId, netns = "" }: Sandbox): string {
    const namespace = "the network namespace of the Pod";
    const text = messageOf(error).replaceAll(`container ${containerId}`, "the container");
    return netns === "" ? text : text.replaceAll(`network namespace ${netns}`, namespace).replaceAll(netns, namespace);
}
