import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import {
    compareRanges,
    formatRange,
    IpError,
    parseIp,
    prefixContains,
    prefixOf,
    prefixRange,
    prefixSize,
    rangeContains,
    rangeOf,
    rangesOverlap,
    rangeSize,
} from "../src/index.ts";
import { address, range } from "./arbitrary.ts";

describe("rangeOf", () => {
    it.each([
        ["one address", "10.0.0.1", undefined, "10.0.0.1", 1n],
        ["first and last equal", "fd00::1", "fd00::1", "fd00::1", 1n],
        ["IPv4", "10.0.0.250", "10.0.1.5", "10.0.0.250-10.0.1.5", 12n],
        ["all of IPv4", "0.0.0.0", "255.255.255.255", "0.0.0.0-255.255.255.255", 1n << 32n],
        ["a whole /64", "fd00::", "fd00::ffff:ffff:ffff:ffff", "fd00::-fd00::ffff:ffff:ffff:ffff", 1n << 64n],
    ])("%s", (_name, first, last, text, size) => {
        const made = last === undefined ? rangeOf(parseIp(first)) : rangeOf(parseIp(first), parseIp(last));
        expect(formatRange(made)).toBe(text);
        expect(rangeSize(made)).toBe(size);
    });

    it.each([
        ["start after end", "10.0.0.2", "10.0.0.1", "OUT_OF_ORDER", "10.0.0.2-10.0.0.1"],
        ["two families", "10.0.0.2", "fd00::1", "FAMILY_MISMATCH", "different families"],
    ])("refuses %s", (_name, first, last, code, text) => {
        const make = (): unknown => rangeOf(parseIp(first), parseIp(last));
        expect(make).toThrow(IpError);
        expect(make).toThrow(text);
        expect(codeOf(make)).toBe(code);
    });
});

describe("ranges", () => {
    it("are of prefixes what the prefix holds", () => {
        fc.assert(
            fc.property(address, fc.integer({ min: 0, max: 128 }), (ip, bits) => {
                const length = Math.min(bits, ip.family === 4 ? 32 : 128);
                const prefix = prefixOf(ip, length);
                const all = prefixRange(prefix);
                expect(rangeSize(all)).toBe(prefixSize(prefix));
                expect(prefixContains(prefix, { family: all.family, value: all.first })).toBe(true);
                expect(prefixContains(prefix, { family: all.family, value: all.last })).toBe(true);
            }),
        );
    });

    it("overlap exactly when they share an address, in both directions", () => {
        fc.assert(
            fc.property(range, range, (a, b) => {
                const start = { family: b.family, value: b.first };
                const ownStart = { family: a.family, value: a.first };
                const share = rangeContains(a, start) || rangeContains(b, ownStart);
                expect(rangesOverlap(a, b)).toBe(share);
                expect(rangesOverlap(b, a)).toBe(share);
            }),
        );
    });

    it("contain no address of another family", () => {
        const all = { family: 6, first: 0n, last: 1n << 127n } as const;
        expect(rangeContains(all, parseIp("10.0.0.1"))).toBe(false);
        expect(rangesOverlap(all, rangeOf(parseIp("10.0.0.1")))).toBe(false);
    });

    it("sort by family, first, last", () => {
        const texts = ["10.0.0.1-10.0.0.9", "10.0.0.1", "fd00::1", "10.0.0.0-10.0.0.9"];
        const ranges = texts.map((text) => {
            const [first, last = first] = text.split("-") as [string, string?];
            return rangeOf(parseIp(first), parseIp(last));
        });
        expect(ranges.sort(compareRanges).map(formatRange)).toEqual([
            "10.0.0.0-10.0.0.9",
            "10.0.0.1",
            "10.0.0.1-10.0.0.9",
            "fd00::1",
        ]);
        const [shorter, longer] = [rangeOf(parseIp("10.0.0.1")), rangeOf(parseIp("10.0.0.1"), parseIp("10.0.0.9"))];
        expect(compareRanges(longer, shorter)).toBeGreaterThan(0);
        expect(compareRanges(shorter, longer)).toBeLessThan(0);
        expect(compareRanges(longer, { ...longer })).toBe(0);
    });
});

function codeOf(run: () => unknown): string | undefined {
    try {
        run();
    } catch (error) {
        if (error instanceof IpError) return error.code;
    }
    return undefined;
}
