/**
 * Writes big-endian numbers into a buffer that grows. It does not check values: the caller does, with their names.
 * `capacity` is the first size of the buffer in bytes. When a function that writes to it throws, a part may have been
 * written: discard the writer.
 *
 * Growing replaces the buffer, so every method grows first and accesses the buffer after.
 */
export class Writer {
    #bytes: Uint8Array;
    #view: DataView;
    #length = 0;

    constructor(capacity = 256) {
        this.#bytes = new Uint8Array(capacity);
        this.#view = new DataView(this.#bytes.buffer);
    }

    /** Bytes written so far. */
    get length(): number {
        return this.#length;
    }

    u8(value: number): void {
        const at = this.#grow(1);
        this.#view.setUint8(at, value);
    }

    u16(value: number): void {
        const at = this.#grow(2);
        this.#view.setUint16(at, value);
    }

    u32(value: number): void {
        const at = this.#grow(4);
        this.#view.setUint32(at, value);
    }

    u64(value: bigint): void {
        const at = this.#grow(8);
        this.#view.setBigUint64(at, value);
    }

    /** Writes the low `length` bytes of `value`, at most 16. */
    uint(value: bigint, length: number): void {
        if (length > 8) {
            this.uint(value >> 64n, length - 8);
            return this.u64(value);
        }
        if (length === 8) return this.u64(value);
        const low = Number(BigInt.asUintN(length * 8, value));
        if (length > 4) this.#low(Math.floor(low / 0x1_0000_0000), length - 4);
        this.#low(low % 0x1_0000_0000, Math.min(length, 4));
    }

    #low(value: number, length: number): void {
        if (length === 4) return this.u32(value);
        if (length === 2) return this.u16(value);
        for (let left = length - 1; left >= 0; left -= 1) this.u8((value >>> (left * 8)) & 0xff);
    }

    bytes(value: Uint8Array): void {
        const at = this.#grow(value.length);
        this.#bytes.set(value, at);
    }

    zeros(count: number): void {
        this.#grow(count);
    }

    /** Writes zeros up to a multiple of 8 bytes from `start`. */
    pad8(start: number): void {
        this.zeros((8 - ((this.#length - start) % 8)) % 8);
    }

    /** Overwrites two bytes at `offset`, for lengths that are known at the end. */
    patchU16(offset: number, value: number): void {
        this.#view.setUint16(offset, value);
    }

    /** Takes back what was written after `length` bytes. */
    truncate(length: number): void {
        // `zeros` relies on what lies behind the end.
        this.#bytes.fill(0, length, this.#length);
        this.#length = length;
    }

    /** The written bytes: a view of the buffer, valid until the next write. */
    finish(): Uint8Array {
        return this.#bytes.subarray(0, this.#length);
    }

    #grow(count: number): number {
        const start = this.#length;
        const needed = start + count;
        if (needed > this.#bytes.length) {
            const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
            larger.set(this.#bytes);
            this.#bytes = larger;
            this.#view = new DataView(larger.buffer);
        }
        this.#length = needed;
        return start;
    }
}
