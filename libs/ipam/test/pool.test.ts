import { describe, expect, it } from "@jest/globals";
import { type IpPool, type IpRangeSpec } from "@antrea/crd";
import { formatIp, formatPrefix, formatRangeSet, parseIp, parsePrefix, prefixRange } from "@antrea/ip";
import * as fc from "fast-check";
import { readPool } from "../src/index.ts";
import { ipPool, pool, range } from "./objects.ts";

describe("readPool", () => {
    it.each([
        ["first and last of a CIDR are out", ["10.1.0.8/29"], "10.1.0.9-10.1.0.14", 6n],
        ["start and end lose nothing", ["10.1.0.8-10.1.0.15"], "10.1.0.8-10.1.0.15", 8n],
        ["one address", ["10.1.0.8"], "10.1.0.8", 1n],
        ["the gateway is out of start and end", ["10.1.0.0-10.1.0.9"], "10.1.0.2-10.1.0.9", 8n],
        ["network and broadcast address of the subnet", ["10.1.0.0-10.1.0.255"], "10.1.0.2-10.1.0.254", 253n],
        ["the edge of the subnet in a /31", ["10.1.0.254/31"], "10.1.0.254", 1n],
        ["the Subnet-Router anycast address", ["fd00::-fd00::2"], "fd00::2", 1n],
        ["the last address of an IPv6 subnet", ["fd00::ffff:ffff:ffff:ffff"], "fd00::ffff:ffff:ffff:ffff", 1n],
        ["the gateway is out of a CIDR", ["10.1.0.0/29"], "10.1.0.2-10.1.0.6", 5n],
        ["host bits are masked", ["10.1.0.13/29"], "10.1.0.9-10.1.0.14", 6n],
        ["the whole subnet", ["10.1.0.0/24"], "10.1.0.2-10.1.0.254", 253n],
        ["/30", ["10.1.0.4/30"], "10.1.0.5-10.1.0.6", 2n],
        ["/31 hands out both", ["10.1.0.4/31"], "10.1.0.4-10.1.0.5", 2n],
        ["/32 hands out itself", ["10.1.0.4/32"], "10.1.0.4", 1n],
        ["a gateway in a /31", ["10.1.0.0/31"], "", 0n],
        ["the gateway alone", ["10.1.0.1"], "", 0n],
        ["IPv6 loses its first only", ["fd00::10/124"], "fd00::11-fd00::1f", 15n],
        ["IPv6 /127 hands out both", ["fd00::10/127"], "fd00::10-fd00::11", 2n],
        ["IPv6 /128", ["fd00::10/128"], "fd00::10", 1n],
        ["IPv6 /126", ["fd00::10/126"], "fd00::11-fd00::13", 3n],
        ["a whole /64", ["fd00::/64"], "fd00::2-fd00::ffff:ffff:ffff:ffff", (1n << 64n) - 2n],
        ["adjacent ranges", ["10.1.0.8-10.1.0.9", "10.1.0.10-10.1.0.20"], "10.1.0.8-10.1.0.20", 13n],
        ["CIDRs side by side", ["10.1.0.8/30", "10.1.0.12/30"], "10.1.0.9-10.1.0.10, 10.1.0.13-10.1.0.14", 4n],
        ["ranges that overlap count once", ["10.1.0.8-10.1.0.9", "10.1.0.9-10.1.0.12"], "10.1.0.8-10.1.0.12", 5n],
    ])("%s", (_name, ranges, text, size) => {
        const read = pool("p", ...ranges);
        expect(read.problems).toEqual([]);
        expect(formatRangeSet(read.addresses)).toBe(text);
        expect(read.addresses.size).toBe(size);
    });

    it.each([
        [4, "10.1.0.8-10.1.0.9", "10.1.0.8", 31, "10.1.0.9"],
        [4, "10.1.0.8-10.1.0.11", "10.1.0.9", 30, "10.1.0.10"],
        [6, "fd00::8-fd00::9", "fd00::8", 127, "fd00::9"],
        [6, "fd00::8-fd00::b", "fd00::9", 126, "fd00::a-fd00::b"],
    ])("keeps what hosts can have of a small subnet: IPv%i %s", (_family, text, gateway, prefixLength, left) => {
        expect(formatRangeSet(pool("p", range(text, { gateway, prefixLength })).addresses)).toBe(left);
    });

    it("takes the gateway of each range out of all ranges", () => {
        const other = range("10.1.0.30-10.1.0.35", { gateway: "10.1.0.9", prefixLength: 26, vlan: 7 });
        const read = pool("p", "10.1.0.8-10.1.0.10", other);
        expect(formatRangeSet(read.addresses)).toBe("10.1.0.8, 10.1.0.10, 10.1.0.30-10.1.0.35");
        expect(read.gateways.map(({ ip, vlan }) => `${formatIp(ip)} ${vlan}`)).toEqual(["10.1.0.1 0", "10.1.0.9 7"]);
        const { subnets } = read;
        expect(subnets.map(({ path }) => path)).toEqual(["spec.ipRanges[0]", "spec.ipRanges[1]"]);
        expect(subnets.map(({ prefix }) => formatPrefix(prefix))).toEqual(["10.1.0.0/24", "10.1.0.0/26"]);
        expect(subnets.map(({ vlan }) => vlan)).toEqual([0, 7]);
    });

    it("finds the range of an address, also of one that is not handed out", () => {
        const read = pool("p", "10.1.0.8/29", "10.1.0.20-10.1.0.29", range("10.1.0.25-10.1.0.40", { vlan: 3 }));
        const pathOf = (ip: string): string | undefined => read.subnetOf(parseIp(ip))?.path;
        expect(pathOf("10.1.0.9")).toBe("spec.ipRanges[0]");
        expect(pathOf("10.1.0.15")).toBe("spec.ipRanges[0]");
        expect(pathOf("10.1.0.27")).toBe("spec.ipRanges[1]");
        expect(pathOf("10.1.0.30")).toBe("spec.ipRanges[2]");
        expect(pathOf("10.1.0.16")).toBeUndefined();
        expect(pathOf("fd00::1")).toBeUndefined();
    });

    it("agrees with a list of all addresses, for small pools", () => {
        const small = fc.integer({ min: 0, max: 31 });
        const written = fc.oneof(
            fc.record({ at: small, length: fc.integer({ min: 27, max: 32 }) }),
            fc.record({ at: small, to: small }),
        );
        const ranges = fc.array(fc.record({ written, gateway: fc.integer({ min: 1, max: 30 }) }), {
            minLength: 1,
            maxLength: 4,
        });
        fc.assert(
            fc.property(fc.constantFrom<4 | 6>(4, 6), ranges, (ipVersion, items) => {
                const text = (at: number): string => (ipVersion === 4 ? `10.1.0.${at}` : `fd00::${at.toString(16)}`);
                const plain = new Set<number>();
                const specs = items.map(({ written: form, gateway }): IpRangeSpec => {
                    const subnet = { gateway: text(gateway), prefixLength: ipVersion === 4 ? 27 : 123 };
                    if ("length" in form) {
                        const size = 2 ** (32 - form.length);
                        const base = form.at - (form.at % size);
                        for (let at = 0; at < size; at += 1) {
                            const edge = size > 2 && (at === 0 || (at === size - 1 && ipVersion === 4));
                            if (!edge) plain.add(base + at);
                        }
                        const length = ipVersion === 4 ? form.length : form.length + 96;
                        return { cidr: `${text(form.at)}/${length}`, ...subnet };
                    }
                    const [start, end] = form.at < form.to ? [form.at, form.to] : [form.to, form.at];
                    for (let at = start; at <= end; at += 1) plain.add(at);
                    return { start: text(start), end: text(end), ...subnet };
                });
                for (const { gateway } of items) plain.delete(gateway);
                // The edges of the subnet.
                plain.delete(0);
                if (ipVersion === 4) plain.delete(31);
                const read = readPool({ metadata: { name: "p" }, spec: { ipVersion, ipRanges: specs } });
                expect(read.problems).toEqual([]);
                const expected = [...plain].sort((a, b) => a - b).map((at) => formatIp(parseIp(text(at))));
                expect([...read.addresses].map(formatIp)).toEqual(expected);
            }),
        );
    });
});

