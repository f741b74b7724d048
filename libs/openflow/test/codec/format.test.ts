import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { decodeMessage, formatFlow, type Action, type Flow, type Match } from "../../src/codec/index.ts";
import { formatActions } from "../../src/codec/format/action.ts";
import { describeFlowMod } from "../../src/codec/format/flow.ts";
import { formatMatch } from "../../src/codec/format/match.ts";
import { bytes, flowMods } from "../fixtures.ts";

/** A line for each flow mod of the fixtures. That ovs-ofctl reads it back to the same bytes: codec.integration.ts. */
const lines = readFileSync(`${import.meta.dirname}/../fixtures/flow-lines.txt`, "utf8")
    .trim()
    .split("\n");

const reg = (offset: number, bits: number) => ({ field: "reg0", offset, bits }) as const;

describe("a flow that ovs-ofctl made, as a line", () => {
    it.each(flowMods.map(({ flow, hex }, at) => [flow, hex, lines[at]]))("%s", (_, hex, line) => {
        const message = decodeMessage(bytes(hex ?? ""));
        const flow = message.type === "flow_mod" ? message.mod.flow : undefined;
        expect(formatFlow({ table: 0, priority: 0, match: {}, actions: [], ...flow })).toBe(line);
    });
});

describe("formatActions", () => {
    it.each<[string, Action[]]>([
        ["drop", []],
        [
            "output:1,LOCAL,NORMAL".replace("LOCAL", "output:LOCAL"),
            [1, 0xfffffffe, 0xfffffffa].map((port) => ({ type: "output", port })),
        ],
        ["CONTROLLER:65535", [{ type: "output", port: 0xfffffffd }]],
        ["CONTROLLER:9", [{ type: "output", port: 0xfffffffd, maxLength: 9 }]],
        ["output:NXM_NX_REG0[0..15]", [{ type: "output_field", source: reg(0, 16) }]],
        ["output(field=NXM_NX_REG0[31],max_len=9)", [{ type: "output_field", source: reg(31, 1), maxLength: 9 }]],
        ["output:NXM_OF_IN_PORT[]", [{ type: "output_field", source: { field: "in_port", offset: 0, bits: 16 } }]],
        [
            "resubmit(,),resubmit(LOCAL,),resubmit(,0)",
            [{ type: "resubmit" }, { type: "resubmit", port: 0xfffffffe }, { type: "resubmit", table: 0 }],
        ],
        ["ct(zone=0)", [{ type: "ct", zone: 0, exec: [] }]],
        ["ct(zone=0,alg=tftp),ct(zone=0,alg=99)", [69, 99].map((alg) => ({ type: "ct", zone: 0, alg }))],
        ["ct(commit,zone=0,nat(src))", [{ type: "ct", commit: true, zone: 0, nat: { kind: "src" } }]],
        ["ct(commit,zone=0,nat(dst=:80))", [{ type: "ct", commit: true, zone: 0, nat: { kind: "dst", portMin: 80 } }]],
        [
            "ct(commit,zone=0,nat(src=[fd00::1]-[fd00::2]:1-2,hash))",
            [
                {
                    type: "ct",
                    commit: true,
                    zone: 0,
                    nat: {
                        kind: "src",
                        min: { family: 6, value: (0xfd00n << 112n) + 1n },
                        max: { family: 6, value: (0xfd00n << 112n) + 2n },
                        portMin: 1,
                        portMax: 2,
                        hash: true,
                    },
                },
            ],
        ],
        ["CONTROLLER:65535", [{ type: "controller" }]],
        [
            "controller(max_len=9,id=1,reason=action,userdata=00.ff,pause,meter_id=2)",
            [
                {
                    type: "controller",
                    maxLength: 9,
                    id: 1,
                    reason: "action",
                    userdata: bytes("00ff"),
                    pause: true,
                    meter: 2,
                },
            ],
        ],
        ["raw(ff.ff.00.08.00.00.00.01)", [{ type: "raw", bytes: bytes("ffff000800000001") }]],
        ["learn(table=1)", [{ type: "learn", table: 1, specs: [] }]],
        [
            "learn(table=1,idle_timeout=2,hard_timeout=3,fin_idle_timeout=4,fin_hard_timeout=5,priority=6,send_flow_rem," +
                "delete_learned,cookie=0x7,limit=8,NXM_NX_REG0[0..3]=0x9,reg0=0xa,output:NXM_NX_REG0[])",
            [
                {
                    type: "learn",
                    table: 1,
                    idleTimeout: 2,
                    hardTimeout: 3,
                    finIdleTimeout: 4,
                    finHardTimeout: 5,
                    priority: 6,
                    sendFlowRemoved: true,
                    deleteLearned: true,
                    cookie: 7n,
                    limit: 8,
                    specs: [
                        { kind: "match", field: reg(0, 4), source: { value: 9 } },
                        { kind: "match", field: reg(0, 32), source: { value: 10 } },
                        { kind: "output", source: reg(0, 32) },
                    ],
                },
            ],
        ],
    ])("%s", (text, actions) => {
        expect(formatActions(actions)).toBe(text);
    });
});

