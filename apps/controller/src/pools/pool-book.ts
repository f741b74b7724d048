import { type Clock } from "@antrea/async";
import { ipPools, type IpPool } from "@antrea/crd";
import { RangeIndex, RangeSet, formatIp, prefixRange, rangeOf, type IpAddress, type IpRange } from "@antrea/ip";
import {
    clusterAddresses,
    Exclusions,
    maxNodeAddresses,
    nodeAddressesIn,
    nodeAddressesOf,
    readPool,
    type ClusterAddresses,
    type Pool,
} from "@antrea/ipam";
import {
    Informer,
    serviceCidrs,
    withoutManagedFields,
    type ApiClient,
    type KubeLogger,
    type Node,
    type ServiceCidr,
} from "@antrea/kube";
import { type LifecyclePart } from "@antrea/runtime";

export interface PoolBookComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    /** All Nodes; started and stopped by someone else. */
    readonly nodes: Pick<Informer<Node>, "list" | "onChange" | "synced" | "hasSynced">;
    readonly logger: KubeLogger;
    readonly clock?: Clock;
}

/** A pool that shares addresses with another. */
export interface Overlap {
    readonly pool: string;
    readonly common: RangeSet;
}

/** Addresses of a pool that a Node reports beyond those that are kept out of pools. */
export interface FurtherAddresses {
    readonly node: string;
    readonly common: RangeSet;
}

/**
 * - `meaning`: which addresses the pool hands out, or shares with others, may have changed; or the pool is gone.
 * - `status`: something else of the object.
 */
export type PoolChange = "meaning" | "status";
export type PoolListener = (pool: string, change: PoolChange) => void;

/**
 * All IPPools and what they mean in this cluster: which addresses they hand out after those of Nodes, Services and
 * gateways are taken away, and which they share with other pools.
 */
export class PoolBook {
    readonly part: LifecyclePart;
    readonly #nodes: PoolBookComponents["nodes"];
    readonly #informer: Informer<IpPool>;
    readonly #services: Informer<ServiceCidr>;
    readonly #pools = new Map<string, Pool>();
    readonly #ranges = new RangeIndex<Pool>();
    readonly #usable = new Map<string, RangeSet>();
    readonly #listeners = new Set<PoolListener>();
    /** Of Nodes that report so many addresses that a pool may not lose all, those. */
    readonly #many = new Map<string, readonly IpAddress[]>();
    #exclusions: Exclusions | undefined;

