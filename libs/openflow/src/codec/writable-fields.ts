import { callerError } from "./errors.ts";
import { type FieldName } from "./fields.ts";

/** Throws the codec's error `BAD_FIELD` for a field that set_field cannot write. */
export function checkWritable(field: FieldName): void {
    if (readOnly.has(field)) throw callerError("BAD_FIELD", `set_field ${field}: the field can only be read`);
}

/** Fields that set_field cannot write; ct_mark and ct_label are written inside ct only. */
const readOnly: ReadonlySet<FieldName> = new Set([
    "dp_hash",
    "recirc_id",
    "conj_id",
    "packet_type",
    "in_port",
    "actset_output",
    "eth_type",
    "ip_proto",
    "ip_frag",
    "tcp_flags",
    "mpls_bos",
    "ct_state",
    "ct_zone",
    "ct_mark",
    "ct_label",
    "ct_nw_src",
    "ct_nw_dst",
    "ct_ipv6_src",
    "ct_ipv6_dst",
    "ct_nw_proto",
    "ct_tp_src",
    "ct_tp_dst",
]);
