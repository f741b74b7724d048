import { describe, expect, it } from "@jest/globals";
import { formatRangeSet, parseIp } from "@antrea/ip";
import { blocksOf } from "../src/index.ts";
import { exclusions, pool, range, setOf } from "./objects.ts";

describe("Exclusions", () => {
    const cluster = { nodes: ["10.1.0.20", "fd00::20"], pods: ["10.1.0.32/28"], services: ["10.1.0.64/28"] };

    it("takes addresses of Nodes, their podCIDRs and Service CIDRs away", () => {
        const one = pool("p", "10.1.0.16-10.1.0.80");
        expect(formatRangeSet(exclusions(cluster, one).usable(one))).toBe(
            "10.1.0.16-10.1.0.19, 10.1.0.21-10.1.0.31, 10.1.0.48-10.1.0.63, 10.1.0.80",
        );
    });

    it("takes gateways of other pools away, in their VLAN", () => {
        const gateway = { gateway: "10.1.0.9", prefixLength: 24 };
        const one = pool("one", "10.1.0.8-10.1.0.10", range("10.1.0.18-10.1.0.20", { vlan: 5 }));
        const untagged = pool("two", range("10.1.0.100", gateway));
        const tagged = pool("three", range("10.1.0.101", { ...gateway, gateway: "10.1.0.19", vlan: 5 }));
        const other = pool("four", range("10.1.0.102", { ...gateway, gateway: "10.1.0.10", vlan: 6 }));
        const all = exclusions({}, one, untagged, tagged, other);
        expect(formatRangeSet(all.usable(one))).toBe("10.1.0.8, 10.1.0.10, 10.1.0.18, 10.1.0.20");
    });

    it("knows a pool that is not among all pools", () => {
        const one = pool("one", "10.1.0.18-10.1.0.21");
        expect(formatRangeSet(exclusions(cluster).usable(one))).toBe("10.1.0.18-10.1.0.19, 10.1.0.21");
    });

    it.each([
        ["handed out", "10.1.0.25", undefined],
        ["elsewhere", "10.1.0.99", "is not in its ranges"],
        ["of a Node", "10.1.0.20", "is an address of a Node"],
        ["of Pods", "10.1.0.33", "lies in a podCIDR of a Node"],
        ["of Services", "10.1.0.64", "lies in a Service CIDR"],
        ["gateway of the pool", "10.1.0.21", "is a gateway"],
        ["gateway of another pool", "10.1.0.30", "is a gateway"],
        ["edge of a CIDR", "10.1.0.95", "is the first or last address of the CIDR of spec.ipRanges[1]"],
        ["edge of the subnet", "10.1.0.255", "is the network or broadcast address of its subnet, 10.1.0.0/24"],
        ["of another family", "fd00::20", "is not in its ranges"],
    ])("reports why an address is not handed out: %s", (_name, ip, reason) => {
        const one = pool(
            "one",
            range("10.1.0.20-10.1.0.63", { gateway: "10.1.0.21" }),
            "10.1.0.64/27",
            "10.1.0.250-10.1.0.255",
        );
        const other = pool("other", range("10.1.0.200", { gateway: "10.1.0.30" }));
        expect(exclusions(cluster, one, other).reason(one, parseIp(ip))).toBe(reason);
    });

    it("does not mind huge pools", () => {
        const huge = pool("huge", "fd00::/64");
        expect(exclusions(cluster, huge).usable(huge).size).toBe((1n << 64n) - 3n);
    });
});

describe("blocksOf", () => {
    const texts = (set: ReturnType<typeof setOf>): readonly string[] => {
        const blocks = blocksOf(set);
        return Array.from({ length: Number(blocks.count) }, (_, at) => {
            const block = blocks.at(BigInt(at));
            expect(blocks.has(block)).toBe(true);
            return formatRangeSet(setOf().union(setOf("0.0.0.0/0", "::/0")).within(block));
        });
    };

    it.each([
        ["none", [], []],
        ["one", ["10.0.0.5"], ["10.0.0.0-10.0.0.255"]],
        ["one for many ranges", ["10.0.0.5", "10.0.0.9-10.0.0.255"], ["10.0.0.0-10.0.0.255"]],
        ["a range over a border", ["10.0.0.255-10.0.1.0"], ["10.0.0.0-10.0.0.255", "10.0.1.0-10.0.1.255"]],
        ["both families", ["fd00::1ff", "10.0.0.5"], ["10.0.0.0-10.0.0.255", "fd00::100-fd00::1ff"]],
        ["the last block", ["255.255.255.255"], ["255.255.255.0-255.255.255.255"]],
    ])("%s", (_name, from, to) => {
        expect(texts(setOf(...from))).toEqual(to);
    });

    it("counts the blocks of a huge set and finds each", () => {
        const blocks = blocksOf(setOf("fd00::/64"));
        expect(blocks.count).toBe(1n << 56n);
        expect(blocks.at(1n << 40n)).toEqual({ family: 6, base: parseIp("fd00::").value + (1n << 48n), length: 120 });
        expect(blocks.has({ family: 6, base: parseIp("fd00::1:0:0").value, length: 120 })).toBe(true);
        expect(blocks.has({ family: 6, base: parseIp("fd00::1:0:0").value, length: 121 })).toBe(false);
        expect(blocks.has({ family: 6, base: parseIp("fd00:0:0:1::").value, length: 120 })).toBe(false);
        expect(() => blocks.at(1n << 56n)).toThrow("has none at index");
    });
});
