import { formatIp, type IpAddress } from "@antrea/ip";
import { maxNodeAddresses, nodeAddressesIn, nodeAddressesOf } from "@antrea/ipam";
import { type Node } from "@antrea/kube";
import { type PoolCache } from "../../platform/pool-cache/index.ts";

/** An address in the ranges of the pool of this name. */
export interface PoolAddress {
    readonly ip: IpAddress;
    readonly pool: string;
}

/**
 * Whether the Node reports the address, and the pool has it in a range. False without a Node or pool. Pure function.
 */
export function isReservable(
    { ip, pool }: PoolAddress,
    node: Node | undefined,
    pools: Pick<PoolCache, "covering">,
): boolean {
    if (node === undefined) return false;
    const text = formatIp(ip);
    return nodeAddressesOf(node).some((each) => formatIp(each) === text) && pools.covering(ip).includes(pool);
}

/**
 * The addresses that pools do not assign because of the Node, by address as text: up to `maxNodeAddresses` for each
 * pool, and its first address even beyond that. Existing reservations stay as long as the Node reports the address,
 * regardless of the limit.
 *
 * @param existing all reservations of the Node, also those that are to be released: they count until they are gone
 */
export function desiredAddresses(
    node: Node,
    existing: readonly PoolAddress[],
    pools: Pick<PoolCache, "covering" | "get">,
): ReadonlyMap<string, PoolAddress> {
    const desired = new Map<string, PoolAddress>();
    for (const one of existing) if (isReservable(one, node, pools)) desired.set(formatIp(one.ip), one);
    const all = nodeAddressesOf(node);
    const first = new Map(all.map((ip) => [ip, pools.covering(ip)[0]]));
    for (const pool of new Set(first.values())) {
        const meaning = pool === undefined ? undefined : pools.get(pool);
        if (pool === undefined || meaning === undefined) continue;
        const held = new Set(existing.filter((one) => one.pool === pool).map(({ ip }) => formatIp(ip)));
        for (const [at, ip] of nodeAddressesIn(meaning, all).kept.entries()) {
            if (first.get(ip) !== pool) continue;
            const text = formatIp(ip);
            if (!held.has(text) && held.size >= maxNodeAddresses + (at === 0 ? 1 : 0)) continue;
            held.add(text);
            if (!desired.has(text)) desired.set(text, { ip, pool });
        }
    }
    return desired;
}
