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
