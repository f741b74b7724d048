import { describe, expect, it } from "@jest/globals";
import { endpointsIn, groupIn, loadedInto, OfctlOutputError, readFlows, termsOf } from "../../src/service/ovs-text.ts";

// Lines as ovs-ofctl of OVS 3.1 prints them, with --no-stats.
const output = ` cookie=0x1030000000000, table=46, priority=210,tcp,reg4=0x10000000/0x10000000,nw_dst=10.96.0.10,tp_dst=80 actions=set_field:0x5->reg7,group:1048578
 cookie=0x1030000000000, table=46, priority=200,udp6,ipv6_dst=fd00:96::a,tp_dst=53 actions=set_field:0x6->reg7,ct(commit,table=60,zone=65510,nat(dst=[fd00:10:1::5]:53),exec(set_field:0x10/0x10->ct_mark,move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
 cookie=0x0, table=46, priority=0 actions=drop
`;

describe("flows", () => {
    it("are read with priority, match and actions", () => {
        const flows = readFlows(`OFPST_FLOW reply (OF1.5) (xid=0x2):\n${output}`);
        expect(flows.map(({ priority, match }) => [priority, match])).toEqual([
            [210, "tcp,reg4=0x10000000/0x10000000,nw_dst=10.96.0.10,tp_dst=80"],
            [200, "udp6,ipv6_dst=fd00:96::a,tp_dst=53"],
            [0, ""],
        ]);
        expect(termsOf({ match: flows[0]?.match ?? "" }).get("reg4")).toBe("0x10000000/0x10000000");
        expect(
            flows.map(({ actions }) => [groupIn(actions), endpointsIn(actions), loadedInto("reg7", actions)]),
        ).toEqual([
            [1_048_578, [], 5],
            [undefined, ["[fd00:10:1::5]:53"], 6],
            [undefined, [], undefined],
        ]);
    });

    it("are none in an empty answer", () => {
        expect(readFlows("OFPST_FLOW reply (OF1.5) (xid=0x2):\n")).toEqual([]);
    });

    it("are refused without actions", () => {
        expect(() => readFlows(" cookie=0x0, table=46, priority=200,tcp")).toThrow(OfctlOutputError);
    });
});

it("endpoints are those of all buckets, sorted", () => {
    const group =
        " group_id=2,type=select,selection_method=dp_hash,bucket=bucket_id:9,weight:8,actions=ct(commit,nat(dst=10.10.2.5:8080))," +
        "bucket=bucket_id:0,weight:1,watch_port:4294967295,actions=drop,bucket=bucket_id:4,weight:7,actions=ct(commit,nat(dst=10.10.1.5:8080))";
    expect(endpointsIn(group)).toEqual(["10.10.1.5:8080", "10.10.2.5:8080"]);
});

it.each<[string, number | undefined]>([
    ["set_field:0x10000/0x10000->reg4,resubmit(,44)", 65_536],
    ["set_field:0/0x10000->reg4", 0],
    ["load:0x7->NXM_NX_REG4[]", 7],
    ["set_field:0x1->reg40,set_field:0x2->reg4", 2],
    ["set_field:0x1->reg7", undefined],
])("a value written into a register: %s", (actions, value) => {
    expect(loadedInto("reg4", actions)).toBe(value);
});
