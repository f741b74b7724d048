import { callerError } from "./errors.ts";

/** A match field: its names, its OXM header and its width (ovs-fields(7), OpenFlow 1.5 section 7.2.3). */
export interface FieldSpec {
    readonly name: FieldName;
    /** Name in ovs-ofctl's `set_field` and in matches. */
    readonly ofctl: string;
    /** Name in ovs-ofctl's `move`, `learn` and register references. */
    readonly nxm: string;
    readonly oxmClass: number;
    readonly oxmField: number;
    /**
     * Class and number inside Nicira's own actions, which prefer the older NXM headers. That of `in_port` has 16 bits,
     * so a subfield of `in_port` is at most that wide.
     */
    readonly nicira: readonly [oxmClass: number, oxmField: number];
    /**
     * Position on the wire, counted from 0. ovs-ofctl has a few of a match in other places (`ipv6_label`, `mpls_label`,
     * `tun_flags`); a switch takes any order in which fields come after their prerequisites.
     */
    readonly order: number;
    /** Significant bits. */
    readonly bits: number;
    /** The mask with all these bits set. */
    readonly all: bigint;
    /** Bytes on the wire. */
    readonly bytes: number;
    /** Whether a match may give a mask for it. */
    readonly maskable: boolean;
    /** Notation of its values in the text that `formatMatch` and `formatActions` write. */
    readonly format: FieldFormat;
}

/**
 * Notation of a field's values in ovs-ofctl's syntax, which `formatValue` writes: `port` is a reserved name or a
 * decimal number, `frag` a word such as `later`, `packet_type` its namespace and type as `(1,0x800)`, `ct_state` and
 * `tcp_flags` are `+est-rel` when masked, else hexadecimal.
 */
export type FieldFormat =
    "decimal" | "hex" | "port" | "mac" | "ipv4" | "ipv6" | "ct_state" | "frag" | "tcp_flags" | "packet_type";

const basic = 0x8000;
const nxm0 = 0x0000;
const nxm1 = 0x0001;
const packetRegs = 0x8001;

type Row = readonly [
    ofctl: string,
    nxm: string,
    oxmClass: number,
    oxmField: number,
    bits: number,
    format: FieldFormat,
    maskable: boolean,
    nicira?: readonly [oxmClass: number, oxmField: number],
];

