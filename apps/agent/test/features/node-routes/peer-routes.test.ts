import { describe, expect, it } from "@jest/globals";
import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { formatIp, formatMac, formatPrefix, parsePrefix } from "@antrea/ip";
import {
    allPodPrefixes,
    routesToPeers,
    type PeerRoutes,
    type PeerContext,
} from "../../../src/features/node-routes/index.ts";
import type { NodeObject } from "../../../src/platform/node/node-object.ts";

const subnets = [parsePrefix("192.0.2.0/24"), parsePrefix("2001:db8::/64")];
const routed: PeerContext = { mode: "noEncap", subnets, tunnelFamily: 4, bridging: false };
const tunnelled: PeerContext = { mode: "encap", subnets, tunnelFamily: 4, bridging: false };
const hybrid: PeerContext = { mode: "hybrid", subnets, tunnelFamily: 4, bridging: false };

function node(name: string, podCIDRs: readonly string[], ips: readonly string[]): NodeObject {
    return {
        metadata: { name },
        spec: { podCIDRs },
        status: { addresses: ips.map((address) => ({ type: "InternalIP", address })) },
    };
}

const own = { nodeName: "self", podPrefixes: [parsePrefix("10.1.0.0/24"), parsePrefix("fd00:1::/64")] };
const self = node("self", ["10.1.0.0/24", "fd00:1::/64"], ["192.0.2.1", "2001:db8::1"]);

function routesOf(found: PeerRoutes): readonly string[] {
    const word = { route: "via", tunnel: "by" } as const;
    return found.routes.map(
        ({ node: name, dst, remote, kind }) => `${name} ${formatPrefix(dst)} ${word[kind]} ${formatIp(remote)}`,
    );
}

function announcing(object: NodeObject, addresses: string): NodeObject {
    return { ...object, metadata: { ...object.metadata, annotations: { [transportAnnotation]: addresses } } };
}

