import type { PodInterface } from "./pod-interface.ts";

/** What features may have Pod wiring do with an interface, and what they need to know of its work. */
export interface InterfaceControl {
    /** Serial work on one container, as ADD and DEL do it. Rejects when the signal ends before the work has begun. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
    /** Whether an ADD of the container, or for the Pod with this UID, is under way. */
    isAdding(containerIdOrPodUid: string): boolean;
    /**
     * Ends the traffic of an interface, because its address is, or may soon be, another's. Port and record stay, and the
     * record says it. Rejects when a part of it failed; to be repeated then.
     */
    isolate(known: PodInterface): Promise<void>;
    /** Undoes `isolate`. The interface stays isolated by its record until all of it is in place; rejects otherwise. */
    reconnect(known: PodInterface): Promise<void>;
}
