import { type IpPool } from "@antrea/crd";
import { type IpAddress, type Prefix, type RangeSet } from "@antrea/ip";
import { Exclusions, readPool, type ClusterAddresses, type Pool } from "@antrea/ipam";
import { type Cluster, type NodeInfo } from "../cluster/index.ts";

/** One IPPool: the object and its parsed form. */
export interface PoolEntry {
    readonly object: IpPool;
    readonly pool: Pool;
}

/** All IPPools of a cluster and the addresses that they assign there. */
export class PoolSet {
    readonly nodes: readonly NodeInfo[];
    readonly serviceCidrs: readonly Prefix[];
    readonly clusterAddresses: ClusterAddresses;
    readonly exclusions: Exclusions;
    readonly #entries: ReadonlyMap<string, PoolEntry>;

    constructor(objects: readonly IpPool[], nodes: readonly NodeInfo[], serviceCidrs: readonly Prefix[]) {
        this.nodes = nodes;
        this.serviceCidrs = serviceCidrs;
        this.clusterAddresses = {
            nodeAddresses: nodes.map(({ addresses }) => addresses),
            podCidrs: nodes.flatMap(({ podCidrs }) => podCidrs),
            serviceCidrs,
        };
        const entries = objects.map((object): PoolEntry => ({ object, pool: readPool(object) }));
        this.#entries = new Map(entries.map((entry) => [entry.pool.name, entry]));
        this.exclusions = new Exclusions(
            this.clusterAddresses,
            entries.map(({ pool }) => pool),
        );
    }

    /** Reads the IPPools, Nodes and Service CIDRs of a cluster. */
    static async read(cluster: Pick<Cluster, "pools" | "nodes" | "serviceCidrs">): Promise<PoolSet> {
        return new PoolSet(...(await Promise.all([cluster.pools(), cluster.nodes(), cluster.serviceCidrs()])));
    }

    /** The pool of this name; undefined if there is none. */
    get(name: string): PoolEntry | undefined {
        return this.#entries.get(name);
    }

    /** By name. */
    get all(): readonly PoolEntry[] {
        return [...this.#entries.values()].sort((a, b) => (a.pool.name < b.pool.name ? -1 : 1));
    }

    /** The addresses that the pool assigns in this cluster. */
    usable(pool: Pool): RangeSet {
        return this.exclusions.usable(pool);
    }

    /** The pools with the address in a range, whether or not they assign it. */
    covering(ip: IpAddress): readonly Pool[] {
        return this.all.map(({ pool }) => pool).filter((pool) => pool.subnetOf(ip) !== undefined);
    }

    /** Other pools that share addresses with this one. */
    overlapping(pool: Pool): readonly Pool[] {
        return this.all
            .map((entry) => entry.pool)
            .filter((other) => other.name !== pool.name && !other.addresses.intersect(pool.addresses).isEmpty);
    }

    /** This set with a pool added, or replaced if its name is present. */
    with(object: IpPool): PoolSet {
        const name = object.metadata?.name ?? "";
        const others = this.all.filter(({ pool }) => pool.name !== name).map((entry) => entry.object);
        return new PoolSet([...others, object], this.nodes, this.serviceCidrs);
    }
}
