import { describe, expect, it } from "@jest/globals";
import { checkFlow, OpenFlowError, type Action, type FlowLike, type Match } from "../../src/codec/index.ts";

// check-flow.integration.ts shows that ovs-vswitchd rejects exactly these, with random flows.

function verdict(flow: Partial<FlowLike>): string {
    try {
        checkFlow({ table: 1, priority: 1, match: {}, actions: [], ...flow });
        return "fits";
    } catch (error) {
        if (error instanceof OpenFlowError && error.fault === "caller") return `${error.code}: ${error.message}`;
        throw error;
    }
}

const ip: Match = { eth_type: 0x0800 };
const ip6: Match = { eth_type: 0x86dd };
const tcp: Match = { ...ip, ip_proto: 6 };
const nd: Match = { ...ip6, ip_proto: 58, icmpv6_type: 135, icmpv6_code: 0 };
const v4 = "eth_type 0x0800";
const v6 = "eth_type 0x86dd";
const any = "eth_type 0x0800 or 0x86dd";
const tracked = "a ct_state that only tracked packets have";

describe("fields of a match and what they need beside them", () => {
    it.each<[Match, Match, string]>([
        [{ ipv4_src: 1 }, ip, v4],
        [{ ipv6_src: 1n }, ip6, v6],
        [{ ip_proto: 6 }, ip6, any],
        [{ ip_dscp: 1 }, ip, any],
        [{ arp_op: 1 }, { eth_type: 0x0806 }, "eth_type 0x0806 or 0x8035"],
        [{ arp_op: 1 }, { eth_type: 0x8035 }, "eth_type 0x0806 or 0x8035"],
        [{ mpls_label: 1 }, { eth_type: 0x8848 }, "eth_type 0x8847 or 0x8848"],
        [{ ip_proto: 6, tcp_dst: 1 }, ip6, any],
        [{ ...ip, tcp_dst: 1 }, { ip_proto: 6 }, "ip_proto 6"],
        [{ ...ip6, udp_src: 1 }, { ip_proto: 17 }, "ip_proto 17"],
        [{ ...ip, sctp_src: 1 }, { ip_proto: 132 }, "ip_proto 132"],
        [{ ...ip, icmpv4_type: 1 }, { ip_proto: 1 }, "ip_proto 1"],
        [{ ...ip6, icmpv6_type: 1 }, { ip_proto: 58 }, "ip_proto 58"],
        [{ ...ip6, ip_proto: 58, nd_target: 1n }, nd, "icmpv6_type 135 or 136 and icmpv6_code 0"],
        [{ ...nd, icmpv6_type: 136, nd_sll: 1n }, { icmpv6_type: 135 }, "icmpv6_type 135 and icmpv6_code 0"],
        [{ ...nd, nd_tll: 1n }, { icmpv6_type: 136 }, "icmpv6_type 136 and icmpv6_code 0"],
        [{ ...nd, icmpv6_code: 1, nd_sll: 1n }, { icmpv6_code: 0 }, "icmpv6_type 135 and icmpv6_code 0"],
        [{ vlan_pcp: 1 }, { vlan_vid: { value: 0x1000, mask: 0x1000 } }, "a vlan_vid that matches a tag"],
        [{ ...ip, ct_nw_proto: 6 }, { ct_state: { value: 1, mask: 1 } }, tracked],
        [{ ...ip, ct_nw_proto: 6, ct_state: { value: 0, mask: 1 } }, { ct_state: { value: 2, mask: 2 } }, tracked],
        [
            { ...ip, ct_tp_src: 6, ct_state: { value: 0x20, mask: 0x20 } },
            { ct_state: { value: 0x20, mask: 0x30 } },
            tracked,
        ],
        [
            { ...ip, ct_tp_src: 6, ct_state: { value: 0x30, mask: 0x30 } },
            { ct_state: { value: 0x20, mask: 0x30 } },
            tracked,
        ],
        [{ ct_nw_src: 1, ct_state: { value: 1, mask: 1 } }, ip, v4.replace("0x0800", "0x800")],
        [{ ct_nw_dst: 1, ct_state: { value: 1, mask: 1 }, ...ip6 }, ip, v4.replace("0x0800", "0x800")],
        [{ ct_ipv6_src: 1n, ct_state: { value: 1, mask: 1 } }, ip6, v6],
        [{ ct_ipv6_dst: 1n, ct_state: { value: 1, mask: 1 } }, ip6, v6],
    ])("%o needs %o", (match, needed, words) => {
        expect(verdict({ match })).toMatch(/^BAD_FIELD: match: \w+ needs /);
        expect(verdict({ match })).toContain(`needs ${words} in the same match`);
        expect(verdict({ match: { ...match, ...needed } })).toBe("fits");
    });
});

