import { BlockList } from "node:net";
import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import {
    addressInPrefix,
    formatIp,
    formatPrefix,
    IpError,
    parseIp,
    parsePrefix,
    prefixAt,
    prefixContains,
    prefixesOverlap,
    prefixIndexOf,
    prefixMask,
    prefixOf,
    prefixSize,
} from "../src/index.ts";

describe("parsePrefix", () => {
    it.each([
        ["10.10.0.0/24", 4, 24],
        ["0.0.0.0/0", 4, 0],
        ["10.0.0.1/32", 4, 32],
        ["fd00:10::/64", 6, 64],
        ["::/0", 6, 0],
    ])("%s", (text, family, length) => {
        const prefix = parsePrefix(text);
        expect(prefix).toMatchObject({ family, length });
        expect(formatPrefix(prefix)).toBe(text);
    });

    it.each([
        ["no length", "10.0.0.0", "INVALID_PREFIX", "address/length"],
        ["length over 32", "10.0.0.0/33", "INVALID_PREFIX", "from 0 to 32"],
        ["length over 128", "::/129", "INVALID_PREFIX", "from 0 to 128"],
        ["leading zero in the length", "10.0.0.0/08", "INVALID_PREFIX", "leading zeros"],
        ["empty length", "10.0.0.0/", "INVALID_PREFIX", "whole number"],
        ["negative length", "10.0.0.0/-1", "INVALID_PREFIX", "whole number"],
        ["netmask", "10.0.0.0/255.0.0.0", "INVALID_PREFIX", "whole number"],
        ["two lengths", "10.0.0.0/8/8", "INVALID_PREFIX", "whole number"],
        ["bad address", "10.0.0.01/8", "INVALID_PREFIX", "must not start with 0"],
        ["host bits", "10.0.0.5/24", "HOST_BITS", "write 10.0.0.0/24"],
        ["host bits, IPv6", "fd00::1/64", "HOST_BITS", "write fd00::/64"],
        ["not text", undefined as unknown as string, "INVALID_PREFIX", "address/length"],
    ])("refuses %s", (_name, text, code, rule) => {
        let caught: unknown;
        try {
            parsePrefix(text);
        } catch (error) {
            caught = error;
        }
        expect(caught).toBeInstanceOf(IpError);
        expect(caught).toMatchObject({ code });
        expect((caught as IpError).message).toContain(rule);
    });

    it("masks host bits on request, and keeps the address where both are asked for", () => {
        expect(formatPrefix(parsePrefix("10.0.0.5/24", { hostBits: "mask" }))).toBe("10.0.0.0/24");
        const { ip, prefix } = addressInPrefix("fd00::5/64");
        expect([formatIp(ip), formatPrefix(prefix)]).toEqual(["fd00::5", "fd00::/64"]);
    });
});

describe("questions to a prefix", () => {
    it("counts past 2^53", () => {
        const prefix = parsePrefix("fd00::/8");
        expect(prefixSize(prefix)).toBe(1n << 120n);
        const last = prefixAt(prefix, (1n << 120n) - 1n);
        expect(formatIp(last)).toBe("fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        expect(prefixIndexOf(prefix, last)).toBe((1n << 120n) - 1n);
        expect(prefixMask(prefix)).toBe(0xffn << 120n);
    });

    it("refuses an index or address outside", () => {
        const prefix = parsePrefix("10.0.0.0/30");
        expect(() => prefixAt(prefix, 4n)).toThrow("10.0.0.0/30 has no address 4: 0 to 3");
        expect(() => prefixAt(prefix, -1n)).toThrow(IpError);
        expect(() => prefixIndexOf(prefix, parseIp("10.0.0.4"))).toThrow("10.0.0.4 is not in 10.0.0.0/30");
        expect(() => prefixIndexOf(prefix, parseIp("::1"))).toThrow(
            expect.objectContaining({ code: "FAMILY_MISMATCH" }),
        );
        expect(() => prefixOf(parseIp("10.0.0.4"), 33)).toThrow("0 to 32");
        expect(formatPrefix(prefixOf(parseIp("::1")))).toBe("::1/128");
    });

    it.each([
        ["10.0.0.0/24", "10.0.0.128/25", true],
        ["10.0.0.128/25", "10.0.0.0/24", true],
        ["10.0.0.0/24", "10.0.1.0/24", false],
        ["0.0.0.0/0", "::/0", false],
        ["fd00::/64", "fd00::/64", true],
    ])("overlap of %s and %s: %s", (a, b, expected) => {
        expect(prefixesOverlap(parsePrefix(a), parsePrefix(b))).toBe(expected);
    });

    it("contains the addresses that it contains by node:net", () => {
        const v4 = { bits: 32, family: 4 as const, name: "ipv4" as const };
        const v6 = { bits: 128, family: 6 as const, name: "ipv6" as const };
        const input = fc.constantFrom(v4, v6).chain((f) =>
            fc.record({
                f: fc.constant(f),
                length: fc.integer({ min: 1, max: f.bits }),
                a: fc.bigInt(0n, (1n << BigInt(f.bits)) - 1n),
                flip: fc.integer({ min: 0, max: f.bits - 1 }),
            }),
        );
        fc.assert(
            fc.property(input, ({ f, length, a, flip }) => {
                const prefix = prefixOf({ family: f.family, value: a }, length);
                const ip = { family: f.family, value: a ^ (1n << BigInt(flip)) };
                const list = new BlockList();
                list.addSubnet(formatIp({ family: f.family, value: prefix.base }), length, f.name);
                expect(prefixContains(prefix, ip)).toBe(list.check(formatIp(ip), f.name));
                if (prefixContains(prefix, ip)) expect(prefixAt(prefix, prefixIndexOf(prefix, ip))).toEqual(ip);
            }),
        );
    });
});
