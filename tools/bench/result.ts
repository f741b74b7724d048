import { median, pairRatio, quantile, type Pairs } from "./statistics.ts";

/** One entry of docs/benchmarks/latest.json. */
export interface Result {
    readonly id: string;
    readonly what: string;
    readonly value: number;
    readonly unit: string;
    /** The value of the comparison, in the same unit; null without one. */
    readonly against: { readonly what: string; readonly value: number } | null;
    /** `value` divided by that of `against`. */
    readonly ratio: number | null;
    /** Median of the pairwise ratios, if pairs were measured. */
    readonly pairRatio?: number;
    readonly goal: string | null;
    /** Null without a goal. */
    readonly holds: boolean | null;
    /** The curve with `value` and `against` as its ends, if one was measured; ascending. */
    readonly points?: readonly Point[];
    /** Why a goal is missed, and what to try next. */
    readonly reason?: string;
    readonly next?: string;
}

/** One point of a curve. */
export interface Point {
    readonly x: number;
    readonly value: number;
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

/** A condition that must be true, with a figure. */
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

/** A figure and that of a peer. `minRatio` is for figures where more is better; `max` limits the value itself. */
export function compared(input: {
    readonly id: string;
    readonly what: string;
    readonly value: number;
    readonly unit: string;
    readonly peer: { readonly what: string; readonly value: number };
    readonly minRatio?: number;
    readonly maxRatio?: number;
    readonly max?: number;
}): Result {
    const { id, what, value, unit, peer, minRatio, maxRatio, max } = input;
    const ratio = value / peer.value;
    const common = {
        id,
        what,
        value: rounded(value),
        unit,
        against: { what: peer.what, value: rounded(peer.value) },
        ratio: rounded(ratio),
    };
    if (minRatio !== undefined) return { ...common, goal: `≥ ${rounded(minRatio)}×`, holds: ratio >= minRatio };
    if (maxRatio !== undefined) return { ...common, goal: `≤ ${rounded(maxRatio)}×`, holds: ratio <= maxRatio };
    if (max !== undefined) return { ...common, goal: `≤ ${max} ${unit}`, holds: value <= max };
    return { ...common, goal: null, holds: null };
}

/** One quantile, by default the median, of two sides measured in pairs, by default in milliseconds. */
export function comparison(input: {
    readonly id: string;
    readonly what: string;
    readonly peer: string;
    readonly pairs: Pairs;
    readonly share?: number;
    readonly unit?: string;
    readonly minRatio?: number;
    readonly maxRatio?: number;
    readonly max?: number;
}): Result {
    const { pairs, peer, share = 0.5, unit = "ms", ...rest } = input;
    const value = quantile(pairs.ours, share);
    const result = compared({ ...rest, value, unit, peer: { what: peer, value: quantile(pairs.peer, share) } });
    return share === 0.5 ? { ...result, pairRatio: rounded(pairRatio(pairs)) } : result;
}

/** The median of figures in the given unit. */
export function typical(input: {
    readonly id: string;
    readonly what: string;
    readonly samples: readonly number[];
    readonly unit: string;
    readonly max?: number;
}): Result {
    return figure({ ...input, value: median(input.samples) });
}

/** Rounds to the precision of the report: three digits, or five for large figures. */
export function rounded(value: number): number {
    return Number(value.toPrecision(value >= 1000 ? 5 : 3));
}
