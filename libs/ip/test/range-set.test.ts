import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import {
    formatIp,
    formatRange,
    formatRangeSet,
    IpError,
    parseIp,
    parsePrefix,
    prefixContains,
    prefixOf,
    prefixRange,
    RangeSet,
    rangeContains,
    type IpAddress,
    type IpRange,
} from "../src/index.ts";
import { address, closeRanges, lastValue, range } from "./arbitrary.ts";

function setOf(...texts: readonly string[]): RangeSet {
    return RangeSet.of(texts.map(rangeFrom));
}

function rangeFrom(text: string): IpRange {
    if (text.includes("/")) return prefixRange(parsePrefix(text));
    const [first, last = first] = text.split("-").map((part) => parseIp(part)) as [IpAddress, IpAddress?];
    return { family: first.family, first: first.value, last: last.value };
}

function texts(set: RangeSet): readonly string[] {
    return set.ranges.map(formatRange);
}

/** The set as a plain set of texts, for ranges small enough. */
function model(ranges: readonly IpRange[]): ReadonlySet<string> {
    const all = new Set<string>();
    for (const { family, first, last } of ranges) {
        for (let value = first; value <= last; value += 1n) all.add(formatIp({ family, value }));
    }
    return all;
}

function sorted(ips: Iterable<string>): readonly string[] {
    return [...new Set(ips)].sort();
}

function addresses(set: RangeSet): readonly string[] {
    return [...set].map(formatIp).sort();
}

/** Sets change only at the ends of their ranges: a rule that holds there and one beside holds everywhere. */
function probes(...ranges: readonly IpRange[]): readonly IpAddress[] {
    return ranges.flatMap(({ family, first, last }) =>
        [first - 1n, first, last, last + 1n]
            .filter((value) => value >= 0n && value <= lastValue(family))
            .map((value) => ({ family, value })),
    );
}

