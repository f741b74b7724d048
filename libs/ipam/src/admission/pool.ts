import { formatRange, formatRangeSet, parseIp, RangeSet } from "@antrea/ip";
import { type Pool } from "../pool.ts";
import { type Refusal } from "../refusal.ts";
import { addedGateways, addedRanges } from "./added-ranges.ts";
import { foreignSubnetWarnings } from "./bridged.ts";
import { gatewaysInUse, gatewayWarnings } from "./gateways.ts";
import { hostBitWarnings } from "./host-bits.ts";
import { overlapsWithin, overlapsWithOthers } from "./overlaps.ts";
import { comparePools, newGateways, sameSpec, type PoolChange } from "./pool-change.ts";
import { type PoolContext } from "./pool-context.ts";
import { isUse, usersOf, type PoolUse } from "./pool-use.ts";
import { allowed, refused, type Verdict } from "./verdict.ts";

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
