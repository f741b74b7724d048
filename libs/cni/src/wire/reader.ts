import { CniMessageError } from "./error.ts";

/** Wire types of the protobuf encoding. 3 and 4 are groups, which proto3 does not have but an unknown field may use. */
export const WireType = { VARINT: 0, I64: 1, LEN: 2, START_GROUP: 3, END_GROUP: 4, I32: 5 } as const;

const wireNames = ["VARINT", "I64", "LEN", "START_GROUP", "END_GROUP", "I32"];
const maxGroupDepth = 32;
const maxFieldNumber = 0x1fff_ffff;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Reads the fields of one protobuf message: call `next`, then exactly one of `bytes`, `text`, `int32` and `skip`, until
 * `next` returns undefined. Bytes are views, not copies. Every method throws `CniMessageError` for malformed bytes and
 * never reads beyond the end. `name` is the message's name in errors; a `label` is the name of a field there.
 */
export class MessageReader {
    readonly #bytes: Uint8Array;
    readonly #name: string;
    #at = 0;
    #field = 0;
    #wireType = 0;
    /** The low 32 bits of the last varint, signed. */
    #low32 = 0;

    constructor(bytes: Uint8Array, name: string) {
        this.#bytes = bytes;
        this.#name = name;
    }

    /** The number of the next field; undefined at the end. Each field must then be read or skipped. */
    next(): number | undefined {
        if (this.#at === this.#bytes.length) return undefined;
        const tag = this.#varint("the tag of a field");
        const field = Math.floor(tag / 8);
        if (field === 0 || field > maxFieldNumber) {
            throw new CniMessageError(
                "BAD_FIELD_NUMBER",
                "remote",
                `${this.#name}: field number ${field} at byte ${this.#at} is not within 1–536870911`,
            );
        }
        this.#field = field;
        this.#wireType = tag % 8;
        return field;
    }

    /** The bytes of a LEN field: a view. */
    bytes(label: string): Uint8Array {
        this.#expect(WireType.LEN, label);
        return this.#delimited(label);
    }

    /** The text of a LEN field, which must be UTF-8. */
    text(label: string): string {
        const bytes = this.bytes(label);
        try {
            return utf8.decode(bytes);
        } catch (cause) {
            throw new CniMessageError("BAD_UTF8", "remote", `${this.#name}.${label}: the text is not valid UTF-8`, {
                cause,
            });
        }
    }

    /** An int32 or enumeration value: the low 32 bits of the varint, as every protobuf runtime takes them. */
    int32(label: string): number {
        this.#expect(WireType.VARINT, label);
        this.#varint(label);
        return this.#low32;
    }

    /** Skips a field that this version does not know. */
    skip(): void {
        this.#skip(this.#field, this.#wireType, 0);
    }

    #skip(field: number, wireType: number, depth: number): void {
        const label = `field ${field}`;
        switch (wireType) {
            case WireType.VARINT:
                this.#varint(label);
                return;
            case WireType.I64:
                this.#take(8, label);
                return;
            case WireType.LEN:
                this.#delimited(label);
                return;
            case WireType.I32:
                this.#take(4, label);
                return;
            case WireType.START_GROUP:
                this.#skipGroup(field, depth + 1);
                return;
            default:
                throw new CniMessageError(
                    wireType === WireType.END_GROUP ? "BAD_GROUP" : "WRONG_WIRE_TYPE",
                    "remote",
                    `${this.#name}: ${label} has wire type ${wireType}, which cannot stand here`,
                );
        }
    }

    #skipGroup(field: number, depth: number): void {
        if (depth > maxGroupDepth) {
            throw new CniMessageError(
                "BAD_GROUP",
                "remote",
                `${this.#name}: groups nested deeper than ${maxGroupDepth}`,
            );
        }
        for (;;) {
            const tag = this.#varint(`the end of group ${field}`);
            const [inner, wireType] = [Math.floor(tag / 8), tag % 8];
            if (wireType === WireType.END_GROUP && inner === field) return;
            this.#skip(inner, wireType, depth);
        }
    }

    #expect(wireType: number, label: string): void {
        if (this.#wireType === wireType) return;
        throw new CniMessageError(
            "WRONG_WIRE_TYPE",
            "remote",
            `${this.#name}.${label}: wire type ${wireNames[this.#wireType] ?? this.#wireType} instead of ` +
                `${wireNames[wireType]}`,
        );
    }

    #delimited(label: string): Uint8Array {
        return this.#take(this.#varint(label), label);
    }

    #take(length: number, label: string): Uint8Array {
        if (length > this.#bytes.length - this.#at) throw this.#short(label, `${length} bytes`);
        const start = this.#at;
        this.#at += length;
        return this.#bytes.subarray(start, this.#at);
    }

    /**
     * Up to 64 bits. A value that a double cannot hold exactly is rounded: lengths and field numbers that large are
     * rejected, and `int32` uses the low half.
     */
    #varint(label: string): number {
        let low = 0;
        let high = 0;
        for (let at = 0; at < 10; at++) {
            const byte = this.#byte(label);
            // 28 bits in the low part, the rest in the high one.
            if (at < 4) low |= (byte & 0x7f) << (at * 7);
            else if (at < 9) high += (byte & 0x7f) * 2 ** (at * 7 - 28);
            else high += (byte & 1) * 2 ** 35;
            if (byte < 0x80) {
                this.#low32 = low | ((high % 16) << 28) | 0;
                return high * 2 ** 28 + low;
            }
        }
        throw new CniMessageError("BAD_VARINT", "remote", `${this.#name}: ${label}: a number longer than 10 bytes`);
    }

    #byte(label: string): number {
        const byte = this.#bytes[this.#at];
        if (byte === undefined) throw this.#short(label, "a number");
        this.#at += 1;
        return byte;
    }

    #short(label: string, wanted: string): CniMessageError {
        return new CniMessageError(
            "SHORT_INPUT",
            "remote",
            `${this.#name}: ${label} needs ${wanted} at byte ${this.#at}, the message ends at ${this.#bytes.length}`,
        );
    }
}
