import { describe, expect, it } from "@jest/globals";
import {
    addressInPrefix,
    formatMac,
    IpError,
    ipFromBytes,
    macFromBigint,
    parseIp,
    parseMac,
    parsePrefix,
    prefixAt,
    prefixIndexOf,
    prefixOf,
    rangeOf,
    RangeSet,
} from "../src/index.ts";

const prefix = parsePrefix("10.0.0.0/30");
const notText = 5 as unknown as string;

function errorOf(work: () => unknown): IpError {
    try {
        work();
    } catch (error) {
        if (error instanceof IpError) return error;
        throw error;
    }
    throw new TypeError("there is no error");
}

describe("an error reports whose fault it is and which one", () => {
    it.each<[string, IpError["code"], () => unknown]>([
        ["text that is no address", "INVALID_ADDRESS", () => parseIp("10.0.0")],
        ["a number for an address", "INVALID_ADDRESS", () => parseIp(notText)],
        ["an address of five bytes", "INVALID_ADDRESS", () => ipFromBytes(new Uint8Array(5))],
        ["no prefix", "INVALID_PREFIX", () => addressInPrefix("10.0.0.0")],
        ["host bits", "HOST_BITS", () => parsePrefix("10.0.0.1/24")],
        ["a prefix that is too long", "OUT_OF_RANGE", () => prefixOf(parseIp("10.0.0.1"), 33)],
        ["a prefix of negative length", "OUT_OF_RANGE", () => prefixOf(parseIp("10.0.0.1"), -1)],
        ["a prefix of half a bit", "OUT_OF_RANGE", () => prefixOf(parseIp("10.0.0.1"), 0.5)],
        ["an index behind a prefix", "OUT_OF_RANGE", () => prefixAt(prefix, 4n)],
        ["an address outside of a prefix", "OUT_OF_RANGE", () => prefixIndexOf(prefix, parseIp("10.0.0.4"))],
        ["an address of the other family", "FAMILY_MISMATCH", () => prefixIndexOf(prefix, parseIp("::1"))],
        ["no MAC address", "INVALID_MAC", () => parseMac("aa:bb")],
        ["a number for a MAC address", "INVALID_MAC", () => parseMac(notText)],
        ["a MAC address of eight bytes", "INVALID_MAC", () => formatMac(new Uint8Array(8))],
        ["a MAC address of 49 bits", "OUT_OF_RANGE", () => macFromBigint(1n << 48n)],
        ["a negative MAC address", "OUT_OF_RANGE", () => macFromBigint(-1n)],
        ["a range of two families", "FAMILY_MISMATCH", () => rangeOf(parseIp("10.0.0.1"), parseIp("::1"))],
        ["a range that runs back", "OUT_OF_ORDER", () => rangeOf(parseIp("10.0.0.2"), parseIp("10.0.0.1"))],
        ["an index behind a set", "OUT_OF_RANGE", () => RangeSet.empty.at(0n)],
    ])("%s", (_, code, work) => {
        expect(errorOf(work)).toMatchObject({ code, fault: "caller" });
    });

    it("and holds the rule alone, for text", () => {
        expect(errorOf(() => parseIp("10.0.0")).details).toEqual({
            rule: "an IPv4 address has four decimal parts from 0 to 255",
        });
        expect(errorOf(() => addressInPrefix("10.0.0.0")).details).toEqual({
            rule: "it must be written as address/length",
        });
        expect(errorOf(() => parsePrefix("/24")).details).toEqual({
            rule: expect.stringContaining('"" is not an IP address'),
        });
    });

    it("and shows what was refused, up to 64 characters of it", () => {
        expect(errorOf(() => parseMac(notText)).message).toMatch(/^a value of type number is not a MAC address/);
        expect(errorOf(() => parseMac(null as unknown as string)).message).toMatch(/^a value of type null is not/);
        expect(errorOf(() => parseMac("x".repeat(64))).message).toContain(`"${"x".repeat(64)}"`);
        expect(errorOf(() => parseMac("x".repeat(65))).message).toContain(`"${"x".repeat(64)}…"`);
    });
});
