/** The value below which a share of the samples lies, by the nearest rank. `share` is from 0 to 1. */
export function quantile(samples: readonly number[], share: number): number {
    const sorted = samples.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? NaN;
}

export function median(samples: readonly number[]): number {
    return quantile(samples, 0.5);
}

/** What two sides took, index by index at the same moment. */
export interface Pairs {
    readonly ours: readonly number[];
    readonly peer: readonly number[];
}

/** The median of the ratios pair by pair: it stands still where the machine's speed drifts. */
export function pairRatio({ ours, peer }: Pairs): number {
    return median(ours.map((value, at) => value / (peer[at] ?? NaN)));
}

/** Runs both in turn, the one that goes first alternating from pair to pair. */
export async function inTurn(index: number, ours: () => Promise<void>, peer: () => Promise<void>): Promise<void> {
    const [first, second] = index % 2 === 0 ? [ours, peer] : [peer, ours];
    await first();
    await second();
}

/** The items in their order, begun at another one each time: of several sides none always goes first. */
export function rotated<T>(items: readonly T[], by: number): readonly T[] {
    const first = by % items.length;
    return [...items.slice(first), ...items.slice(0, first)];
}

/** Numbers from 0 to below 1 that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
        mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
}

/**
 * When the calls of an open loop begin, in milliseconds from its start: independent of each other and of the answers,
 * `perSecond` of them in a second on average (a Poisson process).
 */
export function arrivals(perSecond: number, seconds: number, random: () => number): readonly number[] {
    const times: number[] = [];
    let at = 0;
    for (;;) {
        at += (-Math.log(1 - random()) / perSecond) * 1000;
        if (at >= seconds * 1000) return times;
        times.push(at);
    }
}