describe("routes to peers in mode noEncap", () => {
    it("each family goes via the InternalIP of its family; none to ourselves", () => {
        const found = routesToPeers(
            own,
            [self, node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2", "2001:db8::2"])],
            routed,
        );
        expect(routesOf(found)).toEqual(["a 10.1.1.0/24 via 192.0.2.2", "a fd00:2::/64 via 2001:db8::2"]);
        expect(found.problems).toEqual([]);
    });

    it("of several InternalIPs of a family the one on our subnet counts", () => {
        const peer = node("a", ["10.1.1.0/24"], ["203.0.113.2", "192.0.2.2"]);
        expect(routesOf(routesToPeers(own, [self, peer], routed))).toEqual(["a 10.1.1.0/24 via 192.0.2.2"]);
    });

    it("only ourselves, or nobody: none", () => {
        expect(routesToPeers(own, [self], routed)).toEqual({ routes: [], problems: [], ignored: [] });
        expect(routesToPeers(own, [], routed)).toEqual({ routes: [], problems: [], ignored: [] });
    });

    it.each([
        ["on another subnet", node("a", ["10.1.1.0/24"], ["203.0.113.2"]), "another subnet"],
        ["without an address of the family", node("a", ["10.1.1.0/24"], ["2001:db8::2"]), "no address of family IPv4"],
        ["without podCIDRs", node("a", [], ["192.0.2.2"]), "has no spec.podCIDRs"],
        ["with a broken podCIDR", node("a", ["10.1.1.0/99"], ["192.0.2.2"]), "10.1.1.0/99"],
        ["with our podCIDR", node("a", ["10.1.0.0/24"], ["192.0.2.2"]), "also that of Node self"],
    ])("a peer %s gets none, and it is reported", (_, peer, words) => {
        const found = routesToPeers(own, [self, peer], routed);
        expect(found.routes).toEqual([]);
        expect(found.problems).toEqual([{ node: "a", problem: expect.stringContaining(words) }]);
    });

    it("two peers with one podCIDR get none for it, the rest of them stays", () => {
        const found = routesToPeers(
            own,
            [
                self,
                node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2", "2001:db8::2"]),
                node("b", ["10.1.1.0/24", "fd00:3::/64"], ["192.0.2.3", "2001:db8::3"]),
            ],
            routed,
        );
        expect(routesOf(found)).toEqual(["a fd00:2::/64 via 2001:db8::2", "b fd00:3::/64 via 2001:db8::3"]);
        expect(found.problems.map(({ node: name, problem }) => `${name}: ${problem}`)).toEqual([
            "a: its podCIDR is also that of Node b",
            "b: its podCIDR is also that of Node a",
        ]);
    });

    it("a podCIDR that overlaps ours gets none: its route would take our own Pods\' traffic", () => {
        const found = routesToPeers(
            own,
            [self, node("a", ["10.1.0.128/25"], ["192.0.2.2"]), node("b", ["10.0.0.0/8"], ["192.0.2.3"])],
            routed,
        );
        expect(routesOf(found)).toEqual([]);
        expect(found.problems.map(({ node: name }) => name)).toEqual(["a", "b"]);
    });

    it("one that was ours gets none as long as Pods of ours have addresses in it", () => {
        const found = routesToPeers(own, [node("self", [], []), node("a", ["10.1.0.0/24"], ["192.0.2.2"])], routed);
        expect(routesOf(found)).toEqual([]);
        expect(found.problems).toEqual([{ node: "a", problem: "its podCIDR overlaps that of this Node" }]);
    });
});

describe("tunnels to peers", () => {
    const near = node("near", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2", "2001:db8::2"]);
    const far = node("far", ["10.1.2.0/24", "fd00:3::/64"], ["203.0.113.3", "2001:db8:3::3"]);

    it("mode encap: to all, both families carried by IPv4", () => {
        expect(routesOf(routesToPeers(own, [self, near, far], tunnelled))).toEqual([
            "near 10.1.1.0/24 by 192.0.2.2",
            "near fd00:2::/64 by 192.0.2.2",
            "far 10.1.2.0/24 by 203.0.113.3",
            "far fd00:3::/64 by 203.0.113.3",
        ]);
    });

    it("mode encap where the transport interface has IPv6 only", () => {
        expect(routesOf(routesToPeers(own, [self, near], { ...tunnelled, tunnelFamily: 6 }))).toEqual([
            "near 10.1.1.0/24 by 2001:db8::2",
            "near fd00:2::/64 by 2001:db8::2",
        ]);
    });

    it("mode hybrid: routes to Nodes on our subnets, tunnels to the others", () => {
        expect(routesOf(routesToPeers(own, [self, near, far], hybrid))).toEqual([
            "near 10.1.1.0/24 via 192.0.2.2",
            "near fd00:2::/64 via 2001:db8::2",
            "far 10.1.2.0/24 by 203.0.113.3",
            "far fd00:3::/64 by 203.0.113.3",
        ]);
    });

    it("mode hybrid: a family whose address is on no subnet of ours goes by the tunnel", () => {
        const half = node("half", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2"]);
        expect(routesOf(routesToPeers(own, [self, half], hybrid))).toEqual([
            "half 10.1.1.0/24 via 192.0.2.2",
            "half fd00:2::/64 by 192.0.2.2",
        ]);
    });

    it("what a Node announces counts before its InternalIPs; what cannot be read of it does not", () => {
        const peers = [
            announcing(far, "198.51.100.3,2001:db8:9::3"),
            announcing(node("b", ["10.1.3.0/24"], ["192.0.2.4"]), "nonsense"),
        ];
        expect(routesOf(routesToPeers(own, [self, ...peers], tunnelled))).toEqual([
            "far 10.1.2.0/24 by 198.51.100.3",
            "far fd00:3::/64 by 198.51.100.3",
            "b 10.1.3.0/24 by 192.0.2.4",
        ]);
    });

    it("a Node without an address of the tunnels' family gets none, and that is reported", () => {
        const found = routesToPeers(own, [self, node("a", ["fd00:2::/64"], ["2001:db8::2"])], tunnelled);
        expect(found).toMatchObject({
            routes: [],
            problems: [{ node: "a", problem: "it has no address of family IPv4, which tunnels are carried by" }],
        });
    });

    it("a thousand Nodes are searched in no time, again and again", () => {
        const many = Array.from({ length: 1000 }, (_, index) =>
            node(
                `n${index}`,
                [`10.${10 + (index >> 8)}.${index & 255}.0/24`],
                [`203.0.${113 + (index >> 8)}.${index & 255}`],
            ),
        );
        expect(routesToPeers(own, [self, ...many], tunnelled).routes).toHaveLength(1000);
    });
});

it.each(["224.0.0.1", "0.0.0.0", "255.255.255.255", "ff02::1", "::"])(
    "an address of no Node, %s, leads nowhere: the next one counts",
    (address) => {
        const peer = node("a", ["10.1.1.0/24"], [address, "192.0.2.4"]);
        for (const one of [peer, announcing(node("a", ["10.1.1.0/24"], ["192.0.2.4"]), address)]) {
            expect(routesOf(routesToPeers(own, [self, one], tunnelled))).toEqual(["a 10.1.1.0/24 by 192.0.2.4"]);
        }
    },
);

describe("the MAC address of a peer in bridging mode", () => {
    const bridged: PeerContext = { ...routed, bridging: true };
    const withMac = (name: string, cidr: string, ip: string, mac: string): NodeObject => ({
        ...node(name, [cidr], [ip]),
        metadata: { name, annotations: { [macAnnotation]: mac } },
    });
    const good = withMac("good", "10.1.1.0/24", "192.0.2.2", "02:00:00:00:00:02");
    const macs = (found: PeerRoutes) => found.routes.map(({ node: name, mac }) => [name, mac && formatMac(mac)]);

    it.each([
        ["multicast", "01:00:5e:00:00:01", "not a multicast address"],
        ["broadcast", "ff:ff:ff:ff:ff:ff", "not a multicast address"],
        ["zero", "00:00:00:00:00:00", "not zero"],
        ["no MAC address", "eth0", "six pairs of hexadecimal digits"],
        ["blank", "", "six pairs of hexadecimal digits"],
    ])("is ignored with its reason when it is %s; the route stays, and all of other Nodes", (_name, mac, rule) => {
        const found = routesToPeers(own, [self, withMac("bad", "10.1.2.0/24", "192.0.2.3", mac), good], bridged);
        expect(routesOf(found)).toEqual(["bad 10.1.2.0/24 via 192.0.2.3", "good 10.1.1.0/24 via 192.0.2.2"]);
        expect(macs(found)).toEqual([
            ["bad", undefined],
            ["good", "02:00:00:00:00:02"],
        ]);
        expect(found.problems).toEqual([]);
        const problem = `its annotation ${macAnnotation} is "${mac}": it must be`;
        expect(found.ignored).toEqual([{ node: "bad", problem: expect.stringContaining(problem) }]);
        expect(found.ignored[0]?.problem).toContain(rule);
    });

    it("is nobody's matter without bridging mode", () => {
        const found = routesToPeers(own, [self, withMac("bad", "10.1.2.0/24", "192.0.2.3", "x")], routed);
        expect(found).toMatchObject({ problems: [], ignored: [] });
        expect(macs(found)).toEqual([["bad", undefined]]);
    });
});

it("all podCIDRs are those that can be read", () => {
    expect(
        allPodPrefixes([self, node("a", ["nonsense"], []), node("b", [], []), node("c", ["10.1.3.0/24"], [])]).map(
            formatPrefix,
        ),
    ).toEqual(["10.1.0.0/24", "fd00:1::/64", "10.1.3.0/24"]);
});
