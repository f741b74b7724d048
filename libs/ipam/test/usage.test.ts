import { describe, expect, it } from "@jest/globals";
import { blockText } from "@antrea/crd";
import { formatPrefix, parseIp, prefixRange, RangeSet, rangeOf, type Prefix } from "@antrea/ip";
import * as fc from "fast-check";
import { blocksOf, freeBlocks, poolUsage, saturate } from "../src/index.ts";
import { setOf } from "./objects.ts";

describe("saturate", () => {
    it.each([
        [0n, 0],
        [253n, 253],
        [2n ** 53n - 2n, 2 ** 53 - 2],
        [2n ** 53n - 1n, 2 ** 53 - 1],
        [2n ** 53n, 2 ** 53 - 1],
        [2n ** 128n, 2 ** 53 - 1],
    ])("%s", (count, number) => {
        expect(saturate(count)).toBe(number);
    });
});

describe("poolUsage", () => {
    it("counts the allocations of the pool's addresses", () => {
        const allocations = [
            { ip: parseIp("10.1.0.9"), state: "Allocated" },
            { ip: parseIp("10.1.0.10"), state: "Allocated" },
            { ip: parseIp("10.1.0.11"), state: "Reserved" },
            { ip: parseIp("10.1.0.15"), state: "Allocated" },
            { ip: parseIp("fd00::9"), state: "Reserved" },
        ] as const;
        expect(poolUsage(setOf("10.1.0.9-10.1.0.14"), allocations)).toEqual({
            total: 6n,
            used: 2n,
            reserved: 1n,
            free: 3n,
        });
    });

    it("of a huge pool is exact", () => {
        const allocations = [{ ip: parseIp("fd00::9"), state: "Allocated" }] as const;
        expect(poolUsage(setOf("fd00::/64"), allocations).free).toBe((1n << 64n) - 1n);
    });
});

describe("freeBlocks", () => {
    const texts = (blocks: readonly Prefix[]): readonly string[] => blocks.map(formatPrefix);
    const none = (): number => 0;

    it.each([
        ["an empty pool", setOf(), []],
        ["a pool in one block", setOf("10.1.0.9-10.1.0.14"), ["10.1.0.0/24"]],
        ["a pool over two blocks", setOf("10.1.0.250-10.1.1.3"), ["10.1.0.0/24", "10.1.1.0/24"]],
    ])("%s", (_name, usable, expected) => {
        expect([...texts(freeBlocks(usable, none))].sort()).toEqual(expected);
    });

    it("leaves out what is full and puts room for many first", () => {
        const claimed = new Map([
            ["10.1.0.0/24", 256],
            ["10.1.1.0/24", 250],
            ["10.1.2.0/24", 200],
            ["10.1.3.0/24", 10],
        ]);
        const hints = freeBlocks(setOf("10.1.0.0-10.1.3.255"), (block) => claimed.get(formatPrefix(block)) ?? 0);
        expect(texts(hints)).toEqual(["10.1.3.0/24", "10.1.2.0/24", "10.1.1.0/24"]);
    });

    it("gives at most the hints asked for, each once, spread over a huge pool", () => {
        const hints = freeBlocks(setOf("fd00::/64"), none);
        expect(hints).toHaveLength(32);
        expect(new Set(texts(hints)).size).toBe(32);
        const places = hints.map(({ base }) => Number((base & ((1n << 64n) - 1n)) >> 56n)).sort((a, b) => a - b);
        expect(places.at(-1)! - places[0]!).toBeGreaterThan(200);
        expect(freeBlocks(setOf("10.0.0.0/8"), none, 5)).toHaveLength(5);
    });

    it("stays as it is while allocations come and go in roomy blocks", () => {
        const usable = setOf("10.0.0.0/16");
        expect(freeBlocks(usable, () => 100)).toEqual(freeBlocks(usable, none));
    });

    it("finds the last block with a free address", () => {
        const usable = setOf("10.0.0.0/10");
        const last = parseIp("10.33.44.55");
        expect(texts(freeBlocks(usable, (block) => (formatPrefix(block) === blockText(last) ? 255 : 256)))).toEqual([
            blockText(last),
        ]);
    });

    it("names blocks of the pool with something free, and all of them when they are few", () => {
        const ranges = fc.array(
            fc.tuple(fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 700 })).map(([from, length]) => {
                const value = parseIp("10.1.0.0").value + BigInt(from);
                return { family: 4 as const, first: value, last: value + BigInt(length) };
            }),
            { maxLength: 4 },
        );
        fc.assert(
            fc.property(ranges, fc.array(fc.integer({ min: 0, max: 3700 }), { maxLength: 300 }), (spans, places) => {
                const usable = RangeSet.of(spans);
                const base = parseIp("10.1.0.0").value;
                const taken = RangeSet.of(
                    places.map((at) => rangeOf({ family: 4, value: base + BigInt(at) })),
                ).intersect(usable);
                const blocks = blocksOf(usable);
                const expected = Array.from({ length: Number(blocks.count) }, (_, at) => blocks.at(BigInt(at)))
                    .filter((block) => usable.within(block).size > taken.within(block).size)
                    .map(formatPrefix);
                const hints = freeBlocks(usable, (block) => Number(taken.within(block).size));
                expect([...texts(hints)].sort()).toEqual([...expected].sort());
                const room = hints.map((block) => usable.within(block).size - taken.within(block).size);
                const firstPoor = room.findIndex((free) => free < 128n);
                if (firstPoor >= 0) expect(room.slice(firstPoor).every((free) => free < 128n)).toBe(true);
                for (const block of hints) expect(RangeSet.of([prefixRange(block)]).size).toBe(256n);
            }),
        );
    });
});
