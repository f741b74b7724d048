// The part of DER (ITU-T X.690) that certificates need.

/** Universal tags (X.690 section 8.1.2) as their first octet; SEQUENCE and SET with the bit "constructed". */
export const Tag = {
    BOOLEAN: 0x01,
    INTEGER: 0x02,
    BIT_STRING: 0x03,
    OCTET_STRING: 0x04,
    OBJECT_IDENTIFIER: 0x06,
    UTF8_STRING: 0x0c,
    UTC_TIME: 0x17,
    GENERALIZED_TIME: 0x18,
    SEQUENCE: 0x30,
    SET: 0x31,
} as const;

/**
 * Encodes a value: tag, length and the contents one after the other, which for a constructed tag are encoded values.
 */
export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
    const body = Buffer.concat(contents);
    if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
    const length = unsigned(BigInt(body.length));
    return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, body]);
}

/** Encodes a SEQUENCE of encoded values. */
export function sequence(...contents: readonly Uint8Array[]): Buffer {
    return der(Tag.SEQUENCE, ...contents);
}

/** Encodes a non-negative INTEGER in the fewest octets that keep its sign bit clear. */
export function integer(value: bigint): Buffer {
    const bytes = unsigned(value);
    const positive = (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
    return der(Tag.INTEGER, positive);
}

/** Encodes an OBJECT IDENTIFIER from its dotted form (X.690 section 8.19). */
export function oid(dotted: string): Buffer {
    const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
    return der(Tag.OBJECT_IDENTIFIER, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Encodes a BIT STRING of whole octets, without unused bits. */
export function bitString(bytes: Uint8Array): Buffer {
    return der(Tag.BIT_STRING, Buffer.from([0]), bytes);
}

/**
 * Encodes a Time (RFC 5280 section 4.1.2.5) from wall time in milliseconds: UTCTime up to 2049, GeneralizedTime after.
 */
export function time(ms: number): Buffer {
    const date = new Date(ms);
    const digits = date.toISOString().replace(/[-:T]|\.\d+/g, "");
    const utc = date.getUTCFullYear() < 2050;
    return der(utc ? Tag.UTC_TIME : Tag.GENERALIZED_TIME, Buffer.from(utc ? digits.slice(2) : digits, "ascii"));
}

/**
 * Encodes a context-specific tag with a number of at most 30: constructed (around encoded values) or primitive (around
 * octets).
 */
export function context(number: number, constructed: boolean, ...contents: readonly Uint8Array[]): Buffer {
    return der(0x80 | (constructed ? 0x20 : 0) | number, ...contents);
}

function unsigned(value: bigint): Buffer {
    const hex = value.toString(16);
    return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
}

function base128(value: number): number[] {
    const bytes = [value & 0x7f];
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f));
    return bytes;
}
