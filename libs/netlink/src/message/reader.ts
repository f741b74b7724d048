import { NetlinkError } from "../errors.ts";
import { align, LITTLE_ENDIAN } from "./bytes.ts";

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
