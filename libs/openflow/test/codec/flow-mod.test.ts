import { describe, expect, it } from "@jest/globals";
import { decodeMessage, formatFlow, writeFlowMod, Writer, type FlowMod } from "../../src/codec/index.ts";
import { bytes, flowMods, hex } from "../fixtures.ts";

function decode(text: string): { readonly xid: number; readonly mod: FlowMod } {
    const message = decodeMessage(bytes(text));
    if (message.type !== "flow_mod") throw new Error(`a ${message.type}`);
    return message;
}

describe("flow mod", () => {
    it.each(flowMods.map(({ flow, hex }) => [flow, hex]))(
        "%s: decodes and encodes to the bytes of ovs-ofctl",
        (_, text) => {
            const { xid, mod } = decode(text);
            const writer = new Writer();
            writeFlowMod(writer, xid, mod);
            expect(hex(writer.finish())).toBe(text);
        },
    );

    it("decodes to the flow of the text", () => {
        const found = flowMods.find(({ flow }) => flow.startsWith("table=11,priority=200,tcp,"));
        expect(decode(found?.hex ?? "").mod).toEqual({
            command: "add",
            flow: {
                table: 11,
                priority: 200,
                match: {
                    eth_type: 0x0800,
                    ip_proto: 6,
                    reg3: 0x0a0a0005,
                    reg4: { value: 0x20050, mask: 0x7ffff },
                },
                actions: [
                    {
                        type: "ct",
                        commit: true,
                        table: 12,
                        zone: 65520,
                        nat: { kind: "dst", min: { family: 4, value: 0x0a0a0005n }, portMin: 80 },
                        exec: [{ type: "set_field", field: "ct_mark", value: 0x10, mask: 0x10 }],
                    },
                ],
            },
        });
    });

    it("decodes learn with matches, constants and registers", () => {
        const found = flowMods.find(({ flow }) => flow.includes("delete_learned"));
        const [learn] = decode(found?.hex ?? "").mod.flow.actions ?? [];
        expect(learn).toMatchObject({ type: "learn", table: 9, hardTimeout: 300, priority: 200, deleteLearned: true });
        expect(learn?.type === "learn" && learn.specs.slice(0, 3)).toEqual([
            { kind: "match", field: { field: "eth_type", offset: 0, bits: 16 }, source: { value: 0x0800 } },
            { kind: "match", field: { field: "ip_proto", offset: 0, bits: 8 }, source: { value: 6 } },
            {
                kind: "match",
                field: { field: "tcp_dst", offset: 0, bits: 16 },
                source: { field: "tcp_dst", offset: 0, bits: 16 },
            },
        ]);
    });

    // That ovs-ofctl reads every line back to the same bytes is shown by codec.integration.ts.
    it.each([
        ["goto_table:10", "table=0,priority=200,arp,actions=goto_table:10"],
        ["priority=0", "table=0,priority=0,actions=drop"],
        ["conjunction(1", "table=12,priority=100,ip,nw_src=10.10.0.0/24,actions=conjunction(1,1/2),conjunction(2,1/3)"],
        [
            "0x1234567890abcdef",
            "cookie=0x1234567890abcdef,table=16,idle_timeout=60,hard_timeout=300,send_flow_rem,priority=200,udp," +
                "actions=output:1,output:2",
        ],
        [
            "icmp_type=135",
            "table=4,priority=200,icmp6,in_port=32784,icmpv6_type=135,icmpv6_code=0,nd_target=fd00:10::2," +
                "nd_sll=aa:bb:cc:dd:ee:02,actions=NORMAL",
        ],
        [
            "+est-rel",
            "table=16,priority=195,ip,ct_state=+est-rel+rpl-inv+trk+snat-dnat,ct_zone=0xfff0,ct_nw_src=10.0.0.1," +
                "ct_nw_dst=10.0.0.0/8,ct_nw_proto=6,ct_tp_src=10,ct_tp_dst=20," +
                "actions=ct(commit,force,zone=1,nat(src=10.0.0.1-10.0.0.9:1000-2000,persistent,random))",
        ],
    ])("%s: is formatted in ovs-ofctl's words", (part, text) => {
        const found = flowMods.find(({ flow }) => flow.includes(part));
        const { flow } = decode(found?.hex ?? "").mod;
        expect(formatFlow({ table: 0, priority: 0, actions: [], ...flow })).toBe(text);
    });
});
