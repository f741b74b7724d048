import { type Comparison } from "../engine/probes.ts";
import { joined } from "./bytes.ts";
import { writeNumber, type Width } from "./numbers.ts";

const maxPlaces = 4;
const text = new TextEncoder();

/**
 * Inputs in which one operand of a comparison, found in the input as number or text, is replaced by the other operand
 * or its neighbours.
 */
export function* replacements(input: Uint8Array, comparisons: readonly Comparison[]): Generator<Uint8Array> {
    const seen = new Set<string>();
    for (const [a, b] of comparisons) {
        const key = `${typeof a}${String(a)} ${typeof b}${String(b)}`;
        if (seen.has(key)) continue;
        seen.add(key);
        yield* oneWay(input, a, b);
        yield* oneWay(input, b, a);
    }
}

function* oneWay(input: Uint8Array, from: Comparison[0], to: Comparison[0]): Generator<Uint8Array> {
    if (typeof from === "number" && typeof to === "number") {
        if (!Number.isInteger(from) || !Number.isInteger(to)) return;
        for (const value of [to, to + 1, to - 1]) yield* numbers(input, from, value);
    } else if (typeof from === "string" && typeof to === "string" && from.length > 0 && to.length <= 256) {
        yield* swapped(input, text.encode(from), text.encode(to));
    } else if (typeof from === "bigint" && typeof to === "bigint" && from >= 0n && to >= 0n) {
        for (const width of [4, 8, 16]) {
            if (from >> BigInt(width * 8) || to >> BigInt(width * 8)) continue;
            yield* swapped(input, bigBytes(from, width), bigBytes(to, width));
        }
    }
}

function* numbers(input: Uint8Array, from: number, to: number): Generator<Uint8Array> {
    yield* swapped(input, text.encode(String(from)), text.encode(String(to)));
    if (from < 0 || to < 0) return;
    for (const width of [1, 2, 4] as const) {
        if (from >= 2 ** (8 * width) || to >= 2 ** (8 * width)) continue;
        for (const littleEndian of width === 1 ? [false] : [false, true]) {
            yield* swapped(input, numberBytes(from, width, littleEndian), numberBytes(to, width, littleEndian));
        }
    }
}

function numberBytes(value: number, width: Width, littleEndian: boolean): Uint8Array {
    const bytes = new Uint8Array(width);
    writeNumber(bytes, 0, width, value, littleEndian);
    return bytes;
}

function bigBytes(value: bigint, width: number): Uint8Array {
    const digits = value.toString(16).padStart(width * 2, "0");
    return Uint8Array.from(Buffer.from(digits, "hex"));
}

/** The input with `to` in place of `from`, once for each of the first occurrences. */
function* swapped(input: Uint8Array, from: Uint8Array, to: Uint8Array): Generator<Uint8Array> {
    const buffer = Buffer.from(input.buffer, input.byteOffset, input.byteLength);
    let at = -1;
    for (let place = 0; place < maxPlaces; place++) {
        at = buffer.indexOf(from, at + 1);
        if (at < 0) return;
        yield joined(input.subarray(0, at), to, input.subarray(at + from.length));
    }
}
