import { describe, expect, it } from "@jest/globals";
import { formatActions, formatMatch, type Action, type Match, type SubField } from "../../src/codec/index.ts";

const v4: Match = { eth_type: 0x0800 };
const tcp: Match = { ...v4, ip_proto: 6 };

// codec.integration.ts shows that ovs-ofctl reads such texts back to the same bytes.
describe("values in the words of ovs-fields(7)", () => {
    it.each<[string, Match]>([
        ["ip_frag=no", { ip_frag: 0 }],
        ["ip_frag=first", { ip_frag: 1 }],
        ["ip_frag=later", { ip_frag: 3 }],
        ["ip_frag=yes", { ip_frag: { value: 1, mask: 1 } }],
        ["ip_frag=not_later", { ip_frag: { value: 0, mask: 2 } }],
        ["ip_frag=0x2", { ip_frag: 2 }],
        ["ip_frag=0x2/0x2", { ip_frag: { value: 2, mask: 2 } }],
        ["ct_state=+new-est+rel-rpl+inv-trk+snat-dnat", { ct_state: { value: 0x55, mask: 0xff } }],
        ["ct_state=-new+est-rel+rpl-inv+trk-snat+dnat", { ct_state: { value: 0xaa, mask: 0xff } }],
        ["ct_state=0x100/0x120", { ct_state: { value: 0x100, mask: 0x120 } }],
        ["ct_state=0x20", { ct_state: 0x20 }],
        ["tcp,tcp_flags=+fin-syn+rst-psh+ack-urg+ece-cwr+ns", { ...tcp, tcp_flags: { value: 0x155, mask: 0x1ff } }],
        ["tcp,tcp_flags=+syn-ack", { ...tcp, tcp_flags: { value: 0x2, mask: 0x12 } }],
        ["tcp,tcp_flags=0x200/0x300", { ...tcp, tcp_flags: { value: 0x200, mask: 0x300 } }],
        ["tcp,tcp_flags=0x12", { ...tcp, tcp_flags: 0x12 }],
        ["in_port=LOCAL", { in_port: 0xfffffffe }],
        ["in_port=CONTROLLER", { in_port: 0xfffffffd }],
        ["in_port=65279", { in_port: 65279 }],
        ["dl_src=aa:bb:cc:dd:ee:01", { eth_src: 0xaabbccddee01 }],
        ["dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", { eth_dst: { value: 0x010000000000, mask: 0x010000000000 } }],
        ["tcp,tcp_dst=80", { ...tcp, tcp_dst: 80 }],
        ["tcp,tcp_dst=0x50/0xfff0", { ...tcp, tcp_dst: { value: 80, mask: 0xfff0 } }],
        ["ip,nw_src=10.0.0.0/8", { ...v4, ipv4_src: { value: 0x0a000000, mask: 0xff000000 } }],
        ["ip,nw_src=128.0.0.0/1", { ...v4, ipv4_src: { value: 0x80000000, mask: 0x80000000 } }],
        ["ip,nw_dst=0.0.0.1/0.0.0.1", { ...v4, ipv4_dst: { value: 1, mask: 1 } }],
        ["ipv6,ipv6_src=fe80::/10", { eth_type: 0x86dd, ipv6_src: { value: 0xfe80n << 112n, mask: 0xffcn << 116n } }],
        ["ipv6,ipv6_dst=::1/::ffff", { eth_type: 0x86dd, ipv6_dst: { value: 1n, mask: 0xffffn } }],
        [
            "ipv6,ipv6_dst=fd00::/127",
            { eth_type: 0x86dd, ipv6_dst: { value: 0xfd00n << 112n, mask: ~1n & (2n ** 128n - 1n) } },
        ],
        ["reg0=0x5/0xff", { reg0: { value: 5, mask: 0xff } }],
        ["vlan_tci=0x1000/0x1000", { vlan_vid: { value: 0x1000, mask: 0x1000 } }],
        ["vlan_tci=0x1005/0x1fff,dl_vlan_pcp=3", { vlan_tci: 0x7005 }],
        ["icmp,icmp_type=8,icmp_code=0", { ...v4, ip_proto: 1, icmpv4_type: 8, icmpv4_code: 0 }],
        ["sctp,sctp_dst=9", { ...v4, ip_proto: 132, sctp_dst: 9 }],
        ["dl_type=0x88cc", { eth_type: 0x88cc }],
        ["packet_type=(1,0x800)", { packet_type: 0x10800 }],
        ["packet_type=(0,0x0)", { packet_type: 0 }],
    ])("%s", (text, match) => {
        expect(formatMatch(match)).toBe(text);
    });
});

