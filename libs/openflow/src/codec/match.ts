import { type FieldName } from "./fields.ts";

/**
 * The value of a match field: exact, or compared in the bits of `mask` only; bits of `value` outside `mask` are an
 * error.
 */
export type FieldValue = number | bigint | { readonly value: number | bigint; readonly mask: number | bigint };

/**
 * The match of a flow: fields of ovs-fields(7) with their values, each the big-endian number of the field's bytes. The
 * caller gives the prerequisites (`eth_type` for `ipv4_src`, `ip_proto` for `tcp_dst`); the order of keys is free, the
 * codec writes prerequisites first. `vlan_tci` is written as `vlan_vid` and `vlan_pcp`, `xreg` and `xxreg` as two and
 * four `reg`; a flow read from a switch has these.
 */
export type Match = { readonly [K in FieldName]?: FieldValue };

/** A part of a field: `bits` bits from bit `offset`, counted from the least significant bit, which is 0. */
export interface SubField {
    readonly field: FieldName;
    readonly offset: number;
    readonly bits: number;
}