describe("RangeSet.of", () => {
    it.each([
        ["nothing", [], []],
        ["one", ["10.0.0.1-10.0.0.9"], ["10.0.0.1-10.0.0.9"]],
        ["adjacent ones become one", ["10.0.0.5-10.0.0.9", "10.0.0.1-10.0.0.4"], ["10.0.0.1-10.0.0.9"]],
        ["overlapping ones become one", ["10.0.0.3-10.0.0.9", "10.0.0.1-10.0.0.4"], ["10.0.0.1-10.0.0.9"]],
        ["one inside another is gone", ["10.0.0.1-10.0.0.9", "10.0.0.3"], ["10.0.0.1-10.0.0.9"]],
        ["a gap of one stays", ["10.0.0.1-10.0.0.3", "10.0.0.5"], ["10.0.0.1-10.0.0.3", "10.0.0.5"]],
        [
            "families stay apart even where their numbers touch",
            ["255.255.255.255", "::1:0:0-::1:0:5", "0.0.0.0"],
            ["0.0.0.0", "255.255.255.255", "::1:0:0-::1:0:5"],
        ],
        ["two halves of IPv6", ["8000::/1", "::/1"], ["::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]],
    ])("%s", (_name, from, to) => {
        expect(texts(setOf(...from))).toEqual(to);
    });

    it("is sorted, disjoint and without ranges that touch, whatever the order", () => {
        fc.assert(
            fc.property(fc.array(range, { maxLength: 20 }), (ranges) => {
                const set = RangeSet.of(ranges);
                set.ranges.forEach((one, at) => {
                    const next = set.ranges[at + 1];
                    if (next?.family === one.family) expect(one.last + 1n < next.first).toBe(true);
                    expect(one.first <= one.last).toBe(true);
                });
                expect(RangeSet.of([...ranges].reverse()).equals(set)).toBe(true);
                for (const ip of probes(...ranges)) {
                    expect(set.has(ip)).toBe(ranges.some((one) => rangeContains(one, ip)));
                }
            }),
        );
    });
});

describe("RangeSet", () => {
    it("does the algebra of sets, address by address", () => {
        fc.assert(
            fc.property(closeRanges, closeRanges, (left, right) => {
                const [a, b] = [RangeSet.of(left), RangeSet.of(right)];
                const [x, y] = [model(left), model(right)];
                expect(addresses(a.union(b))).toEqual(sorted([...x, ...y]));
                expect(addresses(a.intersect(b))).toEqual(sorted([...x].filter((ip) => y.has(ip))));
                expect(addresses(a.subtract(b))).toEqual(sorted([...x].filter((ip) => !y.has(ip))));
                expect(a.size).toBe(BigInt(x.size));
                expect(a.equals(b)).toBe(x.size === y.size && [...x].every((ip) => y.has(ip)));
                expect(a.isEmpty).toBe(x.size === 0);
            }),
        );
    });

    it("does the algebra of sets on ranges of any size", () => {
        fc.assert(
            fc.property(fc.array(range, { maxLength: 8 }), fc.array(range, { maxLength: 8 }), (left, right) => {
                const [a, b] = [RangeSet.of(left), RangeSet.of(right)];
                const [union, common, rest] = [a.union(b), a.intersect(b), a.subtract(b)];
                for (const ip of probes(...left, ...right)) {
                    expect(union.has(ip)).toBe(a.has(ip) || b.has(ip));
                    expect(common.has(ip)).toBe(a.has(ip) && b.has(ip));
                    expect(rest.has(ip)).toBe(a.has(ip) && !b.has(ip));
                }
                expect(common.size + rest.size).toBe(a.size);
                expect(union.size + common.size).toBe(a.size + b.size);
                expect(rest.union(common).equals(a)).toBe(true);
                // What an operation gives is in the one form that a set has.
                for (const made of [union, common, rest]) expect(RangeSet.of(made.ranges).equals(made)).toBe(true);
            }),
        );
    });

    it("finds each address by its index", () => {
        fc.assert(
            fc.property(closeRanges, (ranges) => {
                const set = RangeSet.of(ranges);
                const all = [...set];
                all.forEach((ip, at) => expect(set.at(BigInt(at))).toEqual(ip));
                expect(set.first()).toEqual(all[0]);
                expect(() => set.at(set.size)).toThrow(IpError);
                expect(() => set.at(-1n)).toThrow("has none at index -1");
            }),
        );
    });

    it("keeps within a prefix what the prefix holds", () => {
        fc.assert(
            fc.property(
                fc.array(range, { maxLength: 8 }),
                address,
                fc.integer({ min: 0, max: 128 }),
                (ranges, ip, bits) => {
                    const prefix = prefixOf(ip, Math.min(bits, ip.family === 4 ? 32 : 128));
                    const set = RangeSet.of(ranges);
                    const within = set.within(prefix);
                    for (const probe of probes(...ranges, prefixRange(prefix))) {
                        expect(within.has(probe)).toBe(set.has(probe) && prefixContains(prefix, probe));
                    }
                    expect(within.size <= set.size).toBe(true);
                },
            ),
        );
    });

    it("holds sets far larger than can be counted out", () => {
        const all = setOf("::/0", "0.0.0.0/0");
        expect(all.size).toBe((1n << 128n) + (1n << 32n));
        expect(formatIp(all.at(all.size - 1n))).toBe("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        expect(formatIp(all.at(1n << 32n))).toBe("::");
        const holed = all.subtract(setOf("fd00::5", "10.0.0.0/8"));
        expect(holed.size).toBe(all.size - 1n - (1n << 24n));
        const [first] = setOf("fd00::/64");
        expect(first).toEqual(parseIp("fd00::"));
    });

    it("gives the first addresses without computing the others", () => {
        const firsts: string[] = [];
        for (const ip of setOf("fd00::/64", "10.0.0.1")) {
            if (firsts.push(formatIp(ip)) === 3) break;
        }
        expect(firsts).toEqual(["10.0.0.1", "fd00::", "fd00::1"]);
    });

    it("is made of addresses too", () => {
        const ips = ["10.0.0.3", "fd00::1", "10.0.0.2", "10.0.0.2"].map(parseIp);
        expect(texts(RangeSet.ofAddresses(ips))).toEqual(["10.0.0.2-10.0.0.3", "fd00::1"]);
    });

    it.each([
        ["nothing", [], ""],
        ["a few", ["10.0.0.1-10.0.0.4", "10.0.0.9"], "10.0.0.1-10.0.0.4, 10.0.0.9"],
        [
            "many",
            ["10.0.0.1", "10.0.0.3", "10.0.0.5", "10.0.0.7", "10.0.0.9", "10.0.0.11"],
            "10.0.0.1, 10.0.0.3, 10.0.0.5, 10.0.0.7 and 2 more ranges",
        ],
    ])("is written for people: %s", (_name, from, text) => {
        expect(formatRangeSet(setOf(...from))).toBe(text);
    });
});
