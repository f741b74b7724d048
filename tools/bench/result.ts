import { median, pairRatio, quantile, type Pairs } from "./statistics.ts";

/** One line of docs/benchmarks/latest.json. */
export interface Result {
    readonly id: string;
    readonly what: string;
    readonly value: number;
    readonly unit: string;
    /** What the value is compared with, in the same unit; null where there is nothing to compare with. */
    readonly against: { readonly what: string; readonly value: number } | null;
    /** `value` divided by that of `against`. */
    readonly ratio: number | null;
    /** Median of the ratios pair by pair, where pairs were measured. */
    readonly pairRatio?: number;
    readonly goal: string | null;
    /** Null where there is no goal. */
    readonly holds: boolean | null;
    /** Why a goal is missed, and what to try next. */
    readonly reason?: string;
    readonly next?: string;
}

/** A figure with an upper limit, or without a goal. */
export function figure(input: {
    readonly id: string;
    readonly what: string;
    readonly value: number;
    readonly unit: string;
    readonly max?: number;
}): Result {
    const { id, what, unit, max } = input;
    return {
        id,
        what,
        value: rounded(input.value),
        unit,
        against: null,
        ratio: null,
        goal: max === undefined ? null : `≤ ${max} ${unit}`,
        holds: max === undefined ? null : input.value <= max,
    };
}

/** A fact that must be so, with the figure that goes with it. */
export function fact(input: {
    readonly id: string;
    readonly what: string;
    readonly value: number;
    readonly unit: string;
    readonly goal: string;
    readonly holds: boolean;
}): Result {
    return { ...input, value: rounded(input.value), against: null, ratio: null };
}

/** One quantile of two sides measured in pairs. */
export function comparison(input: {
    readonly id: string;
    readonly what: string;
    readonly peer: string;
    readonly pairs: Pairs;
    readonly share?: number;
    readonly maxRatio?: number;
}): Result {
    const { id, what, pairs, maxRatio } = input;
    const share = input.share ?? 0.5;
    const value = quantile(pairs.ours, share);
    const peer = quantile(pairs.peer, share);
    return {
        id,
        what,
        value: rounded(value),
        unit: "ms",
        against: { what: input.peer, value: rounded(peer) },
        ratio: rounded(value / peer),
        ...(share === 0.5 && { pairRatio: rounded(pairRatio(pairs)) }),
        goal: maxRatio === undefined ? null : `≤ ${maxRatio}×`,
        holds: maxRatio === undefined ? null : value / peer <= maxRatio,
    };
}

/** The median of a list of figures in the unit given. */
export function typical(input: {
    readonly id: string;
    readonly what: string;
    readonly samples: readonly number[];
    readonly unit: string;
    readonly max?: number;
}): Result {
    return figure({ ...input, value: median(input.samples) });
}

function rounded(value: number): number {
    return Number(value.toPrecision(value >= 1000 ? 5 : 3));
}
