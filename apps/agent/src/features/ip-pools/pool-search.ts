import { type Clock } from "@antrea/async";
import { blockOf, type IpPoolStatus } from "@antrea/crd";
import { formatPrefix, IpError, parsePrefix, RangeSet, type IpAddress, type Prefix } from "@antrea/ip";
import { blocksOf, type BlockSet } from "@antrea/ipam";
import { fnv1a } from "../../platform/fnv1a.ts";
import { type BlockView, type Slots } from "./block-view.ts";
import { type Blocks } from "./blocks.ts";
import { type KnownPool } from "./pool-cache.ts";
import { PoolScanner, randomBelow, type PoolScanComponents } from "./pool-scan.ts";

/** Dependencies of PoolSearch. */
export interface PoolSearchComponents extends PoolScanComponents {
    readonly blocks: Blocks;
    readonly clock: Clock;
}

/** Attempted addresses and opened blocks before the whole pool is listed. */
const maxTries = 16;
const maxOpenings = 3;
/** Maximum of open views per pool. */
const maxViews = 3;
/** Addresses that are tried at random while no view can be opened, before the whole pool is listed. */
const maxProbes = 4;
/** After a failed attempt, how long to wait for the allocations of the block. */
const syncLimitMs = 2_000;
/** How long a block found full is not chosen again. */
const fullMs = 60_000;
const maxFull = 256;
/** With up to this many blocks all are examined; with more, a random sample. */
const fewBlocks = 64n;

interface OpenBlock {
    readonly view: BlockView;
    readonly slots: Slots;
}

/**
 * Finds candidate addresses of one pool with few requests: first from the watched blocks, then from further blocks,
 * last from a list of the whole pool. Only hints: the create of the IPAllocation decides. Keeps blocks watched after a
 * search: the owner calls `close` when it is idle.
 */
export class PoolSearch {
    readonly #components: PoolSearchComponents;
    readonly #scanner: PoolScanner;
    readonly #seed: number;
    readonly #full = new Map<string, number>();
    // Newest last.
    #open: OpenBlock[] = [];
    #usable: RangeSet = RangeSet.empty;
    #blocks: BlockSet = blocksOf(RangeSet.empty);
    #status: IpPoolStatus | undefined;
    #lastUsed = 0;

    constructor(components: PoolSearchComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#scanner = new PoolScanner(components);
        this.#seed = fnv1a(options.nodeName);
    }

    /** Monotonic time (ms) at which the last search began; 0 before the first. */
    get lastUsed(): number {
        return this.#lastUsed;
    }

