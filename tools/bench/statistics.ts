/** The quantile by the nearest-rank method. `share` is from 0 to 1. */
export function quantile(samples: readonly number[], share: number): number {
    const sorted = samples.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? NaN;
}

/** The median by the nearest-rank method. */
export function median(samples: readonly number[]): number {
    return quantile(samples, 0.5);
}

/** The durations of two sides; equal indexes were measured together. */
export interface Pairs {
    readonly ours: readonly number[];
    readonly peer: readonly number[];
}

/** The median of the pairwise ratios, which is insensitive to drift of the machine's speed. */
export function pairRatio({ ours, peer }: Pairs): number {
    return median(ours.map((value, at) => value / (peer[at] ?? NaN)));
}

/** Runs both sides, alternating which one is first. */
export async function inTurn(index: number, ours: () => Promise<void>, peer: () => Promise<void>): Promise<void> {
    const [first, second] = index % 2 === 0 ? [ours, peer] : [peer, ours];
    await first();
    await second();
}

/** The items rotated by an offset, so that no side is always first. */
export function rotated<T>(items: readonly T[], by: number): readonly T[] {
    const first = by % items.length;
    return [...items.slice(first), ...items.slice(0, first)];
}

/** Pseudo-random numbers in [0, 1), determined by the seed (mulberry32). */
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
 * Start times of an open loop, in milliseconds from its start: a Poisson process with a mean of `perSecond` per
 * second.
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
