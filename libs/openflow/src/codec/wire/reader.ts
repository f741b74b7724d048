import { peerError } from "../errors.ts";

/**
 * Reads big-endian numbers from bytes, which it does not copy. Every read beyond the end throws `OpenFlowError`
 * `SHORT`. `what` names the structure in errors.
 */
export class Reader {
    readonly #bytes: Uint8Array;
    readonly #view: DataView;
    readonly #what: string;
    #offset = 0;

    constructor(bytes: Uint8Array, what: string) {
        this.#bytes = bytes;
        this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        this.#what = what;
    }

    get what(): string {
        return this.#what;
    }

    /** Bytes read so far. */
    get offset(): number {
        return this.#offset;
    }

    /** Bytes not read yet. */
    get remaining(): number {
        return this.#bytes.length - this.#offset;
    }

    u8(): number {
        return this.#view.getUint8(this.#take(1));
    }

    u16(): number {
        return this.#view.getUint16(this.#take(2));
    }

    u32(): number {
        return this.#view.getUint32(this.#take(4));
    }

    u64(): bigint {
        return this.#view.getBigUint64(this.#take(8));
    }

    /** An unsigned number of `length` bytes, at most 16. */
    uint(length: number): bigint {
        let value = 0n;
        let left = length;
        for (; left >= 4; left -= 4) value = (value << 32n) | BigInt(this.u32());
        for (; left > 0; left -= 1) value = (value << 8n) | BigInt(this.u8());
        return value;
    }

    /** The next `length` bytes: a view, not a copy, valid as long as the bytes under this reader. */
    bytes(length: number): Uint8Array {
        const start = this.#take(length);
        return this.#bytes.subarray(start, start + length);
    }

    /** The remaining bytes, as a view. */
    rest(): Uint8Array {
        return this.bytes(this.remaining);
    }

    /** The remaining bytes, as a copy that stays valid when the bytes under this reader change. */
    restCopy(): Uint8Array {
        return new Uint8Array(this.rest());
    }

    skip(length: number): void {
        this.#take(length);
    }

    /** A reader of the next `length` bytes only; this reader continues after them. */
    sub(length: number, what: string): Reader {
        return new Reader(this.bytes(length), what);
    }

    /** Throws `OpenFlowError` `LONG` when bytes remain. */
    end(): void {
        if (this.remaining > 0) {
            throw peerError("LONG", `${this.#what}: ${this.remaining} bytes are left over after its end`, {
                what: this.#what,
                offset: this.#offset,
            });
        }
    }

    /** Throws `OpenFlowError` `MALFORMED`; `rule` is the rule of the protocol that the bytes break. */
    fail(rule: string): never {
        throw peerError("MALFORMED", `${this.#what}: ${rule}`, { what: this.#what });
    }

    #take(length: number): number {
        const start = this.#offset;
        if (length > this.#bytes.length - start) {
            throw peerError(
                "SHORT",
                `${this.#what}: ${length} bytes needed at offset ${start}, ${this.remaining} left`,
                {
                    what: this.#what,
                    offset: start,
                },
            );
        }
        this.#offset = start + length;
        return start;
    }
}
