import { describe, expect, it } from "@jest/globals";
import {
    bridgeRows,
    tunnelBridgeProblem,
    type BridgeRows,
    type InterfaceRow,
} from "../../../../src/platform/ovs/datapath/index.ts";

const port = (name: string, type = "", error?: string): InterfaceRow => ({ name, type, error });

function bridge(name: string, datapathType: string, ...ports: readonly InterfaceRow[]): BridgeRows {
    return { name, datapathType, interfaces: [port(name, "internal"), ...ports] };
}

const brInt = bridge("br-int", "netdev", port("antrea-gw0", "internal"), port("antrea-tun0", "geneve"));

describe("tunnels of the userspace datapath leave", () => {
    it.each<[string, BridgeRows]>([
        ["by a bridge with a NIC", bridge("br-phy", "netdev", port("eth1"))],
        ["by one whose NIC is named a system device", bridge("br-phy", "netdev", port("eth1", "system"))],
        ["by one with a NIC of DPDK", bridge("br-phy", "netdev", port("dpdk0", "dpdk"))],
        [
            "by one of whose NICs one works",
            bridge("br-phy", "netdev", port("eth1", "", "could not open network device eth1"), port("eth2")),
        ],
    ])("%s", (_, physical) => {
        expect(tunnelBridgeProblem([brInt, physical], "br-phy")).toBeUndefined();
    });
});

describe("tunnels of the userspace datapath do not leave", () => {
    it.each<[string, readonly BridgeRows[], string, RegExp]>([
        ["without bridges", [], "eth0", /eth0 is none; make one over a NIC .* docs\/datapaths\.md/],
        ["by a NIC that is no port", [brInt, bridge("br-phy", "netdev", port("eth1"))], "eth0", /eth0 is none/],
        [
            "by a NIC that is a port itself",
            [brInt, bridge("br-phy", "netdev", port("eth1"))],
            "eth1",
            /eth1 is another port of bridge br-phy; give its addresses to br-phy and set transportInterface=br-phy$/,
        ],
        ["by an internal port", [brInt], "antrea-gw0", /another port of bridge br-int/],
        [
            "by a bridge of the kernel datapath",
            [brInt, bridge("br-phy", "system", port("eth1"))],
            "br-phy",
            /type system, .*ovs-vsctl set bridge br-phy datapath_type=netdev$/,
        ],
        ["by one without a type", [bridge("br-phy", "", port("eth1"))], "br-phy", /datapath type system/],
        ["by one without ports", [bridge("br-phy", "netdev")], "br-phy", /ovs-vsctl add-port br-phy NIC$/],
        [
            "by one that leads only to other bridges",
            [bridge("br-phy", "netdev", port("p", "patch"), port("t", "geneve"), port("i", "internal"))],
            "br-phy",
            /has no NIC/,
        ],
        [
            "by one whose NIC cannot be opened",
            [bridge("br-phy", "netdev", port("eth9", "", "could not open network device eth9 (No such device)"))],
            "br-phy",
            /cannot open NIC eth9 of bridge br-phy: could not open network device eth9 \(No such device\); see the log/,
        ],
    ])("%s", (_, bridges, transport, sentence) => {
        expect(tunnelBridgeProblem(bridges, transport)).toMatch(sentence);
    });
});

describe("the bridges of the database", () => {
    const [a, b, c] = ["a", "b", "c"].map((letter) => ({ uuid: letter.repeat(32) })) as [Uuid, Uuid, Uuid];
    type Uuid = { readonly uuid: string };

    it("have the interfaces of all ports, also of bonds; what is not there yet is left out", () => {
        const tables: Readonly<
            Record<string, ReadonlyMap<string, Readonly<Record<string, string | readonly (string | Uuid)[]>>>>
        > = {
            Bridge: new Map([["0", { name: "br-phy", datapath_type: "netdev", ports: [a, b, c] }]]),
            Port: new Map([
                [a.uuid, { interfaces: [a] }],
                [b.uuid, { interfaces: [b, c] }],
            ]),
            Interface: new Map([
                [a.uuid, { name: "br-phy", type: "internal", error: [] }],
                [b.uuid, { name: "eth1", type: "", error: [] }],
                [c.uuid, { name: "eth2", type: "", error: ["no such device"] }],
            ]),
        };
        const rows = (table: string) => tables[table] ?? new Map();
        expect(bridgeRows({ rows })).toEqual([
            {
                name: "br-phy",
                datapathType: "netdev",
                interfaces: [port("br-phy", "internal"), port("eth1"), port("eth2", "", "no such device")],
            },
        ]);
    });
});
