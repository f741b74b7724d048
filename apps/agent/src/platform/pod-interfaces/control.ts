import type { PodInterface } from "./pod-interface.ts";

/** The operations of Pod wiring on an interface that features may use, and the state of its work that they need. */
export interface InterfaceControl {
    /**
     * Runs the work under the container's lock, serialized with ADD and DEL. Rejects if the signal aborts before it
     * starts.
     */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether an ADD of the container, or for the Pod with this UID, is in progress. */
    isAdding(containerIdOrPodUid: string): boolean;
    /**
     * Blocks the traffic of an interface whose address belongs to another Pod, or may soon. Port and record stay, and
     * the record stores the state, in the table at once. Rejects if a part failed or did not end within 20 s; retry
     * then.
     */
    isolate(known: PodInterface): Promise<void>;
    /**
     * Undoes `isolate`. The record stays isolated until everything is in place; rejects otherwise, also with
     * PodNetworkError `ADDRESS_IN_USE` while another interface may have traffic with its address.
     */
    reconnect(known: PodInterface): Promise<void>;
}
