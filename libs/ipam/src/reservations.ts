import { type IpAllocation } from "@antrea/crd";
import { type Family } from "@antrea/ip";
import { FreeAddresses } from "./free-addresses.ts";
import { isReserved, sortAllocations, wasNeverChanged, type AllocationsByFamily } from "./kept-allocations.ts";
import {
    type LivingSet,
    type MissingReservations,
    type NewReservation,
    type ReservationInput,
    type ReservationPlan,
} from "./reservation-plan.ts";

const defaultLimit = 1000;
const listedOrdinals = 32;

/**
 * Plans the reservations of one StatefulSet: for each ordinal within reach, lowest first, one address of each IP family
 * of its pools, from the first pool of the list that has a free one. Existing addresses are kept while its annotations
 * permit them. Without a set, or for one being deleted, all Reserved are released. Pure and idempotent: after a plan
 * was applied, the next one is empty, unless addresses became free or the plan was limited.
 */
export function planReservations(input: ReservationInput): ReservationPlan {
    const { set, allocations } = input;
    if (set === undefined || set.deleting) {
        const release = allocations.filter(isReserved);
        return { create: [], adopt: [], release, givenUp: [], missing: undefined, beyond: 0, more: false };
    }
    const ofNetworks = allocations.filter(({ spec }) => spec.owner.interface !== undefined);
    const own = ofNetworks.length === 0 ? input : { ...input, allocations: allocations.filter(isOfPodNetwork) };
    const { kept, spare, givenUp } = sortAllocations(own, set);
    const filled = fill(own, set, kept);
    const inUse = new Set(ofNetworks.filter((one) => !isReserved(one)).map(interfaceOf));
    const unneeded = ofNetworks.filter((one) => isReserved(one) && !isKept(one, input, set, inUse));
    const release = [...spare, ...filled.halves, ...unneeded];
    const released = new Set(release);
    const adopt = [...[...kept.values()].flatMap((families) => [...families.values()]), ...ofNetworks].filter(
        (allocation) => allocation.spec.owner.uid !== set.uid && !released.has(allocation),
    );
    const { create, missing, more } = filled;
    return { create, adopt, release, givenUp, missing, beyond: beyondReach(input, set, kept), more };
}

function isOfPodNetwork({ spec }: IpAllocation): boolean {
    return spec.owner.interface === undefined;
}

/** Whether a Pod of the set may take the address again: of its ordinal, on its interface, and not left by it. */
function isKept(
    allocation: IpAllocation,
    input: ReservationInput,
    { start, replicas }: LivingSet,
    inUse: ReadonlySet<string>,
): boolean {
    const { mayHaveInterface = () => true, isLeftOver = () => false } = input;
    const { index = -1, interface: name = "" } = allocation.spec.owner;
    if (index < start || index >= start + replicas || !mayHaveInterface(name)) return false;
    return !inUse.has(interfaceOf(allocation)) || !isLeftOver(allocation);
}

/** Ordinal and interface that an allocation is kept for. */
function interfaceOf({ spec: { owner } }: IpAllocation): string {
    return `${owner.index} ${owner.interface}`;
}

/** Returns how many ordinals of the set are within its reach. */
function within({ replicas, reach = replicas }: LivingSet): number {
    return Math.min(replicas, reach);
}

function beyondReach(input: ReservationInput, set: LivingSet, kept: ReadonlyMap<number, unknown>): number {
    // In these cases it takes no address from pools.
    if (input.pools.length === 0 || set.reach === 0) return 0;
    const end = set.start + within(set);
    let known = 0;
    if (set.replicas > within(set)) for (const ordinal of kept.keys()) if (ordinal >= end) known += 1;
    return set.replicas - within(set) - known;
}

interface Filled {
    readonly create: readonly NewReservation[];
    /** Allocations of ordinals that have one IP family and find no address of the other. */
    readonly halves: readonly IpAllocation[];
    readonly missing: MissingReservations | undefined;
    readonly more: boolean;
}

function fill(input: ReservationInput, set: LivingSet, kept: ReadonlyMap<number, AllocationsByFamily>): Filled {
    const { pools, unknownPools = [], limit = defaultLimit } = input;
    const families = [...new Set(pools.map(({ family }) => family))];
    if ((families.length === 0 && unknownPools.length === 0) || set.reach === 0) {
        return { create: [], halves: [], missing: undefined, more: false };
    }
    const search = new FreeAddresses(input);
    const create: NewReservation[] = [];
    const halves: IpAllocation[] = [];
    const complete = new Set<number>();
    const exhausted = new Set<Family>();
    let more = false;
    for (const ordinal of ordinalsToFill(set, kept, () => exhausted.size > 0 || unknownPools.length > 0)) {
        const has = kept.get(ordinal);
        const lacking = families.filter((family) => has?.has(family) !== true);
        if (lacking.length === 0) {
            complete.add(ordinal);
            continue;
        }
        if (unknownPools.length > 0) continue;
        if (create.length >= limit) {
            more = true;
            break;
        }
        const barren = lacking.filter((family) => search.peek(family) === undefined);
        if (barren.length === 0) {
            create.push(...lacking.map((family) => ({ ...search.take(family), ordinal })));
            complete.add(ordinal);
        } else {
            barren.forEach((family) => exhausted.add(family));
            halves.push(...unusedHalves(has));
        }
    }
    return { create, halves, missing: more ? undefined : missingOf(set, complete, [...exhausted], input), more };
}

/**
 * All ordinals within reach, lowest first; once no address is left for those without one, only those that have some.
 */
function* ordinalsToFill(
    set: LivingSet,
    kept: ReadonlyMap<number, AllocationsByFamily>,
    isBarren: () => boolean,
): Generator<number> {
    let ordinal = set.start;
    for (const end = set.start + within(set); ordinal < end && !isBarren(); ordinal += 1) yield ordinal;
    yield* [...kept.keys()].filter((other) => other >= ordinal).sort((a, b) => a - b);
}

// A never changed allocation is half of a reservation that was interrupted; its address can serve others.
function unusedHalves(has: AllocationsByFamily | undefined): readonly IpAllocation[] {
    const allocations = [...(has?.values() ?? [])];
    return allocations.every((allocation) => isReserved(allocation) && wasNeverChanged(allocation)) ? allocations : [];
}

function missingOf(
    set: LivingSet,
    complete: ReadonlySet<number>,
    families: readonly Family[],
    { pools, unknownPools = [] }: ReservationInput,
): MissingReservations | undefined {
    const end = set.start + within(set);
    let count = within(set);
    for (const ordinal of complete) if (ordinal < end) count -= 1;
    if (count <= 0) return undefined;
    const ordinals: number[] = [];
    for (let ordinal = set.start; ordinals.length < Math.min(count, listedOrdinals); ordinal += 1) {
        if (!complete.has(ordinal)) ordinals.push(ordinal);
    }
    const searched = pools.filter(({ family }) => families.includes(family)).map(({ name }) => name);
    return { count, ordinals, families, pools: [...searched, ...unknownPools], unknownPools };
}
