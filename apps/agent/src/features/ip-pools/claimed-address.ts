import { type IpAllocation } from "@antrea/crd";
import { allocationIp } from "./allocations.ts";
import { type KnownPool } from "./pool-cache.ts";
import { type ClaimedAddress } from "./types.ts";

/** An allocation with the subnet settings of its pool; undefined if it is of another pool or outside its ranges. */
export function addressOf(allocation: IpAllocation, pools: readonly KnownPool[]): ClaimedAddress | undefined {
    const ip = allocationIp(allocation);
    const pool = pools.find((known) => known.pool.name === allocation.spec.pool)?.pool;
    const subnet = pool?.subnetOf(ip);
    if (pool === undefined || subnet === undefined) return undefined;
    const { gateway, prefix, vlan } = subnet;
    return { ip, prefixLength: prefix.length, gateway, vlan, pool: pool.name };
}
