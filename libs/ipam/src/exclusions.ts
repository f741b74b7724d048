import { formatPrefix, prefixRange, RangeSet, type IpAddress } from "@antrea/ip";
import { maxNodeAddresses, nodeAddressesIn, type ClusterAddresses } from "./cluster-addresses.ts";
import { type Pool } from "./pool.ts";
import { subnetEdges } from "./subnet.ts";

/**
 * The addresses that pools never hand out although their ranges contain them; one object for all pools. Immutable:
 * after a change of a pool or of the cluster's addresses a new one is needed, see `PoolIndex`. Allocations are no part
 * of it.
 */
export class Exclusions {
    /** The podCIDRs of all Nodes. */
    readonly podCidrs: RangeSet;
    /** All Service CIDRs. */
    readonly serviceCidrs: RangeSet;
    readonly #ofFew: RangeSet;
    readonly #cluster: RangeSet;
    /** Addresses of the few Nodes that have more than 16 of them, of which a pool excludes only some. */
    readonly #many: readonly (readonly IpAddress[])[];
    readonly #gateways: ReadonlyMap<number, RangeSet>;
    readonly #usable = new WeakMap<Pool, RangeSet>();

    /** @param pools all pools of the cluster, as a gateway is excluded in every pool of its VLAN */
    constructor(cluster: ClusterAddresses, pools: Iterable<Pool>) {
        const few = cluster.nodeAddresses.filter((addresses) => addresses.length <= maxNodeAddresses);
        this.#many = cluster.nodeAddresses.filter((addresses) => addresses.length > maxNodeAddresses);
        this.#ofFew = RangeSet.ofAddresses(few.flat());
        this.podCidrs = RangeSet.of(cluster.podCidrs.map(prefixRange));
        this.serviceCidrs = RangeSet.of(cluster.serviceCidrs.map(prefixRange));
        this.#cluster = this.#ofFew.union(this.podCidrs).union(this.serviceCidrs);
        this.#gateways = gatewaysByVlan(pools);
    }

    /**
     * Returns the addresses that the pool hands out: its addresses without those of the cluster and the gateways in the
     * same VLAN.
     */
    usable(pool: Pool): RangeSet {
        const known = this.#usable.get(pool);
        if (known !== undefined) return known;
        const cluster = this.#cluster.union(this.#ofManyIn(pool));
        const ranges = pool.subnets.flatMap(({ addresses, vlan }) => {
            return addresses.subtract(cluster).subtract(this.#gatewaysOf(vlan)).ranges;
        });
        const usable = RangeSet.of(ranges);
        this.#usable.set(pool, usable);
        return usable;
    }

    /**
     * Returns addresses of Nodes that the pool does not hand out; of Nodes with few addresses also those outside the
     * pool.
     */
    nodeAddressesIn(pool: Pick<Pool, "subnetOf">): RangeSet {
        return this.#ofFew.union(this.#ofManyIn(pool));
    }

    /**
     * Returns why the pool does not hand out the address, as the end of a sentence about it ("is a gateway"); undefined
     * if it does. It does not depend on allocations.
     */
    reason(pool: Pool, ip: IpAddress): string | undefined {
        if (this.usable(pool).has(ip)) return undefined;
        const subnet = pool.subnetOf(ip);
        if (subnet === undefined) return "is not in its ranges";
        if (this.nodeAddressesIn(pool).has(ip)) return "is an address of a Node";
        if (this.podCidrs.has(ip)) return "lies in a podCIDR of a Node";
        if (this.serviceCidrs.has(ip)) return "lies in a Service CIDR";
        if (pool.gateways.some((gateway) => gateway.ip.value === ip.value) || this.#gatewaysOf(subnet.vlan).has(ip)) {
            return "is a gateway";
        }
        if (subnetEdges(subnet.prefix).has(ip)) {
            const name = ip.family === 4 ? "network or broadcast" : "Subnet-Router anycast";
            return `is the ${name} address of its subnet, ${formatPrefix(subnet.prefix)}`;
        }
        return `is the first or last address of the CIDR of ${subnet.path}`;
    }

    #ofManyIn(pool: Pick<Pool, "subnetOf">): RangeSet {
        return RangeSet.ofAddresses(this.#many.flatMap((addresses) => nodeAddressesIn(pool, addresses).kept));
    }

    #gatewaysOf(vlan: number): RangeSet {
        return this.#gateways.get(vlan) ?? RangeSet.empty;
    }
}

function gatewaysByVlan(pools: Iterable<Pool>): ReadonlyMap<number, RangeSet> {
    const addresses = new Map<number, IpAddress[]>();
    for (const pool of pools) {
        for (const { ip, vlan } of pool.gateways) {
            const known = addresses.get(vlan);
            if (known === undefined) addresses.set(vlan, [ip]);
            else known.push(ip);
        }
    }
    return new Map([...addresses].map(([vlan, ips]) => [vlan, RangeSet.ofAddresses(ips)]));
}
