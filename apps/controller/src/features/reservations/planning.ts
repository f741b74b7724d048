import { allocationName, type IpAllocation } from "@antrea/crd";
import { RangeSet, formatIp, prefixRange, type IpAddress } from "@antrea/ip";
import { planReservations, type ListedPool, type ReservationPlan } from "@antrea/ipam";
import {
    claimedBlocks,
    type Claim,
    type AllocationCache,
    type ClaimedInBlock,
} from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { reachOf, type Demand } from "./demand.ts";

export interface PlanningComponents {
    readonly pools: Pick<PoolCache, "get" | "usable">;
    readonly claims: Pick<AllocationCache, "blocksIn" | "ofSet" | "get">;
}

export interface PlanningInput {
    /** `namespace/name`. */
    readonly key: string;
    /** Undefined: there is no StatefulSet of this name. */
    readonly demand: Demand | undefined;
    /** Claims for it that the book does not know yet. */
    readonly unseen: readonly Claim[];
    /** Names of addresses that cannot be had, beside those that the book knows claims of. */
    readonly taken: { has(name: string): boolean };
}

/** Plans what one StatefulSet is to have, from what is known of claims and pools now. */
export function planFor(components: PlanningComponents, input: PlanningInput): ReservationPlan {
    const { pools, claims } = components;
    const { key, demand, unseen, taken } = input;
    const names = [...new Set(demand?.pools?.names ?? [])];
    const known = [...claims.ofSet(key)];
    const fresh = unseen.filter(({ metadata }) => claims.get(metadata.name)?.metadata.uid !== metadata.uid);
    return planReservations({
        set: demand && {
            ...demand,
            reach: demand.reach === 0 ? 0 : Math.max(demand.reach, reachOf(startedPods(known))),
        },
        pools: names.flatMap((name) => listedPool(name, components)),
        unknownPools: names.filter((name) => pools.get(name) === undefined),
        fixed: demand?.fixed ?? [],
        claims: [...known, ...fresh].map(asAllocation),
        ipOf: (claim) => (claim as ReadAllocation).ip,
        limit: batch,
        isTaken: (ip) => {
            const name = allocationName(ip);
            return claims.get(name) !== undefined || taken.has(name);
        },
    });
}

// Of Pods that are created all at once the status of the StatefulSet counts none before the last.
function startedPods(claims: readonly Claim[]): number {
    return new Set(claims.flatMap(({ owner, pod }) => (pod === undefined ? [] : [owner.index]))).size;
}

/** How many addresses are reserved in one turn of a StatefulSet: others have theirs between two. */
const batch = 64;

/** How many addresses of a pool can be reserved. */
export function freeCount(name: string, components: PlanningComponents): bigint {
    if (components.pools.get(name)?.isDeleting === true) return 0n;
    const counts = claimedIn(name, components).map(({ allocated, reserved }) => BigInt(allocated + reserved));
    return counts.reduce((free, claimed) => free - claimed, components.pools.usable(name).size);
}

/** The addresses of a pool without the blocks in which none is free; a plan looks at the others one by one. */
function roomyPart(name: string, components: PlanningComponents): RangeSet {
    const full = claimedIn(name, components).filter(({ allocated, reserved, size }) => {
        return BigInt(allocated + reserved) >= size;
    });
    return components.pools.usable(name).subtract(RangeSet.of(full.map(({ block }) => prefixRange(block))));
}

function claimedIn(name: string, { pools, claims }: PlanningComponents): readonly ClaimedInBlock[] {
    return [...claimedBlocks(pools.usable(name), claims).values()];
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
            // Found out only for a plan that looks for addresses.
            get usable() {
                return (usable ??= pool.isDeleting ? RangeSet.empty : roomyPart(name, components));
            },
        },
    ];
}

/** An IPAllocation whose address needs no parsing. */
interface ReadAllocation extends IpAllocation {
    readonly ip: IpAddress;
}

// As much of the object as a plan is made from. A StatefulSet may have 100,000, and a plan shows the text of few.
function asAllocation({ metadata, ip, block, pool, owner, pod, createdAt, generation }: Claim): ReadAllocation {
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
