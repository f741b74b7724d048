import { describe, expect, it } from "@jest/globals";
import { checkFlow, flowBodyKey, flowKey, type FlowLike, type Match } from "../../src/codec/index.ts";

const key = (match: Match): string => flowKey({ table: 1, priority: 2, match });

describe("flowKey", () => {
    it.each<[string, Match, Match]>([
        ["the order of fields", { eth_type: 0x0800, ipv4_src: 1 }, { ipv4_src: 1, eth_type: 0x0800 }],
        ["number or bigint", { reg0: 5, tun_id: 7 }, { reg0: 5n, tun_id: 7n }],
        ["a mask of all bits", { reg0: 5 }, { reg0: { value: 5, mask: 0xffffffff } }],
        ["a mask of no bits", { reg0: { value: 0, mask: 0 } }, {}],
        ["a wide register", { xxreg1: (1n << 96n) | 4n }, { reg4: 1, reg5: 0, reg6: 0, reg7: 4 }],
        ["a part of a wide register", { xreg1: { value: 0xfn, mask: 0xffn } }, { reg3: { value: 0xf, mask: 0xff } }],
        ["vlan_tci", { vlan_tci: 0x7005 }, { vlan_vid: 0x1005, vlan_pcp: 3 }],
        ["a tag of the lowest priority", { vlan_tci: 0x1005 }, { vlan_vid: 0x1005, vlan_pcp: 0 }],
        ["the lowest priority alone", { vlan_tci: { value: 0, mask: 0xe000 } }, { vlan_pcp: 0 }],
        ["no tag", { vlan_tci: 0 }, { vlan_vid: 0 }],
        ["no tag, by its bit", { vlan_tci: { value: 0, mask: 0xf000 } }, { vlan_vid: { value: 0, mask: 0x1000 } }],
        ["any tag", { vlan_tci: { value: 0x1000, mask: 0x1000 } }, { vlan_vid: { value: 0x1000, mask: 0x1000 } }],
    ])("is the same whatever %s", (_, one, other) => {
        expect(key(one)).toBe(key(other));
    });

    it("differs by table, priority, value and mask", () => {
        const keys = [
            flowKey({ table: 1, priority: 2, match: { reg0: 1 } }),
            flowKey({ table: 2, priority: 2, match: { reg0: 1 } }),
            flowKey({ table: 1, priority: 3, match: { reg0: 1 } }),
            flowKey({ table: 1, priority: 2, match: { reg0: 2 } }),
            flowKey({ table: 1, priority: 2, match: { reg1: 1 } }),
            flowKey({ table: 1, priority: 2, match: { reg0: { value: 1, mask: 1 } } }),
        ];
        expect(new Set(keys).size).toBe(keys.length);
    });
});

describe("flowBodyKey", () => {
    it("does not count what restricts nothing, and counts the rest", () => {
        const drop = flowBodyKey({ actions: [] });
        expect(flowBodyKey({ actions: [], idleTimeout: 0 })).toBe(drop);
        expect(flowBodyKey({ actions: [{ type: "controller" }] })).toBe(
            flowBodyKey({ actions: [{ type: "output", port: 0xfffffffd }] }),
        );
        expect(flowBodyKey({ actions: [], gotoTable: 4 })).not.toBe(drop);
        expect(flowBodyKey({ actions: [], hardTimeout: 4 })).not.toBe(drop);
    });
});

describe("checkFlow", () => {
    const ip = { eth_type: 0x0800 } as const;
    it.each<[string, Partial<FlowLike>, RegExp]>([
        ["a port without its protocol", { match: { ...ip, tcp_dst: 80 } }, /tcp_dst needs ip_proto 6/],
        ["an address without its family", { match: { ipv6_src: 1n } }, /ipv6_src needs eth_type 0x86dd/],
        [
            "ND without its type",
            { match: { eth_type: 0x86dd, ip_proto: 58, nd_target: 1n } },
            /needs icmpv6_type 135 or 136/,
        ],
        ["a priority without a tag", { match: { vlan_pcp: 1 } }, /vlan_pcp needs a vlan_vid/],
        ["ct fields of untracked packets", { match: { ...ip, ct_nw_src: 1 } }, /ct_nw_src needs a ct_state/],
        ["going back", { table: 5, gotoTable: 5 }, /goto_table 5 in table 5/],
        ["ct on anything", { actions: [{ type: "ct", zone: 1 }] }, /ct needs eth_type 0x0800 or 0x86dd/],
        ["dec_ttl on anything", { actions: [{ type: "dec_ttl" }] }, /dec_ttl needs/],
        ["pop_vlan without a tag", { actions: [{ type: "pop_vlan" }] }, /pop_vlan needs/],
        [
            "a tag number without a tag",
            { actions: [{ type: "set_field", field: "vlan_vid", value: 0x1001 }] },
            /set_field vlan_vid needs/,
        ],
        [
            "conjunction beside other actions",
            { actions: [{ type: "conjunction", clause: 1, clauses: 2, id: 1 }, { type: "exit" }] },
            /conjunction stands with other actions/,
        ],
        [
            "ct that sets a register",
            { match: ip, actions: [{ type: "ct", zone: 1, exec: [{ type: "set_field", field: "reg0", value: 1 }] }] },
            /only ct_mark and ct_label/,
        ],
    ])("refuses %s", (_, flow, message) => {
        expect(() => checkFlow({ match: {}, ...flow })).toThrow(message);
    });

    it("accepts what has its prerequisites", () => {
        const tagged: FlowLike = {
            table: 1,
            match: { ...ip, ip_proto: 6, tcp_dst: 80, ct_state: { value: 0x21, mask: 0x21 }, ct_nw_src: 1 },
            actions: [
                { type: "push_vlan", etherType: 0x8100 },
                { type: "set_field", field: "vlan_vid", value: 0x1001 },
                { type: "pop_vlan" },
                { type: "dec_ttl" },
            ],
            gotoTable: 2,
        };
        expect(() => checkFlow(tagged)).not.toThrow();
    });
});
