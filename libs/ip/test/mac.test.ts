import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import { formatIp, formatMac, linkLocalFromMac, macFromBigint, macToBigint, parseMac } from "../src/index.ts";

describe("MAC addresses", () => {
    it("goes between text, bytes and number", () => {
        expect(formatMac(parseMac("0A:00:27:00:00:fF"))).toBe("0a:00:27:00:00:ff");
        expect(macToBigint(parseMac("0a:00:27:00:00:ff"))).toBe(0x0a00270000ffn);
        fc.assert(
            fc.property(fc.bigInt(0n, (1n << 48n) - 1n), (value) => {
                expect(macToBigint(parseMac(formatMac(macFromBigint(value))))).toBe(value);
            }),
        );
    });

    it.each(["", "0a:00:27:00:00", "0a-00-27-00-00-ff", "a:0:27:0:0:ff", "0a:00:27:00:00:ff:00", "0g:00:27:00:00:ff"])(
        "refuses %j",
        (text) => expect(() => parseMac(text)).toThrow("six pairs of hexadecimal digits"),
    );

    it("refuses numbers and bytes that are too large", () => {
        expect(() => macFromBigint(1n << 48n)).toThrow("48 bits");
        expect(() => formatMac(new Uint8Array(8))).toThrow("8 bytes");
    });

    it.each([
        ["34:56:78:9a:bc:de", "fe80::3656:78ff:fe9a:bcde"],
        ["02:42:ac:11:00:02", "fe80::42:acff:fe11:2"],
    ])("gives %s the link-local address %s", (mac, ip) => {
        expect(formatIp(linkLocalFromMac(parseMac(mac)))).toBe(ip);
    });
});
