import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, parsePrefix } from "@antrea/ip";
import type { NodeObject } from "../../src/node-object.ts";
import { allPodPrefixes, peerRoutes, type PeerRoutes } from "../../src/node-routes/index.ts";

const subnets = [parsePrefix("192.0.2.0/24"), parsePrefix("2001:db8::/64")];

function node(name: string, podCIDRs: readonly string[], ips: readonly string[]): NodeObject {
    return {
        metadata: { name },
        spec: { podCIDRs },
        status: { addresses: ips.map((address) => ({ type: "InternalIP", address })) },
    };
}

const self = node("self", ["10.1.0.0/24", "fd00:1::/64"], ["192.0.2.1", "2001:db8::1"]);

function routesOf(found: PeerRoutes): readonly string[] {
    return found.routes.map(({ node: name, dst, via }) => `${name} ${formatPrefix(dst)} via ${formatIp(via)}`);
}

describe("routes to peers", () => {
    it("each family goes via the InternalIP of its family; none to ourselves", () => {
        const found = peerRoutes(
            "self",
            [self, node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2", "2001:db8::2"])],
            subnets,
        );
        expect(routesOf(found)).toEqual(["a 10.1.1.0/24 via 192.0.2.2", "a fd00:2::/64 via 2001:db8::2"]);
        expect(found.problems).toEqual([]);
    });

    it("of several InternalIPs of a family the one on our subnet counts", () => {
        const peer = node("a", ["10.1.1.0/24"], ["203.0.113.2", "192.0.2.2"]);
        expect(routesOf(peerRoutes("self", [self, peer], subnets))).toEqual(["a 10.1.1.0/24 via 192.0.2.2"]);
    });

    it("only ourselves, or nobody: none", () => {
        expect(peerRoutes("self", [self], subnets)).toEqual({ routes: [], problems: [] });
        expect(peerRoutes("self", [], subnets)).toEqual({ routes: [], problems: [] });
    });

    it.each([
        ["on another subnet", node("a", ["10.1.1.0/24"], ["203.0.113.2"]), "another subnet"],
        [
            "without an address of the family",
            node("a", ["10.1.1.0/24"], ["2001:db8::2"]),
            "no InternalIP of family IPv4",
        ],
        ["without podCIDRs", node("a", [], ["192.0.2.2"]), "has no spec.podCIDRs"],
        ["with a broken podCIDR", node("a", ["10.1.1.0/99"], ["192.0.2.2"]), "10.1.1.0/99"],
        ["with our podCIDR", node("a", ["10.1.0.0/24"], ["192.0.2.2"]), "also that of Node self"],
    ])("a peer %s gets none, and it is said", (_, peer, words) => {
        const found = peerRoutes("self", [self, peer], subnets);
        expect(found.routes).toEqual([]);
        expect(found.problems).toEqual([{ node: "a", problem: expect.stringContaining(words) }]);
    });

    it("two peers with one podCIDR get none for it, the rest of them stays", () => {
        const found = peerRoutes(
            "self",
            [
                self,
                node("a", ["10.1.1.0/24", "fd00:2::/64"], ["192.0.2.2", "2001:db8::2"]),
                node("b", ["10.1.1.0/24", "fd00:3::/64"], ["192.0.2.3", "2001:db8::3"]),
            ],
            subnets,
        );
        expect(routesOf(found)).toEqual(["a fd00:2::/64 via 2001:db8::2", "b fd00:3::/64 via 2001:db8::3"]);
        expect(found.problems.map(({ node: name, problem }) => `${name}: ${problem}`)).toEqual([
            "a: its podCIDR is also that of Node b",
            "b: its podCIDR is also that of Node a",
        ]);
    });

    it("a podCIDR that overlaps ours gets none: its route would take our own Pods\' traffic", () => {
        const found = peerRoutes(
            "self",
            [self, node("a", ["10.1.0.128/25"], ["192.0.2.2"]), node("b", ["10.0.0.0/8"], ["192.0.2.3"])],
            subnets,
        );
        expect(routesOf(found)).toEqual([]);
        expect(found.problems.map(({ node: name }) => name)).toEqual(["a", "b"]);
    });
});

it("all podCIDRs are those that can be read", () => {
    expect(
        allPodPrefixes([self, node("a", ["nonsense"], []), node("b", [], []), node("c", ["10.1.3.0/24"], [])]).map(
            formatPrefix,
        ),
    ).toEqual(["10.1.0.0/24", "fd00:1::/64", "10.1.3.0/24"]);
});
