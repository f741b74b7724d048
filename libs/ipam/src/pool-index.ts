import { prefixRange, RangeIndex, rangeOf, RangeSet, type IpAddress, type IpRange } from "@antrea/ip";
import { type ClusterAddresses } from "./cluster-addresses.ts";
import { Exclusions } from "./exclusions.ts";
import { type Pool } from "./pool.ts";

/** A range of a pool; `key` is the pool's name. */
export interface PoolRange {
    readonly key: string;
    readonly range: IpRange;
}

/** Another pool with addresses in common. */
export interface Overlap {
    /** Name of the other pool. */
    readonly pool: string;
    /** The addresses in ranges of both pools. */
    readonly common: RangeSet;
}

/**
 * An index of all pools of a cluster: by name, by range, and what they hand out. It does not watch: its owner reports
 * each change. Derived data is computed on demand, and again only after a change that affects it.
 */
export class PoolIndex {
    readonly #cluster: () => ClusterAddresses;
    readonly #pools = new Map<string, Pool>();
    readonly #ranges = new RangeIndex<undefined>();
    readonly #usable = new Map<string, RangeSet>();
    #exclusions: Exclusions | undefined;

    /**
     * @param cluster returns the addresses that the cluster uses now; called again after `clusterChanged` and after
     * changes of pools
     */
    constructor(cluster: () => ClusterAddresses) {
        this.#cluster = cluster;
    }

    /** Number of pools. */
    get size(): number {
        return this.#pools.size;
    }

    /** Names of all pools. */
    get names(): Iterable<string> {
        return this.#pools.keys();
    }

    /** Returns all pools. */
    all(): Iterable<Pool> {
        return this.#pools.values();
    }

    /** Returns the pool of this name, if it exists. */
    pool(name: string): Pool | undefined {
        return this.#pools.get(name);
    }

    /** Adds a pool, or replaces the one of its name. Returns the names of the affected pools, as `delete` does. */
    set(pool: Pool): ReadonlySet<string> {
        return this.#replace(pool.name, pool);
    }

    /**
     * Removes a pool. Returns the names of all pools that may hand out or share other addresses than before: its own,
     * and those in which its ranges or gateways lie. For an unknown pool only its own name.
     */
    delete(name: string): ReadonlySet<string> {
        return this.#replace(name, undefined);
    }

    /**
     * Reports that the cluster uses other addresses.
     *
     * @param ranges the added and removed ones (`rangesOf`); default: any
     * @returns the names of the pools that may hand out other addresses than before
     */
    clusterChanged(ranges?: readonly IpRange[]): ReadonlySet<string> {
        const touched = ranges === undefined ? new Set(this.#pools.keys()) : this.#having(ranges);
        this.#forget(touched);
        return touched;
    }

    /** The addresses that are never handed out in this cluster. The same object until a pool or the cluster changes. */
    get exclusions(): Exclusions {
        return (this.#exclusions ??= new Exclusions(this.#cluster(), this.#pools.values()));
    }

    /**
     * Returns the addresses that a pool hands out; the same object until they may change. Empty for an unknown pool.
     */
    usable(name: string): RangeSet {
        const known = this.#usable.get(name);
        if (known !== undefined) return known;
        const pool = this.#pools.get(name);
        if (pool === undefined) return RangeSet.empty;
        const usable = this.exclusions.usable(pool);
        this.#usable.set(name, usable);
        return usable;
    }

    /** Returns the ranges of pools that share addresses with the range. */
    overlapping(range: IpRange): readonly PoolRange[] {
        return this.#ranges.overlapping(range);
    }

    /**
     * Returns the sorted names of the pools with a range that contains the address, whether or not they hand it out.
     */
    covering(ip: IpAddress): readonly string[] {
        return [...this.#having([rangeOf(ip)])].sort();
    }

    /**
     * Returns the sorted names of the pools that may hand out the address, now or when no Node and no Service has it any
     * more: those that contain it but for their own gateways and edges.
     */
    handingOut(ip: IpAddress): readonly string[] {
        return this.covering(ip).filter((name) => this.#pools.get(name)?.addresses.has(ip) === true);
    }

    /**
     * Returns the other pools whose ranges share addresses with this one, sorted by name; empty for an unknown pool.
     */
    overlaps(name: string): readonly Overlap[] {
        const common = new Map<string, RangeSet>();
        for (const { range } of this.#pools.get(name)?.subnets ?? []) {
            const mine = RangeSet.of([range]);
            for (const { key, range: theirs } of this.#ranges.overlapping(range)) {
                if (key === name) continue;
                const shared = mine.intersect(RangeSet.of([theirs]));
                common.set(key, common.get(key)?.union(shared) ?? shared);
            }
        }
        return [...common]
            .map(([pool, shared]) => ({ pool, common: shared }))
            .sort((a, b) => (a.pool < b.pool ? -1 : 1));
    }

    #replace(name: string, after: Pool | undefined): ReadonlySet<string> {
        // The gateways of a pool are excluded in all pools of its VLAN, and its overlaps are theirs too.
        const touched = this.#having(reachOf(this.#pools.get(name)));
        if (after === undefined) {
            this.#pools.delete(name);
            this.#ranges.delete(name);
        } else {
            this.#pools.set(name, after);
            const ranges = after.subnets.map(({ range }) => range);
            this.#ranges.set(name, ranges, undefined);
        }
        for (const other of this.#having(reachOf(after))) touched.add(other);
        this.#forget(touched.add(name));
        return touched;
    }

    #having(ranges: readonly IpRange[]): Set<string> {
        return new Set(ranges.flatMap((range) => this.#ranges.overlapping(range).map(({ key }) => key)));
    }

    #forget(names: Iterable<string>): void {
        this.#exclusions = undefined;
        for (const name of names) this.#usable.delete(name);
    }
}

/** Returns the ranges of these addresses, for `clusterChanged`. */
export function rangesOf({ nodeAddresses, podCidrs, serviceCidrs }: ClusterAddresses): readonly IpRange[] {
    return [...nodeAddresses.flat().map((ip) => rangeOf(ip)), ...[...podCidrs, ...serviceCidrs].map(prefixRange)];
}

function reachOf(pool: Pool | undefined): readonly IpRange[] {
    if (pool === undefined) return [];
    return [...pool.subnets.map(({ range }) => range), ...pool.gateways.map(({ ip }) => rangeOf(ip))];
}