    constructor(components: PoolBookComponents) {
        this.#nodes = components.nodes;
        this.#informer = new Informer<IpPool>(components, { resource: ipPools, transform: withoutManagedFields });
        this.#services = new Informer<ServiceCidr>(components, { resource: serviceCidrs });
        this.#informer.onChange((type, name, object, old) => this.#poolChanged(name, type === "deleted", object, old));
        this.#services.onChange((type, _name, object, old) =>
            this.#excluded(
                old === undefined ? [] : rangesOf(clusterAddresses([], [old])),
                type === "deleted" ? [] : rangesOf(clusterAddresses([], [object])),
            ),
        );
        this.#nodes.onChange((type, name, node, old) => this.#nodeChanged(name, type === "deleted", node, old));
        this.part = {
            name: "pools",
            start: (signal) => {
                this.#informer.start(signal);
                this.#services.start(signal);
            },
            stop: async () => {
                await Promise.all([this.#informer.close(), this.#services.close()]);
            },
        };
    }

    get hasSynced(): boolean {
        return this.#informer.hasSynced && this.#services.hasSynced && this.#nodes.hasSynced;
    }

    /** Resolves when pools, Nodes and Service CIDRs are known; rejects with ABORTED. */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([this.#informer.synced(signal), this.#services.synced(signal), this.#nodes.synced(signal)]);
    }

    get names(): Iterable<string> {
        return this.#pools.keys();
    }

    /** The API object. */
    object(name: string): IpPool | undefined {
        return this.#informer.get(name);
    }

    get(name: string): Pool | undefined {
        return this.#pools.get(name);
    }

    /** The addresses that the pool hands out in this cluster. Empty if there is no such pool. */
    usable(name: string): RangeSet {
        const known = this.#usable.get(name);
        if (known !== undefined) return known;
        const pool = this.#pools.get(name);
        if (pool === undefined) return RangeSet.empty;
        this.#exclusions ??= new Exclusions(
            clusterAddresses(this.#nodes.list(), this.#services.list()),
            this.#pools.values(),
        );
        const usable = this.#exclusions.usable(pool);
        this.#usable.set(name, usable);
        return usable;
    }

    /** Other pools that have addresses of this one, by name. */
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

    /** Addresses in the pool's ranges that Nodes report although they are not kept from Pods, by Node. */
    further(name: string): readonly FurtherAddresses[] {
        const pool = this.#pools.get(name);
        if (pool === undefined) return [];
        return [...this.#many]
            .map(([node, all]) => ({ node, common: RangeSet.ofAddresses(nodeAddressesIn(pool, all).further) }))
            .filter(({ common }) => !common.isEmpty)
            .sort((a, b) => (a.node < b.node ? -1 : 1));
    }

    /** Names of the pools in whose ranges the address lies, in order. */
    covering(ip: IpAddress): readonly string[] {
        return [...new Set(this.#ranges.overlapping(rangeOf(ip)).map(({ key }) => key))].sort();
    }

    /** Tells all pools at once, then each change. A pool that is gone is told once more. */
    onChange(listener: PoolListener): Disposable {
        this.#listeners.add(listener);
        for (const name of [...this.#pools.keys()]) listener(name, "meaning");
        return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
    }

    #poolChanged(name: string, deleted: boolean, object: IpPool, old: IpPool | undefined): void {
        if (!deleted && old !== undefined && old.metadata?.generation === object.metadata?.generation) {
            for (const listener of [...this.#listeners]) listener(name, "status");
            return;
        }
        const before = this.#pools.get(name);
        const after = deleted ? undefined : readPool(object);
        // What the gateways of this pool take away from others, and what it shares with them, changes with it.
        const touched = this.#touching(before);
        if (after === undefined) {
            this.#pools.delete(name);
            this.#ranges.delete(name);
        } else {
            this.#pools.set(name, after);
            this.#ranges.set(
                name,
                after.subnets.map(({ range }) => range),
                after,
            );
        }
        for (const other of this.#touching(after)) touched.add(other);
        this.#exclusions = undefined;
        this.#tell(touched.add(name));
    }

    #touching(pool: Pool | undefined): Set<string> {
        const touched = new Set<string>();
        const ranges = [
            ...(pool?.subnets ?? []).map(({ range }) => range),
            ...(pool?.gateways ?? []).map(({ ip }) => rangeOf(ip)),
        ];
        for (const range of ranges) for (const { key } of this.#ranges.overlapping(range)) touched.add(key);
        return touched;
    }

    #nodeChanged(name: string, deleted: boolean, node: Node, old: Node | undefined): void {
        const all = deleted ? [] : nodeAddressesOf(node);
        const text = all.map(formatIp).join();
        const before = this.#many.get(name)?.map(formatIp).join() ?? text;
        if (all.length > maxNodeAddresses) this.#many.set(name, all);
        else this.#many.delete(name);
        // Of so many, their order says which are kept.
        const isOtherOrder = before !== text;
        this.#excluded(
            old === undefined ? [] : rangesOf(clusterAddresses([old])),
            deleted ? [] : rangesOf(clusterAddresses([node])),
            isOtherOrder,
        );
    }

    #excluded(before: readonly IpRange[], after: readonly IpRange[], isOtherOrder = false): void {
        if (!isOtherOrder && RangeSet.of(before).equals(RangeSet.of(after))) return;
        this.#exclusions = undefined;
        const touched = new Set<string>();
        for (const range of [...before, ...after]) {
            for (const { key } of this.#ranges.overlapping(range)) touched.add(key);
        }
        this.#tell(touched);
    }

    #tell(pools: ReadonlySet<string>): void {
        for (const name of pools) this.#usable.delete(name);
        for (const listener of [...this.#listeners]) for (const name of pools) listener(name, "meaning");
    }
}

function rangesOf({ nodeAddresses, podCidrs, serviceCidrs: ofServices }: ClusterAddresses): readonly IpRange[] {
    return [...nodeAddresses.flat().map((ip) => rangeOf(ip)), ...[...podCidrs, ...ofServices].map(prefixRange)];
}
