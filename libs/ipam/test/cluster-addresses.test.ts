import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, formatRangeSet, parseIp, RangeSet } from "@antrea/ip";
import {
    clusterAddresses,
    Exclusions,
    nodeAddressesIn,
    nodeAddressesOf,
    podCidrTexts,
    type ClusterAddresses,
    type NodeWithAddresses,
    type ServiceCidrWithRanges,
} from "../src/index.ts";
import { pool, range, setOf } from "./objects.ts";

describe("the addresses that the cluster itself uses", () => {
    it("of a Node are all that can be read, of whatever type, each once", () => {
        const addresses = [
            { type: "InternalIP", address: "10.0.0.5" },
            { type: "InternalIP", address: "fd00::5" },
            { type: "ExternalIP", address: "203.0.113.5" },
            // A kubelet with an address as its name reports it twice.
            { type: "Hostname", address: "10.0.0.5" },
            { type: "InternalDNS", address: "node5.example" },
        ];
        expect(nodeAddressesOf({ status: { addresses } }).map(formatIp)).toEqual([
            "10.0.0.5",
            "fd00::5",
            "203.0.113.5",
        ]);
        expect(nodeAddressesOf({})).toEqual([]);
    });

    it("of a Node are in the order of what matters, in whatever order a cloud reports them", () => {
        const addresses = [
            { type: "ExternalIP", address: "10.1.0.3" },
            { type: "InternalIP", address: "10.1.0.9" },
            { type: "InternalIP", address: "fd00::9" },
            { type: "Hostname", address: "10.1.0.2" },
            { type: "InternalIP", address: "10.1.0.7" },
            { type: "InternalIP", address: "10.1.0.8" },
        ];
        const texts = (...list: typeof addresses): readonly string[] =>
            nodeAddressesOf({ status: { addresses: list } }).map(formatIp);
        const expected = ["10.1.0.9", "fd00::9", "10.1.0.7", "10.1.0.8", "10.1.0.2", "10.1.0.3"];
        expect(texts(...addresses)).toEqual(expected);
        expect(texts(...addresses.slice(0, 3), ...addresses.slice(3).reverse())).toEqual(expected);
        expect(texts(...addresses.slice(1), ...addresses.slice(0, 1))).toEqual(expected);
    });

    it("of a Node are kept from a pool up to 16 of each family that it has, whatever a kubelet reports", () => {
        const outside = Array.from({ length: 18 }, (_, at) => ({ type: "InternalIP", address: `10.9.0.${at + 1}` }));
        const secondary = Array.from({ length: 20 }, (_, at) => ({ type: "ExternalIP", address: `10.1.0.${at + 2}` }));
        const own = { type: "InternalIP", address: "10.1.0.200" };
        const addresses = [...outside, ...secondary, own];
        const one = pool("one", "10.1.0.0/24");
        const { kept, further } = nodeAddressesIn(one, nodeAddressesOf({ status: { addresses } }));
        expect(kept.map(formatIp)).toEqual(["10.1.0.200", ...secondary.slice(0, 15).map(({ address }) => address)]);
        expect(further.map(formatIp)).toEqual(secondary.slice(15).map(({ address }) => address));
        const cluster = { nodeAddresses: [nodeAddressesOf({ status: { addresses } })], podCidrs: [], serviceCidrs: [] };
        const exclusions = new Exclusions(cluster, [one]);
        const inside = RangeSet.ofAddresses([parseIp("10.1.0.200")]).union(setOf("10.1.0.2-10.1.0.16"));
        expect(formatRangeSet(exclusions.usable(one))).toBe(formatRangeSet(one.addresses.subtract(inside)));
        expect(exclusions.reason(one, parseIp("10.1.0.200"))).toBe("is an address of a Node");
        const other = pool("other", range("10.9.0.0/24", { gateway: "10.9.0.254" }));
        expect(formatRangeSet(exclusions.usable(other))).toBe("10.9.0.17-10.9.0.253");
    });

    const internal = (address: string): NodeWithAddresses => ({
        status: { addresses: [{ type: "InternalIP", address }] },
    });
    const pods = (spec: NodeWithAddresses["spec"]): NodeWithAddresses => ({ ...(spec !== undefined && { spec }) });
    const services = (...cidrs: readonly string[]): ServiceCidrWithRanges => ({ spec: { cidrs } });

    it.each<[string, readonly NodeWithAddresses[], readonly ServiceCidrWithRanges[], Partial<Texts>]>([
        ["of no Node and no Service", [], [], {}],
        ["of a Node without spec and status", [{}], [], { nodeAddresses: [[]] }],
        [
            "an entry for each Node",
            [internal("10.0.0.5"), {}, internal("fd00::5")],
            [],
            { nodeAddresses: [["10.0.0.5"], [], ["fd00::5"]] },
        ],
        [
            "addresses of all types, none that is a name",
            [
                {
                    status: {
                        addresses: [
                            { type: "ExternalIP", address: "203.0.113.5" },
                            { type: "InternalIP", address: "10.0.0.5" },
                            { type: "Hostname", address: "10.0.0.6" },
                            { type: "InternalDNS", address: "node5.example" },
                            { address: "10.0.0.7" },
                        ],
                    },
                },
            ],
            [],
            { nodeAddresses: [["10.0.0.5", "10.0.0.6", "10.0.0.7", "203.0.113.5"]] },
        ],
        [
            "podCIDRs of both families",
            [pods({ podCIDRs: ["10.2.0.0/24", "fd00:2::/64"] })],
            [],
            { nodeAddresses: [[]], podCidrs: ["10.2.0.0/24", "fd00:2::/64"] },
        ],
        [
            "podCIDRs with host bits, as whole subnets",
            [pods({ podCIDRs: ["10.2.0.5/24", "fd00:2::5/64"] })],
            [],
            { nodeAddresses: [[]], podCidrs: ["10.2.0.0/24", "fd00:2::/64"] },
        ],
        [
            "podCIDRs without those that cannot be read",
            [pods({ podCIDRs: ["broken", "10.2.0.0/33", "10.2.0.0/24"] })],
            [],
            { nodeAddresses: [[]], podCidrs: ["10.2.0.0/24"] },
        ],
        [
            "spec.podCIDR where there is no spec.podCIDRs",
            [pods({ podCIDR: "10.2.0.5/24" })],
            [],
            { nodeAddresses: [[]], podCidrs: ["10.2.0.0/24"] },
        ],
        [
            "spec.podCIDR where spec.podCIDRs is empty",
            [pods({ podCIDR: "10.2.0.0/24", podCIDRs: [] })],
            [],
            { nodeAddresses: [[]], podCidrs: ["10.2.0.0/24"] },
        ],
        [
            "spec.podCIDRs where it differs from spec.podCIDR",
            [pods({ podCIDR: "10.9.0.0/24", podCIDRs: ["10.2.0.0/24"] })],
            [],
            { nodeAddresses: [[]], podCidrs: ["10.2.0.0/24"] },
        ],
        [
            "podCIDRs of all Nodes",
            [pods({ podCIDRs: ["10.2.0.0/24"] }), pods({ podCIDRs: ["10.2.1.0/24"] })],
            [],
            { nodeAddresses: [[], []], podCidrs: ["10.2.0.0/24", "10.2.1.0/24"] },
        ],
        [
            "Service CIDRs with host bits, as whole subnets",
            [],
            [services("10.96.0.1/16", "fd00:96::1/112")],
            { serviceCidrs: ["10.96.0.0/16", "fd00:96::/112"] },
        ],
        [
            "Service CIDRs without those that cannot be read",
            [],
            [services("10.96.0.0/16", "broken"), {}],
            { serviceCidrs: ["10.96.0.0/16"] },
        ],
        [
            "Service CIDRs of all objects",
            [],
            [services("10.96.0.0/16"), services("10.97.0.0/16")],
            { serviceCidrs: ["10.96.0.0/16", "10.97.0.0/16"] },
        ],
    ])("are %s", (_what, nodes, serviceCidrs, expected) => {
        expect(textsOf(clusterAddresses(nodes, serviceCidrs))).toEqual({
            nodeAddresses: [],
            podCidrs: [],
            serviceCidrs: [],
            ...expected,
        });
    });

    it("has podCIDRs as text too, also what cannot be read", () => {
        expect(podCidrTexts({ spec: { podCIDR: "broken" } })).toEqual(["broken"]);
        expect(podCidrTexts({ spec: { podCIDR: "10.9.0.0/24", podCIDRs: ["10.2.0.5/24"] } })).toEqual(["10.2.0.5/24"]);
        expect(podCidrTexts({})).toEqual([]);
    });
});

interface Texts {
    readonly nodeAddresses: readonly (readonly string[])[];
    readonly podCidrs: readonly string[];
    readonly serviceCidrs: readonly string[];
}

function textsOf({ nodeAddresses, podCidrs, serviceCidrs }: ClusterAddresses): Texts {
    return {
        nodeAddresses: nodeAddresses.map((ips) => ips.map(formatIp)),
        podCidrs: podCidrs.map(formatPrefix),
        serviceCidrs: serviceCidrs.map(formatPrefix),
    };
}
