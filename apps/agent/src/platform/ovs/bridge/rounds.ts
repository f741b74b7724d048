import { nextRound } from "@antrea/flows";

/**
 * Rounds: each start of the agent puts its flows into OVS under a new number, so that what earlier starts left can be
 * told apart and deleted once the new flows are in.
 */

/** The key in the bridge's external_ids; the value lists every round that may have flows in OVS, the newest last. */
export const roundsKey = "antrea-rounds";

const maxRound = 0xffff;
/** Starts in a row that may be killed before they deleted what earlier ones left: days of a crash loop. */
const maxEarlier = 1000;

export interface Rounds {
    readonly current: number;
    /** Rounds of earlier starts that may still have flows. */
    readonly earlier: readonly number[];
}

/** The rounds for a new start. Text that is not ours is read as "none": the worst is a stale flow, never a crash. */
export function nextRounds(stored: string | undefined): Rounds {
    const earlier = (stored ?? "")
        .split(",")
        .map((text) => Number(text))
        .filter((round) => Number.isInteger(round) && round >= 1 && round <= maxRound);
    const last = earlier.at(-1) ?? 0;
    // Round 0 is never used: flows of other programs usually carry cookies whose upper bits are zero.
    let current = nextRound(last);
    while (earlier.includes(current)) current = nextRound(current);
    return { current, earlier: earlier.slice(-maxEarlier) };
}

/** The text to store while flows of earlier rounds may exist, or, without `earlier`, once they are deleted. */
export function formatRounds(rounds: Rounds): string {
    return [...rounds.earlier, rounds.current].join(",");
}
