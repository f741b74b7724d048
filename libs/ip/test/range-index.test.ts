import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import { compareRanges, RangeIndex, rangesOverlap, type IpRange } from "../src/index.ts";
import { closeRanges, range } from "./arbitrary.ts";

type Change = { readonly key: string; readonly ranges: readonly IpRange[] | undefined };

const someRanges = fc.oneof(closeRanges, fc.array(range, { maxLength: 6 }));
const changes: fc.Arbitrary<readonly Change[]> = fc.array(
    fc.record({
        key: fc.constantFrom("a", "b", "c", "d", "e"),
        ranges: fc.option(someRanges, { nil: undefined, freq: 4 }),
    }),
    { maxLength: 25 },
);

describe("RangeIndex", () => {
    it("finds what a linear search finds, through any changes", () => {
        fc.assert(
            fc.property(changes, fc.array(range, { maxLength: 5 }), (steps, queries) => {
                const index = new RangeIndex<number>();
                const plain = new Map<string, { readonly ranges: readonly IpRange[]; readonly value: number }>();
                steps.forEach(({ key, ranges }, value) => {
                    if (ranges === undefined) {
                        index.delete(key);
                        plain.delete(key);
                    } else {
                        index.set(key, ranges, value);
                        plain.set(key, { ranges, value });
                    }
                });
                for (const query of [...queries, ...steps.flatMap(({ ranges }) => ranges ?? [])]) {
                    const expected = [...plain].flatMap(([key, { ranges, value }]) =>
                        ranges.filter((one) => rangesOverlap(one, query)).map((one) => text(key, one, value)),
                    );
                    const found = index.overlapping(query);
                    expect(found.map(({ key, range: one, value }) => text(key, one, value)).sort()).toEqual(
                        expected.sort(),
                    );
                    expect(found.map(({ range: one }) => one.first)).toEqual(
                        [...found]
                            .map(({ range: one }) => one)
                            .sort(compareRanges)
                            .map(({ first }) => first),
                    );
                }
            }),
        );
    });

    it("keeps equal ranges of several keys apart", () => {
        const one: IpRange = { family: 4, first: 5n, last: 9n };
        const index = new RangeIndex<string>();
        for (const key of ["c", "a", "b"]) index.set(key, [one, one], key.toUpperCase());
        expect(index.overlapping(one).map(({ value }) => value)).toEqual(["C", "C", "A", "A", "B", "B"]);
        index.delete("a");
        index.delete("a");
        expect(index.overlapping(one).map(({ key }) => key)).toEqual(["c", "c", "b", "b"]);
        index.set("b", [], "gone");
        expect(index.overlapping(one).map(({ key }) => key)).toEqual(["c", "c"]);
    });

    it("stays shallow and right with many ranges in sorted order", () => {
        const index = new RangeIndex<number>();
        const count = 20_000;
        for (let at = 0; at < count; at += 1) {
            const first = BigInt(at) * 10n;
            index.set(String(at), [{ family: 6, first, last: first + 4n }], at);
        }
        index.set("wide", [{ family: 6, first: 0n, last: 1n << 127n }], -1);
        const found = index.overlapping({ family: 6, first: 100_000n, last: 100_012n });
        expect(found.map(({ key }) => key)).toEqual(["wide", "10000", "10001"]);
        expect(index.overlapping({ family: 6, first: 100_005n, last: 100_009n })).toHaveLength(1);
        expect(index.overlapping({ family: 4, first: 100_000n, last: 100_012n })).toHaveLength(0);
        for (let at = 0; at < count; at += 1) index.delete(String(at));
        expect(index.overlapping({ family: 6, first: 0n, last: 1n << 100n })).toHaveLength(1);
    });
});

function text(key: string, { family, first, last }: IpRange, value: number): string {
    return `${key} ${family} ${first} ${last} ${value}`;
}
