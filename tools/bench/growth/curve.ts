import { rounded, type Point, type Result } from "../result.ts";

/** How fast a figure may grow with the quantity. */
export type Growth = "constant" | "logarithm";

/** Tolerance for equality: repeated measurements on a machine with two cores differ by this factor. */
const flat = 1.25;
/** Below it the logarithm is not meaningful: that of 1 is 0. */
const logarithmFrom = 10;

/** A figure by a growing quantity: compares its value at the largest quantity with that at the smallest. */
export function curve(input: {
    readonly id: string;
    readonly what: string;
    readonly unit: string;
    /** The quantity x, for example "Nodes". */
    readonly of: string;
    /** Ascending. */
    readonly points: readonly Point[];
    readonly growth?: Growth;
}): Result {
    const { id, what, unit, of, growth, points } = input;
    const first = points.find(({ x }) => growth !== "logarithm" || x >= logarithmFrom) ?? nothing;
    const last = points.at(-1) ?? nothing;
    const ratio = last.value / first.value;
    const limit = growth && limitOf(growth, first.x, last.x);
    return {
        id,
        what: `${what}, ${last.x} ${of}`,
        value: rounded(last.value),
        unit,
        against: { what: `the same with ${first.x} ${of}`, value: rounded(first.value) },
        ratio: rounded(ratio),
        goal: limit === undefined ? null : `≤ ${rounded(limit)}×`,
        holds: limit === undefined ? null : ratio <= limit,
        points: points.map(({ x, value }) => ({ x, value: rounded(value) })),
    };
}

// NaN meets no goal.
const nothing: Point = { x: NaN, value: NaN };

function limitOf(growth: Growth, first: number, last: number): number {
    return growth === "constant" ? flat : Math.log(last) / Math.log(first);
}