const table = {
    dp_hash: ["dp_hash", "NXM_NX_DP_HASH", nxm1, 35, 32, "hex", true],
    recirc_id: ["recirc_id", "NXM_NX_RECIRC_ID", nxm1, 36, 32, "hex", false],
    conj_id: ["conj_id", "NXM_NX_CONJ_ID", nxm1, 37, 32, "decimal", false],
    packet_type: ["packet_type", "OXM_OF_PACKET_TYPE", basic, 44, 32, "packet_type", false],
    in_port: ["in_port", "NXM_OF_IN_PORT", basic, 0, 32, "port", false, [nxm0, 0]],
    actset_output: ["actset_output", "OXM_OF_ACTSET_OUTPUT", basic, 43, 32, "port", false],
    eth_src: ["dl_src", "NXM_OF_ETH_SRC", basic, 4, 48, "mac", true, [nxm0, 2]],
    eth_dst: ["dl_dst", "NXM_OF_ETH_DST", basic, 3, 48, "mac", true, [nxm0, 1]],
    eth_type: ["dl_type", "NXM_OF_ETH_TYPE", basic, 5, 16, "hex", false, [nxm0, 3]],
    vlan_tci: ["vlan_tci", "NXM_OF_VLAN_TCI", nxm0, 4, 16, "hex", true],
    vlan_vid: ["vlan_vid", "OXM_OF_VLAN_VID", basic, 6, 13, "hex", true],
    vlan_pcp: ["vlan_pcp", "OXM_OF_VLAN_PCP", basic, 7, 3, "decimal", false],
    mpls_label: ["mpls_label", "OXM_OF_MPLS_LABEL", basic, 34, 20, "decimal", false],
    mpls_tc: ["mpls_tc", "OXM_OF_MPLS_TC", basic, 35, 3, "decimal", false],
    mpls_bos: ["mpls_bos", "OXM_OF_MPLS_BOS", basic, 36, 1, "decimal", false],
    mpls_ttl: ["mpls_ttl", "NXM_NX_MPLS_TTL", nxm1, 30, 8, "decimal", false],
    ipv4_src: ["nw_src", "NXM_OF_IP_SRC", basic, 11, 32, "ipv4", true, [nxm0, 7]],
    ipv4_dst: ["nw_dst", "NXM_OF_IP_DST", basic, 12, 32, "ipv4", true, [nxm0, 8]],
    ipv6_src: ["ipv6_src", "NXM_NX_IPV6_SRC", basic, 26, 128, "ipv6", true, [nxm1, 19]],
    ipv6_dst: ["ipv6_dst", "NXM_NX_IPV6_DST", basic, 27, 128, "ipv6", true, [nxm1, 20]],
    ipv6_label: ["ipv6_label", "NXM_NX_IPV6_LABEL", basic, 28, 20, "hex", true, [nxm1, 27]],
    ip_frag: ["ip_frag", "NXM_NX_IP_FRAG", nxm1, 26, 2, "frag", true],
    ip_dscp: ["ip_dscp", "OXM_OF_IP_DSCP", basic, 8, 6, "decimal", false],
    ip_ecn: ["nw_ecn", "NXM_NX_IP_ECN", basic, 9, 2, "decimal", false, [nxm1, 28]],
    ip_ttl: ["nw_ttl", "NXM_NX_IP_TTL", nxm1, 29, 8, "decimal", false],
    ip_proto: ["nw_proto", "NXM_OF_IP_PROTO", basic, 10, 8, "decimal", false, [nxm0, 6]],
    arp_op: ["arp_op", "NXM_OF_ARP_OP", basic, 21, 16, "decimal", false, [nxm0, 15]],
    arp_spa: ["arp_spa", "NXM_OF_ARP_SPA", basic, 22, 32, "ipv4", true, [nxm0, 16]],
    arp_tpa: ["arp_tpa", "NXM_OF_ARP_TPA", basic, 23, 32, "ipv4", true, [nxm0, 17]],
    arp_sha: ["arp_sha", "NXM_NX_ARP_SHA", basic, 24, 48, "mac", true, [nxm1, 17]],
    arp_tha: ["arp_tha", "NXM_NX_ARP_THA", basic, 25, 48, "mac", true, [nxm1, 18]],
    tcp_src: ["tcp_src", "NXM_OF_TCP_SRC", basic, 13, 16, "decimal", true, [nxm0, 9]],
    tcp_dst: ["tcp_dst", "NXM_OF_TCP_DST", basic, 14, 16, "decimal", true, [nxm0, 10]],
    tcp_flags: ["tcp_flags", "NXM_NX_TCP_FLAGS", basic, 42, 12, "tcp_flags", true, [nxm1, 34]],
    udp_src: ["udp_src", "NXM_OF_UDP_SRC", basic, 15, 16, "decimal", true, [nxm0, 11]],
    udp_dst: ["udp_dst", "NXM_OF_UDP_DST", basic, 16, 16, "decimal", true, [nxm0, 12]],
    sctp_src: ["sctp_src", "OXM_OF_SCTP_SRC", basic, 17, 16, "decimal", true],
    sctp_dst: ["sctp_dst", "OXM_OF_SCTP_DST", basic, 18, 16, "decimal", true],
    icmpv4_type: ["icmp_type", "NXM_OF_ICMP_TYPE", basic, 19, 8, "decimal", false, [nxm0, 13]],
    icmpv4_code: ["icmp_code", "NXM_OF_ICMP_CODE", basic, 20, 8, "decimal", false, [nxm0, 14]],
    icmpv6_type: ["icmpv6_type", "NXM_NX_ICMPV6_TYPE", basic, 29, 8, "decimal", false, [nxm1, 21]],
    icmpv6_code: ["icmpv6_code", "NXM_NX_ICMPV6_CODE", basic, 30, 8, "decimal", false, [nxm1, 22]],
    nd_target: ["nd_target", "NXM_NX_ND_TARGET", basic, 31, 128, "ipv6", true, [nxm1, 23]],
    nd_sll: ["nd_sll", "NXM_NX_ND_SLL", basic, 32, 48, "mac", true, [nxm1, 24]],
    nd_tll: ["nd_tll", "NXM_NX_ND_TLL", basic, 33, 48, "mac", true, [nxm1, 25]],
    tun_id: ["tun_id", "NXM_NX_TUN_ID", basic, 38, 64, "hex", true, [nxm1, 16]],
    tun_src: ["tun_src", "NXM_NX_TUN_IPV4_SRC", nxm1, 31, 32, "ipv4", true],
    tun_dst: ["tun_dst", "NXM_NX_TUN_IPV4_DST", nxm1, 32, 32, "ipv4", true],
    tun_ipv6_src: ["tun_ipv6_src", "NXM_NX_TUN_IPV6_SRC", nxm1, 109, 128, "ipv6", true],
    tun_ipv6_dst: ["tun_ipv6_dst", "NXM_NX_TUN_IPV6_DST", nxm1, 110, 128, "ipv6", true],
    tun_gbp_id: ["tun_gbp_id", "NXM_NX_TUN_GBP_ID", nxm1, 38, 16, "decimal", true],
    tun_gbp_flags: ["tun_gbp_flags", "NXM_NX_TUN_GBP_FLAGS", nxm1, 39, 8, "hex", true],
    tun_flags: ["tun_flags", "NXM_NX_TUN_FLAGS", nxm1, 104, 16, "hex", true],
    reg0: ["reg0", "NXM_NX_REG0", nxm1, 0, 32, "hex", true],
    reg1: ["reg1", "NXM_NX_REG1", nxm1, 1, 32, "hex", true],
    reg2: ["reg2", "NXM_NX_REG2", nxm1, 2, 32, "hex", true],
    reg3: ["reg3", "NXM_NX_REG3", nxm1, 3, 32, "hex", true],
    reg4: ["reg4", "NXM_NX_REG4", nxm1, 4, 32, "hex", true],
    reg5: ["reg5", "NXM_NX_REG5", nxm1, 5, 32, "hex", true],
    reg6: ["reg6", "NXM_NX_REG6", nxm1, 6, 32, "hex", true],
    reg7: ["reg7", "NXM_NX_REG7", nxm1, 7, 32, "hex", true],
    reg8: ["reg8", "NXM_NX_REG8", nxm1, 8, 32, "hex", true],
    reg9: ["reg9", "NXM_NX_REG9", nxm1, 9, 32, "hex", true],
    reg10: ["reg10", "NXM_NX_REG10", nxm1, 10, 32, "hex", true],
    reg11: ["reg11", "NXM_NX_REG11", nxm1, 11, 32, "hex", true],
    reg12: ["reg12", "NXM_NX_REG12", nxm1, 12, 32, "hex", true],
    reg13: ["reg13", "NXM_NX_REG13", nxm1, 13, 32, "hex", true],
    reg14: ["reg14", "NXM_NX_REG14", nxm1, 14, 32, "hex", true],
    reg15: ["reg15", "NXM_NX_REG15", nxm1, 15, 32, "hex", true],
    xreg0: ["xreg0", "OXM_OF_PKT_REG0", packetRegs, 0, 64, "hex", true],
    xreg1: ["xreg1", "OXM_OF_PKT_REG1", packetRegs, 1, 64, "hex", true],
    xreg2: ["xreg2", "OXM_OF_PKT_REG2", packetRegs, 2, 64, "hex", true],
    xreg3: ["xreg3", "OXM_OF_PKT_REG3", packetRegs, 3, 64, "hex", true],
    xreg4: ["xreg4", "OXM_OF_PKT_REG4", packetRegs, 4, 64, "hex", true],
    xreg5: ["xreg5", "OXM_OF_PKT_REG5", packetRegs, 5, 64, "hex", true],
    xreg6: ["xreg6", "OXM_OF_PKT_REG6", packetRegs, 6, 64, "hex", true],
    xreg7: ["xreg7", "OXM_OF_PKT_REG7", packetRegs, 7, 64, "hex", true],
    xxreg0: ["xxreg0", "NXM_NX_XXREG0", nxm1, 111, 128, "hex", true],
    xxreg1: ["xxreg1", "NXM_NX_XXREG1", nxm1, 112, 128, "hex", true],
    xxreg2: ["xxreg2", "NXM_NX_XXREG2", nxm1, 113, 128, "hex", true],
    xxreg3: ["xxreg3", "NXM_NX_XXREG3", nxm1, 114, 128, "hex", true],
    pkt_mark: ["pkt_mark", "NXM_NX_PKT_MARK", nxm1, 33, 32, "hex", true],
    ct_state: ["ct_state", "NXM_NX_CT_STATE", nxm1, 105, 32, "ct_state", true],
    ct_zone: ["ct_zone", "NXM_NX_CT_ZONE", nxm1, 106, 16, "hex", false],
    ct_mark: ["ct_mark", "NXM_NX_CT_MARK", nxm1, 107, 32, "hex", true],
    ct_label: ["ct_label", "NXM_NX_CT_LABEL", nxm1, 108, 128, "hex", true],
    ct_nw_src: ["ct_nw_src", "NXM_NX_CT_NW_SRC", nxm1, 120, 32, "ipv4", true],
    ct_nw_dst: ["ct_nw_dst", "NXM_NX_CT_NW_DST", nxm1, 121, 32, "ipv4", true],
    ct_ipv6_src: ["ct_ipv6_src", "NXM_NX_CT_IPV6_SRC", nxm1, 122, 128, "ipv6", true],
    ct_ipv6_dst: ["ct_ipv6_dst", "NXM_NX_CT_IPV6_DST", nxm1, 123, 128, "ipv6", true],
    ct_nw_proto: ["ct_nw_proto", "NXM_NX_CT_NW_PROTO", nxm1, 119, 8, "decimal", false],
    ct_tp_src: ["ct_tp_src", "NXM_NX_CT_TP_SRC", nxm1, 124, 16, "decimal", true],
    ct_tp_dst: ["ct_tp_dst", "NXM_NX_CT_TP_DST", nxm1, 125, 16, "decimal", true],
    metadata: ["metadata", "OXM_OF_METADATA", basic, 2, 64, "hex", true],
} as const satisfies Readonly<Record<string, Row>>;