describe("formatMatch", () => {
    it.each<[string, Match]>([
        ["", {}],
        ["icmp", { eth_type: 0x0800, ip_proto: 1 }],
        ["tcp6", { eth_type: 0x86dd, ip_proto: 6 }],
        ["udp6", { eth_type: 0x86dd, ip_proto: 17 }],
        ["sctp6", { eth_type: 0x86dd, ip_proto: 132 }],
        ["icmp6", { eth_type: 0x86dd, ip_proto: 58 }],
        ["ip,nw_proto=58", { eth_type: 0x0800, ip_proto: 58 }],
        ["ipv6,nw_proto=1", { eth_type: 0x86dd, ip_proto: 1 }],
        ["ip,nw_proto=47", { eth_type: 0x0800, ip_proto: 47 }],
        ["arp,nw_proto=6", { eth_type: 0x0806, ip_proto: 6 }],
        ["nw_proto=6", { ip_proto: 6 }],
        ["ip,nw_src=10.0.0.0/255.0.255.0", { eth_type: 0x0800, ipv4_src: { value: 0x0a000000, mask: 0xff00ff00 } }],
        ["ip,nw_src=10.0.0.2/31", { eth_type: 0x0800, ipv4_src: { value: 0x0a000002, mask: 0xfffffffe } }],
        ["ip,ip_frag=first", { eth_type: 0x0800, ip_frag: 1 }],
        ["ip,ip_frag=no", { eth_type: 0x0800, ip_frag: 0 }],
        ["ct_state=0x21", { ct_state: 0x21 }],
        ["vlan_tci=0x1001/0x1fff", { vlan_vid: 0x1001 }],
    ])("%s", (text, match) => {
        expect(formatMatch(match)).toBe(text);
    });
});

describe("formatFlow and describeFlowMod", () => {
    const flow: Flow = { table: 3, priority: 4, match: {}, actions: [] };

    it("leave out what has its default", () => {
        const rest = { cookie: 0n, idleTimeout: 0, hardTimeout: 0, importance: 0, sendFlowRemoved: false };
        expect(formatFlow({ ...flow, ...rest })).toBe("table=3,priority=4,actions=drop");
    });

    it("have all instructions, in the order in which a switch runs them", () => {
        const instructions: Partial<Flow> = {
            importance: 5,
            gotoTable: 9,
            writeMetadata: { value: 1n, mask: 0xffn },
            writeActions: [],
            clearActions: true,
            actions: [{ type: "dec_ttl" }],
        };
        expect(formatFlow({ ...flow, ...instructions })).toBe(
            "table=3,importance=5,priority=4,actions=dec_ttl,clear_actions,write_actions(drop)," +
                "write_metadata:0x1/0xff,goto_table:9",
        );
    });

    it("name the command, and of the flow what is given", () => {
        expect(describeFlowMod({ command: "delete", flow: { match: {} } })).toBe("delete ");
        expect(describeFlowMod({ command: "delete_strict", flow: { table: 1, match: { in_port: 2 } } })).toBe(
            "delete_strict table=1,in_port=2",
        );
        expect(describeFlowMod({ command: "modify", flow: { ...flow, gotoTable: 5 } })).toBe(
            "modify table=3,priority=4,actions=goto_table:5",
        );
    });
});
