import { allocationName, type IpAllocation } from "@antrea/crd";
import { compareIp, parseIp, sameIp, type Family, type IpAddress, type RangeSet } from "@antrea/ip";

/** A pool of a StatefulSet's list, and the addresses it hands out. */
export interface ListedPool {
    readonly name: string;
    readonly family: Family;
    /** The addresses that the pool hands out. */
    readonly usable: RangeSet;
    /** True if one of its ranges contains the address, whether or not it is handed out. */
    covers(ip: IpAddress): boolean;
}

/** Input for planning the reservations of one StatefulSet (by namespace and name). */
export interface ReservationInput {
    /** The current StatefulSet; undefined if none of this name exists. */
    readonly set: LivingSet | undefined;
    /** The existing pools of its list, in list order. */
    readonly pools: readonly ListedPool[];
    /**
     * Names in its list that are not an existing pool. As their IP family is unknown, nothing is created while there
     * are any.
     */
    readonly unknownPools?: readonly string[];
    /** Addresses that pod-ips of its template requests. They are for one Pod: further ordinals get none. */
    readonly fixed: readonly IpAddress[];
    /** All allocations whose owner is the StatefulSet of this namespace and name, whatever its UID. */
    readonly allocations: readonly IpAllocation[];
    /**
     * True if its Pods may have this interface of another network than the Pod network. Agents claim the addresses of
     * such interfaces, which are kept for the ordinal; no new ones are planned. Default: always.
     */
    mayHaveInterface?(name: string): boolean;
    /**
     * Asked of each Reserved address for an interface of another network of which the ordinal's Pod has others in use:
     * true if it is released, since the Pod did not take it. An ADD takes one after the other, so this must have been so
     * for a while. Default: never.
     */
    isLeftOver?(allocation: IpAllocation): boolean;
    /** True if the address has an allocation of any owner. */
    isTaken(ip: IpAddress): boolean;
    /**
     * Returns the address of an allocation. Default: parses its text, and `planReservations` throws IpError if it is
     * invalid.
     */
    ipOf?(allocation: IpAllocation): IpAddress;
    /** Approximate limit of allocations that one plan creates. Default 1000. */
    readonly limit?: number;
}

/** The state of an existing StatefulSet that reservations are planned from. */
export interface LivingSet {
    readonly uid: string;
    /** `spec.replicas`; 1 if absent. */
    readonly replicas: number;
    /** `spec.ordinals.start`; 0 if absent. */
    readonly start: number;
    /**
     * Number of ordinals from `start` on that may get new addresses; default all. Existing addresses of others are
     * kept. With 0 nothing is created.
     */
    readonly reach?: number;
    /** True if it has a deletionTimestamp. */
    readonly deleting: boolean;
}

/** An allocation to create for an ordinal, in state Reserved. */
export interface NewReservation {
    readonly ip: IpAddress;
    readonly pool: string;
    readonly ordinal: number;
}

/** Ordinals of a StatefulSet for which no address was found, and where it was searched. */
export interface MissingReservations {
    /** Number of ordinals without an address. */
    readonly count: number;
    /** The lowest ones, at most 32. */
    readonly ordinals: readonly number[];
    /** IP families without a free address; empty if only pools that do not exist are the reason. */
    readonly families: readonly Family[];
    /** The pools that were searched, and those that do not exist. */
    readonly pools: readonly string[];
    readonly unknownPools: readonly string[];
}

/** The changes that bring the allocations of one StatefulSet to its desired state. */
export interface ReservationPlan {
    /**
     * Ordered by ordinal, all IP families of an ordinal together: if one cannot be created, the other must not be kept.
     */
    readonly create: readonly NewReservation[];
    /**
     * Allocations of an earlier StatefulSet of this name, whose owner UID must be replaced by that of the existing one.
     */
    readonly adopt: readonly IpAllocation[];
    /**
     * Reserved allocations that are no longer needed, and unused ones of an ordinal for which another IP family has no
     * free address.
     */
    readonly release: readonly IpAllocation[];
    /**
     * Those of `release` whose ordinal is still needed, but whose Pod could not use the address: its pool no
     * longer contains it, or is no longer in the list. The ordinal gets another address.
     */
    readonly givenUp: readonly IpAllocation[];
    /** Ordinals for which no address was found; undefined if there are none, or if the plan was limited (`more`). */
    readonly missing: MissingReservations | undefined;
    /** Ordinals without an address because they are beyond the set's `reach`; 0 if that is 0 or there are no pools. */
    readonly beyond: number;
    /** True if the plan was limited: apply it and plan again. */
    readonly more: boolean;
}

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

interface Allocation {
    readonly allocation: IpAllocation;
    readonly ip: IpAddress;
}

type AllocationsByFamily = ReadonlyMap<Family, IpAllocation>;

interface SortedAllocations {
    readonly kept: ReadonlyMap<number, AllocationsByFamily>;
    readonly spare: readonly IpAllocation[];
    /** Those of `spare` that their ordinal still needs. */
    readonly givenUp: readonly IpAllocation[];
}

/**
 * Determines which allocation each ordinal keeps, and which Reserved ones are not needed. Those in use by a Pod are
 * never spare.
 */
function sortAllocations(input: ReservationInput, set: LivingSet): SortedAllocations {
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

// One that was changed was in use, or belonged to an earlier set: its address is sticky.
function wasNeverChanged({ metadata }: IpAllocation): boolean {
    return metadata?.generation === 1;
}

function isReserved(allocation: IpAllocation): boolean {
    return allocation.spec.state === "Reserved";
}

type FreeAddress = Omit<NewReservation, "ordinal">;

/**
 * The free addresses of each IP family: the fixed one, or those of the listed pools in order. Each is returned once.
 */
class FreeAddresses {
    readonly #input: ReservationInput;
    readonly #sources = new Map<Family, Iterator<FreeAddress>>();
    readonly #next = new Map<Family, FreeAddress | undefined>();
    // Pools of a list may overlap.
    readonly #given = new Set<string>();

    constructor(input: ReservationInput) {
        this.#input = input;
    }

    /** Returns the address that `take` would return; undefined if none is free. */
    peek(family: Family): FreeAddress | undefined {
        if (!this.#next.has(family)) {
            const source = this.#sources.get(family) ?? this.#free(family);
            this.#sources.set(family, source);
            const { done, value } = source.next();
            this.#next.set(family, done === true ? undefined : value);
        }
        return this.#next.get(family);
    }

    take(family: Family): FreeAddress {
        const next = this.peek(family)!;
        this.#given.add(allocationName(next.ip));
        this.#next.delete(family);
        return next;
    }

    *#free(family: Family): Generator<FreeAddress, undefined> {
        const fixed = this.#input.fixed.find((ip) => ip.family === family);
        for (const { name, family: familyOfPool, usable } of this.#input.pools) {
            if (familyOfPool !== family) continue;
            for (const ip of fixed === undefined ? usable : [fixed].filter((only) => usable.has(only))) {
                if (!this.#given.has(allocationName(ip)) && !this.#input.isTaken(ip)) yield { ip, pool: name };
            }
        }
        return undefined;
    }
}
