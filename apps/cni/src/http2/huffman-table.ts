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

const maxLength = 30;

/** A canonical prefix code, to be decoded bit by bit: arrays by the length of a code in bits, from 1 to 30. */
export interface HuffmanTable {
    /** By length: the first code of that length minus the index of its symbol in `symbols`. */
    readonly offset: Int32Array;
    /** By length: the first longer code, as a value of this length. */
    readonly limit: Int32Array;
    /** The symbols ordered by their codes: 0 to 255 are octets, 256 is the end of string. */
    readonly symbols: Uint16Array;
}

/**
 * Computes the table of HPACK's code (RFC 7541 Appendix B), in two passes over the symbols: a plugin process needs it at
 * most once, before any code is compiled.
 */
export function huffmanTable(): HuffmanTable {
    const lengths: number[] = [];
    const counts = new Int32Array(maxLength + 1);
    for (const run of lengthRuns.split(" ")) {
        const [length = 0, count = 1] = run.split("*").map(Number);
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
