import { badArgument, NetlinkError } from "../errors.ts";

/** True on a little-endian machine: netlink uses the byte order of the host. */
export const LITTLE_ENDIAN: boolean = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The next multiple of 4, at which messages and attributes begin (NLMSG_ALIGN, RTA_ALIGN). */
export function align(length: number): number {
    return (length + 3) & ~3;
}

/**
 * Returns the value. Throws `NetlinkError` `BAD_ARGUMENT` unless it is an integer from 0 that fits into `bits` bits.
 * The message names the value by `what` (default its size) and the text that `object` returns, which is called for an
 * error only.
 */
export function checkUint(value: number, bits: 2 | 8 | 16 | 32, what?: string, object?: () => string): number {
    const limit = 2 ** bits - 1;
    if (Number.isInteger(value) && value >= 0 && value <= limit) return value;
    const field = what ?? `a number of ${bits} bits`;
    throw badArgument(object === undefined ? field : `${field} of ${object()}`, value, `0 to ${limit} allowed`);
}

/** Options of `Writer`; none is needed. */
export interface WriterOptions {
    /** Limit of the body in bytes. Default 16 KiB. */
    readonly maxBytes?: number;
    /** Returns the text that names the message's object in an error; called for an error only. */
    readonly object?: () => string;
}

/**
 * Reads numbers in host byte order from received bytes, which it does not copy. Reading past the end throws
 * `NetlinkError` `SHORT_MESSAGE`.
 */
export class Reader {
    readonly #bytes: Uint8Array;
    readonly #view: DataView;
    readonly #what: string;
    #offset = 0;

    /** `what` names the structure in errors. */
    constructor(bytes: Uint8Array, what: string) {
        this.#bytes = bytes;
        this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        this.#what = what;
    }

    get remaining(): number {
        return this.#bytes.length - this.#offset;
    }

    /** Where the next part begins. */
    get offset(): number {
        return this.#offset;
    }

    u8(): number {
        return this.#view.getUint8(this.#take(1));
    }

    u16(): number {
        return this.#view.getUint16(this.#take(2), LITTLE_ENDIAN);
    }

    u32(): number {
        return this.#view.getUint32(this.#take(4), LITTLE_ENDIAN);
    }

    i32(): number {
        return this.#view.getInt32(this.#take(4), LITTLE_ENDIAN);
    }

    /** The next `length` bytes: a view, not a copy. */
    bytes(length: number): Uint8Array {
        const start = this.#take(length);
        return this.#bytes.subarray(start, start + length);
    }

    rest(): Uint8Array {
        return this.bytes(this.remaining);
    }

    skip(length: number): void {
        this.#take(length);
    }

    /** Skips the padding after a part of `length` bytes; the padding of the last part may be missing. */
    skipPadding(length: number): void {
        this.#offset += Math.min(align(length) - length, this.remaining);
    }

    #take(length: number): number {
        if (length > this.remaining) {
            throw new NetlinkError(
                "SHORT_MESSAGE",
                "remote",
                `netlink ${this.#what}: ${length} bytes needed at offset ${this.#offset}, ${this.remaining} are there`,
            );
        }
        const start = this.#offset;
        this.#offset += length;
        return start;
    }
}

/**
 * Writes one message body in host byte order; methods return the writer. Throws `NetlinkError` `BAD_ARGUMENT` for a
 * number that is not an unsigned integer of its size, a body beyond `maxBytes` or an attribute beyond 64 KiB. `what`
 * names the field of a number in the error.
 */
export class Writer {
    #bytes = new Uint8Array(256);
    #view = new DataView(this.#bytes.buffer);
    #length = 0;
    readonly #maxBytes: number;
    readonly #object: (() => string) | undefined;

    constructor({ maxBytes = 16_384, object }: WriterOptions = {}) {
        this.#maxBytes = maxBytes;
        this.#object = object;
    }

    u8(value: number, what?: string): this {
        const start = this.#grow(1);
        this.#view.setUint8(start, checkUint(value, 8, what, this.#object));
        return this;
    }

    u16(value: number, what?: string): this {
        const start = this.#grow(2);
        this.#view.setUint16(start, checkUint(value, 16, what, this.#object), LITTLE_ENDIAN);
        return this;
    }

    u32(value: number, what?: string): this {
        const start = this.#grow(4);
        this.#view.setUint32(start, checkUint(value, 32, what, this.#object), LITTLE_ENDIAN);
        return this;
    }

    bytes(value: Uint8Array): this {
        const start = this.#grow(value.length);
        this.#bytes.set(value, start);
        return this;
    }

    /** Writes one attribute: struct rtattr, its payload, padding. */
    attribute(type: number, payload: Uint8Array): this {
        return this.nest(type, () => this.bytes(payload));
    }

    attributeU8(type: number, value: number, what?: string): this {
        return this.nest(type, () => this.u8(value, what));
    }

    attributeU32(type: number, value: number, what?: string): this {
        return this.nest(type, () => this.u32(value, what));
    }

    /** Writes a text attribute with its final NUL. */
    attributeText(type: number, text: string): this {
        return this.nest(type, () => this.bytes(new TextEncoder().encode(text)).u8(0));
    }

    /** Writes an attribute whose payload, often attributes, `write` writes. */
    nest(type: number, write: () => void): this {
        const start = this.#grow(4);
        write();
        const length = this.#length - start;
        if (length > 0xffff) throw this.#tooLarge(length, 0xffff);
        this.#view.setUint16(start, length, LITTLE_ENDIAN);
        this.#view.setUint16(start + 2, type, LITTLE_ENDIAN);
        this.#grow(align(this.#length) - this.#length);
        return this;
    }

    /** The written bytes; the writer must not be used after. */
    finish(): Uint8Array {
        return this.#bytes.subarray(0, this.#length);
    }

    /**
     * Reserves `length` bytes and returns their offset. It replaces array and view, so call it before either is
     * accessed.
     */
    #grow(length: number): number {
        const start = this.#length;
        const end = start + length;
        if (end > this.#maxBytes) throw this.#tooLarge(end, this.#maxBytes);
        if (end > this.#bytes.length) {
            const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(end, 2 * this.#bytes.length)));
            larger.set(this.#bytes);
            this.#bytes = larger;
            this.#view = new DataView(larger.buffer);
        }
        this.#length = end;
        return start;
    }

    #tooLarge(length: number, limit: number): NetlinkError {
        return new NetlinkError(
            "BAD_ARGUMENT",
            "caller",
            `netlink message of ${length} bytes: at most ${limit} allowed`,
        );
    }
}
