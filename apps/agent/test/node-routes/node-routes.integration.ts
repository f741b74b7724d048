import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { Netlink } from "@antrea/netlink";
import type { NodeObject } from "../../src/node-object.ts";
import { antreaRouteProtocol, NodeRoutes } from "../../src/node-routes/index.ts";
import { silentLogger } from "../support/logger.ts";
import { OwnNamespace } from "../support/namespace.ts";

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

let namespace: OwnNamespace;
let netlink: Netlink;
let nodes: readonly NodeObject[];
let agent: NodeRoutes;

beforeEach(async () => {
    namespace = OwnNamespace.enter();
    ip("link", "add", "uplink", "type", "veth", "peer", "name", "wire");
    ip("link", "set", "wire", "up");
    ip("link", "set", "uplink", "up");
    ip("addr", "add", "192.0.2.1/24", "dev", "uplink");
    ip("addr", "add", "2001:db8::1/64", "dev", "uplink", "nodad");
    netlink = Netlink.open();
    const link = await netlink.link("uplink");
    agent = new NodeRoutes(
        { netlink, logger: silentLogger, nodes: () => nodes },
        { nodeName: "self", transportIndex: link?.index ?? 0 },
    );
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
    await agent.reconcile();
    await agent.reconcile();
    expect(routes()).toEqual(peerRoutes);

    nodes = [self, node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.3", "2001:db8::3"])];
    await agent.reconcile();
    expect(routes()).toEqual(["10.1.1.0/24 via 192.0.2.3 dev uplink", "fd00:2::/64 via 2001:db8::3 dev uplink"]);

    nodes = [self, peer, node("b", ["10.1.2.0/24"], ["192.0.2.4"])];
    await agent.reconcile();
    expect(routes()).toEqual([peerRoutes[0], "10.1.2.0/24 via 192.0.2.4 dev uplink", peerRoutes[1]]);

    nodes = [self];
    await agent.reconcile();
    expect(routes()).toEqual([]);
    expect(ip("route", "show", "10.1.7.0/24")).toContain("via 192.0.2.99");
});

it("puts back what somebody removed or changed, and removes what an earlier agent left", async () => {
    const protocol = String(antreaRouteProtocol);
    ip("route", "add", "10.1.9.0/24", "via", "192.0.2.9", "proto", protocol);
    ip("-6", "route", "add", "fd00:9::/64", "via", "2001:db8::9", "dev", "uplink", "proto", protocol);
    nodes = [self, peer];
    await agent.reconcile();
    expect(routes()).toEqual(peerRoutes);
    ip("route", "del", "10.1.1.0/24");
    ip("-6", "route", "replace", "fd00:2::/64", "via", "2001:db8::8", "dev", "uplink", "proto", protocol);
    await agent.reconcile();
    expect(routes()).toEqual(peerRoutes);
});

it("a Node whose route the kernel refuses keeps no other from its route", async () => {
    nodes = [self, node("mirror", ["fd00:5::/64"], ["2001:db8::1"]), peer];
    await agent.reconcile();
    expect(routes()).toEqual(peerRoutes);
});