describe("actions and what they need in the match", () => {
    const sub = (field: "tcp_dst" | "reg0" | "udp_dst" | "eth_type" | "ip_proto", bits = 16) => ({
        field,
        offset: 0,
        bits,
    });
    const nat = (family: 4 | 6): Action => ({
        type: "ct",
        commit: true,
        zone: 1,
        nat: { kind: "src", min: { family, value: 1n } },
    });
    const exec = (action: Action): Action => ({ type: "ct", commit: true, zone: 1, exec: [action] });
    const tag: Match = { vlan_vid: { value: 0x1000, mask: 0x1000 } };
    const learnTcp: Action = {
        type: "learn",
        table: 2,
        specs: [
            { kind: "match", field: sub("eth_type"), source: { value: 0x0800 } },
            { kind: "match", field: sub("ip_proto", 8), source: { value: 6 } },
            { kind: "match", field: sub("tcp_dst"), source: sub("tcp_dst") },
            { kind: "load", to: sub("tcp_dst"), source: { value: 1 } },
            { kind: "output", source: sub("tcp_dst") },
        ],
    };

    it.each<[string, Action, Match, Match, string]>([
        ["set_field", { type: "set_field", field: "tcp_dst", value: 1 }, ip, tcp, "set_field tcp_dst needs ip_proto 6"],
        [
            "set_field of an address",
            { type: "set_field", field: "ipv4_src", value: 1 },
            ip6,
            ip,
            `set_field ipv4_src needs ${v4}`,
        ],
        [
            "set_field of a tag",
            { type: "set_field", field: "vlan_vid", value: 0x1001 },
            {},
            tag,
            "set_field vlan_vid needs a tag in the match or push_vlan",
        ],
        ["move from", { type: "move", from: sub("tcp_dst"), to: sub("reg0") }, {}, tcp, `move tcp_dst needs ${any}`],
        ["move to", { type: "move", from: sub("reg0"), to: sub("tcp_dst") }, ip, tcp, "move tcp_dst needs ip_proto 6"],
        ["dec_ttl", { type: "dec_ttl" }, { eth_type: 0x0806 }, ip6, `dec_ttl needs ${any}`],
        ["ct", { type: "ct", zone: 1 }, {}, ip, `ct needs ${any}`],
        ["ct with nat to IPv4", nat(4), ip6, ip, "nat to IPv4 needs eth_type 0x800"],
        ["ct with nat to IPv6", nat(6), ip, ip6, "nat to IPv6 needs eth_type 0x86dd"],
        [
            "ct with a move from a port",
            exec({ type: "move", from: sub("tcp_dst"), to: { field: "ct_mark", offset: 0, bits: 16 } }),
            ip,
            tcp,
            "ct exec move tcp_dst needs ip_proto 6",
        ],
        [
            "output to a field",
            { type: "output_field", source: sub("tcp_dst") },
            {},
            tcp,
            `output_field tcp_dst needs ${any}`,
        ],
        [
            "pop_vlan",
            { type: "pop_vlan" },
            { vlan_vid: { value: 0, mask: 0x1000 } },
            tag,
            "pop_vlan needs a vlan_vid that matches a tag",
        ],
        ["learn from a port", learnTcp, ip, tcp, "learn from tcp_dst needs ip_proto 6"],
        ["clone", { type: "clone", actions: [{ type: "dec_ttl" }] }, {}, ip, `dec_ttl needs ${any}`],
        [
            "clone in clone",
            { type: "clone", actions: [{ type: "clone", actions: [{ type: "pop_vlan" }] }] },
            {},
            tag,
            "pop_vlan needs a vlan_vid that matches a tag",
        ],
    ])("%s", (_name, action, match, enough, words) => {
        expect(verdict({ match, actions: [action] })).toBe(`BAD_FIELD: ${words} in the flow's match`);
        expect(verdict({ match, writeActions: [action] })).toBe(`BAD_FIELD: ${words} in the flow's match`);
        expect(verdict({ match: enough, actions: [action] })).toBe("fits");
    });

    it.each<[string, Action]>([
        ["nat that restores", { type: "ct", zone: 1, nat: { kind: "restore" } }],
        ["nat of ports alone", { type: "ct", commit: true, zone: 1, nat: { kind: "src", portMin: 1 } }],
        ["a mark", exec({ type: "set_field", field: "ct_mark", value: 1 })],
        [
            "a label from a register",
            exec({ type: "move", from: sub("reg0"), to: { field: "ct_label", offset: 0, bits: 16 } }),
        ],
    ])("%s needs no more than IP", (_name, action) => {
        expect(verdict({ match: ip, actions: [action] })).toBe("fits");
        expect(verdict({ match: ip6, actions: [action] })).toBe("fits");
    });

    it("what is learned needs its own fields: of the flow that learns nothing is known there", () => {
        const part = { field: sub("tcp_dst"), to: sub("tcp_dst"), source: { value: 1 } };
        const learn = (...specs: Extract<Action, { type: "learn" }>["specs"]): Action => ({
            type: "learn",
            table: 2,
            specs,
        });
        expect(verdict({ match: tcp, actions: [learn({ kind: "match", ...part })] })).toContain(
            `learn match tcp_dst needs ${any}`,
        );
        expect(verdict({ match: tcp, actions: [learn({ kind: "load", ...part })] })).toContain(
            `learn load to tcp_dst needs ${any}`,
        );
        const type = { kind: "match", field: sub("eth_type"), source: { value: 0x0800 } } as const;
        const half = { kind: "match", field: { field: "eth_type", offset: 8, bits: 8 }, source: { value: 8 } } as const;
        const load = { kind: "load", to: { field: "ipv4_src", offset: 0, bits: 32 }, source: { value: 1 } } as const;
        expect(verdict({ actions: [learn(type, load)] })).toBe("fits");
        expect(verdict({ actions: [learn(load, type)] })).toContain(`learn load to ipv4_src needs ${v4}`);
        expect(verdict({ actions: [learn(half, load)] })).toContain(`learn load to ipv4_src needs ${v4}`);
        expect(verdict({ actions: [learn({ ...type, source: { value: 0.5 } })] })).toBe(
            "BAD_VALUE: learn: 0.5 does not fit into 16 bits of eth_type",
        );
        expect(verdict({ actions: [learn({ ...type, field: sub("eth_type", 0.5) })] })).toContain(
            "BAD_VALUE: learn match: eth_type[0..-0.5] lies outside the field",
        );
    });

    it.each([
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
    ] as const)("set_field does not write %s", (field) => {
        expect(verdict({ match: tcp, actions: [{ type: "set_field", field, value: 0 }] })).toBe(
            `BAD_FIELD: set_field ${field}: the field can only be read`,
        );
    });

    it.each<[string, Action, string]>([
        ["set_field of another field", { type: "set_field", field: "reg0", value: 1 }, "set_field reg0"],
        ["move to another field", { type: "move", from: sub("reg0"), to: sub("reg0") }, "move reg0"],
        ["output", { type: "output", port: 1 }, "output "],
    ])("ct runs no %s", (_name, action, words) => {
        expect(verdict({ match: ip, actions: [exec(action)] })).toBe(
            `BAD_VALUE: ct exec: ${words} is not allowed, only ct_mark and ct_label`,
        );
    });
});

