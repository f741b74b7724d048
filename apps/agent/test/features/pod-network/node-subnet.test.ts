import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    formatIp,
    formatPrefix,
    parseIp,
    parsePrefix,
    prefixAt,
    prefixContains,
    prefixOf,
    prefixSize,
    type IpAddress,
} from "@antrea/ip";
import { gatewayOf, NodeSubnet, NodeSubnetError } from "../../../src/features/pod-network/node-subnet.ts";

function subnetOf(...texts: readonly string[]): NodeSubnet {
    return new NodeSubnet(
        texts.map((text) => parsePrefix(text)),
        () => 0n,
    );
}

function textsOf(addresses: readonly { readonly ip: IpAddress }[]): readonly string[] {
    return addresses.map(({ ip }) => formatIp(ip));
}

function fill(subnet: NodeSubnet): readonly string[] {
    const given: string[] = [];
    for (;;) {
        try {
            given.push(...textsOf(subnet.allocate(`owner-${given.length}`)));
        } catch (error) {
            expect(error).toBeInstanceOf(NodeSubnetError);
            expect(error).toMatchObject({ code: "EXHAUSTED", fault: "environment" });
            return given;
        }
    }
}

describe("what is given out", () => {
    it("is never what another has taken from outside", () => {
        const taken = new Set(["10.1.2.10", "10.1.2.12"]);
        const subnet = new NodeSubnet(
            [parsePrefix("10.1.2.8/29")],
            () => 0n,
            (ip) => taken.has(formatIp(ip)),
        );
        expect(fill(subnet)).toEqual(["10.1.2.11", "10.1.2.13", "10.1.2.14"]);
    });

    it("is refused once another has taken it meanwhile, and is not given again", () => {
        const taken = new Set<string>();
        const subnet = new NodeSubnet(
            [parsePrefix("10.1.2.8/29")],
            () => 0n,
            (ip) => taken.has(formatIp(ip)),
        );
        const addresses = subnet.allocate("a");
        subnet.refuseTaken(addresses);
        taken.add("10.1.2.10");
        expect(() => subnet.refuseTaken(addresses)).toThrow(
            expect.objectContaining({ code: "TAKEN", message: expect.stringMatching(/^address 10\.1\.2\.10 .*try/) }),
        );
        subnet.release(parseIp("10.1.2.10"), "a");
        expect(fill(subnet)).toEqual(["10.1.2.11", "10.1.2.12", "10.1.2.13", "10.1.2.14"]);
    });

    it.each([
        ["10.1.2.0/24", "10.1.2.2", "10.1.2.254", 253],
        ["10.1.2.64/26", "10.1.2.66", "10.1.2.126", 61],
        ["10.1.2.8/29", "10.1.2.10", "10.1.2.14", 5],
        ["10.1.2.8/30", "10.1.2.10", "10.1.2.10", 1],
        ["fd00::/126", "fd00::2", "fd00::3", 2],
        ["fd00::ff00/120", "fd00::ff02", "fd00::ffff", 254],
    ])("of %s is %s to %s, each once", (cidr, first, last, count) => {
        const subnet = subnetOf(cidr);
        const given = fill(subnet);
        expect(given).toHaveLength(count);
        expect(given[0]).toBe(first);
        expect(given.at(-1)).toBe(last);
        expect(new Set(given).size).toBe(count);
        expect(subnet.usage()).toEqual([{ prefix: parsePrefix(cidr), used: count, total: BigInt(count) }]);
    });

    it("carries the prefix length and the first address as gateway", () => {
        expect(subnetOf("10.1.2.0/24", "fd00:1::/64").allocate("a")).toEqual([
            { ip: parseIp("10.1.2.2"), prefixLength: 24, gateway: parseIp("10.1.2.1") },
            { ip: parseIp("fd00:1::2"), prefixLength: 64, gateway: parseIp("fd00:1::1") },
        ]);
    });

    it("of a large podCIDR is in its first block, and in the next when those before are full", () => {
        const sizes: bigint[] = [];
        const subnet = new NodeSubnet([parsePrefix("fd00:1::/64"), parsePrefix("10.1.0.0/16")], (size) => {
            sizes.push(size);
            return size - 1n;
        });
        expect(sizes).toEqual([256n, 256n]);
        const given = Array.from({ length: 254 }, (_, at) => textsOf(subnet.allocate(`a${at}`)));
        expect(given.slice(0, 2)).toEqual([
            ["fd00:1::ff", "10.1.0.255"],
            ["fd00:1::2", "10.1.0.2"],
        ]);
        expect(new Set(given.flat()).size).toBe(508);
        expect(textsOf(subnet.allocate("b"))).toEqual(["fd00:1::100", "10.1.1.0"]);
        subnet.release(parseIp("fd00:1::7"), "a6");
        expect(textsOf(subnet.allocate("c"))[0]).toBe("fd00:1::101");
    });

    it("of a /64 is also what lies beyond 2^53", () => {
        const subnet = subnetOf("fd00:1::/64");
        const top = parseIp("fd00:1::ffff:ffff:ffff:ffff");
        expect([subnet.take(top, "a"), subnet.ownerOf(top)]).toEqual([true, "a"]);
    });

    it.each([
        ["the network address", 0n],
        ["the gateway", 1n],
        ["the broadcast address", 255n],
        ["beyond the end", 1000n],
    ])("begins with the first one when the start is %s", (_, start) => {
        const subnet = new NodeSubnet([parsePrefix("10.1.2.0/24")], () => start);
        expect(textsOf(subnet.allocate("a"))).toEqual(["10.1.2.2"]);
    });

    it.each(["10.1.2.0/31", "fd00::/127"])("of %s is nothing, reported as such", (cidr) => {
        expect(() => subnetOf(cidr).allocate("a")).toThrow(expect.objectContaining({ code: "EXHAUSTED" }));
    });
});

