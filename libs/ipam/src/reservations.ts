import { allocationName, type IpAllocation } from "@antrea/crd";
import { compareIp, parseIp, sameIp, type Family, type IpAddress, type RangeSet } from "@antrea/ip";

/** A pool of a StatefulSet's list, and what it hands out. */
export interface ListedPool {
    readonly name: string;
    readonly family: Family;
    readonly usable: RangeSet;
    /** Whether the address is written in one of its ranges, handed out now or not. */
    covers(ip: IpAddress): boolean;
}

/** What the reservations of one StatefulSet, by namespace and name, are planned from. */
export interface ReservationInput {
    /** The StatefulSet as it is; undefined when there is none of this name. */
    readonly set: LivingSet | undefined;
    /** The pools of its list that exist, in list order. */
    readonly pools: readonly ListedPool[];
    /** Names of its list that no pool has: nothing is created before they exist, their family is not known. */
    readonly unknownPools?: readonly string[];
    /** The addresses that its template's pod-ips asks for. They are one Pod's: further ordinals go without. */
    readonly fixed: readonly IpAddress[];
    /** All claims whose owner is the StatefulSet of this namespace and name, whatever its UID. */
    readonly claims: readonly IpAllocation[];
    /** Whether there is a claim of the address, whoever has it. */
    isTaken(ip: IpAddress): boolean;
    /** The address of a claim; by default its text is parsed. */
    ipOf?(claim: IpAllocation): IpAddress;
    /** About how many claims one plan creates at most; default 1,000. */
    readonly limit?: number;
}

export interface LivingSet {
    readonly uid: string;
    /** `spec.replicas`, 1 when absent. */
    readonly replicas: number;
    /** `spec.ordinals.start`, 0 when absent. */
    readonly start: number;
    /**
     * How many ordinals, from `start` on, may be given new addresses; default all. What others have they keep. With 0
     * nothing is created.
     */
    readonly reach?: number;
    /** Whether it has a deletionTimestamp. */
    readonly deleting: boolean;
}

/** A claim to create for an ordinal. */
export interface NewReservation {
    readonly ip: IpAddress;
    readonly pool: string;
    readonly ordinal: number;
}

/** Ordinals that go without. */
export interface MissingReservations {
    readonly count: number;
    /** The lowest ones, at most 32. */
    readonly ordinals: readonly number[];
    /** The families that they find no address of; none when only pools that do not exist are in the way. */
    readonly families: readonly Family[];
    /** The pools that were searched, and those that do not exist. */
    readonly pools: readonly string[];
    readonly unknownPools: readonly string[];
}

/** What brings the claims of one StatefulSet to what it asks for. */
export interface ReservationPlan {
    /** By ordinal, all families of an ordinal together: when one cannot be created, the other is not to be kept. */
    readonly create: readonly NewReservation[];
    /** Claims of a StatefulSet of this name that is no more, whose owner UID is to be that of the living one. */
    readonly adopt: readonly IpAllocation[];
    /** Claims that nobody asks for and no Pod uses. */
    readonly release: readonly IpAllocation[];
    /**
     * Those of `release` that are given up although their ordinal is asked for: its Pod could not have the address, which
     * its pool does not have any more, or whose pool is not in the list any more. The ordinal gets another address.
     */
    readonly givenUp: readonly IpAllocation[];
    readonly missing: MissingReservations | undefined;
    /** How many ordinals have no address since they are beyond the set's `reach`. */
    readonly beyond: number;
    /** Whether the plan was cut at its limit: carry it out and plan again. */
    readonly more: boolean;
}

const defaultLimit = 1000;
const listedOrdinals = 32;

/**
 * Plans the reservations of one StatefulSet: an address of each family of its pools for each ordinal, lowest ordinal
 * first, from the first pool of the list that has one free. What an ordinal has it keeps. Pure, and settled: a plan
 * made after one was carried out is empty, unless addresses came free or the plan was cut.
 */
export function planReservations(input: ReservationInput): ReservationPlan {
    const { set, claims } = input;
    if (set === undefined || set.deleting) {
        const release = claims.filter(isReserved);
        return { create: [], adopt: [], release, givenUp: [], missing: undefined, beyond: 0, more: false };
    }
    const { kept, spare, givenUp } = sortClaims(input, set);
    const filled = fill(input, set, kept);
    const release = [...spare, ...filled.halves];
    const released = new Set(release);
    const adopt = [...kept.values()]
        .flatMap((families) => [...families.values()])
        .filter((claim) => claim.spec.owner.uid !== set.uid && !released.has(claim));
    const { create, missing, more } = filled;
    return { create, adopt, release, givenUp, missing, beyond: beyondReach(input, set, kept), more };
}

interface Claim {
    readonly claim: IpAllocation;
    readonly ip: IpAddress;
}

type ClaimsByFamily = ReadonlyMap<Family, IpAllocation>;

interface SortedClaims {
    readonly kept: ReadonlyMap<number, ClaimsByFamily>;
    readonly spare: readonly IpAllocation[];
    /** Of the spare ones those that were their ordinal's. */
    readonly givenUp: readonly IpAllocation[];
}

