import type { Effect } from "./effects.ts";

/** What each rule of a chain does, in their order; none for what is no chain. */
export type ReadEffects = (chain: string) => Promise<readonly Effect[]>;

/** Chains that call each other deeper than this are taken for such that drop not everything. */
const deepest = 8;

/**
 * How many of these rules of others an accept of ours goes behind: all, so that what an administrator or kube-proxy drops
 * or rejects stays dropped, but for the first rule that drops whatever comes to it, and the rules right before that (or
 * right before the end of the chain) which log what is about to be dropped.
 */
export async function placeOfAccept(rules: readonly Effect[], read: ReadEffects): Promise<number> {
    const catchAll = await firstCatchAll(rules, read, 0);
    let place = catchAll === -1 ? rules.length : catchAll;
    while (place > 0 && rules[place - 1]?.kind === "logs") place -= 1;
    return place;
}

/** The first rule that drops all packets that reach it, itself or in the chain that it jumps to; -1 without one. */
async function firstCatchAll(rules: readonly Effect[], read: ReadEffects, depth: number): Promise<number> {
    for (const [at, effect] of rules.entries()) {
        if (effect.kind === "drops") return at;
        if (effect.kind === "ends") return -1;
        if (effect.kind !== "calls") continue;
        const inner = depth < deepest ? await read(effect.chain) : [];
        if ((await firstCatchAll(inner, read, depth + 1)) !== -1) return at;
        // What comes back from a chain that was gone to comes back behind the chain's caller.
        if (effect.isGoto) return -1;
    }
    return -1;
}
