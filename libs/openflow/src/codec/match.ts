import { type FieldName } from "./fields.ts";

/**
 * The value of a match field: exact, or compared in the bits of `mask` only (0: not compared). A number above 2^53 - 1
 * must be a bigint. Writing throws `OpenFlowError` `BAD_VALUE` for bits of `value` outside `mask`, a value wider than
 * the field, or a mask on a field that takes none.
 */
export type FieldValue = number | bigint | { readonly value: number | bigint; readonly mask: number | bigint };

/**
 * The match of a flow: fields of ovs-fields(7) with their values, each the big-endian number of the field's bytes. The
 * caller gives the prerequisites (`eth_type` for `ipv4_src`, `ip_proto` for `tcp_dst`); the order of keys is free, the
 * codec writes prerequisites first. `vlan_tci` is written as `vlan_vid` and `vlan_pcp`, `xreg` and `xxreg` as two and
 * four `reg`; a flow read from a switch has these.
 */
export type Match = { readonly [K in FieldName]?: FieldValue };

/**
 * A part of a field: `bits` bits (from 1) from bit `offset`, counted from the least significant bit, which is 0.
 * Writing throws `OpenFlowError` `BAD_VALUE` when they lie outside the field; `in_port` has 16 bits here.
 */
export interface SubField {
    readonly field: FieldName;
    readonly offset: number;
    readonly bits: number;
}
