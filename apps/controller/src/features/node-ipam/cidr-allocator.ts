import {
    formatPrefix,
    parsePrefix,
    prefixOf,
    prefixRange,
    rangeOf,
    rangesOverlap,
    type IpAddress,
    type IpRange,
    type Prefix,
} from "@antrea/ip";
import { Owners } from "./owners.ts";
import { SubnetPool } from "./subnet-pool.ts";
import {
    type Assignment,
    type Ledger,
    type LedgerEntry,
    type NodeIpamSettings,
    type PodCidrProblems,
} from "./types.ts";

interface Held {
    readonly cidrs: readonly Prefix[];
    readonly text: string;
    /** The Node itself says so; before, only the book (and soon the ledger) knows. */
    confirmed: boolean;
    /** The ledger that was last written has it. */
    recorded: boolean;
}

interface Gone {
    readonly node: string;
    readonly cidrs: readonly Prefix[];
    readonly text: string;
    readonly goneAtMs: number;
    /** The same by the clock that does not jump. */
    readonly goneSinceMs: number;
}

// Beyond their rest, subnets are remembered for Nodes that return, the latest ones first.
const maxRested = 1_024;
const defaultCoolingMs = 600_000;

/**
 * Who has which subnets: Nodes that exist, Nodes that were promised some, and Nodes that are gone. No I/O.
 *
 * A Node's podCIDRs are the truth about that Node. A gone Node keeps its subnets for the cooling time, and longer as
 * long as others are free; then the longest gone is forgotten first. A Node that returns under its name gets its own
 * back.
 */
export class CidrAllocator {
    readonly #pools: readonly SubnetPool[];
    readonly #coolingMs: number;
    readonly #monotonic: () => number;
    readonly #held = new Map<string, Held>();
    readonly #owners = new Owners();
    // In the order of going; the key is Node and subnets, since a Node may be gone twice with different ones.
    readonly #gone = new Map<string, Gone>();
    readonly #goneByNode = new Map<string, string>();
    /** What IPPools have, by who has it: never given to a Node. */
    readonly #reserved = new Map<string, readonly IpRange[]>();
    #dirty = false;

    /** `monotonic`: milliseconds of a clock that does not jump; without it only wall time counts. */
    constructor(settings: NodeIpamSettings, monotonic: () => number = () => Infinity) {
        this.#monotonic = monotonic;
        this.#pools = settings.clusters.map(({ prefix, nodeMaskSize }) => new SubnetPool(prefix, nodeMaskSize));
        this.#coolingMs = settings.coolingMs ?? defaultCoolingMs;
        for (const service of settings.serviceCidrs) this.#holdIn(service);
    }

