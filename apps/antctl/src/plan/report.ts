import { type IpAllocation, type IpPool, type IpPoolUsage } from "@antrea/crd";
import { formatRangeSet, RangeSet, type IpRange } from "@antrea/ip";
import {
    checkPoolCreate,
    checkPoolUpdate,
    comparePools,
    poolUsage,
    readPool,
    saturate,
    type Pool,
    type PoolContext,
    type Refusal,
    type Verdict,
} from "@antrea/ipam";
import { holderText, type Allocation } from "../cluster/index.ts";
import { type PoolSet } from "../pools/index.ts";
import { type DryRun } from "./dry-run.ts";
import { type PlannedPool } from "./manifest.ts";
import { namedBy, references, type NamedBy, type Users } from "./users.ts";

/**
 * The effect of one pool of the files; `action` is by comparison with the pool of this name in the cluster, or before
 * it in the files.
 */
export interface PoolPlan {
    /** "" if the file has none. */
    readonly name: string;
    readonly action: "create" | "change" | "none";
    readonly refused: boolean;
    /** Refusals by Antrea's rules, the same as the webhook's. */
    readonly errors: readonly Refusal[];
    readonly warnings: readonly string[];
    /** The API server's answer to a dry run; `refused` is set by either verdict. */
    readonly server: DryRun;
    /** Other pools whose ranges overlap it. */
    readonly overlaps: readonly { readonly pool: string; readonly addresses: string }[];
    /**
     * Addresses that it would no longer assign, and those that it would newly assign, as `formatRangeSet` writes them;
     * "" for none.
     */
    readonly removed: string;
    readonly added: string;
    /** Allocations of the pool whose addresses it would no longer assign. */
    readonly fallOut: readonly { readonly address: string; readonly state: string; readonly holder: string }[];
    readonly namedBy: NamedBy;
    /**
     * In this cluster, before and after the change: no `before` for a new pool, no `after` for one with schema errors.
     */
    readonly usage: { readonly before?: IpPoolUsage; readonly after?: IpPoolUsage };
}

/** The report of `ipam plan`, as `-o json` prints it; `ignored` are the objects of the files that are no IPPools. */
export interface PlanReport {
    readonly pools: readonly PoolPlan[];
    readonly ignored: readonly string[];
}

/** What `planPool` computes the plan for one pool from. */
export interface PlanInput {
    readonly planned: PlannedPool;
    /** The pools of the cluster and the preceding ones of the file. */
    readonly pools: PoolSet;
    /** All allocations of the pool, of those that overlap it before or after, and of its new gateways. */
    readonly allocations: readonly Allocation[];
    readonly users: Users;
}

/**
 * The verdict of the rules for a pool, and who is affected; sends no request and never throws. The caller adds
 * `server`, and a refusal by it to `refused`.
 */
export function planPool({ planned, pools, allocations, users }: PlanInput): Omit<PoolPlan, "server"> {
    const { object } = planned;
    const name = object.metadata?.name ?? "";
    const { object: existing, pool: before } = pools.get(name) ?? {};
    const readable = planned.refusals.length === 0;
    const after = readable ? readPool(object) : undefined;
    const named = namedBy(users, name, before ?? after);
    const verdict: Verdict =
        after === undefined
            ? { errors: planned.refusals, warnings: [] }
            : judge(after, before, pools, allocations, references(named));
    const gone = before && after ? before.addresses.subtract(after.addresses) : RangeSet.empty;
    const fresh = after?.addresses.subtract(before?.addresses ?? RangeSet.empty) ?? RangeSet.empty;
    const later = readable ? pools.with(object) : undefined;
    const handedOut = after && later ? later.usable(later.get(name)?.pool ?? after) : RangeSet.empty;
    return {
        name,
        action: existing === undefined ? "create" : sameSpec(existing, object) ? "none" : "change",
        refused: verdict.errors.length > 0,
        errors: verdict.errors,
        warnings: [...verdict.warnings, ...(named.networks === undefined ? [networksUnread] : [])],
        overlaps: after === undefined ? [] : overlapsOf(after, pools),
        removed: formatRangeSet(gone),
        added: formatRangeSet(fresh.intersect(handedOut)),
        fallOut: allocations
            .filter((allocation) => allocation.pool === name && gone.has(allocation.ip))
            .map((allocation) => ({
                address: allocation.address,
                state: allocation.state,
                holder: holderText(allocation),
            })),
        namedBy: named,
        usage: {
            ...(before === undefined ? {} : { before: usageOf(pools.usable(before), allocations) }),
            ...(after === undefined || later === undefined ? {} : { after: usageOf(handedOut, allocations) }),
        },
    };
}

const networksUnread =
    "you may not list NetworkAttachmentDefinitions, so the networks that take addresses of it are not counted; get the permissions of docs/antctl.md";

function judge(
    planned: Pool,
    existing: Pool | undefined,
    pools: PoolSet,
    allocations: readonly Allocation[],
    named: readonly string[],
): Verdict {
    const context: PoolContext = {
        overlapping: (range) => pools.rangesIn(range),
        pool: (name) => pools.get(name)?.pool,
        // Known to the webhook, whose verdict is requested as well.
        clusterCidrs: [],
        exclusions: pools.exclusions,
        bridgedNodes: pools.nodes.filter(({ isBridged }) => isBridged).flatMap(({ addresses }) => addresses),
    };
    if (existing === undefined)
        return checkPoolCreate(planned, context, { allocations: allocations.map(toAllocation) });
    // Allocations of other pools count only if this pool would stop assigning their addresses, or names them as
    // gateways.
    const { allocationsIn, gateways } = comparePools(existing, planned).asks;
    const asked = allocations.filter(
        ({ pool, ip }) => pool === planned.name || allocationsIn.has(ip) || gateways.has(ip),
    );
    return checkPoolUpdate(existing, planned, context, { allocations: asked.map(toAllocation), references: named });
}

function rangesOf(pool: Pool): readonly IpRange[] {
    return pool.subnets.map(({ range }) => range);
}

function overlapsOf(after: Pool, pools: PoolSet): PoolPlan["overlaps"] {
    const own = RangeSet.of(rangesOf(after));
    return pools.all.flatMap(({ pool }) => {
        const common = RangeSet.of(rangesOf(pool)).intersect(own);
        if (pool.name === after.name || common.isEmpty) return [];
        return [{ pool: pool.name, addresses: formatRangeSet(common) }];
    });
}

function usageOf(usable: RangeSet, allocations: readonly Allocation[]): IpPoolUsage {
    const { total, used, reserved, free } = poolUsage(usable, allocations);
    return { total: saturate(total), used: saturate(used), reserved: saturate(reserved), free: saturate(free) };
}

function toAllocation({ name, address, pool, state, owner, pod }: Allocation): IpAllocation {
    return {
        metadata: { name },
        spec: { address, block: "", pool, state, owner, ...(pod === undefined ? {} : { pod }) },
    };
}

function sameSpec(a: IpPool, b: IpPool): boolean {
    return JSON.stringify(sorted(a.spec)) === JSON.stringify(sorted(b.spec));
}

function sorted(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(sorted);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
        Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, item]) => [key, sorted(item)]),
    );
}
