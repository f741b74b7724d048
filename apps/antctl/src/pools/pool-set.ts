import { type IpPool } from "@antrea/crd";
import { type IpAddress, type IpRange, type Prefix, type RangeSet } from "@antrea/ip";
import { PoolIndex, readPool, type ClusterAddresses, type Exclusions, type Pool, type PoolRange } from "@antrea/ipam";
import { type Cluster, type NodeInfo } from "../cluster/index.ts";

/** One IPPool: the object and its parsed form. */
export interface PoolEntry {
    readonly object: IpPool;
    readonly pool: Pool;
}

/**
 * All IPPools of a cluster and the addresses that they assign there, at one time; never changes: `with` returns another
 * set. Invalid parts of pools are skipped, as `readPool` does.
 */
export class PoolSet {
    readonly nodes: readonly NodeInfo[];
    readonly serviceCidrs: readonly Prefix[];
    readonly clusterAddresses: ClusterAddresses;
    readonly #objects: ReadonlyMap<string, IpPool>;
    readonly #index: PoolIndex;

    constructor(objects: readonly IpPool[], nodes: readonly NodeInfo[], serviceCidrs: readonly Prefix[]) {
        this.nodes = nodes;
        this.serviceCidrs = serviceCidrs;
        this.clusterAddresses = {
            nodeAddresses: nodes.map(({ addresses }) => addresses),
            podCidrs: nodes.flatMap(({ podCidrs }) => podCidrs),
            serviceCidrs,
        };
        this.#objects = new Map(objects.map((object) => [object.metadata?.name ?? "", object]));
        this.#index = new PoolIndex(() => this.clusterAddresses);
        for (const name of [...this.#objects.keys()].sort()) {
            const object = this.#objects.get(name);
            if (object !== undefined) this.#index.set(readPool(object));
        }
    }

    /** Reads the IPPools, Nodes and Service CIDRs of a cluster. Rejects with CliError `NOT_SERVED` or KubeError. */
    static async read(cluster: Pick<Cluster, "pools" | "nodes" | "serviceCidrs">): Promise<PoolSet> {
        return new PoolSet(...(await Promise.all([cluster.pools(), cluster.nodes(), cluster.serviceCidrs()])));
    }

    /** The addresses that none of these pools assigns. */
    get exclusions(): Exclusions {
        return this.#index.exclusions;
    }

    /** The pool of this name; undefined if there is none. */
    get(name: string): PoolEntry | undefined {
        const object = this.#objects.get(name);
        const pool = this.#index.pool(name);
        return object && pool && { object, pool };
    }

    /** All pools, sorted by name. */
    get all(): readonly PoolEntry[] {
        return [...this.#index.names].flatMap((name) => this.get(name) ?? []);
    }

    /** The addresses that the pool, of this set or not, assigns in this cluster. */
    usable(pool: Pool): RangeSet {
        return this.exclusions.usable(pool);
    }

    /** The pools with the address in a range, whether or not they assign it. */
    covering(ip: IpAddress): readonly Pool[] {
        return this.#index.covering(ip).flatMap((name) => this.#index.pool(name) ?? []);
    }

    /** The names of the pools that may assign the address, also if a Node or Service has it now. */
    handingOut(ip: IpAddress): readonly string[] {
        return this.#index.handingOut(ip);
    }

    /** The ranges of pools that overlap the range, under the pools' names. */
    rangesIn(range: IpRange): readonly PoolRange[] {
        return this.#index.overlapping(range);
    }

    /** Other pools whose assignable addresses (without gateways and edges) this one has too, sorted by name. */
    overlapping(pool: Pool): readonly Pool[] {
        const names = new Set(pool.subnets.flatMap(({ range }) => this.rangesIn(range)).map(({ key }) => key));
        return [...names]
            .sort()
            .flatMap((name) => this.#index.pool(name) ?? [])
            .filter((other) => other.name !== pool.name && !other.addresses.intersect(pool.addresses).isEmpty);
    }

    /** This set with a pool added, or replaced if its name is present. */
    with(object: IpPool): PoolSet {
        const name = object.metadata?.name ?? "";
        const others = this.all.filter(({ pool }) => pool.name !== name).map((entry) => entry.object);
        return new PoolSet([...others, object], this.nodes, this.serviceCidrs);
    }
}
