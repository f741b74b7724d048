import { describe, expect, it } from "@jest/globals";
import { concatBytes, internetChecksum } from "../src/index.ts";

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

describe("concatBytes", () => {
    it("copies the parts in order", () => {
        const first = Uint8Array.of(1, 2);
        const whole = concatBytes([first, new Uint8Array(), Uint8Array.of(3)]);
        first[0] = 9;
        expect([...whole]).toEqual([1, 2, 3]);
        expect(concatBytes([])).toHaveLength(0);
    });
});

describe("internetChecksum", () => {
    it.each([
        // the example of RFC 1071 section 3, whose sum is 0xddf2
        ["the example of the RFC", ["0001f203f4f5f6f7"], 0x220d],
        ["the same in two parts", ["0001f203", "f4f5f6f7"], 0x220d],
        ["an odd number of bytes, as with a zero behind", ["0001f203f4f5f6"], 0x2304],
        ["a carry of the carry", ["ffff", "ffff", "0001"], 0xfffe],
        ["nothing", [], 0xffff],
    ])("of %s", (_, parts, checksum) => {
        expect(internetChecksum(parts.map(bytes))).toBe(checksum);
    });

    it("makes the sum all ones", () => {
        const header = bytes("450000730000400040110000c0a80001c0a800c7");
        new DataView(header.buffer).setUint16(10, internetChecksum([header]));
        expect(internetChecksum([header])).toBe(0);
    });
});
