import { describe, expect, it } from "@jest/globals";
import { decodeHuffman } from "../../src/http2/huffman.ts";
import { huffmanTable } from "../../src/http2/huffman-table.ts";
import { hex } from "../support/hex.ts";

/** Of each length of RFC 7541 Appendix B the first and the last symbol, with its code. */
const appendixB: readonly (readonly [length: number, symbol: number, code: number])[] = [
    [5, 48, 0x0],
    [5, 116, 0x9],
    [6, 32, 0x14],
    [6, 117, 0x2d],
    [7, 58, 0x5c],
    [7, 122, 0x7b],
    [8, 38, 0xf8],
    [8, 90, 0xfd],
    [10, 33, 0x3f8],
    [10, 63, 0x3fc],
    [11, 39, 0x7fa],
    [11, 124, 0x7fc],
    [12, 35, 0xffa],
    [12, 62, 0xffb],
    [13, 0, 0x1ff8],
    [13, 126, 0x1ffd],
    [14, 94, 0x3ffc],
    [14, 125, 0x3ffd],
    [15, 60, 0x7ffc],
    [15, 123, 0x7ffe],
    [19, 92, 0x7fff0],
    [19, 208, 0x7fff2],
    [20, 128, 0xfffe6],
    [20, 226, 0xfffed],
    [21, 153, 0x1fffdc],
    [21, 230, 0x1fffe8],
    [22, 129, 0x3fffd2],
    [22, 233, 0x3fffeb],
    [23, 1, 0x7fffd8],
    [23, 239, 0x7ffff4],
    [24, 9, 0xffffea],
    [24, 237, 0xfffff5],
    [25, 199, 0x1ffffec],
    [25, 235, 0x1ffffef],
    [26, 192, 0x3ffffe0],
    [26, 255, 0x3ffffee],
    [27, 203, 0x7ffffde],
    [27, 254, 0x7fffff0],
    [28, 2, 0xfffffe2],
    [28, 249, 0xffffffe],
    [30, 10, 0x3ffffffc],
    [30, 256, 0x3fffffff],
];

describe("the Huffman code of HPACK", () => {
    const { offset, limit, symbols } = huffmanTable();

    it.each(appendixB)("has of %i bits the symbol %i as 0x%x", (length, symbol, code) => {
        expect(symbols[code - (offset[length] ?? NaN)]).toBe(symbol);
        expect(code).toBeLessThan(limit[length] ?? NaN);
        // No shorter code begins it.
        for (let shorter = 1; shorter < length; shorter += 1) {
            expect(code >> (length - shorter)).toBeGreaterThanOrEqual(limit[shorter] ?? NaN);
        }
    });

    it("has each symbol once, the end of string last", () => {
        expect(symbols.length).toBe(257);
        expect(new Set(symbols).size).toBe(257);
        expect(symbols[256]).toBe(256);
        expect([offset.length, limit.length]).toEqual([31, 31]);
    });
});

describe("Huffman strings", () => {
    it.each([
        ["", ""],
        ["18c631ff", "aaaaa"],
        ["18c6318c63", "aaaaaaaa"],
        ["1f", "a"],
    ])("%s is %j: padding is up to seven ones", (text, decoded) => {
        expect(decodeHuffman(hex(text))).toBe(decoded);
    });

    it.each([
        ["eight bits of padding", "18c6318c63ff", "a string ends with wrong padding"],
        ["padding that is the start of another symbol", "18c631fe", "a string ends with wrong padding"],
        ["padding of zeros", "18", "a string ends with wrong padding"],
        ["the end of string", "3fffffffff", "the end-of-string symbol stands inside a string"],
    ])("%s: refused", (_name, text, rule) => {
        expect(() => decodeHuffman(hex(text))).toThrow(
            expect.objectContaining({
                code: "COMPRESSION_ERROR",
                fault: "remote",
                message: `HPACK: ${rule} (RFC 7541 section 5.2)`,
            }),
        );
    });
});