describe("a range that is left out", () => {
    const rows: readonly (readonly [string, 4 | 6, Partial<IpRangeSpec>, readonly string[]])[] = [
        ["neither form", 4, {}, ["spec.ipRanges[0]: it must have either cidr or start and end"]],
        [
            "both forms",
            4,
            { cidr: "10.1.0.8/29", start: "10.1.0.8" },
            ["spec.ipRanges[0]: it must have either cidr or start and end, not both"],
        ],
        ["start alone", 4, { start: "10.1.0.8" }, ["spec.ipRanges[0].end: is missing"]],
        ["end alone", 4, { end: "10.1.0.8" }, ["spec.ipRanges[0].start: is missing"]],
        [
            "no CIDR",
            4,
            { cidr: "10.1.0.8" },
            ['spec.ipRanges[0].cidr "10.1.0.8": it must be written as address/length'],
        ],
        [
            "leading zeros",
            4,
            { start: "010.1.0.8", end: "10.1.0.9" },
            ['spec.ipRanges[0].start "010.1.0.8": a decimal part must not start with 0'],
        ],
        ["leading zeros in a CIDR", 4, { cidr: "10.1.0.08/29" }, ["must not start with 0"]],
        ["leading zeros in a length", 4, { cidr: "10.1.0.8/029" }, ["without leading zeros"]],
        [
            "start after end",
            4,
            { start: "10.1.0.9", end: "10.1.0.8" },
            ['spec.ipRanges[0].start "10.1.0.9": must not be after end 10.1.0.8'],
        ],
        [
            "families in one range",
            4,
            { start: "10.1.0.8", end: "fd00::9" },
            ['spec.ipRanges[0].end "fd00::9": must be of IPv4, as spec.ipVersion specifies'],
        ],
        [
            "a range of the other family",
            6,
            { cidr: "10.1.0.8/29", gateway: "fd00::1", prefixLength: 64 },
            ['spec.ipRanges[0].cidr "10.1.0.8/29": must be of IPv6'],
        ],
        [
            "a gateway of the other family",
            4,
            { cidr: "10.1.0.8/29", gateway: "fd00::1" },
            ['spec.ipRanges[0].gateway "fd00::1": must be of IPv4'],
        ],
        [
            "a CIDR outside its subnet",
            4,
            { cidr: "10.1.1.0/29" },
            ['spec.ipRanges[0].cidr "10.1.1.0/29": must lie in 10.1.0.0/24, the subnet'],
        ],
        [
            "a CIDR larger than its subnet",
            4,
            { cidr: "10.1.0.0/23" },
            ['spec.ipRanges[0].cidr "10.1.0.0/23": must lie in 10.1.0.0/24'],
        ],
        [
            "a start outside its subnet",
            4,
            { start: "10.0.255.255", end: "10.1.0.8" },
            ['spec.ipRanges[0].start "10.0.255.255": must lie in'],
        ],
        [
            "an end outside its subnet",
            4,
            { start: "10.1.0.8", end: "10.1.1.0" },
            ['spec.ipRanges[0].end "10.1.1.0": must lie in'],
        ],
        [
            "prefixLength 0",
            4,
            { cidr: "10.1.0.8/29", prefixLength: 0 },
            ['spec.ipRanges[0].prefixLength "0": must be a whole number from 1 to 31'],
        ],
        ["prefixLength 32", 4, { cidr: "10.1.0.8/29", prefixLength: 32 }, ["from 1 to 31"]],
        ["prefixLength 128", 6, { cidr: "fd00::/64", gateway: "fd00::1", prefixLength: 128 }, ["from 1 to 127"]],
        ["prefixLength of a fraction", 4, { cidr: "10.1.0.8/29", prefixLength: 24.5 }, ["whole number"]],
        [
            "gateway is the network",
            4,
            { cidr: "10.1.0.8/29", gateway: "10.1.0.0" },
            ['gateway "10.1.0.0": must not be the network address of 10.1.0.0/24'],
        ],
        [
            "gateway is the broadcast",
            4,
            { cidr: "10.1.0.8/29", gateway: "10.1.0.255" },
            ["must not be the broadcast address of 10.1.0.0/24"],
        ],
        [
            "gateway is the anycast of routers",
            6,
            { cidr: "fd00::/64", gateway: "fd00::", prefixLength: 64 },
            ["must not be the Subnet-Router anycast address of fd00::/64"],
        ],
        [
            "gateway is no address",
            4,
            { cidr: "10.1.0.8/29", gateway: "router" },
            ['spec.ipRanges[0].gateway "router": it must be an IPv4 or IPv6 address'],
        ],
        [
            "loopback",
            4,
            { cidr: "127.0.0.8/29", gateway: "127.0.0.1", prefixLength: 8 },
            ["gateway", "must not hold loopback addresses (127.0.0.0/8)"],
        ],
        [
            "multicast",
            4,
            { cidr: "239.1.0.8/29", gateway: "239.1.0.1" },
            ["gateway", "must not hold multicast addresses (224.0.0.0/4)"],
        ],
        [
            "a range that reaches into multicast",
            4,
            { start: "223.255.255.1", end: "224.0.0.9", gateway: "223.1.0.1", prefixLength: 2 },
            ["must not hold multicast addresses"],
        ],
        [
            "unspecified",
            4,
            { start: "0.0.0.0", end: "0.0.0.9", gateway: "0.0.0.1" },
            ["must not hold the unspecified address (0.0.0.0/32)"],
        ],
        [
            "limited broadcast",
            4,
            { start: "255.255.255.1", end: "255.255.255.255", gateway: "255.255.255.9" },
            ["limited broadcast"],
        ],
        [
            "IPv6 unspecified",
            6,
            { start: "::", end: "::9", gateway: "::5", prefixLength: 64 },
            ["must not hold the unspecified address (::/128)"],
        ],
        [
            "IPv6 loopback",
            6,
            { start: "::1", end: "::9", gateway: "::5", prefixLength: 64 },
            ["must not hold the loopback address (::1/128)"],
        ],
        [
            "IPv6 multicast",
            6,
            { cidr: "ff05::/64", gateway: "ff05::1", prefixLength: 64 },
            ["gateway", "must not hold multicast addresses (ff00::/8)"],
        ],
        [
            "IPv4-mapped, dotted",
            6,
            { start: "::ffff:10.1.0.8", end: "::ffff:10.1.0.9", gateway: "fd00::1", prefixLength: 64 },
            ["write 10.1.0.8", "write 10.1.0.9"],
        ],
        [
            "IPv4-mapped, hexadecimal",
            6,
            { start: "::ffff:a01:8", end: "::ffff:a01:9", gateway: "fd00::1", prefixLength: 64 },
            ["write 10.1.0.8", "write 10.1.0.9"],
        ],
        [
            "IPv4-mapped inside",
            6,
            { cidr: "::fffe:0:0/95", gateway: "::fffe:0:1", prefixLength: 95 },
            ["must not hold IPv4-mapped addresses (::ffff:0.0.0.0/96)"],
        ],
        [
            "vlan 4095",
            4,
            { cidr: "10.1.0.8/29", vlan: 4095 },
            [
                'spec.ipRanges[0].vlan "4095": must be a whole number from 0 (untagged) to 4094: IEEE 802.1Q reserves 4095',
            ],
        ],
        ["vlan 4096", 4, { cidr: "10.1.0.8/29", vlan: 4096 }, ["from 0 (untagged) to 4094"]],
        ["vlan -1", 4, { cidr: "10.1.0.8/29", vlan: -1 }, ["from 0 (untagged) to 4094"]],
    ];

    it.each(rows)("%s", (_name, ipVersion, parts, problems) => {
        const bad: IpRangeSpec = { gateway: "10.1.0.1", prefixLength: 24, ...parts };
        const good = range(ipVersion === 4 ? "10.1.0.100" : "fd00::100");
        const read = readPool({ metadata: { name: "p" }, spec: { ipVersion, ipRanges: [bad, good] } });
        expect(read.problems).toHaveLength(problems.length);
        problems.forEach((problem, at) => expect(read.problems[at]).toContain(problem));
        expect(read.subnets.map(({ path }) => path)).toEqual(["spec.ipRanges[1]"]);
        expect(read.addresses.size).toBe(1n);
    });

    it.each([
        ["gateway inside the range", { cidr: "10.1.0.0/24" }],
        ["gateway first of a /31", { cidr: "10.1.0.0/31", prefixLength: 31, gateway: "10.1.0.0" }],
        ["gateway last of a /31", { cidr: "10.1.0.0/31", prefixLength: 31, gateway: "10.1.0.1" }],
        ["host bits", { cidr: "10.1.0.77/25" }],
        ["vlan 0", { cidr: "10.1.0.8/29", vlan: 0 }],
        ["vlan 4094", { cidr: "10.1.0.8/29", vlan: 4094 }],
        ["prefixLength 1", { cidr: "10.1.0.8/29", prefixLength: 1 }],
        ["the CIDR is the subnet", { cidr: "10.1.0.0/24" }],
        ["link-local", { cidr: "169.254.8.0/24", gateway: "169.254.0.1", prefixLength: 16 }],
        ["class E", { cidr: "240.1.0.0/24", gateway: "240.1.0.1" }],
    ])("but not: %s", (_name, parts) => {
        const spec: IpPool["spec"] = { ipVersion: 4, ipRanges: [{ gateway: "10.1.0.1", prefixLength: 24, ...parts }] };
        expect(readPool({ spec }).problems).toEqual([]);
    });

    it("and IPv6: gateway last of the subnet, first of a /127", () => {
        const last = range("fd00::/64", { gateway: "fd00::ffff:ffff:ffff:ffff" });
        const first = range("fd00:1::/127", { gateway: "fd00:1::", prefixLength: 127 });
        const read = pool("p", last, first);
        expect(read.problems).toEqual([]);
        expect(read.addresses.size).toBe((1n << 64n) - 2n + 1n);
    });
});

