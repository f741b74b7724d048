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
    /** Set in the Node's spec; until then the assignment exists in the allocator and, once written, in the ledger. */
    confirmed: boolean;
    /** The last written ledger contains it. */
    recorded: boolean;
}

interface Gone {
    readonly node: string;
    readonly cidrs: readonly Prefix[];
    readonly text: string;
    readonly goneAtMs: number;
    /** The same by the monotonic clock. */
    readonly goneSinceMs: number;
}

// Subnets past their cooling time are remembered for Nodes that return, latest first.
const maxRested = 1_024;
const defaultCoolingMs = 600_000;

/**
 * Which Nodes have which subnets: existing Nodes, Nodes with a pending assignment, and deleted Nodes. No I/O: the
 * caller reports Nodes with `seen` and `gone`, and persists `snapshot`. The podCIDRs of a Node are authoritative for
 * that Node. A deleted Node keeps its subnets for the cooling time, and longer while others are free; then the
 * longest-deleted Node is forgotten first. A Node that returns under its name gets its subnets back. `nowMs` is wall
 * time in milliseconds.
 */
export class CidrAllocator {
    readonly #pools: readonly SubnetPool[];
    readonly #coolingMs: number;
    readonly #monotonic: () => number;
    readonly #held = new Map<string, Held>();
    readonly #owners = new Owners();
    // In order of deletion; the key is Node and subnets, since a Node may be deleted twice with different ones.
    readonly #gone = new Map<string, Gone>();
    readonly #goneByNode = new Map<string, string>();
    /** Ranges of IPPools by owner: never assigned to a Node. */
    readonly #reserved = new Map<string, readonly IpRange[]>();
    #dirty = false;

    /**
     * Throws NodeIpamError `MASK_SIZE` or `TOO_MANY_SUBNETS`.
     *
     * @param monotonic milliseconds of a monotonic clock; without it only wall time counts
     */
    constructor(settings: NodeIpamSettings, monotonic: () => number = () => Infinity) {
        this.#monotonic = monotonic;
        this.#pools = settings.clusters.map(({ prefix, nodeMaskSize }) => new SubnetPool(prefix, nodeMaskSize));
        this.#coolingMs = settings.coolingMs ?? defaultCoolingMs;
        for (const service of settings.serviceCidrs) this.#holdIn(service);
    }

