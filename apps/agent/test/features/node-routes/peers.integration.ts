import { bridgingTables, nodeTables, Pipeline, type FlowSet } from "@antrea/flows";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { ManualClock } from "@antrea/async/testing";
import { macAnnotation } from "@antrea/crd";
import { formatFlow, OpenFlowError } from "@antrea/openflow";
import { parseMac, parsePrefix } from "@antrea/ip";
import { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { NodeObject } from "../../../src/platform/node/node-object.ts";
import { antreaRouteProtocol } from "../../../src/platform/kernel-ids.ts";
import type { FlowOwner } from "../../../src/platform/ovs/flow-table/index.ts";
import { Peers, type PeerContext } from "../../../src/features/node-routes/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { OwnNamespace } from "../../support/namespace.ts";

function ip(...args: readonly string[]): string {
    return execFileSync("ip", args, { encoding: "utf8" });
}

function node(name: string, podCIDRs: readonly string[], ips: readonly string[]): NodeObject {
    return {
        metadata: { name },
        spec: { podCIDRs },
        status: { addresses: ips.map((address) => ({ type: "InternalIP", address })) },
    };
}

/** The routes of the agent, as ip shows them. */
function routes(): readonly string[] {
    return ["-4", "-6"].flatMap((family) =>
        ip(family, "route", "show", "proto", String(antreaRouteProtocol))
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => line.split(" ").slice(0, 5).join(" ")),
    );
}

/** The neighbours on the gateway that the agent made. */
function neighbours(): readonly string[] {
    return ["-4", "-6"].flatMap((family) =>
        ip(family, "neighbour", "show", "dev", "gw", "nud", "permanent")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => line.trim())
            .toSorted(),
    );
}

/** Keeps what it was given, and what it was asked to do. */
class MemoryFlowTable implements FlowOwner {
    /** An owner whose flows are refused. */
    refused: string | undefined;
    readonly flows = new Map<string, readonly string[]>();
    readonly calls: string[] = [];

    stage(owner: string, set: FlowSet): void {
        this.calls.push(`stage ${owner}`);
        this.flows.set(
            owner,
            set.flows.map((flow) =>
                formatFlow(flow).replace(
                    /^.*(nw_dst|ipv6_dst)=([^,]+),.*set_field:([0-9a-f:.]+)->(tun_[a-z0-9_]*dst).*$/,
                    "$2 $4=$3",
                ),
            ),
        );
    }

    async set(owner: string, set: FlowSet): Promise<void> {
        if (owner === this.refused) throw new OpenFlowError("REFUSED", "caller", "no");
        this.stage(owner, set);
        this.calls.splice(-1, 1, `set ${owner}`);
    }

    async remove(owner: string): Promise<void> {
        this.calls.push(`remove ${owner}`);
        this.flows.delete(owner);
    }

    /** What it was asked since the last call. */
    asked(): readonly string[] {
        return this.calls.splice(0);
    }
}

const subnets = [parsePrefix("192.0.2.0/24"), parsePrefix("2001:db8::/64")];
let namespace: OwnNamespace;
let netlink: Netlink;
let nodes: readonly NodeObject[];
let context: PeerContext;
let clock: ManualClock;
let flowTable: MemoryFlowTable;
let agent: Peers;
let warnings: (readonly [message: string, fields: unknown])[];
/** The podCIDRs of the routes that were logged as installed. */
let installed: string[];

async function restart(): Promise<void> {
    const link = await netlink.link("uplink");
    flowTable = new MemoryFlowTable();
    warnings = [];
    installed = [];
    clock = new ManualClock();
    const logger = {
        ...silentLogger,
        info: (message: string, fields: { readonly podCIDR: string }) => {
            if (message === "peer route installed") installed.push(fields.podCIDR);
        },
        warn: (...logged: (typeof warnings)[number]) => void warnings.push(logged),
    } as Logger;
    agent = new Peers(
        {
            netlink,
            flowTable,
            next: new Pipeline([...nodeTables, ...bridgingTables]),
            logger,
            nodes: () => nodes,
            clock,
            context: () => context,
            transportIndex: () => link?.index ?? 0,
            gatewayMac: () => parseMac("0e:00:00:00:00:01"),
            servesServices: true,
        },
        { nodeName: "self", podPrefixes: [parsePrefix("10.10.0.0/24")], gatewayName: "gw" },
    );
}

