import type { Effect } from "./effects.ts";

/**
 * Reads the effects of the rules of a chain, in order; empty if there is no such chain. Rejects if it cannot be read.
 */
export type ReadEffects = (chain: string) => Promise<readonly Effect[]>;

/** Chains nested deeper than this are assumed not to drop everything. */
const deepest = 8;

/**
 * The number of rules of other owners behind which our accept rule is placed: all of them, so that what an
 * administrator or kube-proxy drops or rejects stays dropped, except the first catch-all drop and the rules directly
 * before it (or before the end of the chain) that log what is about to be dropped.
 *
 * @param rules the effects of the rules of other owners in the chain, in order
 * @param read for chains that these call; a rejection is passed on
 */
export async function placeOfAccept(rules: readonly Effect[], read: ReadEffects): Promise<number> {
    const catchAll = await firstCatchAll(rules, read, 0);
    let place = catchAll === -1 ? rules.length : catchAll;
    while (place > 0 && rules[place - 1]?.kind === "logs") place -= 1;
    return place;
}

/**
 * Index of the first rule that drops all packets that reach it, directly or in a chain that it calls; -1 if there is
 * none.
 */
async function firstCatchAll(rules: readonly Effect[], read: ReadEffects, depth: number): Promise<number> {
    for (const [at, effect] of rules.entries()) {
        if (effect.kind === "drops") return at;
        if (effect.kind === "ends") return -1;
        if (effect.kind !== "calls") continue;
        const inner = depth < deepest ? await read(effect.chain) : [];
        if ((await firstCatchAll(inner, read, depth + 1)) !== -1) return at;
        // Packets that return from a goto chain continue after the chain's caller.
        if (effect.isGoto) return -1;
    }
    return -1;
}
