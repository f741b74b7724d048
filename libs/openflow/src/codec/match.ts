import { type FieldName } from "./fields.ts";

/** An exact value, or the bits of `mask` in `value`; bits of `value` outside `mask` are an error. */
export type FieldValue = number | bigint | { readonly value: number | bigint; readonly mask: number | bigint };

/**
 * What a flow matches: fields of ovs-fields(7) with their values in network byte order read as one number. The writer
 * gives the prerequisites (`eth_type` before `ipv4_src`, `ip_proto` before `tcp_dst`); the order of keys is free, the
 * codec puts prerequisites first. `vlan_tci` and `xxreg` are written as `vlan_vid`/`vlan_pcp` and as four `reg`,
 * which is also how a switch gives them back.
 */
export type Match = { readonly [K in FieldName]?: FieldValue };

/** `bits` bits of a field from `offset`, counted from the least significant bit. */
export interface SubField {
    readonly field: FieldName;
    readonly offset: number;
    readonly bits: number;
}
