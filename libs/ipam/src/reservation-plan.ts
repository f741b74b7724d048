import { type IpAllocation } from "@antrea/crd";
import { type Family, type IpAddress, type RangeSet } from "@antrea/ip";

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
