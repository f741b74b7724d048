import { rounded, type Point, type Result } from "../result.ts";

/** How fast a figure may grow with what it is measured over. */
export type Growth = "constant" | "logarithm";

/** What counts as the same: two measurements of one thing differ by so much on a machine of two cores. */
const flat = 1.25;
/** Below it the logarithm says nothing: that of 1 is 0. */
const logarithmFrom = 10;

/** A figure over something that grows: what it is at the largest, against what it is at the smallest. */
export function curve(input: {
    readonly id: string;
    readonly what: string;
    readonly unit: string;
    /** What x counts, "Nodes" for example. */
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

// NaN lets no goal hold.
const nothing: Point = { x: NaN, value: NaN };

function limitOf(growth: Growth, first: number, last: number): number {
    return growth === "constant" ? flat : Math.log(last) / Math.log(first);
}