describe("tags of a frame, one action after the other", () => {
    const push: Action = { type: "push_vlan", etherType: 0x8100 };
    const pop: Action = { type: "pop_vlan" };
    const vid: Action = { type: "set_field", field: "vlan_vid", value: 0x1001 };
    const tci: Action = { type: "set_field", field: "vlan_tci", value: 0x1001 };
    const tagged: Match = { vlan_vid: 0x1001 };
    const tooMany = "BAD_VALUE: push_vlan: a frame has at most 2 tags";

    it.each<[string, Match, Action[], string]>([
        ["two tags", {}, [push, push], "fits"],
        ["three tags", {}, [push, push, push], tooMany],
        ["two more than there is", tagged, [push, push], tooMany],
        ["one more after one less", tagged, [pop, push, push], "fits"],
        ["popped once", tagged, [pop], "fits"],
        ["popped twice", tagged, [pop, pop], "BAD_FIELD: pop_vlan needs"],
        ["pushed, written, popped", {}, [push, vid, pop], "fits"],
        ["written and popped", {}, [tci, pop], "fits"],
        ["written over and popped twice", tagged, [tci, pop, pop], "BAD_FIELD: pop_vlan needs"],
        ["written over after a push", tagged, [push, tci, pop, pop], "fits"],
        ["popped in a copy and after it", tagged, [{ type: "clone", actions: [pop] }, pop], "fits"],
        ["pushed in a copy and popped after it", {}, [{ type: "clone", actions: [push] }, pop], "pop_vlan needs"],
        ["popped in a copy twice", tagged, [{ type: "clone", actions: [pop, pop] }], "BAD_FIELD: pop_vlan needs"],
        ["two more in a copy", tagged, [{ type: "clone", actions: [push, push] }], tooMany],
    ])("%s", (_name, match, actions, result) => {
        expect(verdict({ match, actions })).toContain(result);
    });

    it("writeActions run on the frame that actions leave", () => {
        expect(verdict({ actions: [push], writeActions: [pop] })).toBe("fits");
        expect(verdict({ match: tagged, actions: [pop], writeActions: [pop] })).toContain("pop_vlan needs");
    });
});

