import { nextRound } from "@antrea/flows";

/**
 * Rounds: each start of the agent installs its flows in OVS under a new number, so that flows of earlier starts can be
 * identified and deleted once the new flows are installed.
 */

/**
 * The key in the bridge's external_ids; its value lists every round that may have flows in OVS, as decimal numbers
 * separated by commas, newest last.
 */
export const roundsKey = "antrea-rounds";

const maxRound = 0xffff;
/** Number of consecutive starts that may be killed before they deleted earlier flows: days of a crash loop. */
const maxEarlier = 1000;

/** The round of this start and the earlier ones; each is in 1..65535, as the upper 16 bits of a cookie. */
export interface Rounds {
    readonly current: number;
    /** Rounds of earlier starts that may still have flows, oldest first. */
    readonly earlier: readonly number[];
}

/**
 * The rounds for a new start, from the value stored under `roundsKey` (undefined: none): a current one that none of the
 * earlier has, and at most the last 1000 earlier ones. Invalid parts of the value are skipped, which leaves stale flows
 * at worst. Pure function.
 */
export function nextRounds(stored: string | undefined): Rounds {
    const earlier = (stored ?? "")
        .split(",")
        .map((text) => Number(text))
        .filter((round) => Number.isInteger(round) && round >= 1 && round <= maxRound);
    const last = earlier.at(-1) ?? 0;
    // Round 0 is never used: cookies of other programs usually have zero upper bits.
    let current = nextRound(last);
    while (earlier.includes(current)) current = nextRound(current);
    return { current, earlier: earlier.slice(-maxEarlier) };
}

/**
 * The value of `roundsKey`: the earlier rounds and the current one, which `nextRounds` reads. Once the flows of earlier
 * rounds are deleted, it is stored with an empty `earlier`.
 */
export function formatRounds(rounds: Rounds): string {
    return [...rounds.earlier, rounds.current].join(",");
}
