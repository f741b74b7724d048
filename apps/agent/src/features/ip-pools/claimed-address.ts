import { type IpAllocation } from "@antrea/crd";
import { allocationIp } from "./allocations.ts";
import { type KnownPool } from "./pool-cache.ts";
import { type ClaimedAddress } from "./types.ts";

/**
 * The address of an allocation with the subnet settings of its pool; undefined if its pool is not among `pools` or no
 * longer contains the address. Throws AllocationNameError if the allocation's name encodes no address.
 */
export function addressOf(allocation: IpAllocation, pools: readonly KnownPool[]): ClaimedAddress | undefined {
    const ip = allocationIp(allocation);
    const pool = pools.find((known) => known.pool.name === allocation.spec.pool)?.pool;
    const subnet = pool?.subnetOf(ip);
    if (pool === undefined || subnet === undefined) return undefined;
    const { gateway, prefix, vlan } = subnet;
    return { ip, prefixLength: prefix.length, gateway, vlan, pool: pool.name };
}