describe("instructions", () => {
    const clause: Action = { type: "conjunction", clause: 1, clauses: 2, id: 1 };
    const alone = "BAD_VALUE: conjunction stands with other actions; only note may stand beside it";

    it.each<[string, Partial<FlowLike>, string]>([
        ["conjunctions", { actions: [clause, clause] }, "fits"],
        ["conjunction and note", { actions: [clause, { type: "note", data: new Uint8Array(6) }] }, "fits"],
        ["conjunction and output", { actions: [clause, { type: "output", port: 1 }] }, alone],
        ["conjunction and goto", { actions: [clause], gotoTable: 2 }, alone],
        ["conjunction and metadata", { actions: [clause], writeMetadata: { value: 1n, mask: 1n } }, alone],
        ["conjunction and clear", { actions: [clause], clearActions: true }, alone],
        ["conjunction and no clear", { actions: [clause], clearActions: false }, "fits"],
        ["conjunction and write", { actions: [clause], writeActions: [] }, alone],
        ["goto a later table", { gotoTable: 2 }, "fits"],
        ["goto from whatever table", { table: undefined as never, gotoTable: 2 }, "fits"],
        [
            "goto the same table",
            { gotoTable: 1 },
            "BAD_VALUE: goto_table 1 in table 1: the next table must have a higher number",
        ],
        ["goto an earlier table", { gotoTable: 0 }, "BAD_VALUE: goto_table 0 in table 1"],
        ["no actions at all", { actions: undefined as never, writeActions: undefined as never }, "fits"],
    ])("%s", (_name, flow, result) => {
        expect(verdict(flow)).toContain(result);
    });
});
