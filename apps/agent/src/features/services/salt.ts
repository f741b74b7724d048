import type { ServedService } from "@antrea/services";

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
 * a restart of the agent.
 *
 * @param now milliseconds since 1970
 */
export function saltOf(
    { affinitySeconds, ports }: Pick<ServedService, "affinitySeconds" | "ports">,
    now: number,
): Salt {
    const hasChoice = ports.some(({ endpoints }) => endpoints.cluster.length > 1 || endpoints.local.length > 1);
    if (affinitySeconds === undefined || !hasChoice) return { value: 0n, leftMs: undefined };
    const periodMs = Math.max(minPeriodMs, affinitySeconds * 1_000);
    const count = Math.floor(now / periodMs);
    return { value: BigInt(count), leftMs: (count + 1) * periodMs - now };
}