/** A pass that compares all. */
async function compare(): Promise<void> {
    agent.askForFull();
    await agent.pass();
}

beforeEach(async () => {
    namespace = OwnNamespace.enter();
    for (const [name, peer] of [
        ["uplink", "wire"],
        ["gw", "switch"],
    ] as const) {
        ip("link", "add", name, "type", "veth", "peer", "name", peer);
        ip("link", "set", peer, "up");
        ip("link", "set", name, "up");
    }
    ip("addr", "add", "192.0.2.1/24", "dev", "uplink");
    ip("addr", "add", "2001:db8::1/64", "dev", "uplink", "nodad");
    ip("addr", "add", "10.1.0.1/24", "dev", "gw");
    ip("addr", "add", "fd00:1::1/64", "dev", "gw", "nodad");
    netlink = Netlink.open();
    context = { mode: "noEncap", subnets, tunnelFamily: 4, bridging: false };
    await restart();
});

afterEach(() => {
    netlink[Symbol.dispose]();
    namespace[Symbol.dispose]();
});

const self = node("self", ["10.1.0.0/24", "fd00:1::/64"], ["192.0.2.1", "2001:db8::1"]);
const peer = node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2", "2001:db8::2"]);
const peerRoutes = ["10.1.1.0/24 via 192.0.2.2 dev uplink", "fd00:2::/64 via 2001:db8::2 dev uplink"];