describe("while it is unknown whether addresses are claimed", () => {
    const prefix = parsePrefix("fd00:1::/64");

    it("one is given of which it is known, in the same block", () => {
        const subnet = new NodeSubnet(
            [prefix],
            () => 2n,
            (ip) => (ip.value === prefix.base + 9n ? false : undefined),
        );
        expect(textsOf(subnet.allocate("a"))).toEqual(["fd00:1::9"]);
    });

    it("none is given, and none is asked about in further blocks, however often it is tried", () => {
        const asked = new Set<string>();
        const subnet = new NodeSubnet(
            [prefix],
            () => 2n,
            (ip) => {
                asked.add(formatPrefix(prefixOf(ip, 120)));
                return ip.value < prefix.base + 256n ? true : undefined;
            },
        );
        for (const owner of ["a", "b", "c"]) {
            expect(() => subnet.allocate(owner)).toThrow(
                expect.objectContaining({
                    code: "ALLOCATIONS_UNKNOWN",
                    message: expect.stringMatching(
                        /^whether address fd00:1::100 of fd00:1::\/64, the podCIDR of this Node, is allocated/,
                    ),
                }),
            );
        }
        expect([...asked]).toEqual(["fd00:1::/120", "fd00:1::100/120"]);
        expect(subnet.usage()[0]?.used).toBe(0);
    });

    it("a Pod that has one gets no other for that, and the same once it is known", () => {
        const known = new Set<bigint>();
        const ip = parseIp("fd00:1::a000");
        const subnet = new NodeSubnet(
            [prefix],
            () => 2n,
            (asked) => (asked.value === ip.value && !known.has(asked.value) ? undefined : false),
        );
        subnet.take(ip, "pod/p");
        expect(() => subnet.allocate("a", "pod/p")).toThrow(expect.objectContaining({ code: "ALLOCATIONS_UNKNOWN" }));
        subnet.refuseTaken([{ ip, prefixLength: 64, gateway: parseIp("fd00:1::1") }]);
        known.add(ip.value);
        expect(textsOf(subnet.allocate("a", "pod/p"))).toEqual(["fd00:1::a000"]);
    });
});

describe("rotation", () => {
    it("gives a freed address again only after all others", () => {
        const subnet = subnetOf("10.1.2.8/29");
        const [first] = subnet.allocate("a");
        if (first === undefined) throw new Error("nothing allocated");
        subnet.release(first.ip, "a");
        const others = Array.from({ length: 4 }, (_, index) => textsOf(subnet.allocate(`b${index}`))).flat();
        expect(others).toEqual(["10.1.2.11", "10.1.2.12", "10.1.2.13", "10.1.2.14"]);
        expect(textsOf(subnet.allocate("c"))).toEqual(["10.1.2.10"]);
    });

    it("finds the one free address wherever it is", () => {
        const subnet = subnetOf("10.1.2.0/24");
        const given = fill(subnet);
        for (const [index, text] of [...given.entries()].filter(([at]) => at % 50 === 0)) {
            subnet.release(parseIp(text), `owner-${index}`);
            expect(textsOf(subnet.allocate("again"))).toEqual([text]);
        }
    });
});

describe("owners", () => {
    it("only the owner frees an address, and only another owner is refused", () => {
        const subnet = subnetOf("10.1.2.0/24");
        const ip = parseIp("10.1.2.7");
        expect(subnet.take(ip, "a")).toBe(true);
        expect(subnet.take(ip, "a")).toBe(true);
        expect(subnet.take(ip, "b")).toBe(false);
        subnet.release(ip, "b");
        expect(subnet.ownerOf(ip)).toBe("a");
        subnet.release(ip, "a");
        expect(subnet.ownerOf(ip)).toBeUndefined();
        expect(subnet.take(ip, "b")).toBe(true);
    });

    it("addresses outside the podCIDRs are nobody's business here", () => {
        const subnet = subnetOf("10.1.2.0/24");
        const ip = parseIp("10.9.9.9");
        expect([subnet.take(ip, "a"), subnet.take(ip, "b")]).toEqual([true, true]);
        subnet.release(ip, "a");
        expect(subnet.contains(ip)).toBe(false);
        expect(subnet.ownerOf(ip)).toBeUndefined();
        expect(subnet.usage()[0]?.used).toBe(0);
    });
});

