import { formatIp, type Family } from "@antrea/ip";
import { poolUsage, saturate, statefulSetOf, type Pool } from "@antrea/ipam";
import { type AddressPlan, type PlannedDemand, type StaticAddress } from "@antrea/networks";
import { holderText, type Allocation } from "../cluster/index.ts";
import { amount } from "../output/index.ts";
import { type Block } from "./block.ts";
import { allocationsOfOrdinal, type Facts } from "./facts.ts";
import { type PoolTrial } from "./pool-trials.ts";
import { heldByEarlier } from "./sticky-blocks.ts";

/** Where one address of an interface comes from, or will. */
export interface NetworkTrial {
    /** The IPPool; absent for a static address that none contains. */
    readonly pool?: string;
    readonly ipVersion?: Family;
    /** As of pools for `eth0`; `static`: nobody allocates it. */
    readonly outcome: PoolTrial["outcome"] | "static";
    /** The reason, as a part of a sentence after the pool's name. */
    readonly text: string;
}

/** An interface of the Pod, and the allocations that it has. */
export interface TriedInterface {
    readonly network: string;
    readonly ifName: string;
    readonly has: readonly Allocation[];
}

/** A trial, and what keeps the interface from the address. */
export interface JudgedTrial {
    readonly trial: NetworkTrial;
    readonly problem?: Block;
}

/** The addresses of a plan, in its order. Sends no request; `facts.allocations` must have those of all its pools. */
export function tryPlan(facts: Facts, { demands, order }: AddressPlan, tried: TriedInterface): readonly JudgedTrial[] {
    return order.flatMap((one): readonly JudgedTrial[] => {
        if (typeof one !== "number") return [{ trial: staticTrial(one) }];
        const demand = demands[one];
        return demand === undefined ? [] : [tryDemand(facts, demand, tried)];
    });
}

function staticTrial({ ip, prefixLength }: StaticAddress): NetworkTrial {
    const text = `${formatIp(ip)}/${prefixLength}: static; no IPPool hands it out, so nobody sees who else has it`;
    return { ipVersion: ip.family, outcome: "static", text };
}

function tryDemand(facts: Facts, demand: PlannedDemand, tried: TriedInterface): JudgedTrial {
    const { pool: name, fixed } = demand;
    const about = `network ${tried.network}: IPPool ${name}`;
    const entry = facts.pools.get(name);
    if (entry === undefined) {
        const next = "create the IPPool, or name another one in the network";
        return {
            trial: { pool: name, outcome: "unknown", text: "does not exist" },
            problem: { what: `${about} does not exist`, next },
        };
    }
    const { pool } = entry;
    const as = (outcome: NetworkTrial["outcome"], text: string, problem?: Block): JudgedTrial => ({
        trial: { pool: name, ipVersion: pool.family, outcome, text },
        ...(problem === undefined ? {} : { problem }),
    });
    const mine = tried.has.find((one) => one.pool === name && (fixed === undefined || one.address === formatIp(fixed)));
    if (mine !== undefined) return as("gave", `gave ${mine.address}`);
    const unusable = whyUnusable(facts, pool, demand);
    if (unusable !== undefined) {
        const next = "correct the IPPool, or the addresses in the network or the annotation";
        return as("unusable", unusable, { what: `${about} ${unusable}`, next });
    }
    const kept = keptFor(facts, demand, tried);
    if (kept !== undefined) return tryKept(facts, kept, tried, as);
    if (fixed !== undefined) return tryFixed(facts, formatIp(fixed), tried, as);
    const { total, used, reserved, free } = poolUsage(facts.pools.usable(pool), facts.allocations);
    if (free > 0n) return as("next", `${amount(saturate(free))} of ${amount(saturate(total))} free`);
    return as("exhausted", `exhausted: ${used} used and ${reserved} reserved of ${total}`, {
        what: `${about} has no free address`,
        next: "add a range to the pool, or delete Pods that use it",
    });
}

function whyUnusable({ pools }: Facts, pool: Pool, { fixed }: PlannedDemand): string | undefined {
    if (pool.addresses.isEmpty && pool.problems.length > 0) return `cannot be used: ${pool.problems.join("; ")}`;
    if (pool.isDeleting) return "is being deleted and hands out no address";
    if (fixed === undefined) return undefined;
    const reason = pools.exclusions.reason(pool, fixed);
    return reason === undefined ? undefined : `does not hand out ${formatIp(fixed)}: it ${reason}`;
}

type As = (outcome: NetworkTrial["outcome"], text: string, problem?: Block) => JudgedTrial;

/** The address that the pool keeps for this interface of the ordinal. */
function keptFor(
    { allocations, pod }: Facts,
    { pool, fixed }: PlannedDemand,
    { ifName }: TriedInterface,
): Allocation | undefined {
    const set = statefulSetOf(pod);
    if (set === undefined) return undefined;
    return allocationsOfOrdinal(allocations, pod.namespace, set, ifName).find(
        (one) => one.pool === pool && (fixed === undefined || one.address === formatIp(fixed)),
    );
}

function tryKept(facts: Facts, kept: Allocation, { network, ifName }: TriedInterface, as: As): JudgedTrial {
    const { index = 0, name = "" } = kept.owner;
    const of = `ordinal ${index} of StatefulSet ${name}, interface ${ifName}`;
    const text = `keeps ${kept.address} for ${of}`;
    if (kept.pod === undefined) return as("reserved", text);
    const { what, next } = heldByEarlier(facts, kept, of);
    return as("reserved", `${text}; ${holderText(kept)} still holds it`, { what: `network ${network}: ${what}`, next });
}

function tryFixed({ allocations }: Facts, address: string, { network }: TriedInterface, as: As): JudgedTrial {
    const holder = allocations.find((one) => one.address === address);
    if (holder === undefined) return as("next", `hands out ${address}, which is free`);
    const held = `held by ${holderText(holder)}`;
    return as("exhausted", `hands out ${address}, which is ${held}`, {
        what: `network ${network}: the address ${address} is ${held}`,
        next: "delete what holds it, or choose another address",
    });
}
