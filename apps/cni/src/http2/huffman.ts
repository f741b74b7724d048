import { Http2Error } from "./error.ts";

/**
 * The code of RFC 7541 Appendix B is canonical, so the lengths alone define it: the length in bits of each of the
 * symbols 0–256 (256 is the end of string), written as runs "length*count", or "length".
 */
const lengthRuns =
    "13 23 28*7 24 30 28*2 30 28*8 30 28*9 6 10*2 12 13 6 8 11 10*2 8 11 8 6*3 5*3 6*7 7 8 15 6 12 10 13 6 7*22 8 7 8 " +
    "13 19 13 14 6 15 5 6 5 6 5 6*3 5 7*2 6*3 5 6 7 6 5*2 6 7*5 15 11 14 13 28 20 22 20*2 22*3 23 22 23*5 24 23 24*2 22 " +
    "23 24 23*4 21 22 23 22 23*2 24 22 21 20 22*2 23*2 21 23 22*2 24 21 22 23*2 21*2 22 21 23 22 23*2 20 22*3 23 22*2 " +
    "23 26*2 20 19 22 23 22 25 26*3 27*2 26 24 25 19 21 26 27*2 26 27 24 21*2 26*2 28 27*3 20 24 20 21 22 21*2 23 22*2 " +
    "25*2 24*2 26 23 26 27 26*2 27*5 28 27*5 26 30";

const endOfString = 256;
const maxLength = 30;

interface CodeTable {
    /** By length: the first code of that length minus the index of its symbol in `symbols`. */
    readonly offset: Int32Array;
    /** By length: the first longer code, as a value of this length. */
    readonly limit: Int32Array;
    /** The symbols ordered by their codes. */
    readonly symbols: Uint16Array;
}

let table: CodeTable | undefined;

/**
 * Decodes a Huffman string of HPACK (RFC 7541 section 5.2) to text, one character per octet. Throws `Http2Error`
 * COMPRESSION_ERROR for an end-of-string symbol or invalid padding.
 */
export function decodeHuffman(bytes: Uint8Array): string {
    const { offset, limit, symbols } = (table ??= buildTable());
    let decoded = "";
    let code = 0;
    let length = 0;
    for (const byte of bytes) {
        for (let bit = 7; bit >= 0; bit--) {
            code = (code << 1) | ((byte >> bit) & 1);
            length += 1;
            if (code >= (limit[length] ?? 0)) continue;
            const symbol = symbols[code - (offset[length] ?? 0)] ?? endOfString;
            if (symbol === endOfString) throw compressionError("the end-of-string symbol stands inside a string");
            decoded += String.fromCharCode(symbol);
            code = 0;
            length = 0;
        }
    }
    // Padding is a prefix of the end-of-string code: less than one octet of ones.
    if (length > 7 || code !== (1 << length) - 1) throw compressionError("a string ends with wrong padding");
    return decoded;
}

/** Octets as text, one character (U+0000 to U+00FF) per octet, as HTTP/2 headers are kept. */
export function octetsToText(octets: Uint8Array): string {
    let text = "";
    for (const octet of octets) text += String.fromCharCode(octet);
    return text;
}

/** Two passes over the symbols: this runs once in every plugin process, before any code is compiled. */
function buildTable(): CodeTable {
    const lengths: number[] = [];
    const counts = new Int32Array(maxLength + 1);
    for (const run of lengthRuns.split(" ")) {
        const star = run.indexOf("*");
        const length = Number(star < 0 ? run : run.slice(0, star));
        const count = star < 0 ? 1 : Number(run.slice(star + 1));
        counts[length] = (counts[length] ?? 0) + count;
        for (let symbol = 0; symbol < count; symbol++) lengths.push(length);
    }
    const offset = new Int32Array(maxLength + 1);
    const limit = new Int32Array(maxLength + 1);
    const next = new Int32Array(maxLength + 1);
    let code = 0;
    let index = 0;
    for (let length = 1; length <= maxLength; length++) {
        const count = counts[length] ?? 0;
        code <<= 1;
        offset[length] = code - index;
        next[length] = index;
        code += count;
        index += count;
        limit[length] = code;
    }
    const symbols = new Uint16Array(lengths.length);
    for (let symbol = 0; symbol < lengths.length; symbol++) {
        const length = lengths[symbol] ?? 0;
        const at = next[length] ?? 0;
        next[length] = at + 1;
        symbols[at] = symbol;
    }
    return { offset, limit, symbols };
}

function compressionError(message: string): Http2Error {
    return new Http2Error("COMPRESSION_ERROR", "remote", `HPACK: ${message} (RFC 7541 section 5.2)`);
}
