import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, parseIp, parsePrefix } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import { findTransport, gatewayIpOf, type TransportInput } from "../../../../src/platform/node/config/index.ts";
import { internalIpsOf, podPrefixesOf } from "../../../../src/platform/node/node-object.ts";

describe("the podCIDRs of a Node", () => {
    it.each([
        ["IPv4", { podCIDRs: ["10.1.0.0/24"] }, ["10.1.0.0/24"]],
        ["dual stack, in their order", { podCIDRs: ["fd00:1::/64", "10.1.0.0/24"] }, ["fd00:1::/64", "10.1.0.0/24"]],
        ["only the old field", { podCIDR: "10.1.0.0/24" }, ["10.1.0.0/24"]],
        [
            "both fields",
            { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24", "fd00::/64"] },
            ["10.1.0.0/24", "fd00::/64"],
        ],
    ])("%s", (_, spec, expected) => {
        expect(podPrefixesOf({ metadata: { name: "n" }, spec }).map(formatPrefix)).toEqual(expected);
    });

    it.each([
        ["none", {}, "NO_POD_CIDR", "Node n has no spec.podCIDRs"],
        ["an empty list", { podCIDRs: [] }, "NO_POD_CIDR", "enable nodeIPAM"],
        ["no CIDR", { podCIDRs: ["10.1.0.0"] }, "BAD_POD_CIDR", "10.1.0.0"],
        ["host bits", { podCIDRs: ["10.1.0.1/24"] }, "BAD_POD_CIDR", "10.1.0.1/24"],
        ["two of a family", { podCIDRs: ["10.1.0.0/24", "10.2.0.0/24"] }, "BAD_POD_CIDR", "at most one IPv4"],
        ["no room for a Pod", { podCIDRs: ["10.1.0.0/31"] }, "BAD_POD_CIDR", "10.1.0.0/31"],
        ["no room for a gateway", { podCIDRs: ["fd00::1/128"] }, "BAD_POD_CIDR", "fd00::1/128"],
    ])("refused: %s", (_, spec, code, words) => {
        expect(() => podPrefixesOf({ metadata: { name: "n" }, spec })).toThrow(
            expect.objectContaining({ code, message: expect.stringContaining(words) }),
        );
    });

    it("give the gateway their first address", () => {
        expect(["10.1.0.0/24", "fd00:1::/64"].map((cidr) => formatIp(gatewayIpOf(parsePrefix(cidr))))).toEqual([
            "10.1.0.1",
            "fd00:1::1",
        ]);
    });
});

it("InternalIPs are those of that type that are addresses", () => {
    const addresses = [
        { type: "Hostname", address: "n" },
        { type: "InternalIP", address: "192.0.2.5" },
        { type: "ExternalIP", address: "198.51.100.1" },
        { type: "InternalIP", address: "nonsense" },
        { type: "InternalIP", address: "2001:db8::5" },
    ];
    expect(internalIpsOf({ status: { addresses } }).map(formatIp)).toEqual(["192.0.2.5", "2001:db8::5"]);
    expect(internalIpsOf({})).toEqual([]);
});

describe("the transport interface", () => {
    const link = (index: number, name: string): Link => ({
        index,
        name,
        type: 1,
        mac: "02:00:00:00:00:01",
        mtu: 1500,
        up: true,
        running: true,
        loopback: false,
        group: 0,
        altNames: [],
        promiscuous: false,
    });
    const input: TransportInput = {
        nodeName: "n",
        nodeIps: [parseIp("192.0.2.5")],
        links: [link(1, "lo"), link(2, "eth0"), link(3, "eth1"), link(9, "antrea-gw0")],
        addresses: [
            { index: 1, ip: parseIp("127.0.0.1") },
            { index: 9, ip: parseIp("192.0.2.5") },
            { index: 2, ip: parseIp("192.0.2.5") },
            { index: 3, ip: parseIp("198.51.100.5") },
            { index: 3, ip: parseIp("2001:db8::5") },
        ],
        own: { hostGateway: "antrea-gw0", ovsBridge: "br-int" },
        transportInterface: "",
        transportInterfaceCidrs: [],
    };

    it.each([
        ["has the InternalIP, and is not the gateway although it has it too", {}, "eth0"],
        ["is the named one", { transportInterface: "eth1" }, "eth1"],
        ["has an address in the CIDRs", { transportInterfaceCidrs: [parsePrefix("198.51.100.0/24")] }, "eth1"],
        [
            "has an address in one of them",
            { transportInterfaceCidrs: [parsePrefix("10.0.0.0/8"), parsePrefix("2001:db8::/32")] },
            "eth1",
        ],
        [
            "a name goes before CIDRs",
            { transportInterface: "eth0", transportInterfaceCidrs: [parsePrefix("198.51.100.0/24")] },
            "eth0",
        ],
    ])("%s", (_, changes, name) => {
        expect(findTransport({ ...input, ...changes }).name).toBe(name);
    });

    it.each([
        [
            "a name that is not there",
            { transportInterface: "eth7" },
            "no interface eth7 on Node n; it has lo, eth0, eth1",
        ],
        [
            "the gateway's name",
            { transportInterface: "antrea-gw0" },
            "transportInterface: antrea-gw0 is the interface that hostGateway names",
        ],
        [
            "CIDRs without an address",
            { transportInterfaceCidrs: [parsePrefix("10.0.0.0/8")] },
            "transportInterfaceCIDRs",
        ],
        ["no InternalIP here", { nodeIps: [parseIp("192.0.2.9")] }, "set transportInterface"],
        ["no InternalIP at all", { nodeIps: [] }, "set transportInterface"],
        [
            "the InternalIP on an interface that hostGateway names",
            {
                own: { ...input.own, hostGateway: "eth0" },
                links: input.links.filter(({ name }) => name !== "antrea-gw0"),
            },
            "no interface of Node n has one of its InternalIPs but eth0, which hostGateway names: that is an interface that antrea-agent makes itself; give hostGateway a name that no interface of the Node has",
        ],
        [
            "the InternalIP on an interface that ovsBridge names",
            {
                own: { ...input.own, ovsBridge: "eth0" },
                links: input.links.filter(({ name }) => name !== "antrea-gw0"),
            },
            "no interface of Node n has one of its InternalIPs but eth0, which ovsBridge names: that is an interface that antrea-agent makes itself; give ovsBridge a name",
        ],
        [
            "an address in the CIDRs on an interface that hostGateway names",
            { own: { ...input.own, hostGateway: "eth1" }, transportInterfaceCidrs: [parsePrefix("198.51.100.0/24")] },
            "transportInterfaceCIDRs: no interface of Node n has an address in them but eth1, which hostGateway names",
        ],
        [
            "the interface that hostGateway names",
            { own: { ...input.own, hostGateway: "eth0" }, transportInterface: "eth0" },
            "transportInterface: eth0 is the interface that hostGateway names",
        ],
    ])("refused: %s", (_, changes, words) => {
        expect(() => findTransport({ ...input, ...changes })).toThrow(
            expect.objectContaining({ code: "NO_TRANSPORT_INTERFACE", message: expect.stringContaining(words) }),
        );
    });
});
