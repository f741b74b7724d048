import { type Random } from "../engine/random.ts";
import { interesting, readNumber, writeNumber, type Width } from "./numbers.ts";

/** Sources of a mutation besides the input. */
export interface Material {
    readonly random: Random;
    readonly tokens: readonly Uint8Array[];
    /** Another input of the corpus. */
    readonly other: () => Uint8Array;
    readonly maxBytes: number;
}

type Mutation = (bytes: Uint8Array, material: Material) => Uint8Array;

/** Applies several mutations in sequence. */
export function mutateBytes(bytes: Uint8Array, material: Material): Uint8Array {
    const { random, maxBytes } = material;
    let result: Uint8Array = bytes.slice();
    const rounds = 1 << random.below(5);
    for (let round = 0; round < rounds; round++) {
        const mutation = random.pick(mutations) ?? flipBit;
        result = mutation(result, material);
    }
    return result.length > maxBytes ? result.subarray(0, maxBytes) : result;
}

const widths: readonly Width[] = [1, 2, 4];

const flipBit: Mutation = (bytes, { random }) => {
    if (bytes.length === 0) return bytes;
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    return bytes;
};

const setByte: Mutation = (bytes, { random }) => {
    if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
};

/** Adds to, or replaces, a number of 1, 2 or 4 bytes in either byte order. */
function onNumber(change: (value: number, random: Random, bytes: Uint8Array) => number): Mutation {
    return (bytes, { random }) => {
        const width = random.pick(widths) ?? 1;
        if (bytes.length < width) return bytes;
        const at = random.below(bytes.length - width + 1);
        const littleEndian = random.oneIn(2);
        const value = change(readNumber(bytes, at, width, littleEndian), random, bytes);
        writeNumber(bytes, at, width, value, littleEndian);
        return bytes;
    };
}

const addToNumber = onNumber((value, random) => value + random.below(71) - 35);
const setNumber = onNumber((_value, random) => random.pick(interesting) ?? 0);
/** Sets a number to the length of the input or slightly less, in case it is a length field. */
const setLength = onNumber((_value, random, bytes) => bytes.length - random.below(Math.min(bytes.length, 64) + 1));

const removeBlock: Mutation = (bytes, { random }) => {
    if (bytes.length < 2) return bytes;
    const at = random.below(bytes.length);
    return joined(bytes.subarray(0, at), bytes.subarray(at + blockLength(random, bytes.length - at)));
};

const repeatBlock: Mutation = (bytes, { random, maxBytes }) => {
    if (bytes.length === 0) return bytes;
    const at = random.below(bytes.length);
    const block = bytes.subarray(at, at + blockLength(random, bytes.length - at));
    const times = random.oneIn(8) ? 1 + random.below(64) : 1;
    const room = Math.max(0, Math.floor((maxBytes - bytes.length) / block.length));
    const copies = Array.from({ length: Math.min(times, room) }, () => block);
    return joined(bytes.subarray(0, at), ...copies, bytes.subarray(at));
};

const moveBlock: Mutation = (bytes, { random }) => {
    if (bytes.length < 2) return bytes;
    const from = random.below(bytes.length);
    bytes.copyWithin(random.below(bytes.length), from, from + blockLength(random, bytes.length - from));
    return bytes;
};

/**
 * Removes or repeats a block in a structure with a 16-bit length field, and adjusts the length, so that nested
 * structures stay well-formed.
 */
const resizeWithLength: Mutation = (bytes, { random, maxBytes }) => {
    const found = lengthFields(bytes);
    const field = random.pick(found);
    if (field === undefined) return bytes;
    const inside = field.at + 4 + random.below(Math.max(field.end - field.at - 4, 1));
    const size = Math.min(4 * (1 + random.below(4)), field.end - inside);
    const grows = random.oneIn(2) && bytes.length + size <= maxBytes;
    const change = grows ? size : -size;
    const result = grows
        ? joined(bytes.subarray(0, inside), bytes.subarray(inside, inside + size), bytes.subarray(inside))
        : joined(bytes.subarray(0, inside), bytes.subarray(inside + size));
    // The enclosing structures changed their length too.
    for (const { at, end, littleEndian } of found) {
        if (at > inside || end < inside + size || at + 2 > result.length) continue;
        writeNumber(result, at, 2, readNumber(bytes, at, 2, littleEndian) + change, littleEndian);
    }
    return result;
};

interface LengthField {
    readonly at: number;
    readonly end: number;
    readonly littleEndian: boolean;
}

/**
 * Positions where a 16-bit number could be the length of its structure, counted from itself or from two bytes before.
 */
function lengthFields(bytes: Uint8Array): readonly LengthField[] {
    const found: LengthField[] = [];
    for (let at = 0; at + 2 <= bytes.length; at += 2) {
        for (const littleEndian of [false, true]) {
            const length = readNumber(bytes, at, 2, littleEndian);
            const end = at + length;
            if (length >= 8 && end <= bytes.length + 2)
                found.push({ at, end: Math.min(end, bytes.length), littleEndian });
        }
    }
    return found;
}

const insertToken: Mutation = (bytes, { random, tokens }) => {
    const token = random.pick(tokens);
    if (token === undefined) return setByte(bytes, { random } as Material); // needs nothing else
    const at = random.below(bytes.length + 1);
    const keepsLength = random.oneIn(2);
    return joined(bytes.subarray(0, at), token, bytes.subarray(keepsLength ? at + token.length : at));
};

/** The beginning of one input and the end of another. */
const splice: Mutation = (bytes, { random, other }) => {
    const second = other();
    const [first, last] = [random.below(bytes.length + 1), random.below(second.length + 1)];
    return joined(bytes.subarray(0, first), second.subarray(last));
};

const insertOther: Mutation = (bytes, { random, other }) => {
    const second = other();
    const from = random.below(second.length);
    const at = random.below(bytes.length + 1);
    const block = second.subarray(from, from + blockLength(random, second.length - from));
    return joined(bytes.subarray(0, at), block, bytes.subarray(at));
};

const mutations: readonly Mutation[] = [
    flipBit,
    setByte,
    addToNumber,
    setNumber,
    setNumber,
    setLength,
    removeBlock,
    repeatBlock,
    moveBlock,
    resizeWithLength,
    insertToken,
    insertToken,
    splice,
    insertOther,
];

function blockLength(random: Random, most: number): number {
    const limit = random.oneIn(4) ? most : Math.min(most, 16);
    return Math.min(1 + random.below(limit), Math.max(most, 1));
}

/** Concatenates the parts. */
export function joined(...parts: readonly Uint8Array[]): Uint8Array {
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}
