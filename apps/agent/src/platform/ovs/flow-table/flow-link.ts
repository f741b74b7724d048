import { roundMask } from "@antrea/flows";
import type { FlowMod, FlowStats } from "@antrea/openflow";

/**
 * Selects flows whose cookie equals `cookie` in the bits of `cookieMask` (0: all), in one table or, if it is absent, in
 * all.
 */
export interface CookieFilter {
    readonly table?: number;
    readonly cookie: bigint;
    readonly cookieMask: bigint;
}

/**
 * The part of an OpenFlow connection that the flow table uses; a replay gets the same while reconnecting. All reject
 * with OpenFlowError.
 */
export interface FlowLink {
    /**
     * Applies all changes or none, unless a `REFUSED` has `details.partial`. Waits for the connection even if there is
     * nothing to send.
     */
    bundle(mods: readonly FlowMod[], options?: { readonly signal?: AbortSignal | undefined }): Promise<void>;
    /** Resolves with the flows that OVS has now, in no defined order. */
    dumpFlows(
        filter: CookieFilter,
        options?: { readonly signal?: AbortSignal | undefined },
    ): Promise<readonly FlowStats[]>;
    /** Resolves with the number of these flows, which is much cheaper than a dump. */
    countFlows(filter: CookieFilter): Promise<{ readonly flows: number }>;
}

/** The cookie of a round (1..65535): the round in the upper 16 of 64 bits, all other parts zero. */
export function roundCookie(round: number): bigint {
    return BigInt(round) << 48n;
}

/** The filter for all flows of a round, in all tables. */
export function ofRound(round: number): CookieFilter {
    return { cookie: roundCookie(round), cookieMask: roundMask };
}

/**
 * Deletes flows that were found in a dump of the round, in one bundle; a flow that is gone, or was replaced by one of
 * another round since, does no harm and stays. No flows: sends nothing. Rejects with OpenFlowError, on abort `ABORTED`.
 */
export async function deleteFlows(
    link: FlowLink,
    round: number,
    stale: readonly FlowStats[],
    signal?: AbortSignal,
): Promise<void> {
    if (stale.length === 0) return;
    // Strict and limited to the cookie: a flow that was replaced in place meanwhile has another round and is kept.
    await link.bundle(
        stale.map(({ table, priority, match }) => ({
            command: "delete_strict",
            flow: { table, priority, match, actions: [], cookie: roundCookie(round) },
            cookieMask: roundMask,
        })),
        { signal },
    );
}
