import { isIP } from "node:net";
import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import { compareIp, formatIp, ipFromBytes, ipToBytes, IpError, parseIp, sameIp, type IpAddress } from "../src/index.ts";

const mapped = (ip: IpAddress): boolean => ip.family === 6 && ip.value >> 32n === 0xffffn;
const anyIp: fc.Arbitrary<IpAddress> = fc.oneof(
    fc.bigInt(0n, (1n << 32n) - 1n).map((value): IpAddress => ({ family: 4, value })),
    fc
        .array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
        .map((groups): IpAddress => ({ family: 6, value: groups.reduce((sum, g) => (sum << 16n) | BigInt(g), 0n) })),
);

describe("parseIp and formatIp", () => {
    it.each([
        ["0.0.0.0", 4, 0n, "0.0.0.0"],
        ["255.255.255.255", 4, 0xffffffffn, "255.255.255.255"],
        ["10.10.1.200", 4, 0x0a0a01c8n, "10.10.1.200"],
        ["::", 6, 0n, "::"],
        ["::1", 6, 1n, "::1"],
        ["1::", 6, 1n << 112n, "1::"],
        ["FD00:10:0:0::000A", 6, 0xfd00_0010_0000_0000_0000_0000_0000_000an, "fd00:10::a"],
        ["1:2:3:4:5:6:7::", 6, 0x0001_0002_0003_0004_0005_0006_0007_0000n, "1:2:3:4:5:6:7:0"],
        ["1:0:0:2:0:0:0:3", 6, 0x0001_0000_0000_0002_0000_0000_0000_0003n, "1:0:0:2::3"],
        ["1:0:0:2:3:0:0:4", 6, 0x0001_0000_0000_0002_0003_0000_0000_0004n, "1::2:3:0:0:4"],
        ["64:ff9b::10.0.0.1", 6, 0x0064_ff9b_0000_0000_0000_0000_0a00_0001n, "64:ff9b::a00:1"],
        ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 6, (1n << 128n) - 1n, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ])("%s", (text, family, value, canonical) => {
        expect(parseIp(text)).toEqual({ family, value });
        expect(formatIp(parseIp(text))).toBe(canonical);
    });

    it.each([
        ["empty", "", "IPv4 address has four decimal parts"],
        ["leading zero", "10.0.0.01", "must not start with 0"],
        ["leading zero in a dotted tail", "64:ff9b::10.0.0.01", "must not start with 0"],
        ["part over 255", "10.0.0.256", "at most 255"],
        ["three parts", "10.0.0", "four decimal parts"],
        ["one number", "167772161", "four decimal parts"],
        ["hexadecimal", "0x0a.0.0.1", "must be an IPv4 or IPv6 address"],
        ["space", " 10.0.0.1", "must be an IPv4 or IPv6 address"],
        ["zone id", "fe80::1%eth0", "zone id"],
        ["prefix length", "10.0.0.1/24", "prefix length"],
        ["IPv4-mapped", "::ffff:10.0.0.1", "write 10.0.0.1"],
        ["IPv4-mapped in hexadecimal", "::ffff:a00:1", "write 10.0.0.1"],
        ["two gaps", "1::2::3", "must be an IPv4 or IPv6 address"],
        ["nine groups", "1:2:3:4:5:6:7:8:9", "must be an IPv4 or IPv6 address"],
        ["five digits", "1::12345", "must be an IPv4 or IPv6 address"],
        ["brackets", "[::1]", "must be an IPv4 or IPv6 address"],
        ["too long", "1".repeat(100_000), "at most 45 characters"],
        ["not text", 5 as unknown as string, "must be text"],
    ])("refuses %s", (_name, text, rule) => {
        expect(() => parseIp(text)).toThrow(IpError);
        expect(() => parseIp(text)).toThrow(rule);
    });

    it("names the refused text, cut and escaped", () => {
        expect(() => parseIp("a\nb")).toThrow('"a\\nb" is not an IP address');
        expect(() => parseIp("x".repeat(1000))).toThrow(/^.{0,160}$/);
    });

    it("agrees with node:net on what an address is", () => {
        const text = fc.oneof(
            fc.string({ unit: fc.constantFrom(..."0123456789af:.:.".split("")), maxLength: 24 }),
            fc
                .array(fc.constantFrom("0", "1", "00", "255", "256", "f00f", ""), { maxLength: 9 })
                .map((p) => p.join(":")),
            fc.array(fc.constantFrom("0", "1", "00", "255", "256", "19", ""), { maxLength: 5 }).map((p) => p.join(".")),
        );
        const ours = (input: string): number => {
            try {
                return parseIp(input).family;
            } catch (error) {
                return error instanceof IpError && error.message.includes("IPv4-mapped") ? 6 : 0;
            }
        };
        fc.assert(
            fc.property(text, (input) => ours(input) === isIP(input)),
            { numRuns: 5000 },
        );
    });

    it("writes what it reads, in the shortest form", () => {
        fc.assert(
            fc.property(anyIp, (ip) => {
                fc.pre(!mapped(ip));
                const text = formatIp(ip);
                expect(parseIp(text)).toEqual(ip);
                if (ip.family === 6) expect(new URL(`http://[${text}]`).hostname).toBe(`[${text}]`);
            }),
        );
        expect(formatIp({ family: 6, value: 0xffff_0a00_0001n })).toBe("::ffff:10.0.0.1");
    });
});

describe("bytes and order", () => {
    it("goes to bytes and back", () => {
        fc.assert(fc.property(anyIp, (ip) => expect(ipFromBytes(ipToBytes(ip))).toEqual(ip)));
        expect(() => ipFromBytes(new Uint8Array(5))).toThrow("5 bytes are no IP address");
    });

    it("sorts IPv4 before IPv6, then by number", () => {
        const sorted = ["10.0.0.2", "10.0.0.10", "::1", "fd00::"];
        const shuffled = ["fd00::", "10.0.0.10", "::1", "10.0.0.2"].map(parseIp).sort(compareIp);
        expect(shuffled.map(formatIp)).toEqual(sorted);
        expect(sameIp(parseIp("::1"), parseIp("0::1"))).toBe(true);
        expect(sameIp(parseIp("0.0.0.1"), parseIp("::1"))).toBe(false);
        expect(sameIp(parseIp("0.0.0.1"), parseIp("0.0.0.2"))).toBe(false);
    });

    it("compares any two addresses by their numbers, in both directions", () => {
        const bigger = parseIp("10.0.0.10");
        const smaller = parseIp("10.0.0.2");
        expect(compareIp(smaller, bigger)).toBeLessThan(0);
        expect(compareIp(bigger, smaller)).toBeGreaterThan(0);
        expect(compareIp(bigger, parseIp("10.0.0.10"))).toBe(0);
        expect(compareIp(parseIp("::1"), smaller)).toBeGreaterThan(0);
    });
});
