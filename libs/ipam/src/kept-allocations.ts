import { type IpAllocation } from "@antrea/crd";
import { compareIp, parseIp, sameIp, type Family, type IpAddress } from "@antrea/ip";
import { type LivingSet, type ReservationInput } from "./reservation-plan.ts";

interface Allocation {
    readonly allocation: IpAllocation;
    readonly ip: IpAddress;
}

/** The allocations of one ordinal. */
export type AllocationsByFamily = ReadonlyMap<Family, IpAllocation>;

interface SortedAllocations {
    readonly kept: ReadonlyMap<number, AllocationsByFamily>;
    readonly spare: readonly IpAllocation[];
    /** Those of `spare` that their ordinal still needs. */
    readonly givenUp: readonly IpAllocation[];
}

/**
 * Sorts the allocations of a StatefulSet. `kept`: one per ordinal and IP family, the best by `compareOfOrdinal` of those
 * that the set wants. `spare`: the Reserved ones that are not kept and may be deleted. `givenUp`: those of `spare` whose
 * ordinal still needs an address, which its pools no longer contain. Allocations in use by a Pod are never spare. Throws
 * IpError for an address that is not valid.
 */
export function sortAllocations(input: ReservationInput, set: LivingSet): SortedAllocations {
    const kept = new Map<number, Map<Family, IpAllocation>>();
    const spare: IpAllocation[] = [];
    const givenUp: IpAllocation[] = [];
    for (const { allocation, ip } of inOrder(input)) {
        const ordinal = allocation.spec.owner.index ?? -1;
        const families = kept.get(ordinal) ?? new Map<Family, IpAllocation>();
        const isWanted =
            ordinal >= set.start &&
            ordinal < set.start + set.replicas &&
            isAskedFor({ allocation, ip }, input, set) &&
            !families.has(ip.family);
        const canBeHad = !isReserved(allocation) || isInListedPool({ allocation, ip }, input);
        if (isWanted && canBeHad) kept.set(ordinal, families.set(ip.family, allocation));
        else if (isReserved(allocation)) spare.push(allocation);
        if (isWanted && !canBeHad) givenUp.push(allocation);
    }
    return { kept, spare, givenUp };
}

// Only the order of allocations of one ordinal matters, and mostly there is one: so sorting is rarely needed.
function* inOrder({
    allocations,
    ipOf = ({ spec }) => parseIp(spec.address),
}: ReservationInput): Generator<Allocation> {
    const read = allocations.map((allocation): Allocation => ({ allocation, ip: ipOf(allocation) }));
    for (const ofOrdinal of Map.groupBy(read, ({ allocation }) => allocation.spec.owner.index).values()) {
        yield* ofOrdinal.length === 1
            ? ofOrdinal
            : ofOrdinal.sort((a, b) => compareOfOrdinal(a.allocation, b.allocation));
    }
}

function isAskedFor({ allocation, ip }: Allocation, input: ReservationInput, set: LivingSet): boolean {
    if (allocation.spec.owner.uid !== set.uid && !isListed(allocation, input)) return false;
    return input.fixed.every((address) => address.family !== ip.family || sameIp(address, ip));
}

function isListed({ spec: { pool } }: IpAllocation, { pools, unknownPools = [] }: ReservationInput): boolean {
    return pools.some(({ name }) => name === pool) || unknownPools.includes(pool);
}

/** True if a Pod that names these pools can get the address. An address in use is kept in any case. */
function isInListedPool({ allocation, ip }: Allocation, input: ReservationInput): boolean {
    const pool = input.pools.find(({ name }) => name === allocation.spec.pool);
    // The ranges of a pool that does not exist now are unknown.
    return pool === undefined ? isListed(allocation, input) : pool.covers(ip);
}

/**
 * Comparison function for allocations of one ordinal and IP family, best first: one in use by a Pod, then one that was
 * changed after its creation (its address was in use, so it is sticky), then the older one.
 */
export function compareOfOrdinal(a: IpAllocation, b: IpAllocation): number {
    const order =
        Number(isReserved(a)) - Number(isReserved(b)) || Number(wasNeverChanged(a)) - Number(wasNeverChanged(b));
    if (order !== 0) return order;
    const [early, late] = [a.metadata?.creationTimestamp ?? "", b.metadata?.creationTimestamp ?? ""];
    if (early !== late) return early < late ? -1 : 1;
    return compareIp(parseIp(a.spec.address), parseIp(b.spec.address));
}

/** One that was changed was in use, or belonged to an earlier set: its address is sticky. */
export function wasNeverChanged({ metadata }: IpAllocation): boolean {
    return metadata?.generation === 1;
}

/** Whether an allocation is kept for an owner and in use by no Pod. */
export function isReserved(allocation: IpAllocation): boolean {
    return allocation.spec.state === "Reserved";
}
