import {
    compareRanges,
    formatRange,
    formatRangeSet,
    parseIp,
    quote,
    RangeSet,
    type IpAddress,
    type IpRange,
} from "@antrea/ip";
import { type Exclusions } from "../exclusions.ts";
import { type Pool, type PoolSubnet } from "../pool.ts";
import { type Refusal } from "../refusal.ts";
import { addedGateways, addedRanges, type AddedRangesContext } from "./added-ranges.ts";
import { foreignSubnetWarnings } from "./bridged.ts";
import { gatewaysInUse, gatewayWarnings } from "./gateways.ts";
import { hostBitWarnings } from "./host-bits.ts";
import { comparePools, newGateways, sameSpec, type PoolChange } from "./pool-change.ts";
import { isUse, usersOf, type PoolUse } from "./pool-use.ts";
import { allowed, refused, type Verdict } from "./verdict.ts";

/** Cluster state that the rules for IPPools need. */
export interface PoolContext extends AddedRangesContext {
    /**
     * Returns the ranges of stored pools that overlap a range, with the pool's name as key, such as a RangeIndex of all
     * pools does. Those of the pool itself are skipped.
     */
    overlapping(range: IpRange): readonly { readonly key: string; readonly range: IpRange }[];
    /** Returns the stored pool of this name. */
    pool(name: string): Pick<Pool, "subnetOf"> | undefined;
    /** Addresses that the cluster excludes from pools. */
    readonly exclusions: Pick<Exclusions, "nodeAddressesIn" | "podCidrs" | "serviceCidrs">;
    /** Addresses of the Nodes in bridging mode. Default: none. */
    readonly bridgedNodes?: readonly IpAddress[];
}

/**
 * Validates an IPPool that is created: its own refusals, overlaps within it and with stored pools, and addresses that
 * no pool may have are errors; addresses that the cluster uses, host bits and bridging mode are warnings. Throws
 * IpError for an allocation with an invalid address.
 *
 * @param use the allocations of the addresses that `newGateways` returns
 */
export function checkPoolCreate(pool: Pool, context: PoolContext, use: Pick<PoolUse, "allocations">): Verdict {
    const before = { ranges: RangeSet.empty, gateways: RangeSet.empty };
    return check({ pool, before, gateways: newGateways(pool) }, context, use);
}

interface Checked {
    readonly pool: Pool;
    /** The addresses that were written in the pool before. */
    readonly before: { readonly ranges: RangeSet; readonly gateways: RangeSet };
    /** Gateways whose allocations are checked. */
    readonly gateways: RangeSet;
}

function check({ pool, before, gateways }: Checked, context: PoolContext, use: Pick<PoolUse, "allocations">): Verdict {
    const { subnets: ranges, refusals } = pool;
    const warnings = [
        ...emptyWarning(pool, context),
        ...clusterWarnings(pool, context),
        ...gatewayWarnings(ranges, context),
    ];
    return {
        errors: [
            ...refusals,
            ...overlapsWithin(ranges),
            ...overlapsWithOthers(pool, context),
            ...addedRanges(ranges, before.ranges, context),
            ...addedGateways(ranges, before.gateways, context),
            ...gatewaysInUse(ranges, gateways, context, use),
        ],
        warnings:
            refusals.length > 0
                ? warnings
                : [
                      ...warnings,
                      ...hostBitWarnings(ranges),
                      ...foreignSubnetWarnings(ranges, context.bridgedNodes ?? []),
                  ],
    };
}

/**
 * Validates a change of an IPPool: by the rules of `checkPoolCreate`, and by its effect on allocated addresses
 * (`PoolChange`). One that leaves the spec unchanged is always allowed.
 *
 * @param use what `comparePools` of the two asks for; `notInUse` if it asks for nothing
 */
export function checkPoolUpdate(old: Pool, pool: Pool, context: PoolContext, use: PoolUse): Verdict {
    if (sameSpec(old, pool)) return allowed;
    const change = comparePools(old, pool);
    // A gateway that was an address of the pool itself is reported with the other addresses that are withdrawn.
    const gateways = change.asks.gateways.subtract(change.uncovered);
    const before = {
        ranges: RangeSet.of(old.subnets.map(({ range }) => range)),
        gateways: RangeSet.ofAddresses(old.subnets.map(({ gateway }) => gateway)),
    };
    const { errors, warnings } = check({ pool, before, gateways }, context, use);
    // Which addresses an invalid spec withdraws is unknown.
    if (pool.refusals.length > 0) return { errors, warnings };
    return {
        errors: [...errors, ...change.refusals, ...refusedInUse(change, use, old.name)],
        warnings,
    };
}

/**
 * Validates the deletion of an IPPool: rejected while an address is allocated or reserved, unless for a Node or as a
 * gateway (`isUse`); annotations do not matter.
 *
 * @param use the allocations whose `spec.pool` is this pool, which is not checked; if it is only a part of them
 *     (`isPart`), it has one that `isUse`, if any
 */