it("Nodes join, change their address, leave; routes of others stay", async () => {
    ip("route", "add", "10.1.7.0/24", "via", "192.0.2.99");
    nodes = [self, peer];
    await compare();
    await compare();
    expect(routes()).toEqual(peerRoutes);

    nodes = [self, node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.3", "2001:db8::3"])];
    await compare();
    expect(routes()).toEqual(["10.1.1.0/24 via 192.0.2.3 dev uplink", "fd00:2::/64 via 2001:db8::3 dev uplink"]);

    nodes = [self, peer, node("b", ["10.1.2.0/24"], ["192.0.2.4"])];
    await compare();
    expect(routes()).toEqual([peerRoutes[0], "10.1.2.0/24 via 192.0.2.4 dev uplink", peerRoutes[1]]);

    nodes = [self];
    await compare();
    expect(routes()).toEqual([]);
    expect(ip("route", "show", "10.1.7.0/24")).toContain("via 192.0.2.99");
});

it("puts back what somebody removed or changed, and removes what an earlier agent left", async () => {
    const protocol = String(antreaRouteProtocol);
    ip("route", "add", "10.1.9.0/24", "via", "192.0.2.9", "proto", protocol);
    ip("-6", "route", "add", "fd00:9::/64", "via", "2001:db8::9", "dev", "uplink", "proto", protocol);
    nodes = [self, peer];
    await compare();
    expect(routes()).toEqual(peerRoutes);
    ip("route", "del", "10.1.1.0/24");
    ip("-6", "route", "replace", "fd00:2::/64", "via", "2001:db8::8", "dev", "uplink", "proto", protocol);
    await compare();
    expect(routes()).toEqual(peerRoutes);
});

it("a Node whose route the kernel refuses keeps no other from its route", async () => {
    nodes = [self, node("mirror", ["fd00:5::/64"], ["2001:db8::1"]), peer];
    await compare();
    expect(routes()).toEqual(peerRoutes);
});

it("a route that the kernel refused is retried by itself, and is not logged as installed", async () => {
    nodes = [self, peer];
    await compare();
    nodes = [self, node("mirror", ["fd00:5::/64"], ["2001:db8::1"]), peer];
    const { againInMs } = await agent.pass();
    expect(againInMs).toBe(1000);
    expect(routes()).toEqual(peerRoutes);
    expect(installed).toEqual(["10.1.1.0/24", "fd00:2::/64"]);
    ip("addr", "add", "2001:db8::3/64", "dev", "uplink", "nodad");
    ip("addr", "del", "2001:db8::1/64", "dev", "uplink");
    await clock.advance(1000);
    await agent.pass();
    expect(routes()).toContain("fd00:5::/64 via 2001:db8::1 dev uplink");
});

it("a Node whose flows OVS refuses keeps no other from its flows and routes, and has its own after a retry", async () => {
    context = { ...context, mode: "encap" };
    nodes = [self, peer, node("b", ["10.1.2.0/24"], ["192.0.2.4"])];
    flowTable.refused = "peer/a";
    expect(await agent.pass()).toMatchObject({ hasAllFlows: false, failed: 1, againInMs: 1000 });
    expect(flowTable.asked()).toEqual(["set peer/b"]);
    expect(routes()).toEqual(["10.1.2.0/24 via 10.1.2.1 dev gw"]);
    expect(warnings).toHaveLength(1);
    flowTable.refused = undefined;
    await clock.advance(1000);
    expect(await agent.pass()).toMatchObject({ hasAllFlows: true, failed: 0, againInMs: undefined });
    expect(flowTable.asked()).toEqual(["set peer/a"]);
    expect(routes()).toEqual([tunnelRoutes[0], "10.1.2.0/24 via 10.1.2.1 dev gw", tunnelRoutes[1]]);
});

const tunnelRoutes = ["10.1.1.0/24 via 10.1.1.1 dev gw", "fd00:2::/64 via fd00:2::1 dev gw"];
const tunnelNeighbours = [
    "10.1.1.1 lladdr aa:bb:cc:dd:ee:ff PERMANENT",
    "fd00:2::1 lladdr aa:bb:cc:dd:ee:ff PERMANENT",
];

it("a tunnel is a flow and, for the host, a route to the gateway with a neighbour", async () => {
    context = { ...context, mode: "encap" };
    nodes = [self, peer];
    await agent.pass();
    expect(routes()).toEqual(tunnelRoutes);
    expect(neighbours()).toEqual(tunnelNeighbours);
    expect(flowTable.flows).toEqual(
        new Map([["peer/a", ["10.1.1.0/24 tun_dst=192.0.2.2", "fd00:2::/64 tun_dst=192.0.2.2"]]]),
    );
});

it("a false MAC address of one Node is logged once, and keeps no other from its flow", async () => {
    context = { ...context, bridging: true };
    const withMac = (object: NodeObject, mac: string): NodeObject => ({
        ...object,
        metadata: { ...object.metadata, annotations: { [macAnnotation]: mac } },
    });
    const other = withMac(node("b", ["10.1.2.0/24"], ["192.0.2.4"]), "02:00:00:00:00:04");
    nodes = [self, withMac(peer, "01:00:5e:00:00:01"), other];
    agent.stage();
    expect(flowTable.asked()).toEqual(["stage peer/b"]);
    await compare();
    await agent.pass();
    expect(flowTable.asked()).toEqual([]);
    expect(routes()).toEqual([peerRoutes[0], "10.1.2.0/24 via 192.0.2.4 dev uplink", peerRoutes[1]]);
    expect(warnings).toEqual([
        [
            expect.stringContaining("are ignored"),
            {
                problems: expect.stringMatching(
                    `^a: its annotation ${macAnnotation} is "01:00:5e:00:00:01": it must be`,
                ),
            },
        ],
    ]);
    nodes = [self, withMac(peer, "02:00:00:00:00:02"), other];
    await agent.pass();
    expect(flowTable.asked()).toEqual(["set peer/a"]);
    expect(warnings).toHaveLength(1);
    // to its Pods, and what Services send to itself
    const ofServices = flowTable.flows.get("peer/a")?.filter((flow) => flow.includes("ct_mark=0x10/0x10"));
    expect(flowTable.flows.get("peer/a")).toHaveLength(4);
    expect(ofServices).toEqual([
        expect.stringMatching(/nw_dst=192\.0\.2\.2,.*02:00:00:00:00:02->/),
        expect.stringMatching(/ipv6_dst=2001:db8::2,.*02:00:00:00:00:02->/),
    ]);
});

it("writes what changed and nothing else", async () => {
    context = { ...context, mode: "encap" };
    nodes = [self, peer, node("b", ["10.1.2.0/24"], ["192.0.2.4"])];
    await agent.pass();
    expect(flowTable.asked()).toEqual(["set peer/a", "set peer/b"]);
    // A check of what is there would put this one back.
    ip("route", "del", "10.1.2.0/24");

    nodes = [self, node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.3", "2001:db8::3"]), nodes[2] ?? peer];
    await agent.pass();
    expect(flowTable.asked()).toEqual(["set peer/a"]);
    expect(flowTable.flows.get("peer/a")).toEqual(["10.1.1.0/24 tun_dst=192.0.2.3", "fd00:2::/64 tun_dst=192.0.2.3"]);
    expect(routes()).toEqual(tunnelRoutes);

    await compare();
    expect(flowTable.asked()).toEqual([]);
    expect(routes()).toEqual([tunnelRoutes[0], "10.1.2.0/24 via 10.1.2.1 dev gw", tunnelRoutes[1]]);

    nodes = [self];
    await agent.pass();
    expect(flowTable.asked()).toEqual(["remove peer/a", "remove peer/b"]);
    expect([...routes(), ...neighbours()]).toEqual([]);
});

it("a Node that moves to our subnet and away again, in mode hybrid", async () => {
    context = { ...context, mode: "hybrid" };
    const away = node("a", ["10.1.1.0/24", "fd00:2::/64"], ["203.0.113.2", "2001:db8:1::2"]);
    for (const [position, expected, ours] of [
        [away, tunnelRoutes, tunnelNeighbours],
        [peer, peerRoutes, []],
        [away, tunnelRoutes, tunnelNeighbours],
    ] as const) {
        nodes = [self, position];
        await agent.pass();
        expect(routes()).toEqual(expected);
        expect(neighbours()).toEqual(ours);
        expect(flowTable.flows.size).toBe(position === away ? 1 : 0);
    }
});

it.each([
    ["encap", "noEncap", peerRoutes, []],
    ["noEncap", "encap", tunnelRoutes, tunnelNeighbours],
] as const)("of mode %s nothing is left after a start in mode %s", async (before, after, expected, ours) => {
    context = { ...context, mode: before };
    nodes = [self, peer];
    await compare();
    await restart();
    context = { ...context, mode: after };
    agent.stage();
    await compare();
    expect(routes()).toEqual(expected);
    expect(neighbours()).toEqual(ours);
    expect(flowTable.asked()).toEqual(after === "encap" ? ["stage peer/a"] : []);
});

it("a gateway that comes anew, or late, gets its routes again; neighbours of others on it stay", async () => {
    context = { ...context, mode: "encap" };
    nodes = [self, peer];
    ip("link", "del", "gw");
    await agent.pass();
    expect(routes()).toEqual([]);
    ip("link", "add", "gw", "type", "veth", "peer", "name", "switch");
    ip("link", "set", "switch", "up");
    ip("link", "set", "gw", "up");
    ip("addr", "add", "10.1.0.1/24", "dev", "gw");
    ip("addr", "add", "fd00:1::1/64", "dev", "gw", "nodad");
    ip("neighbour", "add", "10.1.0.77", "lladdr", "02:00:00:00:00:77", "dev", "gw", "nud", "permanent");
    await agent.pass();
    expect(routes()).toEqual(tunnelRoutes);
    await compare();
    expect(neighbours()).toEqual(["10.1.0.77 lladdr 02:00:00:00:00:77 PERMANENT", ...tunnelNeighbours]);
});