describe("failure", () => {
    it("dual stack is all or nothing, whichever family is full", () => {
        for (const cidrs of [
            ["10.1.2.8/30", "fd00::/126"],
            ["fd00::/126", "10.1.2.8/30"],
        ]) {
            const subnet = subnetOf(...cidrs);
            subnet.allocate("a");
            const before = subnet.usage();
            expect(() => subnet.allocate("b")).toThrow(
                "no free address in 10.1.2.8/30, the podCIDR of this Node: all 1 are in use (gateway 10.1.2.9); " +
                    "delete Pods on this Node or give Nodes larger podCIDRs",
            );
            expect(subnet.usage()).toEqual(before);
        }
    });

    it("without a podCIDR reports it", () => {
        expect(() => subnetOf().allocate("a")).toThrow(expect.objectContaining({ code: "NO_SUBNET" }));
    });
});

describe("the gateway of an address", () => {
    it.each([
        ["10.1.2.77", 24, "10.1.2.1"],
        ["10.1.2.77", 26, "10.1.2.65"],
        ["fd00:1::abcd", 64, "fd00:1::1"],
    ])("%s/%s is %s", (ip, length, gateway) => {
        expect(formatIp(gatewayOf(parseIp(ip), length))).toBe(gateway);
    });
});

// Invariants 1 and 3 for any history of calls.
type Step =
    | { readonly do: "allocate"; readonly owner: number }
    | { readonly do: "release"; readonly owner: number }
    | { readonly do: "take"; readonly owner: number; readonly index: number };

const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constant("allocate" as const), owner: fc.nat(40) }),
    fc.record({ do: fc.constant("release" as const), owner: fc.nat(40) }),
    fc.record({ do: fc.constant("take" as const), owner: fc.nat(40), index: fc.nat(31) }),
);

describe("for any history", () => {
    it("no address has two owners, none is reserved, and none is refused while one of each family is free", () => {
        const prefixes = [parsePrefix("10.1.2.0/28"), parsePrefix("fd00::40/123")];
        const reserved = new Set(["10.1.2.0", "10.1.2.1", "10.1.2.15", "fd00::40", "fd00::41"]);
        const allOf = (at: number): readonly string[] => {
            const prefix = prefixes[at];
            if (prefix === undefined) return [];
            return Array.from({ length: Number(prefixSize(prefix)) }, (_, i) =>
                formatIp(prefixAt(prefix, BigInt(i))),
            ).filter((text) => !reserved.has(text));
        };
        fc.assert(
            fc.property(fc.array(step, { maxLength: 120 }), fc.bigInt(0n, 40n), (steps, start) => {
                const subnet = new NodeSubnet(prefixes, () => start);
                const owners = new Map<string, string>();
                for (const one of steps) {
                    const owner = `owner-${one.owner}`;
                    if (one.do === "release") {
                        for (const [text, holder] of [...owners]) {
                            subnet.release(parseIp(text), owner);
                            if (holder === owner) owners.delete(text);
                        }
                    } else if (one.do === "take") {
                        const ip = prefixAt(prefixes[0] ?? parsePrefix("::/0"), BigInt(one.index % 16));
                        const holder = owners.get(formatIp(ip));
                        expect(subnet.take(ip, owner)).toBe(holder === undefined || holder === owner);
                        if (holder === undefined) owners.set(formatIp(ip), owner);
                    } else {
                        const free = [0, 1].every((at) => allOf(at).some((text) => !owners.has(text)));
                        let given: readonly string[] | undefined;
                        try {
                            given = textsOf(subnet.allocate(owner));
                        } catch {
                            given = undefined;
                        }
                        expect(given !== undefined).toBe(free);
                        for (const [at, text] of (given ?? []).entries()) {
                            expect(owners.has(text)).toBe(false);
                            expect(reserved.has(text)).toBe(false);
                            expect(prefixContains(prefixes[at] ?? parsePrefix("::/0"), parseIp(text))).toBe(true);
                            owners.set(text, owner);
                        }
                    }
                    for (const [text, holder] of owners) expect(subnet.ownerOf(parseIp(text))).toBe(holder);
                }
                expect(subnet.usage().reduce((sum, { used }) => sum + used, 0)).toBe(owners.size);
            }),
            { numRuns: 60 },
        );
    });
});

it("the addresses of an interface are freed together, but for those that another owner has by then", () => {
    const subnet = subnetOf("10.1.2.8/29", "fd00::/126");
    const addresses = subnet.allocate("a");
    subnet.release(parseIp("10.1.2.10"), "a");
    expect(subnet.take(parseIp("10.1.2.10"), "b")).toBe(true);
    subnet.releaseAll(addresses, "a");
    expect(addresses.map(({ ip }) => subnet.ownerOf(ip))).toEqual(["b", undefined]);
});
