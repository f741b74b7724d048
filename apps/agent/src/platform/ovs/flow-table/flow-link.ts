import { roundMask } from "@antrea/flows";
import type { FlowMod, FlowStats } from "@antrea/openflow";

/** Flows of one table, or of all, whose cookie is `cookie` in the bits of `cookieMask`. */
export interface CookieFilter {
    readonly table?: number;
    readonly cookie: bigint;
    readonly cookieMask: bigint;
}

/** What the table needs of a connection to OVS; the replay gets the same through the gate of the reconnect. */
export interface FlowLink {
    /** Waits for the connection also when there is nothing to send. */
    bundle(mods: readonly FlowMod[], options?: { readonly signal?: AbortSignal }): Promise<void>;
    dumpFlows(filter: CookieFilter): Promise<readonly FlowStats[]>;
    countFlows(filter: CookieFilter): Promise<{ readonly flows: number }>;
}

/** The cookie of a round with all other parts zero. */
export function roundCookie(round: number): bigint {
    return BigInt(round) << 48n;
}

/** All flows of a round. */
export function ofRound(round: number): CookieFilter {
    return { cookie: roundCookie(round), cookieMask: roundMask };
}

/** Deletes flows that a dump of the round gave. */
export async function deleteFlows(link: FlowLink, round: number, stale: readonly FlowStats[]): Promise<void> {
    if (stale.length === 0) return;
    // Strict and bound to the cookie: a flow that was replaced in place meanwhile carries another round and stays.
    await link.bundle(
        stale.map(({ table, priority, match }) => ({
            command: "delete_strict",
            flow: { table, priority, match, actions: [], cookie: roundCookie(round) },
            cookieMask: roundMask,
        })),
    );
}
