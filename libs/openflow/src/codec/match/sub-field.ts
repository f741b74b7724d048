import { callerError } from "../errors.ts";
import { fieldByHeader, fieldSpec, type FieldSpec } from "../fields.ts";
import { type SubField } from "../match.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

/** Width of `in_port` under Nicira's header. */
const niciraPortBits = 16;

/**
 * The field of a subfield. Throws `OpenFlowError`: `BAD_FIELD` for an unknown field, `BAD_VALUE` when the bits lie
 * outside it. `use` names the action in the message.
 */
export function checkedSubField(sub: SubField, use: string): FieldSpec {
    const field = fieldSpec(sub.field);
    const width = field.name === "in_port" ? niciraPortBits : field.bits;
    const whole = Number.isInteger(sub.offset) && Number.isInteger(sub.bits);
    if (!whole || sub.offset < 0 || sub.bits < 1 || sub.offset + sub.bits > width) {
        throw callerError(
            "BAD_VALUE",
            `${use}: ${sub.field}[${sub.offset}..${sub.offset + sub.bits - 1}] lies outside the field, which has ${width} bits`,
        );
    }
    return field;
}

/**
 * Writes the four bytes that name a field in Nicira's actions (class, number, length in bytes) by `FieldSpec.nicira`.
 */
export function writeNiciraHeader(writer: Writer, field: FieldSpec): void {
    const [oxmClass, oxmField] = field.nicira;
    writeHeader(writer, oxmClass, oxmField, field.name === "in_port" ? 2 : field.bytes);
}

/**
 * Writes the four bytes that name a field in the actions of OpenFlow itself: its OXM header, but for `in_port` that of
 * Nicira's actions, of 16 bits.
 */
export function writeOxmHeader(writer: Writer, field: FieldSpec): void {
    if (field.name === "in_port") writeNiciraHeader(writer, field);
    else writeHeader(writer, field.oxmClass, field.oxmField, field.bytes);
}

function writeHeader(writer: Writer, oxmClass: number, oxmField: number, bytes: number): void {
    writer.u16(oxmClass);
    writer.u8(oxmField << 1);
    writer.u8(bytes);
}

/**
 * Reads the four bytes that name a field, in either form; undefined when this codec does not know the field. Throws
 * `OpenFlowError` `SHORT`.
 */
export function readFieldHeader(reader: Reader): FieldSpec | undefined {
    const oxmClass = reader.u16();
    const oxmField = reader.u8() >> 1;
    reader.skip(1);
    return fieldByHeader(oxmClass, oxmField);
}

/**
 * The subfield with these bits of a field that was read. Throws `OpenFlowError` `MALFORMED` when they lie outside it.
 */
export function decodedSubField(reader: Reader, field: FieldSpec, offset: number, bits: number): SubField {
    const width = field.name === "in_port" ? niciraPortBits : field.bits;
    if (bits < 1 || offset + bits > width) {
        reader.fail(`${field.name}[${offset}..${offset + bits - 1}] lies outside the field, which has ${width} bits`);
    }
    return { field: field.name, offset, bits };
}

/**
 * Offset and width in 16 bits, as `output` to a field and the zone of `ct` encode them: the offset above 6 bits with
 * the width less 1. Throws `OpenFlowError` `BAD_VALUE` for more than 64 bits; `use` names the action in the message.
 */
export function packBits(sub: SubField, use: string): number {
    if (sub.bits > 64) throw callerError("BAD_VALUE", `${use}: ${sub.bits} bits, at most 64`);
    return (sub.offset << 6) | (sub.bits - 1);
}

/** The offset and width that `packBits` encoded; any 16 bits have them, and no field is checked. */
export function unpackBits(packed: number): { readonly offset: number; readonly bits: number } {
    return { offset: packed >> 6, bits: (packed & 0x3f) + 1 };
}
