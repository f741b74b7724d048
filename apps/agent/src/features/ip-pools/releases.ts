import { KeyedLock } from "@antrea/async";
import { allocationName, type IpAllocation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { type IpAddress } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type AllocationWriter } from "./allocation-writer.ts";
import { namesContainer, objectName } from "./allocations.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type Attachment, attachmentKey } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of Releases. */
export interface ReleasesComponents {
    readonly own: Pick<OwnAllocations, "get" | "hasSynced" | "ofContainer">;
    readonly writer: Pick<AllocationWriter, "find" | "free">;
    readonly logger: Logger;
}

/** Limit for releasing addresses of a failed attempt; the reconciler frees whatever remains. */
const giveBackMs = 5_000;

/**
 * Frees the allocations of interfaces, serialized per interface with their allocation. What could not be freed stays
 * due until `settle` frees it or an ADD cancels it. Methods reject as AllocationWriter does, or with AsyncError
 * `ABORTED` if the signal aborts while they wait for the interface.
 */
export class Releases {
    readonly #components: ReleasesComponents;
    readonly #locks = new KeyedLock();
    /** Attachments whose release failed because the API server was unavailable; `settle` retries them. */
    readonly #owed = new Map<string, Attachment>();

    constructor(components: ReleasesComponents) {
        this.#components = components;
    }

    /**
     * Runs the work while nothing of the interface is released by `releaseAll` or `settle`; settles as the work does.
     */
    exclusively<T>(attachment: Attachment, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
        return this.#locks.run(attachmentKey(attachment), work, signal);
    }

    /** Whether a release of the interface could not be completed yet. */
    isDue(attachment: Attachment): boolean {
        return this.#owed.has(attachmentKey(attachment));
    }

    /**
     * The interface is getting addresses: a release that is due no longer applies. To be called inside `exclusively`.
     * Returns whether one was due: nothing of the interface is in use then, and an ADD that fails has nothing to keep.
     */
    cancel(attachment: Attachment): boolean {
        return this.#owed.delete(attachmentKey(attachment));
    }

    /**
     * Frees the address, or keeps it reserved for its StatefulSet, if the IPAllocation names this container; at once,
     * without waiting for `exclusively`. Succeeds if the allocation is already gone or belongs to another container.
     */
    async release(attachment: Attachment, ip: IpAddress, signal: AbortSignal): Promise<void> {
        const { own, writer } = this.#components;
        const allocation = own.get(allocationName(ip)) ?? (await writer.find(ip, signal));
        if (allocation !== undefined) await this.#free(allocation, attachment, signal);
    }

    /**
     * Frees all allocations of a container's interface. If it rejects, or the allocations of this Node are not synced,
     * `settle` frees the remaining ones.
     */
    releaseAll(attachment: Attachment, signal: AbortSignal): Promise<void> {
        this.#owed.set(attachmentKey(attachment), attachment);
        const release = (): Promise<void> => this.#releaseOwed(attachment, signal);
        return this.#locks.run(attachmentKey(attachment), release, signal);
    }

    /** Retries the releases that are due, in order. Rejects with the first failure; it and those after it stay due. */
    async settle(signal: AbortSignal): Promise<void> {
        for (const attachment of [...this.#owed.values()]) {
            await this.#locks.run(attachmentKey(attachment), () => this.#releaseOwed(attachment, signal), signal);
        }
    }

    /** Called with the container lock held. A concurrent ADD may have taken over the allocations. */
    async #releaseOwed(attachment: Attachment, signal: AbortSignal): Promise<void> {
        const { own } = this.#components;
        // Before the sync some of them may not be known: `settle` frees them.
        if (!this.isDue(attachment) || !own.hasSynced) return;
        const allocations = own.ofContainer(attachment);
        await Promise.all(allocations.map((allocation) => this.#free(allocation, attachment, signal)));
        this.#owed.delete(attachmentKey(attachment));
    }

    #free(allocation: IpAllocation, attachment: Attachment, signal: AbortSignal): Promise<void> {
        return this.#components.writer.free(allocation, (current) => namesContainer(current, attachment), signal);
    }

    /**
     * Frees what a failed ADD has allocated, within 5 s; what remains is logged and due. Never rejects. To be called
     * inside `exclusively`.
     *
     * @param kept names of allocations that the interface had before the ADD, and keeps
     */
    async giveBack({ containerId, ifName }: Attachment, kept: readonly string[] = []): Promise<void> {
        const attachment = { containerId, ifName };
        const signal = AbortSignal.timeout(giveBackMs);
        try {
            if (kept.length > 0) {
                const fresh = this.#components.own
                    .ofContainer(attachment)
                    .filter((one) => !kept.includes(objectName(one)));
                await Promise.all(fresh.map((allocation) => this.#free(allocation, attachment, signal)));
                return;
            }
            this.#owed.set(attachmentKey(attachment), attachment);
            await this.#releaseOwed(attachment, signal);
        } catch (error) {
            this.#components.logger.warn("allocations of a failed ADD not released; left to the next reconcile", {
                container: containerId,
                reason: messageOf(error),
            });
        }
    }
}
