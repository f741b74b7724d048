import { WireType } from "./reader.ts";

const utf8 = new TextEncoder();

/**
 * Writes the fields of one protobuf message. Fields with their proto3 default are left out, as proto3 encoders do; the
 * caller writes them in the order of their numbers. Numbers are not checked, bytes are copied by `finish` only.
 */
export class MessageWriter {
    readonly #parts: Uint8Array[] = [];
    #length = 0;

    text(field: number, value: string): void {
        this.bytes(field, utf8.encode(value));
    }

    bytes(field: number, value: Uint8Array): void {
        if (value.length > 0) this.message(field, value);
    }

    /** Writes a message field, also an empty one, since message fields have presence. */
    message(field: number, value: Uint8Array): void {
        this.#varint(field * 8 + WireType.LEN);
        this.#varint(value.length);
        this.#push(value);
    }

    /** Writes an int32 or enumeration value; a negative one takes ten bytes, as the encoding requires. */
    int32(field: number, value: number): void {
        if (value === 0) return;
        this.#varint(field * 8 + WireType.VARINT);
        if (value > 0) this.#varint(value);
        else this.#push(negativeVarint(value));
    }

    /** The bytes of the message, a new array. */
    finish(): Uint8Array {
        const whole = new Uint8Array(this.#length);
        let at = 0;
        for (const part of this.#parts) {
            whole.set(part, at);
            at += part.length;
        }
        return whole;
    }

    #varint(value: number): void {
        const bytes: number[] = [];
        let rest = value;
        for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
        bytes.push(rest);
        this.#push(Uint8Array.from(bytes));
    }

    #push(part: Uint8Array): void {
        this.#parts.push(part);
        this.#length += part.length;
    }
}

/** The 64-bit two's complement of an int32: the upper half is all ones. */
function negativeVarint(value: number): Uint8Array {
    const low = value >>> 0;
    const septet = (shift: number): number => ((low >>> shift) & 0x7f) | 0x80;
    return Uint8Array.of(septet(0), septet(7), septet(14), septet(21), (low >>> 28) | 0xf0, 255, 255, 255, 255, 1);
}