describe("a stored pool of any shape", () => {
    it.each([
        ["no spec", {}, "spec.ipVersion: must be 4 or 6"],
        ["another version", { spec: { ipVersion: 5, ipRanges: [] } }, 'spec.ipVersion "5": must be 4 or 6'],
        ["no ranges", { spec: { ipVersion: 4, ipRanges: [] } }, "spec.ipRanges: must have at least one range"],
        ["ranges absent", { spec: { ipVersion: 4 } }, "spec.ipRanges: must have at least one range"],
        ["a range that is null", { spec: { ipVersion: 4, ipRanges: [null] } }, "spec.ipRanges[0]: it must have either"],
        [
            "numbers for addresses",
            { spec: { ipVersion: 4, ipRanges: [{ start: 1, end: 2, gateway: 3 }] } },
            "it must be text",
        ],
        [
            "vlan of text",
            { spec: { ipVersion: 4, ipRanges: [{ ...range("10.1.0.9"), vlan: "x" }] } },
            "spec.ipRanges[0].vlan",
        ],
    ])("%s", (_name, object, problem) => {
        const read = readPool(object as unknown as IpPool);
        expect(read.problems.join("; ")).toContain(problem);
        expect(read.addresses.isEmpty).toBe(true);
        expect(read.subnetOf(parseIp("10.1.0.9"))).toBeUndefined();
    });

    it("is read whatever its fields hold", () => {
        const anything = fc.jsonValue();
        const spec = fc.record(
            {
                ipVersion: fc.oneof(fc.constantFrom(4, 6), anything),
                ipRanges: fc.oneof(
                    fc.array(
                        fc.record(
                            {
                                cidr: anything,
                                start: anything,
                                end: anything,
                                gateway: anything,
                                prefixLength: anything,
                                vlan: anything,
                            },
                            { requiredKeys: [] },
                        ),
                    ),
                    anything,
                ),
            },
            { requiredKeys: [] },
        );
        fc.assert(
            fc.property(spec, (value) => {
                expect(readPool({ spec: value } as unknown as IpPool).problems.length).toBeGreaterThan(0);
            }),
        );
    });

    it("keeps a pool of many ranges quick", () => {
        const ranges = Array.from({ length: 5000 }, (_, at) => {
            const start = `10.${1 + Math.floor(at / 250)}.${at % 250}`;
            return range(`${start}.10-${start}.20`, { gateway: "10.0.0.1", prefixLength: 8 });
        });
        const read = readPool(ipPool("p", ...ranges));
        expect(read.addresses.size).toBe(55_000n);
        expect(read.subnetOf({ family: 4, value: prefixRange(parsePrefix("10.3.7.16/32")).first })?.path).toBe(
            "spec.ipRanges[507]",
        );
    });
});
