import { KeyedLock } from "@antrea/async";
import type { AddRequest } from "../../platform/pod-interfaces/index.ts";

/** The ADDs in progress, by container and by Pod. */
export class AddsInProgress {
    readonly #locks = new KeyedLock();
    /** By container ID and Pod UID. */
    readonly #counts = new Map<string, number>();
    readonly #listeners: ((containerIdOrPodUid: string) => void)[] = [];

    /**
     * Runs an ADD. The kubelet retries with a new container: two ADDs for one interface of a Pod never run at once, as
     * they would compete for its allocations. Rejects as the work does, or on abort before it starts.
     */
    async run<T>({ containerId, ifName, podUid }: AddRequest, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
        const adding = [containerId, podUid];
        for (const one of adding) this.#counts.set(one, (this.#counts.get(one) ?? 0) + 1);
        try {
            return await this.#locks.run(`${podUid === "" ? containerId : podUid}/${ifName}`, work, signal);
        } finally {
            for (const one of adding) {
                const left = (this.#counts.get(one) ?? 1) - 1;
                if (left > 0) this.#counts.set(one, left);
                else {
                    this.#counts.delete(one);
                    for (const listener of this.#listeners) listener(one);
                }
            }
        }
    }

    /** Whether an ADD of this container, or of the Pod with this UID, is in progress. */
    has(containerIdOrPodUid: string): boolean {
        return this.#counts.has(containerIdOrPodUid);
    }

    /** Registers a listener, for good, that is called once no ADD of a container, or of a Pod, is in progress any more. */
    onEnd(listener: (containerIdOrPodUid: string) => void): void {
        this.#listeners.push(listener);
    }
}