/** Which claim each ordinal keeps, and which Reserved ones nobody asks for. Claims that a Pod uses are never spare. */
function sortClaims(input: ReservationInput, set: LivingSet): SortedClaims {
    const kept = new Map<number, Map<Family, IpAllocation>>();
    const spare: IpAllocation[] = [];
    const givenUp: IpAllocation[] = [];
    for (const { claim, ip } of inOrder(input)) {
        const ordinal = claim.spec.owner.index ?? -1;
        const families = kept.get(ordinal) ?? new Map<Family, IpAllocation>();
        const isWanted =
            ordinal >= set.start &&
            ordinal < set.start + set.replicas &&
            isAskedFor({ claim, ip }, input, set) &&
            !families.has(ip.family);
        const canBeHad = !isReserved(claim) || isInListedPool({ claim, ip }, input);
        if (isWanted && canBeHad) kept.set(ordinal, families.set(ip.family, claim));
        else if (isReserved(claim)) spare.push(claim);
        if (isWanted && !canBeHad) givenUp.push(claim);
    }
    return { kept, spare, givenUp };
}

// Claims of one ordinal only have an order that matters, and mostly there is one: so many claims need no sorting.
function* inOrder({ claims, ipOf = ({ spec }) => parseIp(spec.address) }: ReservationInput): Generator<Claim> {
    const read = claims.map((claim): Claim => ({ claim, ip: ipOf(claim) }));
    for (const ofOrdinal of Map.groupBy(read, ({ claim }) => claim.spec.owner.index).values()) {
        yield* ofOrdinal.length === 1 ? ofOrdinal : ofOrdinal.sort((a, b) => compareOfOrdinal(a.claim, b.claim));
    }
}

/** How many ordinals of the set are within its reach. */
function within({ replicas, reach = replicas }: LivingSet): number {
    return Math.min(replicas, reach);
}

function beyondReach(input: ReservationInput, set: LivingSet, kept: ReadonlyMap<number, unknown>): number {
    // It takes no address from pools.
    if (input.pools.length === 0 || set.reach === 0) return 0;
    const end = set.start + within(set);
    let known = 0;
    if (set.replicas > within(set)) for (const ordinal of kept.keys()) if (ordinal >= end) known += 1;
    return set.replicas - within(set) - known;
}

function isAskedFor({ claim, ip }: Claim, input: ReservationInput, set: LivingSet): boolean {
    if (claim.spec.owner.uid !== set.uid && !isListed(claim, input)) return false;
    return input.fixed.every((address) => address.family !== ip.family || sameIp(address, ip));
}

function isListed({ spec: { pool } }: IpAllocation, { pools, unknownPools = [] }: ReservationInput): boolean {
    return pools.some(({ name }) => name === pool) || unknownPools.includes(pool);
}

/** Whether a Pod that names these pools can be given the address. What a Pod uses it keeps in any case. */
function isInListedPool({ claim, ip }: Claim, input: ReservationInput): boolean {
    const pool = input.pools.find(({ name }) => name === claim.spec.pool);
    // Of a pool that is gone for now nobody knows its ranges.
    return pool === undefined ? isListed(claim, input) : pool.covers(ip);
}

interface Filled {
    readonly create: readonly NewReservation[];
    /** Claims of one family of ordinals that find none of the other. */
    readonly halves: readonly IpAllocation[];
    readonly missing: MissingReservations | undefined;
    readonly more: boolean;
}

function fill(input: ReservationInput, set: LivingSet, kept: ReadonlyMap<number, ClaimsByFamily>): Filled {
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

/** All ordinals within reach from the lowest, and, once no address is left for those that have none, those that have some. */
function* ordinalsToFill(
    set: LivingSet,
    kept: ReadonlyMap<number, ClaimsByFamily>,
    isBarren: () => boolean,
): Generator<number> {
    let ordinal = set.start;
    for (const end = set.start + within(set); ordinal < end && !isBarren(); ordinal += 1) yield ordinal;
    yield* [...kept.keys()].filter((other) => other >= ordinal).sort((a, b) => a - b);
}

// One as it was created is half of a reservation that was cut off, and others can use it.
function unusedHalves(has: ClaimsByFamily | undefined): readonly IpAllocation[] {
    const claims = [...(has?.values() ?? [])];
    return claims.every((claim) => isReserved(claim) && wasNeverChanged(claim)) ? claims : [];
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
 * Compares two claims of one ordinal and family, for whoever has to choose: the first is that which a Pod uses, then that
 * which was ever changed, as its address was in use and is sticky, then the older.
 */
export function compareOfOrdinal(a: IpAllocation, b: IpAllocation): number {
    const order =
        Number(isReserved(a)) - Number(isReserved(b)) || Number(wasNeverChanged(a)) - Number(wasNeverChanged(b));
    if (order !== 0) return order;
    const [early, late] = [a.metadata?.creationTimestamp ?? "", b.metadata?.creationTimestamp ?? ""];
    if (early !== late) return early < late ? -1 : 1;
    return compareIp(parseIp(a.spec.address), parseIp(b.spec.address));
}

// One that was ever changed was in use, or was the set's before: its address is sticky.
function wasNeverChanged({ metadata }: IpAllocation): boolean {
    return metadata?.generation === 1;
}

function isReserved(claim: IpAllocation): boolean {
    return claim.spec.state === "Reserved";
}

type FreeAddress = Omit<NewReservation, "ordinal">;

/** The free addresses of each family: the fixed one, or those of the listed pools in order. Each is given once. */
class FreeAddresses {
    readonly #input: ReservationInput;
    readonly #sources = new Map<Family, Iterator<FreeAddress>>();
    readonly #next = new Map<Family, FreeAddress | undefined>();
    // Pools of a list may overlap.
    readonly #given = new Set<string>();

    constructor(input: ReservationInput) {
        this.#input = input;
    }

    /** The address that `take` would give, if there is one. */
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
