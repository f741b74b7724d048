import { categoryMask, roundMask, type Category } from "@antrea/flows";
import type { BundleMod, FlowMod, FlowStats, Group } from "@antrea/openflow";

/**
 * Selects flows whose cookie equals `cookie` in the bits of `cookieMask` (0: all), in one table or, if it is absent, in
 * all.
 */
export interface CookieFilter {
    readonly table?: number;
    readonly cookie: bigint;
    readonly cookieMask: bigint;
}

/** Options of a call; none is needed. */
interface LinkOptions {
    readonly signal?: AbortSignal | undefined;
}

/**
 * The part of an OpenFlow connection that the flow table uses; a replay gets the same while reconnecting. All reject
 * with OpenFlowError.
 */
export interface FlowLink {
    /**
     * Applies all changes in this order or none, unless a `REFUSED` has `details.partial`. Waits for the connection even
     * if there is nothing to send.
     */
    bundle(mods: readonly BundleMod[], options?: LinkOptions): Promise<void>;
    /** Resolves with the flows that OVS has now, in no defined order. */
    dumpFlows(filter: CookieFilter, options?: LinkOptions): Promise<readonly FlowStats[]>;
    /** Resolves with the number of these flows, which is much cheaper than a dump. */
    countFlows(filter: CookieFilter): Promise<{ readonly flows: number }>;
    /** Resolves with the group of this id in OVS, or with []. Not for a group of more than 64 KiB. */
    dumpGroups(id: number, options?: LinkOptions): Promise<readonly Group[]>;
    /** Resolves with all groups that OVS has. If one has more than 4,091 buckets, OVS ends the connection. */
    groupCounters(id?: undefined, options?: LinkOptions): Promise<readonly { readonly id: number }[]>;
}

/** The same link, whose calls end when the signal aborts, also those that wait for the connection: then with `ABORTED`. */
export function endingWith(signal: AbortSignal, link: FlowLink): FlowLink {
    return {
        bundle: (mods) => link.bundle(mods, { signal }),
        dumpFlows: (filter) => link.dumpFlows(filter, { signal }),
        countFlows: (filter) => link.countFlows(filter),
        dumpGroups: (id) => link.dumpGroups(id, { signal }),
        groupCounters: () => link.groupCounters(undefined, { signal }),
    };
}

/**
 * Number of changes after which a bundle ends if it need not be atomic: OVS applies a bundle in one iteration of its main
 * loop and forwards in between.
 */
export const bundleSize = 2_000;

/** The cookie of a round (1..65535): the round in the upper 16 of 64 bits, all other parts zero. */
export function roundCookie(round: number): bigint {
    return BigInt(round) << 48n;
}

/** The filter for all flows of a round, in all tables. */
export function ofRound(round: number): CookieFilter {
    return { cookie: roundCookie(round), cookieMask: roundMask };
}

/**
 * The filter for all flows of a category, in all tables: of any round, or of this one, 0 for those that OVS has learned.
 */
export function ofCategory(category: Category, round?: number): CookieFilter {
    const cookie = BigInt(category) << 40n;
    if (round === undefined) return { cookie, cookieMask: categoryMask };
    return { cookie: roundCookie(round) | cookie, cookieMask: roundMask | categoryMask };
}

/**
 * Deletes flows that were found in a dump of the round, in bundles of at most 2,000; a flow that is gone, or was replaced
 * by one of another round since, does no harm and stays. No flows: sends nothing. Rejects with OpenFlowError, on abort
 * `ABORTED`; some may be deleted then.
 */
export async function deleteFlows(
    link: FlowLink,
    round: number,
    stale: readonly FlowStats[],
    signal?: AbortSignal,
): Promise<void> {
    // Strict and limited to the cookie: a flow that was replaced in place meanwhile has another round and is kept.
    const mods = stale.map(({ table, priority, match }): FlowMod => ({
        command: "delete_strict",
        flow: { table, priority, match, actions: [], cookie: roundCookie(round) },
        cookieMask: roundMask,
    }));
    await inBundles(link, mods, signal);
}

/**
 * Deletes groups by their ids in OVS, and the flows that use them; those that do not exist do no harm. Otherwise as
 * `deleteFlows`.
 */
export async function deleteGroups(link: FlowLink, ids: Iterable<number>, signal?: AbortSignal): Promise<void> {
    await inBundles(
        link,
        Array.from(ids, (id) => ({ command: "delete", group: { id } }) as const),
        signal,
    );
}

/** Sends changes that need not be atomic, in bundles of at most 2,000; none: sends nothing. Rejects as `deleteFlows`. */
export async function inBundles(
    link: Pick<FlowLink, "bundle">,
    mods: readonly BundleMod[],
    signal?: AbortSignal,
): Promise<void> {
    for (let start = 0; start < mods.length; start += bundleSize) {
        await link.bundle(mods.slice(start, start + bundleSize), { signal });
    }
}
