import type { ServedService } from "@antrea/services";
import { fnv1a } from "../../platform/fnv1a.ts";

/** A salt that changed more often would keep OVS busy for Services whose affinity lasts a second. */
const minPeriodMs = 10_000;

/** The salt of a Service's groups, and how long it lasts. */
export interface Salt {
    readonly value: bigint;
    /** Undefined: it never changes. */
    readonly leftMs: number | undefined;
}

/**
 * The salt of a Service with affinity: clients whose affinity has ended get another endpoint when it has changed, which
 * happens as often as affinity times out, but every ten seconds at most. It comes from the wall time, so that it outlives
 * a restart of the agent and is the same on all Nodes, shifted by a hash of the UID, so that the Services of one timeout
 * do not all change at one moment.
 *
 * @param now milliseconds since 1970
 */
export function saltOf(
    { affinitySeconds, ports, uid }: Pick<ServedService, "affinitySeconds" | "ports" | "uid">,
    now: number,
): Salt {
    const hasChoice = ports.some(({ endpoints }) => endpoints.cluster.length > 1 || endpoints.local.length > 1);
    if (affinitySeconds === undefined || !hasChoice) return { value: 0n, leftMs: undefined };
    const periodMs = Math.max(minPeriodMs, affinitySeconds * 1_000);
    const shifted = now + (fnv1a(uid) % periodMs);
    const count = Math.floor(shifted / periodMs);
    return { value: BigInt(count), leftMs: (count + 1) * periodMs - shifted };
}
