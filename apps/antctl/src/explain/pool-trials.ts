import { formatIp, type Family } from "@antrea/ip";
import { poolUsage, saturate, type StatefulSetPlace } from "@antrea/ipam";
import { holderText, type Allocation } from "../cluster/index.ts";
import { amount } from "../output/index.ts";
import { allocationsOfOrdinal, allocationsOfPod, type Facts, type AddressRequest } from "./facts.ts";

/** The result, or expected result, for one pool in the list; `ipVersion` is absent for one that does not exist. */
export interface PoolTrial {
    readonly pool: string;
    readonly ipVersion?: Family;
    /**
     * - `gave`: an address of the Pod is from it;
     * - `next`: the next address comes from it;
     * - `reserved`: it reserves an address for the Pod's ordinal;
     * - `spare`: an earlier pool in the list serves the request;
     * - `exhausted`, `unknown`, `unusable`: it cannot serve the request.
     */
    readonly outcome: "gave" | "next" | "reserved" | "spare" | "exhausted" | "unknown" | "unusable";
    /** The reason, as a part of a sentence after the pool's name. */
    readonly text: string;
}

/**
 * For each pool that the request names, in that order, in which they are tried: why it does or does not serve the
 * request. Sends no request; `facts.allocations` must have those of all these pools and of pools that overlap them.
 */
export function tryPools(facts: Facts, request: AddressRequest): readonly PoolTrial[] {
    const served = new Set<Family>();
    const own = allocationsOfPod(facts);
    return request.named.names.map((name): PoolTrial => {
        const trial = tryPool(facts, request, name, own, served);
        if (trial.ipVersion !== undefined && ["gave", "next", "reserved"].includes(trial.outcome))
            served.add(trial.ipVersion);
        return trial;
    });
}

function tryPool(
    facts: Facts,
    request: AddressRequest,
    name: string,
    own: readonly Allocation[],
    served: ReadonlySet<Family>,
): PoolTrial {
    const entry = facts.pools.get(name);
    if (entry === undefined) return { pool: name, outcome: "unknown", text: "does not exist" };
    const { pool } = entry;
    const as = (outcome: PoolTrial["outcome"], text: string): PoolTrial => ({
        pool: name,
        ipVersion: pool.family,
        outcome,
        text,
    });
    // A family that has an address is satisfied, at whichever position its pool is in the list.
    const ofFamily = own.filter(({ ip }) => ip.family === pool.family);
    const allocation = ofFamily.find((each) => each.pool === name) ?? ofFamily[0];
    if (allocation?.pool === name) return as("gave", `gave ${allocation.address}`);
    if (pool.addresses.isEmpty && pool.problems.length > 0)
        return as("unusable", `cannot be used: ${pool.problems.join("; ")}`);
    const usable = facts.pools.usable(pool);
    const { total, used, reserved, free } = poolUsage(usable, facts.allocations);
    const room = `${amount(saturate(free))} of ${amount(saturate(total))} free`;
    if (allocation !== undefined)
        return as("spare", `not needed: IPPool ${allocation.pool} gave ${allocation.address} (${room})`);
    const fixed = request.fixed.find(({ family }) => family === pool.family);
    if (fixed !== undefined) {
        const reason = facts.pools.exclusions.reason(pool, fixed);
        if (reason !== undefined) return as("unusable", `does not hand out ${formatIp(fixed)}: it ${reason}`);
    }
    if (request.set !== undefined)
        return tryReserved(facts, request.set, name, pool.family, as, served.has(pool.family));
    if (served.has(pool.family))
        return as("spare", `not needed: a pool before it has IPv${pool.family} addresses (${room})`);
    if (fixed !== undefined) {
        const holder = facts.allocations.find((each) => each.address === formatIp(fixed));
        return holder === undefined
            ? as("next", `hands out ${formatIp(fixed)}, which is free`)
            : as("exhausted", `hands out ${formatIp(fixed)}, which is held by ${holderText(holder)}`);
    }
    if (free > 0n) return as("next", room);
    return as("exhausted", `exhausted: ${used} used and ${reserved} reserved of ${total}`);
}

function tryReserved(
    facts: Facts,
    place: StatefulSetPlace,
    name: string,
    family: Family,
    as: (outcome: PoolTrial["outcome"], text: string) => PoolTrial,
    served: boolean,
): PoolTrial {
    const { ordinal } = place;
    const allocation = allocationsOfOrdinal(facts.allocations, facts.pod.namespace, place).find(
        ({ ip }) => ip.family === family,
    );
    if (allocation?.pool === name) {
        const state = allocation.pod === undefined ? "" : `; ${holderText(allocation)} still holds it`;
        return as(
            "reserved",
            `keeps ${allocation.address} for ordinal ${ordinal} of StatefulSet ${place.name}${state}`,
        );
    }
    if (allocation !== undefined)
        return as("spare", `not needed: IPPool ${allocation.pool} keeps ${allocation.address} for ordinal ${ordinal}`);
    if (served) return as("spare", `not needed: the address for ordinal ${ordinal} comes from a pool before it`);
    const entry = facts.pools.get(name);
    const free = entry === undefined ? 0n : poolUsage(facts.pools.usable(entry.pool), facts.allocations).free;
    const room = free > 0n ? `${amount(saturate(free))} are free` : "none is free";
    return as(free > 0n ? "next" : "exhausted", `keeps no address for ordinal ${ordinal} yet; ${room}`);
}
