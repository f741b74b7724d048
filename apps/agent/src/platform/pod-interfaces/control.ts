import type { NetworkRecord } from "./network-record.ts";
import type { PodInterface } from "./pod-interface.ts";

/**
 * The operations of Pod wiring on an interface that features may use, and the state of its work that they need.
 * `isolate` and `reconnect` are called within `exclusively` for the container.
 */
export interface InterfaceControl {
    /**
     * Runs the work under the container's lock, serialized with ADD and DEL, and settles as it does. Rejects if the
     * signal aborts before it starts; an abort later has no effect. Not reentrant.
     */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether an ADD of the container, or for the Pod with this UID, is in progress or waits for the lock. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Registers a listener, for good, that is called once `isAdding` turns false for a container or a Pod. */
    onAddsEnd(listener: (containerIdOrPodUid: string) => void): void;
    /**
     * Blocks the traffic of an interface whose address belongs to another Pod, or may soon. Port and record stay, and
     * the record stores the state, in the table at once. Idempotent. Rejects with the error of a part that failed
     * (OVSDB, flows, netlink) or did not end within 20 s; the record stays isolated: retry then.
     */
    isolate(known: PodInterface): Promise<void>;
    /**
     * Undoes `isolate`. The record stays isolated until everything is in place; rejects otherwise, also after 20 s and
     * with PodNetworkError `ADDRESS_IN_USE` while another interface may have traffic with its address. The traffic is
     * blocked again then.
     */
    reconnect(known: PodInterface): Promise<void>;
    /**
     * Does the same for an interface on another network than the Pod network; absent if the agent makes none. Rejects with
     * the error of a part, or after 20 s: retry then.
     */
    setNetworkIsolated?(record: NetworkRecord, isolated: boolean): Promise<void>;
}