    /**
     * From now on no subnet that touches these ranges is given; what Nodes have they keep. None: takes it back. False: no
     * subnet touches them.
     */
    reserve(owner: string, ranges: readonly IpRange[]): boolean {
        for (const range of this.#reserved.get(owner) ?? []) for (const pool of this.#pools) pool.releaseRange(range);
        // There may be 100,000 claims, and none of them here.
        const here = ranges.filter((range) =>
            this.#pools.some((pool) => rangesOverlap(range, prefixRange(pool.prefix))),
        );
        for (const range of here) for (const pool of this.#pools) pool.holdRange(range);
        if (here.length === 0) this.#reserved.delete(owner);
        else this.#reserved.set(owner, here);
        return here.length > 0;
    }

    /** The subnet for a Node that has the address. */
    subnetOf(ip: IpAddress): Prefix | undefined {
        const pool = this.#pools.find(({ prefix }) => rangesOverlap(rangeOf(ip), prefixRange(prefix)));
        return pool && prefixOf(ip, pool.length);
    }

    /** Something changed since the last snapshot. */
    get dirty(): boolean {
        return this.#dirty;
    }

    /** Subnets and free ones per configured prefix. */
    get usage(): readonly { readonly cluster: Prefix; readonly size: number; readonly free: number }[] {
        return this.#pools.map(({ prefix, size, free }) => ({ cluster: prefix, size, free }));
    }

    /** Nodes that are gone and whose subnets are not free yet or remembered. */
    get goneNodes(): number {
        return this.#gone.size;
    }

    /** Fills an empty book with what an earlier controller left. Nodes that exist no more are told by `gone`. */
    load(ledger: Ledger, nowMs: number): void {
        const entries = [...ledger.entries].sort((a, b) => (a.goneAtMs ?? Infinity) - (b.goneAtMs ?? Infinity));
        for (const { node, cidrs, goneAtMs } of entries) {
            // A time in the future is a clock that was set back: the rest begins now.
            if (goneAtMs !== undefined) this.#rest(node, cidrs, Math.min(goneAtMs, nowMs), nowMs);
            else if (!this.#held.has(node)) this.#hold(node, cidrs, { confirmed: false, recorded: true });
        }
        ledger.next.forEach((next) => {
            for (const pool of this.#pools) pool.next = next;
        });
        this.#dirty = false;
    }

    /** Everything that must survive. */
    snapshot(): Ledger {
        this.#dirty = false;
        const entries: LedgerEntry[] = [];
        for (const [node, { cidrs, text }] of this.#held) entries.push({ node, cidrs, text });
        for (const { node, cidrs, text, goneAtMs } of this.#gone.values())
            entries.push({ node, cidrs, text, goneAtMs });
        return { entries, next: this.#pools.map((pool) => pool.next) };
    }

    /** The snapshot was written. */
    recorded(ledger: Ledger): void {
        for (const { node, cidrs, goneAtMs } of ledger.entries) {
            const held = this.#held.get(node);
            if (goneAtMs === undefined && held?.cidrs === cidrs) held.recorded = true;
        }
    }

    /** The snapshot could not be written. */
    markDirty(): void {
        this.#dirty = true;
    }

    /** Takes note of a Node that exists; `podCidrs` are empty as long as it has none. */
    seen(node: string, podCidrs: readonly string[], nowMs: number): void {
        if (podCidrs.length === 0) return;
        const held = this.#held.get(node);
        if (held?.text === podCidrs.join(",")) {
            held.confirmed = true;
            return;
        }
        const cidrs = podCidrs.flatMap((each) => parsed(each));
        if (held !== undefined && sameCidrs(held.cidrs, cidrs)) {
            held.confirmed = true;
            return;
        }
        // podCIDRs never change: either this is another Node of that name, or someone else was quicker than our promise,
        // which then can never come true.
        if (held?.confirmed === true) this.#leave(node, held, nowMs);
        else if (held !== undefined) this.#drop(node, held);
        this.#forget(goneKey(node, cidrs));
        this.#hold(node, cidrs, { confirmed: true, recorded: false });
    }

    /** Takes note of a Node that exists no more. */
    gone(node: string, nowMs: number): void {
        const held = this.#held.get(node);
        if (held !== undefined) this.#leave(node, held, nowMs);
    }

    /** Nodes that have or were promised subnets. */
    nodes(): IterableIterator<string> {
        return this.#held.keys();
    }

    /** What is wrong with the podCIDRs of a Node that was seen. */
    problems(node: string): PodCidrProblems {
        const held = this.#held.get(node);
        if (held?.confirmed !== true) return { duplicates: [], foreign: [], missing: [] };
        const duplicates = new Set<string>();
        for (const cidr of held.cidrs) {
            for (const other of this.#owners.overlapping(node, cidr)) {
                // A promise is no possession: it is taken back if it turns out to overlap.
                if (this.#held.get(other)?.confirmed === true) duplicates.add(other);
            }
        }
        const foreign = held.cidrs.filter((cidr) => !this.#pools.some((pool) => pool.isSubnet(cidr)));
        const missing = this.#pools
            .map((pool) => pool.prefix.family)
            .filter((family) => !held.cidrs.some((cidr) => cidr.family === family));
        return { duplicates: [...duplicates].sort(), foreign: foreign.map(formatPrefix), missing };
    }

    /**
     * The subnets of a Node that has none: of every family or of none. Asked again, it gives the same ones; they may be
     * written to the Node only when they are recorded.
     */
    assign(node: string, nowMs: number): Assignment {
        const held = this.#held.get(node);
        if (held !== undefined && this.#stillOurs(held)) {
            return { kind: "assigned", cidrs: held.cidrs, recorded: held.recorded };
        }
        // A Node that had subnets and shows none is a new one of that name.
        if (held?.confirmed === true) this.#leave(node, held, nowMs);
        else if (held !== undefined) this.#drop(node, held);
        const returned = this.#returned(node);
        if (returned !== undefined) return { kind: "assigned", cidrs: returned.cidrs, recorded: false };
        const lacking = this.#pools.filter((pool) => pool.free === 0 && !this.#makeRoom(pool, nowMs));
        if (lacking.length > 0) {
            return {
                kind: "exhausted",
                clusters: lacking.map((pool) => pool.prefix),
                freeAtMs: this.#nextFreeAt(lacking),
            };
        }
        const cidrs = this.#pools.flatMap((pool) => pool.findFree() ?? []);
        this.#hold(node, cidrs, { confirmed: false, recorded: false });
        return { kind: "assigned", cidrs, recorded: false };
    }

    /** How many Nodes could be served now: free subnets and those that rested long enough, of the scarcest family. */
    room(nowMs: number): number {
        let least = Infinity;
        for (const pool of this.#pools) {
            let room = pool.free;
            for (const gone of this.#gone.values()) {
                if (!this.#hasRested(gone, nowMs)) break;
                const { cidrs } = gone;
                if (cidrs.some((cidr) => pool.holders(cidr) === 1)) room += 1;
            }
            least = Math.min(least, room);
        }
        return least;
    }

    /** Forgets the longest rested subnets beyond the number that is remembered. Returns how many. */
    prune(nowMs: number): number {
        let rested = 0;
        for (const gone of this.#gone.values()) if (this.#hasRested(gone, nowMs)) rested += 1;
        let pruned = 0;
        for (const key of [...this.#gone.keys()].slice(0, Math.max(0, rested - maxRested))) {
            this.#forget(key);
            pruned += 1;
        }
        return pruned;
    }

    // A promise holds as long as it fits the configuration and nobody else turned up with the same subnets.
    #stillOurs(held: Held): boolean {
        if (held.confirmed) return false;
        if (!this.#fits(held.cidrs)) return false;
        return held.cidrs.every((cidr, at) => this.#pools[at]?.holders(cidr) === 1);
    }

    #returned(node: string): Held | undefined {
        const gone = this.#gone.get(this.#goneByNode.get(node) ?? "");
        if (gone === undefined || !this.#fits(gone.cidrs)) return undefined;
        if (!gone.cidrs.every((cidr, at) => this.#pools[at]?.holders(cidr) === 1)) return undefined;
        this.#forget(goneKey(node, gone.cidrs));
        return this.#hold(node, gone.cidrs, { confirmed: false, recorded: false });
    }

    #fits(cidrs: readonly Prefix[]): boolean {
        return (
            cidrs.length === this.#pools.length &&
            cidrs.every(
                (cidr, at) => this.#pools[at]?.isSubnet(cidr) === true && cidr.family === this.#pools[at].prefix.family,
            )
        );
    }

    // Subnets are wanted: those that rested long enough are given up, the longest gone first.
    #makeRoom(pool: SubnetPool, nowMs: number): boolean {
        for (const [key, gone] of this.#gone) {
            if (!this.#hasRested(gone, nowMs)) return false;
            const { cidrs } = gone;
            if (!cidrs.some((cidr) => pool.holders(cidr) > 0)) continue;
            this.#forget(key);
            if (pool.free > 0) return true;
        }
        return false;
    }

    // Wall time jumps when a machine was suspended or its clock is set; a rest is over when both clocks say so.
    #hasRested({ goneAtMs, goneSinceMs }: Gone, nowMs: number): boolean {
        return goneAtMs + this.#coolingMs <= nowMs && !(goneSinceMs + this.#coolingMs > this.#monotonic());
    }

    #nextFreeAt(pools: readonly SubnetPool[]): number | undefined {
        for (const { cidrs, goneAtMs } of this.#gone.values()) {
            if (cidrs.some((cidr) => pools.some((pool) => pool.holders(cidr) > 0))) return goneAtMs + this.#coolingMs;
        }
        return undefined;
    }

    #hold(
        node: string,
        cidrs: readonly Prefix[],
        state: { readonly confirmed: boolean; readonly recorded: boolean },
    ): Held {
        const held = { cidrs, text: textOf(cidrs), ...state };
        this.#held.set(node, held);
        for (const cidr of cidrs) {
            this.#holdIn(cidr);
            this.#owners.add(node, cidr);
        }
        this.#dirty = true;
        return held;
    }

    #drop(node: string, held: Held): void {
        this.#held.delete(node);
        for (const cidr of held.cidrs) {
            this.#releaseIn(cidr);
            this.#owners.remove(node, cidr);
        }
        this.#dirty = true;
    }

    #leave(node: string, held: Held, nowMs: number): void {
        // Rest before drop: the subnets are never free in between.
        this.#rest(node, held.cidrs, nowMs, nowMs);
        this.#drop(node, held);
    }

    #rest(node: string, cidrs: readonly Prefix[], goneAtMs: number, nowMs: number): void {
        const key = goneKey(node, cidrs);
        this.#forget(key);
        // What rested before this term rested by wall time; from now on neither clock alone ends a rest.
        const goneSinceMs = this.#monotonic() - Math.max(0, nowMs - goneAtMs);
        this.#gone.set(key, { node, cidrs, text: textOf(cidrs), goneAtMs, goneSinceMs });
        this.#goneByNode.set(node, key);
        for (const cidr of cidrs) this.#holdIn(cidr);
        this.#dirty = true;
    }

    #forget(key: string): void {
        const gone = this.#gone.get(key);
        if (gone === undefined) return;
        this.#gone.delete(key);
        if (this.#goneByNode.get(gone.node) === key) this.#goneByNode.delete(gone.node);
        for (const cidr of gone.cidrs) this.#releaseIn(cidr);
        this.#dirty = true;
    }

    #holdIn(cidr: Prefix): void {
        for (const pool of this.#pools) pool.hold(cidr);
    }

    #releaseIn(cidr: Prefix): void {
        for (const pool of this.#pools) pool.release(cidr);
    }
}

function goneKey(node: string, cidrs: readonly Prefix[]): string {
    return `${node} ${textOf(cidrs)}`;
}

function textOf(cidrs: readonly Prefix[]): string {
    return cidrs.map(formatPrefix).join(",");
}

function sameCidrs(a: readonly Prefix[], b: readonly Prefix[]): boolean {
    return (
        a.length === b.length &&
        a.every((cidr, at) => {
            const other = b[at];
            return cidr.family === other?.family && cidr.base === other.base && cidr.length === other.length;
        })
    );
}

// The API server refuses what is no prefix, with one exception: old objects may have host bits.
function parsed(text: string): readonly Prefix[] {
    try {
        return [parsePrefix(text, { hostBits: "mask" })];
    } catch {
        return [];
    }
}
