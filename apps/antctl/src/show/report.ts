import { isOfPods, type Condition, type IpPoolUsage } from "@antrea/crd";
import { formatIp, formatPrefix, formatRange, formatRangeSet, type RangeSet } from "@antrea/ip";
import { poolUsage, saturate, type Pool } from "@antrea/ipam";
import { ownerText, type Allocation } from "../cluster/index.ts";
import { type PoolEntry, type PoolSet } from "../pools/index.ts";

/** One pool of `ipam show`, as `-o json` prints it: what antrea-controller last wrote into its status. */
export interface PoolSummary {
    readonly name: string;
    /** 4 or 6; 4 for a pool without a valid one. */
    readonly ipVersion: number;
    /** As last written by the controller; absent until then. */
    readonly usage?: IpPoolUsage;
    readonly conditions: readonly Condition[];
}

/**
 * The summary of a pool from its status, without reading allocations; `usage` is absent and `conditions` are empty
 * until the controller has written them.
 */
export function summaryOf({ object, pool }: PoolEntry): PoolSummary {
    return {
        name: pool.name,
        ipVersion: pool.family,
        ...(object.status?.usage === undefined ? {} : { usage: object.status.usage }),
        conditions: object.status?.conditions ?? [],
    };
}

/**
 * One range of a pool in `ipam show POOL`, as text: `10.2.0.10-10.2.0.99`, subnet `10.2.0.0/24`, VLAN 0 for untagged;
 * and the numbers of its addresses by state.
 */
export interface RangeReport {
    readonly addresses: string;
    readonly subnet: string;
    readonly gateway: string;
    readonly vlan: number;
    /** Number of addresses that it assigns in this cluster. */
    readonly total: number;
    readonly used: number;
    readonly reserved: number;
}

/**
 * The allocations of one owner, or of all Pods of a Namespace that own theirs directly: owner `StatefulSet/db` or
 * `Pods`, Namespace "" for a Node or a gateway.
 */
export interface UserReport {
    readonly namespace: string;
    readonly owner: string;
    readonly used: number;
    readonly reserved: number;
}

/** The report of `ipam show POOL`, computed from the allocations, as `-o json` prints it. */
export interface PoolReport extends PoolSummary {
    readonly usage: IpPoolUsage;
    readonly created?: string;
    /** Parts of the pool that are unusable. */
    readonly problems: readonly string[];
    readonly ranges: readonly RangeReport[];
    /**
     * Addresses of its ranges that are never assigned because the cluster uses them, as `formatRangeSet` writes them;
     * "" for none.
     */
    readonly withheld: string;
    /** Allocations of Pods and StatefulSets whose address the pool does not assign. */
    readonly outside: number;
    /** Largest first. */
    readonly users: readonly UserReport[];
    readonly reservations: readonly { readonly address: string; readonly owner: string; readonly since?: string }[];
}

/**
 * The report of one pool. `allocations` are those of the pool and of those that overlap it, which share its
 * addresses.
 */
export function poolReport(pools: PoolSet, entry: PoolEntry, allocations: readonly Allocation[]): PoolReport {
    const { object, pool } = entry;
    const usable = pools.usable(pool);
    const inside = allocations.filter(({ ip }) => usable.has(ip));
    const created = object.metadata?.creationTimestamp;
    return {
        ...summaryOf(entry),
        usage: usageOf(usable, inside),
        ...(created === undefined ? {} : { created }),
        problems: pool.problems,
        ranges: rangesOf(pool, usable, inside),
        withheld: formatRangeSet(pool.addresses.subtract(usable)),
        outside: allocations.filter(
            (allocation) => allocation.pool === pool.name && isOfPods(allocation.owner) && !usable.has(allocation.ip),
        ).length,
        users: usersOf(inside),
        reservations: inside
            .filter(({ state }) => state === "Reserved")
            .map(({ address, owner, since }) => ({
                address,
                owner: ownerText(owner),
                ...(since === undefined ? {} : { since }),
            })),
    };
}

function usageOf(usable: RangeSet, allocations: readonly Allocation[]): IpPoolUsage {
    const { total, used, reserved, free } = poolUsage(usable, allocations);
    return { total: saturate(total), used: saturate(used), reserved: saturate(reserved), free: saturate(free) };
}

function rangesOf(pool: Pool, usable: RangeSet, allocations: readonly Allocation[]): readonly RangeReport[] {
    const byRange = Map.groupBy(allocations, ({ ip }) => pool.subnetOf(ip)?.path);
    return pool.subnets.map(({ path, range, prefix, gateway, vlan, addresses }) => {
        const { total, used, reserved } = usageOf(addresses.intersect(usable), byRange.get(path) ?? []);
        return {
            addresses: formatRange(range),
            subnet: formatPrefix(prefix),
            gateway: formatIp(gateway),
            vlan,
            total,
            used,
            reserved,
        };
    });
}

/** The largest users: each StatefulSet and Node, and the Pods of each Namespace together. */
function usersOf(allocations: readonly Allocation[]): readonly UserReport[] {
    const users = new Map<string, { namespace: string; owner: string; used: number; reserved: number }>();
    for (const { owner, state } of allocations) {
        const namespace = owner.namespace ?? "";
        const name = owner.kind === "Pod" ? "Pods" : `${owner.kind}/${owner.name ?? "?"}`;
        const key = `${namespace}/${name}`;
        const user = users.get(key) ?? { namespace, owner: name, used: 0, reserved: 0 };
        if (state === "Allocated") user.used += 1;
        else user.reserved += 1;
        users.set(key, user);
    }
    const size = (user: UserReport): number => user.used + user.reserved;
    return [...users.values()].sort(
        (a, b) => size(b) - size(a) || (a.namespace + a.owner < b.namespace + b.owner ? -1 : 1),
    );
}
