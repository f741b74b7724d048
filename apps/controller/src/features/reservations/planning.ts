import { allocationName, type IpAllocation } from "@antrea/crd";
import { RangeSet, formatIp, prefixRange, type IpAddress } from "@antrea/ip";
import { mayHaveInterface } from "@antrea/networks";
import { planReservations, type ListedPool, type ReservationPlan } from "@antrea/ipam";
import {
    claimedBlocks,
    type Allocation,
    type AllocationCache,
    type ClaimedInBlock,
} from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { reachOf, type Demand } from "./demand.ts";

/** What planning depends on: the caches, which must be synced. */
export interface PlanningComponents {
    readonly pools: Pick<PoolCache, "get" | "usable">;
    readonly allocations: Pick<AllocationCache, "blocksIn" | "ofSet" | "get">;
}

/** What one plan is made from, for one StatefulSet. */
export interface PlanningInput {
    /** `namespace/name`. */
    readonly key: string;
    /** Undefined: there is no such StatefulSet. */
    readonly demand: Demand | undefined;
    /** Its allocations that the cache does not contain yet. */
    readonly unseen: readonly Allocation[];
    /** See `ReservationInput`. */
    readonly isLeftOver: (allocation: Pick<IpAllocation, "metadata">) => boolean;
    /** Names of unavailable addresses, in addition to those with allocations in the cache. */
    readonly taken: { has(name: string): boolean };
}

/**
 * Plans the reservations of one StatefulSet from the caches, and writes nothing. Begins no ordinal after 64 new ones,
 * so 65 at most; `more` is true if it stopped there. The allocations in the plan lack `spec.pod`: do not write them
 * to the API server. Without `demand`, and while the StatefulSet is being deleted, all reserved ones are released.
 */
export function planFor(components: PlanningComponents, input: PlanningInput): ReservationPlan {
    const { pools, allocations } = components;
    const { key, demand, isLeftOver, unseen, taken } = input;
    const names = [...new Set(demand?.pools?.names ?? [])];
    const known = [...allocations.ofSet(key)];
    const fresh = unseen.filter(({ metadata }) => allocations.get(metadata.name)?.metadata.uid !== metadata.uid);
    return planReservations({
        set: demand && {
            ...demand,
            reach: demand.reach === 0 ? 0 : Math.max(demand.reach, reachOf(startedPods(known))),
        },
        pools: names.flatMap((name) => listedPool(name, components)),
        unknownPools: names.filter((name) => pools.get(name) === undefined),
        fixed: demand?.fixed ?? [],
        allocations: [...known, ...fresh].map(asAllocation),
        ipOf: (allocation) => (allocation as ReadAllocation).ip,
        mayHaveInterface: (name) => demand === undefined || mayHaveInterface(demand.networks, demand.namespace, name),
        isLeftOver,
        limit: batch,
        isTaken: (ip) => {
            const name = allocationName(ip);
            return allocations.get(name) !== undefined || taken.has(name);
        },
    });
}

// With parallel Pod creation, the StatefulSet's status counts no Pods until the last one is created.
function startedPods(allocations: readonly Allocation[]): number {
    return new Set(allocations.flatMap(({ owner, pod }) => (pod === undefined ? [] : [owner.index]))).size;
}

/** Reservations of a StatefulSet per run, so that other StatefulSets get theirs in between. */
const batch = 64;

/**
 * How many addresses of the pool of this name can be reserved, by the caches; 0 if it does not exist or is being
 * deleted.
 */
export function freeCount(name: string, components: PlanningComponents): bigint {
    if (components.pools.get(name)?.isDeleting === true) return 0n;
    const counts = claimedIn(name, components).map(({ allocated, reserved }) => BigInt(allocated + reserved));
    return counts.reduce((free, claimed) => free - claimed, components.pools.usable(name).size);
}

/** The addresses of a pool without fully allocated blocks; a plan iterates over the rest. */
function roomyPart(name: string, components: PlanningComponents): RangeSet {
    const full = claimedIn(name, components).filter(({ allocated, reserved, size }) => {
        return BigInt(allocated + reserved) >= size;
    });
    return components.pools.usable(name).subtract(RangeSet.of(full.map(({ block }) => prefixRange(block))));
}

function claimedIn(name: string, { pools, allocations }: PlanningComponents): readonly ClaimedInBlock[] {
    return [...claimedBlocks(pools.usable(name), allocations).values()];
}

function listedPool(name: string, components: PlanningComponents): readonly ListedPool[] {
    const pool = components.pools.get(name);
    if (pool === undefined) return [];
    let usable: RangeSet | undefined;
    return [
        {
            name,
            family: pool.family,
            covers: (ip) => pool.subnetOf(ip) !== undefined,
            // Computed only for a plan that searches for addresses.
            get usable() {
                return (usable ??= pool.isDeleting ? RangeSet.empty : roomyPart(name, components));
            },
        },
    ];
}

/** An IPAllocation with its address already parsed. */
interface ReadAllocation extends IpAllocation {
    readonly ip: IpAddress;
}

// The fields that a plan uses. A StatefulSet may have 100,000 allocations, and a plan formats few of them.
function asAllocation({ metadata, ip, block, pool, owner, pod, createdAt, generation }: Allocation): ReadAllocation {
    return {
        ip,
        metadata: { ...metadata, creationTimestamp: createdAt, generation },
        spec: {
            get address() {
                return formatIp(ip);
            },
            block,
            pool,
            owner,
            state: pod === undefined ? "Reserved" : "Allocated",
        },
    };
}
