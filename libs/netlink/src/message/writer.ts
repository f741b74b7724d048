import { NetlinkError } from "../errors.ts";
import { align, checkUint, LITTLE_ENDIAN } from "./bytes.ts";

/** Options of `Writer`; none is needed. */
export interface WriterOptions {
    /** Limit of the body in bytes. Default 16 KiB. */
    readonly maxBytes?: number;
    /** Returns the text that names the message's object in an error; called for an error only. */
    readonly object?: () => string;
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