    /** Closes all views; the next search reopens them. */
    close(): void {
        for (const { view } of this.#open.splice(0)) this.#components.blocks.release(view);
    }

    /**
     * Yields candidate addresses; requesting the next one means that the previous one could not be allocated. Ends when
     * no address appears free. Throws the signal's reason on abort, and the KubeError of the list of the pool. Searches
     * for several Pods may run at once, and get different addresses.
     */
    async *candidates(target: KnownPool, signal: AbortSignal): AsyncGenerator<IpAddress, void, void> {
        this.#lastUsed = this.#components.clock.monotonic();
        this.#adapt(target.usable);
        this.#heed(target.status);
        if (target.usable.isEmpty) return;
        let openings = 0;
        for (let tries = 0; tries < maxTries; tries += 1) {
            const found = this.#pick();
            if (found !== undefined) {
                yield found.ip;
                if (!found.view.informer.hasSynced) await found.view.synced(syncLimitMs, signal);
                continue;
            }
            if (openings === maxOpenings || !this.#openNext(target)) break;
            openings += 1;
        }
        if (this.#open.length === 0 && !this.#scanner.isFresh(target)) yield* this.#probes(target.usable);
        if (this.#seesAll()) yield* this.#resting();
        const scan = await this.#scanner.scan(target, signal);
        for (let ip = scan.take(); ip !== undefined; ip = scan.take()) {
            const view = this.#viewOf(ip);
            if (view?.isFree(ip) === false || !target.usable.has(ip)) continue;
            view?.note(ip);
            yield ip;
        }
        // Addresses freed after the list are in cooldown, and nothing else is left.
        yield* this.#resting();
    }

    #pick(): { readonly ip: IpAddress; readonly view: BlockView } | undefined {
        for (const { view, slots } of this.#open.toReversed()) {
            const ip = view.pick(slots, this.#components.random);
            if (ip !== undefined) return { ip, view };
        }
        return undefined;
    }

    /** Different addresses at random: of a pool that is not nearly full one of them is free. */
    *#probes(usable: RangeSet): Iterable<IpAddress> {
        const { cooldown, random } = this.#components;
        const tried = new Set<bigint>();
        for (let probes = 0; probes < maxProbes; probes += 1) {
            const ip = usable.at(randomBelow(usable.size, random));
            if (tried.has(ip.value) || cooldown.left(ip) > 0) continue;
            tried.add(ip.value);
            yield ip;
        }
    }

    *#resting(): Iterable<IpAddress> {
        for (const { view, slots } of this.#open) {
            for (const ip of view.resting(slots)) {
                if (!view.isFree(ip)) continue;
                view.note(ip);
                yield ip;
            }
        }
    }

    /** Applies a change of the usable addresses and opens the first block. */
    #adapt(usable: RangeSet): void {
        if (this.#usable !== usable) {
            this.#usable = usable;
            this.#blocks = blocksOf(usable);
            const before = this.#open;
            this.#open = [];
            for (const { view } of before) {
                const slots = slotsOf(usable, view.block);
                if (slots.length > 0) this.#open.push({ view, slots });
                else this.#components.blocks.release(view);
            }
        }
        const { count } = this.#blocks;
        if (this.#open.length === 0 && count > 0n) this.#openBlock(this.#blocks.at(BigInt(this.#seed) % count));
    }

    /**
     * Opens one more block; at the limit of the pool it replaces the oldest, at that of all pools the oldest that no other pool
     * uses. False if no other block is worth opening, or none can be opened; all views stay then.
     */
    #openNext(target: KnownPool): boolean {
        const next = this.#chooseBlock(target);
        if (next === undefined) return false;
        for (const { view } of this.#open) if (view.informer.hasSynced) this.#noteFull(view.block);
        if (this.#openBlock(next)) {
            if (this.#open.length > maxViews) this.#closeAt(0);
            return true;
        }
        // Giving up a shared view makes no room.
        const replaced = this.#open.findIndex(({ view }) => this.#components.blocks.hasOneUser(view));
        if (replaced === -1) return false;
        this.#closeAt(replaced);
        return this.#openBlock(next);
    }

    /** False if the views of other pools leave none for it. */
    #openBlock(block: Prefix): boolean {
        const view = this.#components.blocks.acquire(block);
        if (view === undefined) return false;
        this.#open.push({ view, slots: slotsOf(this.#usable, block) });
        return true;
    }

    #closeAt(index: number): void {
        for (const { view } of this.#open.splice(index, 1)) this.#components.blocks.release(view);
    }

    /** A new status from the controller overrides earlier observations of a block. */
    #heed(status: IpPoolStatus | undefined): void {
        if (status === this.#status) return;
        this.#status = status;
        for (const block of (status?.freeBlocks ?? []).flatMap(readBlock)) this.#full.delete(formatPrefix(block));
    }

    /**
     * Prefers blocks with free addresses by the controller's status or the last list, then any. A fresh list of the
     * whole pool is more reliable than a random choice; only the controller may be more up to date.
     */
    #chooseBlock(target: KnownPool): Prefix | undefined {
        const { usable, status } = target;
        const { random } = this.#components;
        const blocks = blocksOf(usable);
        const worthwhile = (block: Prefix): boolean =>
            blocks.has(block) && !this.#isOpen(block) && !this.#isFull(block);
        const isFresh = this.#scanner.isFresh(target);
        if (isFresh && status === this.#scanner.last?.status) return undefined;
        const hints = (status?.freeBlocks ?? []).flatMap(readBlock).filter(worthwhile);
        if (isFresh && hints.length === 0) return undefined;
        const listed = hints.length > 0 ? hints : (this.#scanner.last?.blocks ?? []).filter(worthwhile);
        if (listed.length > 0) return listed[Math.floor(random() * listed.length)];
        const few = blocks.count <= fewBlocks;
        const some = Array.from({ length: Number(few ? blocks.count : fewBlocks) }, (_, at) =>
            blocks.at(few ? BigInt(at) : randomBelow(blocks.count, random)),
        );
        const fitting = some.filter(worthwhile);
        return fitting[Math.floor(random() * fitting.length)];
    }

    /** Whether every block of the pool is watched and synced. */
    #seesAll(): boolean {
        return (
            this.#blocks.count <= BigInt(this.#open.length) && this.#open.every(({ view }) => view.informer.hasSynced)
        );
    }

    #isOpen(block: Prefix): boolean {
        return this.#open.some(({ view }) => view.block.base === block.base);
    }

    #viewOf(ip: IpAddress): BlockView | undefined {
        const { base } = blockOf(ip);
        return this.#open.find(({ view }) => view.block.base === base)?.view;
    }

    #isFull(block: Prefix): boolean {
        return (this.#full.get(formatPrefix(block)) ?? 0) > this.#components.clock.monotonic();
    }

    #noteFull(block: Prefix): void {
        const key = formatPrefix(block);
        this.#full.delete(key);
        this.#full.set(key, this.#components.clock.monotonic() + fullMs);
        if (this.#full.size > maxFull) this.#full.delete(this.#full.keys().next().value ?? "");
    }
}

function slotsOf(usable: RangeSet, block: Prefix): Slots {
    return Uint8Array.from([...usable.within(block)].map((ip) => Number(ip.value - block.base)));
}

/** Parses a hint from the status; an invalid one is ignored. */
function readBlock(text: string): readonly Prefix[] {
    try {
        return [parsePrefix(text)];
    } catch (error) {
        if (error instanceof IpError) return [];
        throw error;
    }
}
