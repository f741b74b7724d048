import { type Condition, type IpPoolStatus, type IpPoolUsage } from "@antrea/crd";
import { formatRangeSet } from "@antrea/ip";
import { type Overlap, type Pool } from "@antrea/ipam";
import { furtherText, type FurtherAddresses } from "../../platform/pool-cache/index.ts";

/** What the status of a pool is computed from, as of one time. */
export interface Findings {
    /** `metadata.generation` of the object that `pool` was read from. */
    readonly generation: number;
    readonly pool: Pool;
    readonly usage: IpPoolUsage;
    /** Blocks with free addresses, as `measure` returns them. */
    readonly freeBlocks: readonly string[];
    readonly overlaps: readonly Overlap[];
    /** Node addresses that are not reserved. */
    readonly further: readonly FurtherAddresses[];
    /** `metadata.finalizers`, for which a pool being deleted waits. */
    readonly finalizers: readonly string[];
}

/** The condition types of a pool. */
const conditionTypes = { ready: "Ready", exhausted: "Exhausted", overlapping: "Overlapping" } as const;

const shownOverlaps = 5;

/**
 * The status for these findings: usage, blocks with free addresses, and conditions Ready, Exhausted and Overlapping, in
 * this order. A condition with the status of `before` (undefined: none was written yet) keeps its lastTransitionTime;
 * else it is `now`, in whole seconds. Pure function.
 */
export function evaluate(findings: Findings, before: IpPoolStatus | undefined, now: Date): IpPoolStatus {
    const { generation: observedGeneration, usage, freeBlocks } = findings;
    const lastTransitionTime = `${now.toISOString().slice(0, 19)}Z`;
    const conditions = [ready(findings), exhausted(findings), overlapping(findings)].map((condition): Condition => {
        const old = before?.conditions?.find(({ type }) => type === condition.type);
        const since = old?.status === condition.status ? old.lastTransitionTime : lastTransitionTime;
        return { ...condition, lastTransitionTime: since, observedGeneration };
    });
    return { usage, conditions, freeBlocks, observedGeneration };
}

/**
 * Conditions of `after` that deserve an event: Exhausted or Overlapping became True, or Overlapping, True before, has
 * another message. Never Ready. Pure function.
 */
export function turnedBad(after: IpPoolStatus, before: IpPoolStatus | undefined): readonly Condition[] {
    return (after.conditions ?? []).filter(({ type, status, message }) => {
        if (status !== "True" || type === conditionTypes.ready) return false;
        const old = before?.conditions?.find((condition) => condition.type === type);
        return old?.status !== "True" || (type === conditionTypes.overlapping && old.message !== message);
    });
}

type Verdict = Pick<Condition, "type" | "status" | "reason" | "message">;

function ready({ pool, usage, further, finalizers }: Findings): Verdict {
    const type = conditionTypes.ready;
    if (pool.isDeleting) {
        const waits =
            finalizers.length === 0
                ? ""
                : ` It is deleted when these finalizers are removed: ${finalizers.join(", ")}.`;
        const message = `The pool is being deleted and hands out no new address; what Pods and StatefulSets have of it stays.${waits}`;
        return { type, status: "False", reason: "Deleting", message };
    }
    if (pool.problems.length > 0) {
        const message = `These parts of the pool are not used: ${pool.problems.join("; ")}`;
        return { type, status: "False", reason: "UnreadableRanges", message };
    }
    if (usage.total === 0) {
        const message =
            "The pool hands out no address: all of its ranges are gateways or belong to Nodes or Services. Add a range to spec.ipRanges.";
        return { type, status: "False", reason: "NoAddresses", message };
    }
    if (further.length > 0) {
        return { type, status: "True", reason: "NodeAddressesNotHeld", message: furtherText(further) };
    }
    return { type, status: "True", reason: "Usable", message: "All ranges can be used." };
}

function exhausted({ usage }: Findings): Verdict {
    const type = conditionTypes.exhausted;
    if (usage.free > 0) return { type, status: "False", reason: "FreeAddresses", message: "Addresses are free." };
    if (usage.total === 0) {
        return { type, status: "True", reason: "NoAddresses", message: "The pool hands out no address, see Ready." };
    }
    const message = `All ${usage.total} addresses are in use or reserved. Add a range to spec.ipRanges, or remove Pods or StatefulSets that use the pool.`;
    return { type, status: "True", reason: "NoFreeAddress", message };
}

function overlapping({ overlaps }: Findings): Verdict {
    const type = conditionTypes.overlapping;
    if (overlaps.length === 0) {
        return {
            type,
            status: "False",
            reason: "NoSharedAddress",
            message: "No overlap with other IPPools.",
        };
    }
    const shown = overlaps
        .slice(0, shownOverlaps)
        .map(({ pool, common }) => `${formatRangeSet(common)} with IPPool ${pool}`);
    const more = overlaps.length - shown.length;
    const rest = more > 0 ? `; and addresses with ${more} more pools` : "";
    const message = `The pool shares ${shown.join("; ")}${rest}. Each address is still given to one Pod only; change the ranges so that each pool has its own.`;
    return { type, status: "True", reason: "SharedAddresses", message };
}