    /**
     * Excludes subnets that overlap these ranges from assignment; Nodes keep theirs. Replaces the former ranges of the
     * owner, any text; no ranges: removes the exclusion. False: no subnet overlaps them.
     */
    reserve(owner: string, ranges: readonly IpRange[]): boolean {
        for (const range of this.#reserved.get(owner) ?? []) for (const pool of this.#pools) pool.releaseRange(range);
        // There may be 100,000 allocations, none of them in these prefixes.
        const here = ranges.filter((range) =>
            this.#pools.some((pool) => rangesOverlap(range, prefixRange(pool.prefix))),
        );
        for (const range of here) for (const pool of this.#pools) pool.holdRange(range);
        if (here.length === 0) this.#reserved.delete(owner);
        else this.#reserved.set(owner, here);
        return here.length > 0;
    }

    /**
     * The subnet that contains the address, whether or not a Node has it; undefined outside the configured prefixes.
     */
    subnetOf(ip: IpAddress): Prefix | undefined {
        const pool = this.#pools.find(({ prefix }) => rangesOverlap(rangeOf(ip), prefixRange(prefix)));
        return pool && prefixOf(ip, pool.length);
    }

    /** True if something changed since the last snapshot, or that could not be written. */
    get dirty(): boolean {
        return this.#dirty;
    }

    /** The number of subnets (`size`) and of free ones per configured prefix, in the order of the configuration. */
    get usage(): readonly { readonly cluster: Prefix; readonly size: number; readonly free: number }[] {
        return this.#pools.map(({ prefix, size, free }) => ({ cluster: prefix, size, free }));
    }

    /** Number of deletions whose subnets are cooling or remembered. */
    get goneNodes(): number {
        return this.#gone.size;
    }

    /**
     * Loads the ledger of an earlier controller into an empty allocator. The caller reports deleted Nodes with
     * `gone`.
     */
    load(ledger: Ledger, nowMs: number): void {
        const entries = [...ledger.entries].sort((a, b) => (a.goneAtMs ?? Infinity) - (b.goneAtMs ?? Infinity));
        for (const { node, cidrs, goneAtMs } of entries) {
            // A time in the future means that the clock was set back: the cooling time starts now.
            if (goneAtMs !== undefined) this.#rest(node, cidrs, Math.min(goneAtMs, nowMs), nowMs);
            else if (!this.#held.has(node)) this.#hold(node, cidrs, { confirmed: false, recorded: true });
        }
        ledger.next.forEach((next) => {
            for (const pool of this.#pools) pool.next = next;
        });
        this.#dirty = false;
    }

    /** The state to persist; clears `dirty`. To be followed by `recorded` or `markDirty`. */
    snapshot(): Ledger {
        this.#dirty = false;
        const entries: LedgerEntry[] = [];
        for (const [node, { cidrs, text }] of this.#held) entries.push({ node, cidrs, text });
        for (const { node, cidrs, text, goneAtMs } of this.#gone.values())
            entries.push({ node, cidrs, text, goneAtMs });
        return { entries, next: this.#pools.map((pool) => pool.next) };
    }

    /** To be called when the snapshot was written, with that very object: its assignments may be written to Nodes. */
    recorded(ledger: Ledger): void {
        for (const { node, cidrs, goneAtMs } of ledger.entries) {
            const held = this.#held.get(node);
            if (goneAtMs === undefined && held?.cidrs === cidrs) held.recorded = true;
        }
    }

    /** To be called when the snapshot could not be written. */
    markDirty(): void {
        this.#dirty = true;
    }

    /**
     * Records an existing Node; `podCidrs` is empty until it has some. Invalid ones are ignored. Other ones than before
     * replace the earlier, which cool down if the Node had them.
     */
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
        // podCIDRs are immutable: either this is another Node of the same name, or another writer was faster than the
        // pending assignment, which can then never be written.
        if (held?.confirmed === true) this.#leave(node, held, nowMs);
        else if (held !== undefined) this.#drop(node, held);
        this.#forget(goneKey(node, cidrs));
        this.#hold(node, cidrs, { confirmed: true, recorded: false });
    }

    /** Records that a Node was deleted: its subnets cool down from now on. No effect on an unknown Node. */
    gone(node: string, nowMs: number): void {
        const held = this.#held.get(node);
        if (held !== undefined) this.#leave(node, held, nowMs);
    }

    /** Names of the Nodes with assigned or pending subnets; not of deleted ones. */
    nodes(): IterableIterator<string> {
        return this.#held.keys();
    }

    /** The problems of a Node's podCIDRs; none for a Node that is not known with podCIDRs. */
    problems(node: string): PodCidrProblems {
        const held = this.#held.get(node);
        if (held?.confirmed !== true) return { duplicates: [], foreign: [], missing: [] };
        const duplicates = new Set<string>();
        for (const cidr of held.cidrs) {
            for (const other of this.#owners.overlapping(node, cidr)) {
                // A pending assignment does not count: it is withdrawn if it overlaps.
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
     * Assigns subnets to a Node without any: of every family, or none. Idempotent; the subnets may be written to the
     * Node only once they are recorded.
     */
    assign(node: string, nowMs: number): Assignment {
        const held = this.#held.get(node);
        if (held !== undefined && this.#stillOurs(held)) {
            return { kind: "assigned", cidrs: held.cidrs, recorded: held.recorded };
        }
        // A Node that had subnets and reports none is a new Node of that name.
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

    /**
     * How many Nodes could get subnets now: free subnets and those past their cooling time, of the scarcest family.
     * Infinity without configured prefixes.
     */
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

    /**
     * Forgets the longest-deleted subnets past their cooling time beyond the number that is remembered. Returns how
     * many.
     */
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

    // A pending assignment is valid as long as it fits the configuration and no other Node has the same subnets.
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

    // Frees remembered subnets past their cooling time, the longest-deleted first.
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

    // Wall time jumps when a machine is suspended or its clock is set; the cooling time is over when both clocks agree.
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
        // Hold before release: the subnets are never free in between.
        this.#rest(node, held.cidrs, nowMs, nowMs);
        this.#drop(node, held);
    }

    #rest(node: string, cidrs: readonly Prefix[], goneAtMs: number, nowMs: number): void {
        const key = goneKey(node, cidrs);
        this.#forget(key);
        // Cooling before this term is measured by wall time; from now on both clocks must agree.
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

// The API server rejects an invalid prefix, except that old objects may have host bits set.
function parsed(text: string): readonly Prefix[] {
    try {
        return [parsePrefix(text, { hostBits: "mask" })];
    } catch {
        return [];
    }
}
