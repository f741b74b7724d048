import { type Clock, orAborted } from "@antrea/async";
import { allocationAddress, ipAllocations } from "@antrea/crd";
import { formatPrefix, type IpAddress, type Prefix } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger, type KubeObject, type Resource } from "@antrea/kube";
import { type Cooldown } from "./cooldown.ts";

export interface BlockViewComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    readonly cooldown: Cooldown;
}

/** The places of the addresses of a set in one block, ascending: the lowest byte of each. */
export type Slots = Uint8Array;

const slotCount = 256;
/** By this time the watch has told what became of an address that was tried. */
const noteMs = 10_000;

// Only names are looked at, whatever the claims say.
const blockClaims: Resource<KubeObject> = ipAllocations;

/**
 * Which addresses of one block are claimed, by whichever pool: what a watch tells, and what was tried a moment ago. It
 * is a help to choose, never a decision: that is the API server's.
 */
export class BlockView {
    readonly block: Prefix;
    readonly #components: BlockViewComponents;
    readonly #informer: Informer<KubeObject>;
    readonly #claimed = new Uint8Array(slotCount);
    readonly #notedUntil = new Float64Array(slotCount);
    // Reused by every pick; a pick never waits.
    readonly #free = new Uint8Array(slotCount);

    constructor(components: BlockViewComponents, block: Prefix) {
        this.#components = components;
        this.block = block;
        this.#informer = new Informer(components, {
            resource: blockClaims,
            fieldSelector: `spec.block=${formatPrefix(block)}`,
            transform: ({ metadata }) => ({
                metadata: {
                    name: metadata?.name ?? "",
                    uid: metadata?.uid ?? "",
                    resourceVersion: metadata?.resourceVersion ?? "",
                },
            }),
        });
        this.#informer.onChange((type, name) => {
            const ip = allocationAddress(name);
            this.#claimed[slotOf(ip)] = type === "deleted" ? 0 : 1;
            this.#notedUntil[slotOf(ip)] = 0;
            if (type === "deleted") components.cooldown.freed(ip);
        });
    }

    start(signal: AbortSignal): void {
        this.#informer.start(signal);
    }

    close(): Promise<void> {
        return this.#informer.close();
    }

    /** Whether the claims of the block are known. */
    get hasSynced(): boolean {
        return this.#informer.hasSynced;
    }

    /** Resolves when the claims of the block are known, or after that time. Rejects when the signal ends first. */
    async synced(limitMs: number, signal: AbortSignal): Promise<void> {
        const done = Promise.withResolvers<void>();
        using _ = this.#components.clock.after(limitMs, done.resolve);
        // A view that is closed meanwhile will not know more.
        this.#informer.synced().then(done.resolve, () => done.resolve());
        await orAborted(done.promise, signal);
    }

    /** The address is being tried: whatever comes of it, it is not to be tried again before the watch has told. */
    note(ip: IpAddress): void {
        this.#notedUntil[slotOf(ip)] = this.#components.clock.monotonic() + noteMs;
    }

    /** Whether nobody is known to have the address or to be trying for it. */
    isFree(ip: IpAddress): boolean {
        return this.#isFree(slotOf(ip), this.#components.clock.monotonic());
    }

    /** A free address among these that need not rest, any with equal chance; noted as tried. */
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

    /** Free addresses among these that rest, the longest rested first. */
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
