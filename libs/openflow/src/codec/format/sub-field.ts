import { fieldSpec } from "../fields.ts";
import { type SubField } from "../match.ts";

/**
 * A part of a field in ovs-ofctl's syntax: `NXM_NX_REG0[0..3]`, `NXM_NX_REG0[5]` or, for the whole field,
 * `NXM_NX_REG0[]`. Throws `OpenFlowError` `BAD_FIELD` for an unknown field; the bits are not checked.
 */
export function formatSubField({ field: name, offset, bits }: SubField): string {
    const field = fieldSpec(name);
    const width = name === "in_port" ? 16 : field.bits;
    if (offset === 0 && bits === width) return `${field.nxm}[]`;
    return bits === 1 ? `${field.nxm}[${offset}]` : `${field.nxm}[${offset}..${offset + bits - 1}]`;
}
