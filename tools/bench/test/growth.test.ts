import { describe, expect, it } from "@jest/globals";
import { curve } from "../growth/curve.ts";
import { blocksOf, countedPool, objectOf, poolOfBits, usableOf } from "../growth/ranges.ts";

describe("curve", () => {
    const of = (growth: "constant" | "logarithm" | undefined, ...values: readonly number[]): ReturnType<typeof curve> =>
        curve({
            id: "growth-x",
            what: "an allocation",
            unit: "ms",
            of: "Nodes",
            points: values.map((value, at) => ({ x: 10 ** at, value })),
            ...(growth !== undefined && { growth }),
        });

    it("compares the largest with the smallest, and keeps what is between", () => {
        expect(of("constant", 4, 9, 5)).toMatchObject({
            what: "an allocation, 100 Nodes",
            value: 5,
            ratio: 1.25,
            goal: "≤ 1.25×",
            holds: true,
            against: { what: "the same with 1 Nodes", value: 4 },
            points: [
                { x: 1, value: 4 },
                { x: 10, value: 9 },
                { x: 100, value: 5 },
            ],
        });
    });

    it.each([
        ["constant", [4, 4, 5.01], "≤ 1.25×", false],
        ["logarithm", [1, 4, 8], "≤ 2×", true],
        ["logarithm", [1, 4, 8.01], "≤ 2×", false],
        [undefined, [1, 4, 400], null, null],
    ] as const)("judges growth: %s %j", (growth, values, goal, holds) => {
        expect(of(growth, ...values)).toMatchObject({ goal, holds });
    });

    it("lets nothing hold without points", () => {
        expect(of("constant").holds).toBe(false);
    });
});

describe("pools", () => {
    it("of all sizes do not overlap, and lie in their subnets", () => {
        const pools = [8, 10, 12, 14, 16, 18, 20].map(poolOfBits);
        for (const [at, { first, size }] of pools.entries()) {
            expect(first % size).toBe(0);
            expect(first + size).toBeLessThanOrEqual(pools[at + 1]?.first ?? Infinity);
        }
        expect(objectOf(poolOfBits(10)).spec.ipRanges).toEqual([
            { cidr: "11.160.0.0/22", gateway: "11.160.0.1", prefixLength: 22 },
        ]);
    });

    it("hand out all but network, gateway and broadcast", () => {
        const usable = usableOf(countedPool(3));
        expect([usable.length, usable[0], usable.at(-1)]).toEqual([253, 0x0d00_0302, 0x0d00_03fe]);
    });

    it("have their blocks", () => {
        expect(blocksOf(poolOfBits(10))).toEqual(["11.160.0.0/24", "11.160.1.0/24", "11.160.2.0/24", "11.160.3.0/24"]);
    });
});