describe("actions in the words of ovs-actions(7)", () => {
    const reg = (offset: number, bits: number): SubField => ({ field: "reg0", offset, bits });

    it.each<[string, Action]>([
        ["output:65279", { type: "output", port: 65279 }],
        ["IN_PORT", { type: "output", port: 0xfffffff8 }],
        ["TABLE", { type: "output", port: 0xfffffff9 }],
        ["FLOOD", { type: "output", port: 0xfffffffb }],
        ["ALL", { type: "output", port: 0xfffffffc }],
        ["output(port=LOCAL,max_len=9)", { type: "output", port: 0xfffffffe, maxLength: 9 }],
        ["set_field:0x5->reg0", { type: "set_field", field: "reg0", value: 5 }],
        ["set_field:0x5/0xf->reg0", { type: "set_field", field: "reg0", value: 5, mask: 15 }],
        ["set_field:10.0.0.1->nw_dst", { type: "set_field", field: "ipv4_dst", value: 0x0a000001 }],
        ["move:NXM_NX_REG0[4]->NXM_NX_REG0[31]", { type: "move", from: reg(4, 1), to: reg(31, 1) }],
        ["move:NXM_NX_REG0[0..30]->NXM_NX_REG0[1..31]", { type: "move", from: reg(0, 31), to: reg(1, 31) }],
        ["resubmit(IN_PORT,9)", { type: "resubmit", port: 0xfffffff8, table: 9 }],
        ["group:7", { type: "group", group: 7 }],
        ["meter:8", { type: "meter", meter: 8 }],
        ["set_queue:9", { type: "set_queue", queue: 9 }],
        ["clone(dec_ttl,output:1)", { type: "clone", actions: [{ type: "dec_ttl" }, { type: "output", port: 1 }] }],
        ["clone()", { type: "clone", actions: [] }],
        ["ct_clear", { type: "ct_clear" }],
        ["pop_vlan", { type: "pop_vlan" }],
        ["exit", { type: "exit" }],
        ["push_vlan:0x88a8", { type: "push_vlan", etherType: 0x88a8 }],
        ["conjunction(5,2/3)", { type: "conjunction", id: 5, clause: 2, clauses: 3 }],
        ["note:01.0a.ff", { type: "note", data: Uint8Array.of(1, 10, 255) }],
        ["controller(id=3)", { type: "controller", id: 3 }],
        ["controller(reason=no_match)", { type: "controller", reason: "no_match", pause: false }],
        [
            "ct(commit,force,table=1,zone=NXM_NX_REG0[0..15],nat,exec(set_field:0x1->ct_mark),alg=ftp)",
            {
                type: "ct",
                commit: true,
                force: true,
                table: 1,
                zone: reg(0, 16),
                nat: { kind: "restore" },
                exec: [{ type: "set_field", field: "ct_mark", value: 1 }],
                alg: 21,
            },
        ],
        [
            "ct(commit,zone=1,nat(src=10.0.0.1-10.0.0.9:1000-2000,persistent,hash,random))",
            {
                type: "ct",
                commit: true,
                zone: 1,
                nat: {
                    kind: "src",
                    min: { family: 4, value: 0x0a000001n },
                    max: { family: 4, value: 0x0a000009n },
                    portMin: 1000,
                    portMax: 2000,
                    persistent: true,
                    hash: true,
                    random: true,
                },
            },
        ],
        [
            "ct(commit,zone=1,nat(dst=fd00::1))",
            {
                type: "ct",
                commit: true,
                zone: 1,
                nat: { kind: "dst", min: { family: 6, value: (0xfd00n << 112n) + 1n } },
            },
        ],
        [
            "learn(table=1,load:0x5->NXM_NX_REG0[0..3],load:NXM_NX_REG0[]->NXM_NX_REG1[],NXM_NX_REG0[],NXM_NX_REG1[]=NXM_NX_REG0[])",
            {
                type: "learn",
                table: 1,
                specs: [
                    { kind: "load", to: reg(0, 4), source: { value: 5 } },
                    { kind: "load", to: { field: "reg1", offset: 0, bits: 32 }, source: reg(0, 32) },
                    { kind: "match", field: reg(0, 32), source: reg(0, 32) },
                    { kind: "match", field: { field: "reg1", offset: 0, bits: 32 }, source: reg(0, 32) },
                ],
            },
        ],
        [
            "learn(table=1,nw_dst=10.0.0.1,NXM_NX_REG0[4..7]=0x2,NXM_NX_REG0[0..3]=0x1)",
            {
                type: "learn",
                table: 1,
                specs: [
                    {
                        kind: "match",
                        field: { field: "ipv4_dst", offset: 0, bits: 32 },
                        source: { value: 0x0a000001 },
                    },
                    { kind: "match", field: reg(4, 4), source: { value: 2 } },
                    { kind: "match", field: reg(0, 4), source: { value: 1 } },
                ],
            },
        ],
    ])("%s", (text, action) => {
        expect(formatActions([action])).toBe(text);
    });
});
