import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix } from "@antrea/ip";
import { furtherNodeAddressesOf, nodeAddressesOf, podCidrTexts, podCidrsOf, serviceCidrsOf } from "../src/index.ts";

describe("the addresses that the cluster itself uses", () => {
    it("of a Node are all that can be read, of whatever type, each once", () => {
        const addresses = [
            { type: "InternalIP", address: "10.0.0.5" },
            { type: "InternalIP", address: "fd00::5" },
            { type: "ExternalIP", address: "203.0.113.5" },
            // A kubelet with an address as its name says it twice.
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

    it("of a Node are 16 of each family, in its order, whatever a kubelet reports", () => {
        const addresses = Array.from({ length: 20 }, (_, at) => [
            { address: `10.0.0.${at + 1}` },
            { address: `10.0.0.${at + 1}` },
            ...(at < 17 ? [{ address: `fd00::${(at + 1).toString(16)}` }] : []),
        ]).flat();
        const counted = nodeAddressesOf({ status: { addresses } }).map(formatIp);
        expect(counted.filter((ip) => !ip.includes(":"))).toEqual(
            Array.from({ length: 16 }, (_, at) => `10.0.0.${at + 1}`),
        );
        expect(counted.filter((ip) => ip.includes(":")).at(-1)).toBe("fd00::10");
        expect(furtherNodeAddressesOf({ status: { addresses } }).map(formatIp)).toEqual([
            "10.0.0.17",
            "fd00::11",
            "10.0.0.18",
            "10.0.0.19",
            "10.0.0.20",
        ]);
        expect(furtherNodeAddressesOf({})).toEqual([]);
    });

    it("podCIDRs keep the whole subnet from being handed out, also with host bits, and without spec.podCIDRs", () => {
        const texts = (spec: { podCIDR?: string; podCIDRs?: readonly string[] }): readonly string[] =>
            podCidrsOf({ spec }).map(formatPrefix);
        expect(texts({ podCIDRs: ["10.2.0.5/24", "broken", "fd00:2::/64"] })).toEqual(["10.2.0.0/24", "fd00:2::/64"]);
        expect(texts({ podCIDR: "10.2.0.5/24" })).toEqual(["10.2.0.0/24"]);
        expect(texts({ podCIDR: "10.2.0.0/24", podCIDRs: [] })).toEqual(["10.2.0.0/24"]);
        expect(texts({ podCIDR: "10.9.0.0/24", podCIDRs: ["10.2.0.0/24"] })).toEqual(["10.2.0.0/24"]);
        expect(texts({})).toEqual([]);
        expect(podCidrTexts({ spec: { podCIDR: "broken" } })).toEqual(["broken"]);
    });

    it("of Services are whole subnets too", () => {
        const cidrs = ["10.96.0.1/16", "broken", "fd00:96::/112"];
        expect(serviceCidrsOf({ spec: { cidrs } }).map(formatPrefix)).toEqual(["10.96.0.0/16", "fd00:96::/112"]);
        expect(serviceCidrsOf({})).toEqual([]);
    });
});
