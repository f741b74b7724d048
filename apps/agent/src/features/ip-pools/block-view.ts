import { type Clock, orAborted } from "@antrea/async";
import { allocationAddress, ipAllocations } from "@antrea/crd";
import { formatPrefix, type IpAddress, type Prefix } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger, type KubeObject, type Resource } from "@antrea/kube";
import { type Cooldown } from "./cooldown.ts";

/** Dependencies of BlockView. */
export interface BlockViewComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    readonly cooldown: Cooldown;
}

/** Offsets of addresses from the base of their block (/24 or /120), i.e. their lowest bytes; ascending. */
export type Slots = Uint8Array;

const slotCount = 256;
/** The watch is expected to have delivered the outcome of an attempted address within this time. */
const noteMs = 10_000;

// Only the object names are used; the spec is not read.
const blockAllocations: Resource<KubeObject> = ipAllocations;

/**
 * Which addresses of one block (/24 or /120) are allocated, from any pool, according to the watch and to recent
 * attempts of this agent; before the watch is synced all count as free. Only a hint for choosing an address; the API
 * server decides.
 */
export class BlockView {
    /** The block: a /24 or /120. */
    readonly block: Prefix;
    /** The watch of the block's allocations; its owner starts and closes it. */
    readonly informer: Informer<KubeObject>;
    readonly #components: BlockViewComponents;
    readonly #claimed = new Uint8Array(slotCount);
    readonly #notedUntil = new Float64Array(slotCount);
    // Scratch buffer reused by every pick, which is synchronous.
    readonly #free = new Uint8Array(slotCount);

    constructor(components: BlockViewComponents, block: Prefix) {
        this.#components = components;
        this.block = block;
        this.informer = new Informer(components, {
            resource: blockAllocations,
            fieldSelector: `spec.block=${formatPrefix(block)}`,
            transform: ({ metadata }) => ({
                metadata: {
                    name: metadata?.name ?? "",
                    uid: metadata?.uid ?? "",
                    resourceVersion: metadata?.resourceVersion ?? "",
                },
            }),
        });
        this.informer.onChange((type, name) => {
            const ip = allocationAddress(name);
            this.#claimed[slotOf(ip)] = type === "deleted" ? 0 : 1;
            this.#notedUntil[slotOf(ip)] = 0;
            if (type === "deleted") components.cooldown.freed(ip);
        });
    }

    /**
     * Resolves when the allocations of the block are known, the watch is closed, or after `limitMs` milliseconds.
     * Rejects with the signal's reason if it aborts first.
     */
    async synced(limitMs: number, signal: AbortSignal): Promise<void> {
        const done = Promise.withResolvers<void>();
        using _ = this.#components.clock.after(limitMs, done.resolve);
        // A view closed in the meantime gets no further updates.
        this.informer.synced().then(done.resolve, () => done.resolve());
        await orAborted(done.promise, signal);
    }

    /**
     * Marks the address as attempted, so that it is not chosen again before the watch delivers the outcome, for 10 s at
     * most.
     */
    note(ip: IpAddress): void {
        this.#notedUntil[slotOf(ip)] = this.#components.clock.monotonic() + noteMs;
    }

    /** Whether the address is neither known as allocated nor being attempted. */
    isFree(ip: IpAddress): boolean {
        return this.#isFree(slotOf(ip), this.#components.clock.monotonic());
    }

    /**
     * Picks a free address of `slots` that is not cooling down, uniformly at random, and marks it as attempted;
     * undefined if there is none. `random` returns numbers in [0, 1).
     */
    pick(slots: Slots, random: () => number): IpAddress | undefined {
        let count = this.#collectFree(slots);
        while (count > 0) {
            const at = Math.floor(random() * count);
            const ip = this.#ipAt(this.#free[at] ?? 0);
            if (this.#components.cooldown.left(ip) === 0) {
                this.note(ip);
                return ip;
            }
            count -= 1;
            this.#free[at] = this.#free[count] ?? 0;
        }
        return undefined;
    }

    /** Free addresses among `slots` that are cooling down, longest-free first. */
    resting(slots: Slots): readonly IpAddress[] {
        const { cooldown } = this.#components;
        return [...this.#free.subarray(0, this.#collectFree(slots))]
            .map((slot) => this.#ipAt(slot))
            .filter((ip) => cooldown.left(ip) > 0)
            .sort((one, other) => cooldown.left(one) - cooldown.left(other));
    }

    #collectFree(slots: Slots): number {
        const now = this.#components.clock.monotonic();
        let count = 0;
        for (const slot of slots) {
            if (!this.#isFree(slot, now)) continue;
            this.#free[count] = slot;
            count += 1;
        }
        return count;
    }

    #isFree(slot: number, now: number): boolean {
        return this.#claimed[slot] === 0 && (this.#notedUntil[slot] ?? 0) <= now;
    }

    #ipAt(slot: number): IpAddress {
        return { family: this.block.family, value: this.block.base + BigInt(slot) };
    }
}

function slotOf(ip: IpAddress): number {
    return Number(ip.value & 0xffn);
}