export function checkPoolDelete(pool: Pick<Pool, "name">, use: Omit<PoolUse, "references">): Verdict {
    if (!use.allocations.some(isUse)) return allowed;
    const rule = `cannot be deleted while its addresses are in use: ${usersOf({ ...use, references: [] })}; delete these users first`;
    return refused({ path: "metadata.name", value: pool.name, rule });
}

const inUseNext = "delete these users first, or create another IPPool";

function refusedInUse(change: PoolChange, use: PoolUse, name: string): readonly Refusal[] {
    const refusals: Refusal[] = [];
    // An allocation of another pool is in use, but does not hold this pool.
    const ofPool = { ...use, allocations: use.allocations.filter(({ spec }) => spec.pool === name) };
    const inUse = ofPool.references.length > 0 || ofPool.allocations.some(isUse);
    if (!change.removed.isEmpty && inUse) {
        const value = formatRangeSet(change.removed);
        const rule = `cannot be taken out of a pool that is in use: ${usersOf(ofPool, change.removed)}; ${inUseNext}`;
        refusals.push({ path: "spec.ipRanges", value, rule });
    }
    if (inUse) {
        for (const { path, value, rule } of change.vlans) {
            refusals.push({ path, value, rule: `${rule} while the pool is in use: ${usersOf(ofPool)}; ${inUseNext}` });
        }
    }
    const allocations = use.allocations.filter(
        (allocation) => isUse(allocation) && change.uncovered.has(parseIp(allocation.spec.address)),
    );
    if (allocations.length > 0) {
        const value = formatRangeSet(change.uncovered);
        const users = usersOf({ allocations, references: [] });
        const rule = `would no longer be handed out, as edge of a CIDR or as gateway, and is in use: ${users}; ${inUseNext}`;
        refusals.push({ path: "spec.ipRanges", value, rule });
    }
    return refusals;
}

// Each range is compared with the preceding one that reaches furthest, so that many equal ranges cost no more.
function overlapsWithin(ranges: readonly PoolSubnet[]): readonly Refusal[] {
    const refusals: Refusal[] = [];
    const order = new Map(ranges.map((range, at) => [range, at]));
    const place = (range: PoolSubnet): number => order.get(range) ?? 0;
    let furthest: PoolSubnet | undefined;
    for (const range of [...ranges].sort((a, b) => compareRanges(a.range, b.range))) {
        if (furthest !== undefined && range.range.first <= furthest.range.last) {
            const [early, late] = place(furthest) < place(range) ? [furthest, range] : [range, furthest];
            const common = formatRangeSet(commonOf(early.range, [late.range]));
            const rule = `overlaps ${early.path} (${formatRange(early.range)}): both have ${common}`;
            refusals.push({ path: late.path, value: formatRange(late.range), rule });
        }
        if (furthest === undefined || furthest.range.last < range.range.last) furthest = range;
    }
    return refusals;
}

function overlapsWithOthers(pool: Pool, context: PoolContext): readonly Refusal[] {
    return pool.subnets.flatMap(({ path, range }) => {
        const others = new Map<string, IpRange[]>();
        for (const other of context.overlapping(range)) {
            if (other.key === pool.name) continue;
            others.set(other.key, [...(others.get(other.key) ?? []), other.range]);
        }
        return [...others].map(([name, theirs]) => {
            const rule = `overlaps IPPool ${quote(name)}: both have ${formatRangeSet(commonOf(range, theirs))}`;
            return { path, value: formatRange(range), rule };
        });
    });
}

function commonOf(range: IpRange, others: readonly IpRange[]): RangeSet {
    return RangeSet.of([range]).intersect(RangeSet.of(others));
}

function clusterWarnings(pool: Pool, { exclusions }: PoolContext): readonly string[] {
    const kinds = [
        { what: "addresses of Nodes", set: exclusions.nodeAddressesIn(pool) },
        { what: "podCIDRs of Nodes", set: exclusions.podCidrs },
        { what: "Service CIDRs", set: exclusions.serviceCidrs },
    ];
    return pool.subnets.flatMap(({ path, range }) =>
        kinds.flatMap(({ what, set }) => {
            const common = set.intersect(RangeSet.of([range]));
            if (common.isEmpty) return [];
            return [
                `${path} ${formatRange(range)} touches ${what}, which are never handed out: ${formatRangeSet(common)}`,
            ];
        }),
    );
}

function emptyWarning(pool: Pool, { exclusions }: PoolContext): readonly string[] {
    if (pool.refusals.length > 0) return [];
    const { podCidrs, serviceCidrs } = exclusions;
    const nodeAddresses = exclusions.nodeAddressesIn(pool);
    if (!pool.addresses.subtract(nodeAddresses).subtract(podCidrs).subtract(serviceCidrs).isEmpty) return [];
    return [
        "spec.ipRanges: the pool has no address to hand out: gateways, edges of a CIDR and addresses that the cluster uses are all that is in it",
    ];
}
