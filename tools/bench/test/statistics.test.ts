import { describe, expect, it } from "@jest/globals";
import { arrivals, quantile, seededRandom } from "../statistics.ts";

describe("seededRandom", () => {
    it("gives the same numbers for the same seed, and others for another", () => {
        const take = (seed: number): readonly number[] => Array.from({ length: 5 }, seededRandom(seed));
        expect(take(1)).toEqual(take(1));
        expect(take(1)).not.toEqual(take(2));
    });

    it("gives numbers from 0 to below 1 with equal chance", () => {
        const numbers = Array.from({ length: 10_000 }, seededRandom(7));
        expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
        for (const share of [0.1, 0.5, 0.9]) expect(quantile(numbers, share)).toBeCloseTo(share, 1);
    });
});

describe("arrivals", () => {
    const times = arrivals(300, 20, seededRandom(1));
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));

    it("come in order, within the time, so many in a second on average", () => {
        expect(gaps.every((gap) => gap >= 0)).toBe(true);
        expect(times.at(-1)).toBeLessThan(20_000);
        expect(times.length / 20).toBeGreaterThan(280);
        expect(times.length / 20).toBeLessThan(320);
    });

    it("come independently of each other: gaps are distributed exponentially", () => {
        const mean = 1000 / 300;
        for (const share of [0.25, 0.5, 0.9]) {
            const expected = -Math.log(1 - share) * mean;
            expect(quantile(gaps, share) / expected).toBeGreaterThan(0.9);
            expect(quantile(gaps, share) / expected).toBeLessThan(1.1);
        }
    });
});