/**
 * Name of a match field in this codec: that of OpenFlow 1.5 in lower case or, for a field that only Open vSwitch has,
 * mostly that of ovs-fields(7). `FieldSpec.ofctl` has the name that ovs-ofctl uses.
 */
export type FieldName = keyof typeof table;

function spec(name: FieldName, order: number): FieldSpec {
    const row: Row = table[name];
    const [ofctl, nxm, oxmClass, oxmField, bits, format, maskable, nicira = [oxmClass, oxmField] as const] = row;
    const all = (1n << BigInt(bits)) - 1n;
    return { name, ofctl, nxm, oxmClass, oxmField, nicira, order, bits, all, bytes: bytesFor(bits), maskable, format };
}

function bytesFor(bits: number): number {
    if (bits === 48) return 6;
    for (const bytes of [1, 2, 4, 8]) if (bits <= bytes * 8) return bytes;
    return 16;
}

/** The specifications of all fields in the order of the wire, in which every field comes after its prerequisites. */
export const fieldList: readonly FieldSpec[] = (Object.keys(table) as FieldName[]).map(spec);

const byName: ReadonlyMap<string, FieldSpec> = new Map(fieldList.map((field) => [field.name, field]));
const byHeader: ReadonlyMap<number, FieldSpec> = new Map([
    ...fieldList.map((field) => [headerKey(...field.nicira), field] as const),
    ...fieldList.map((field) => [headerKey(field.oxmClass, field.oxmField), field] as const),
]);

/** The specification of a field. Throws `OpenFlowError` `BAD_FIELD` for a name outside `FieldName`. */
export function fieldSpec(name: FieldName): FieldSpec {
    const found = byName.get(name);
    if (found === undefined) throw callerError("BAD_FIELD", `no match field is named "${name}"; see ovs-fields(7)`);
    return found;
}

/** The field with this OXM or NXM class (16 bits) and number (7 bits); undefined if this codec has none. */
export function fieldByHeader(oxmClass: number, oxmField: number): FieldSpec | undefined {
    return byHeader.get(headerKey(oxmClass, oxmField));
}

function headerKey(oxmClass: number, oxmField: number): number {
    return oxmClass * 128 + oxmField;
}

/** Bits of the `ct_state` field, for its value and mask: ovs-fields(7). */
export const CtState = {
    new: 0x01,
    est: 0x02,
    rel: 0x04,
    rpl: 0x08,
    inv: 0x10,
    trk: 0x20,
    snat: 0x40,
    dnat: 0x80,
} as const;
