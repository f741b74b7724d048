import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipPools, type IpPool, type IpPoolSpec, type IpRangeSpec } from "@antrea/crd";
import { readPool } from "@antrea/ipam";
import { type ApiClient } from "@antrea/kube";
import { eventually, TestApiServer } from "@antrea/kube/testing";
import fc from "fast-check";
import { outcome } from "./outcome.ts";
import { named, render, run, type Manifest } from "./render.ts";

const definition = "ippools.crd.antrea.io";
const v4 = { gateway: "10.2.0.1", prefixLength: 24 };
const v6 = { gateway: "3ffe:ffff:1:1ff::1", prefixLength: 64 };
const good: IpRangeSpec = { cidr: "10.2.0.0/24", ...v4 };

function pool(ipVersion: number, ...ipRanges: readonly Partial<IpRangeSpec>[]): IpPoolSpec {
    return { ipVersion, ipRanges } as IpPoolSpec;
}

const accepted: readonly [name: string, spec: IpPoolSpec][] = [
    ["start and end, with VLAN", pool(4, { start: "10.2.0.12", end: "10.2.0.20", ...v4, vlan: 2 })],
    ["a CIDR", pool(4, { cidr: "10.10.1.0/26", gateway: "10.10.1.1", prefixLength: 24 })],
    ["IPv6", pool(6, { start: "3ffe:ffff:1:01ff::0100", end: "3ffe:ffff:1:01ff::0200", ...v6 })],
    ["a whole IPv6 /64", pool(6, { cidr: "3ffe:ffff:1:1ff::/64", ...v6 })],
    [
        "a whole IPv6 /64 as start and end",
        pool(6, { start: "fd00::", end: "fd00::ffff:ffff:ffff:ffff", gateway: "fd00::1", prefixLength: 64 }),
    ],
    ["one address", pool(4, { start: "10.2.0.12", end: "10.2.0.12", ...v4 })],
    [
        "addresses that differ in their first bit only",
        pool(4, { start: "10.0.0.0", end: "110.0.0.0", gateway: "10.2.0.1", prefixLength: 1 }),
    ],
    ["the gateway in the range", pool(4, { start: "10.2.0.1", end: "10.2.0.2", ...v4 })],
    ["several subnets", pool(4, good, { cidr: "10.3.0.0/16", gateway: "10.3.0.1", prefixLength: 16, vlan: 4094 })],
    [
        "adjacent ranges",
        pool(4, { start: "10.2.0.2", end: "10.2.0.9", ...v4 }, { start: "10.2.0.10", end: "10.2.0.11", ...v4 }),
    ],
    ["host bits in a CIDR", pool(4, { cidr: "10.2.0.77/24", ...v4 })],
    ["the subnet of two hosts of IPv4", pool(4, { cidr: "10.2.0.0/31", gateway: "10.2.0.0", prefixLength: 31 })],
    ["the subnet of two hosts of IPv6", pool(6, { cidr: "fd00::/127", gateway: "fd00::", prefixLength: 127 })],
    [
        "the last address of an IPv6 subnet as gateway",
        pool(6, { cidr: "fd00::/65", gateway: "fd00::ffff:ffff:ffff:ffff", prefixLength: 64 }),
    ],
    [
        "the longest texts",
        pool(6, {
            start: "fd00:1111:2222:3333:4444:5555:6666:0000",
            end: "fd00:1111:2222:3333:4444:5555:6666:ffff",
            gateway: "fd00:1111:2222:3333:4444:5555:6666:7777",
            prefixLength: 112,
        }),
    ],
    ["untagged", pool(4, { ...good, vlan: 0 })],
];

const refused: readonly [name: string, spec: IpPoolSpec, message: string][] = [
    ["no ranges", pool(4), "spec.ipRanges: Invalid value: 0: spec.ipRanges in body should have at least 1 items"],
    ["no range key", { ipVersion: 4 } as IpPoolSpec, "spec.ipRanges: Required value"],
    ["no version", { ipRanges: [good] } as unknown as IpPoolSpec, "spec.ipVersion: Required value"],
    [
        "a version that does not exist",
        pool(5, good),
        'spec.ipVersion: Unsupported value: 5: supported values: "4", "6"',
    ],
    ["no gateway", pool(4, { cidr: "10.2.0.0/24", prefixLength: 24 }), "spec.ipRanges[0].gateway: Required value"],
    [
        "no prefixLength",
        pool(4, { cidr: "10.2.0.0/24", gateway: "10.2.0.1" }),
        "spec.ipRanges[0].prefixLength: Required value",
    ],
    ["neither form", pool(4, v4), "spec.ipRanges[0]: Invalid value: must have either cidr, or both start and end"],
    [
        "both forms",
        pool(4, { ...good, start: "10.2.0.2", end: "10.2.0.3" }),
        "must have either cidr, or both start and end",
    ],
    ["cidr with start", pool(4, { ...good, start: "10.2.0.2" }), "must have either cidr, or both start and end"],
    ["start without end", pool(4, { start: "10.2.0.2", ...v4 }), "must have either cidr, or both start and end"],
    ["end without start", pool(4, { end: "10.2.0.2", ...v4 }), "must have either cidr, or both start and end"],
    [
        "start after end",
        pool(4, { start: "10.2.0.12", end: "10.2.0.9", ...v4 }),
        "spec.ipRanges[0].start: Invalid value: 10.2.0.12 is after end, 10.2.0.9",
    ],
    [
        "start after end in the last bit",
        pool(6, { start: "fd00::1", end: "fd00::", gateway: "fd00::1", prefixLength: 64 }),
        "fd00::1 is after end, fd00::",
    ],
    [
        "start after end in the first bit",
        pool(6, { start: "8000::2", end: "2000::9", gateway: "8000::1", prefixLength: 1 }),
        "8000::2 is after end, 2000::9",
    ],
    [
        "IPv6 ranges in an IPv4 pool",
        pool(4, { cidr: "fd00::/64", gateway: "fd00::1", prefixLength: 64 }),
        "spec.ipRanges: Invalid value: must all be IPv4 as ipVersion specifies; create a pool for each IP version",
    ],
    [
        "one IPv4 range in an IPv6 pool",
        pool(6, { cidr: "3ffe:ffff:1:1ff::/80", ...v6 }, good),
        "must all be IPv6 as ipVersion specifies",
    ],
    [
        "a gateway of the other version",
        pool(4, { ...good, gateway: "fd00::1" }),
        "10.2.0.0/24 is not within the subnet of gateway and prefixLength, fd00::1/24",
    ],
    [
        "an end of the other version",
        pool(4, { start: "10.2.0.2", end: "fd00::2", ...v4 }),
        "spec.ipRanges[0].end: Invalid value: fd00::2 is not within the subnet of gateway and prefixLength, 10.2.0.1/24",
    ],
    [
        "a start outside the subnet",
        pool(4, { start: "10.1.255.255", end: "10.2.0.9", ...v4 }),
        "spec.ipRanges[0].start: Invalid value: 10.1.255.255 is not within the subnet",
    ],
    [
        "an end outside the subnet",
        pool(4, { start: "10.2.0.9", end: "10.2.1.0", ...v4 }),
        "spec.ipRanges[0].end: Invalid value: 10.2.1.0 is not within the subnet",
    ],
    [
        "a CIDR greater than the subnet",
        pool(4, { cidr: "10.2.0.0/23", ...v4 }),
        "spec.ipRanges[0].cidr: Invalid value: 10.2.0.0/23 is not within the subnet",
    ],
    [
        "a CIDR beside the subnet",
        pool(6, { cidr: "3ffe:ffff:1:200::/65", ...v6 }),
        "3ffe:ffff:1:200::/65 is not within the subnet of gateway and prefixLength, 3ffe:ffff:1:1ff::1/64",
    ],
    [
        "prefixLength 0",
        pool(4, { ...good, prefixLength: 0 }),
        "spec.ipRanges[0].prefixLength in body should be greater than or equal to 1",
    ],
    [
        "prefixLength 32 of IPv4",
        pool(4, { ...good, prefixLength: 32 }),
        "spec.ipRanges[0].prefixLength: Invalid value: 10.2.0.1/32 is not a subnet: prefixLength must be 1 to 31 for IPv4",
    ],
    [
        "prefixLength 128 of IPv6",
        pool(6, { cidr: "fd00::1/128", gateway: "fd00::1", prefixLength: 128 }),
        "should be less than or equal to 127",
    ],
    [
        "the network address as gateway",
        pool(4, { ...good, gateway: "10.2.0.0" }),
        "spec.ipRanges[0].gateway: Invalid value: 10.2.0.0 is the network or broadcast address of 10.2.0.0/24",
    ],
    [
        "the broadcast address as gateway",
        pool(4, { ...good, gateway: "10.2.0.255" }),
        "10.2.0.255 is the network or broadcast address of 10.2.0.255/24; must be the address of the subnet's router",
    ],
    [
        "the broadcast address of a /30",
        pool(4, { cidr: "10.2.0.0/31", gateway: "10.2.0.3", prefixLength: 30 }),
        "10.2.0.3 is the network or broadcast address",
    ],
    [
        "the network address of IPv6",
        pool(6, { cidr: "fd00::/65", gateway: "fd00::", prefixLength: 64 }),
        "fd00:: is the network or broadcast address of fd00::/64",
    ],
    [
        "loopback",
        pool(4, { cidr: "127.0.1.0/24", gateway: "127.0.1.1", prefixLength: 24 }),
        "127.0.1.0/24 has a loopback, multicast, broadcast or unspecified address, which no Pod can have",
    ],
    [
        "a CIDR around loopback",
        pool(4, { cidr: "126.0.0.0/7", gateway: "126.0.0.1", prefixLength: 7 }),
        "126.0.0.0/7 has a loopback",
    ],
    [
        "loopback of IPv6",
        pool(6, { start: "::1", end: "::9", gateway: "::5", prefixLength: 64 }),
        "spec.ipRanges[0].start: Invalid value: ::1 is a loopback",
    ],
    [
        "multicast",
        pool(4, { start: "224.0.0.2", end: "224.0.0.3", gateway: "224.0.0.1", prefixLength: 24 }),
        "224.0.0.2 is a loopback, multicast",
    ],
    [
        "multicast of IPv6",
        pool(6, { cidr: "ff02::/64", gateway: "ff02::1", prefixLength: 64 }),
        "ff02::/64 has a loopback, multicast",
    ],
    [
        "the unspecified address",
        pool(4, { cidr: "0.0.0.0/8", gateway: "0.0.0.1", prefixLength: 8 }),
        "0.0.0.0/8 has a loopback, multicast, broadcast or unspecified",
    ],
    [
        "the limited broadcast address",
        pool(4, { start: "255.255.255.1", end: "255.255.255.255", gateway: "255.255.255.3", prefixLength: 24 }),
        "spec.ipRanges[0].end: Invalid value: 255.255.255.255 is a loopback, multicast, broadcast",
    ],
    [
        "a loopback gateway",
        pool(4, { cidr: "126.1.0.0/16", gateway: "127.0.0.1", prefixLength: 7 }),
        "spec.ipRanges[0].gateway: Invalid value: 127.0.0.1 is a loopback",
    ],
    [
        "IPv4-mapped IPv6",
        pool(6, { start: "::ffff:10.2.0.12", end: "::ffff:10.2.0.13", gateway: "::ffff:10.2.0.1", prefixLength: 120 }),
        'spec.ipRanges[0].start: Invalid value: "::ffff:10.2.0.12": must be an address such as',
    ],
    [
        "IPv4-mapped IPv6 in hexadecimal",
        pool(6, { cidr: "::ffff:a02:0/120", gateway: "::ffff:a02:1", prefixLength: 120 }),
        'spec.ipRanges[0].cidr: Invalid value: "::ffff:a02:0/120": must be a CIDR such as',
    ],
    [
        "leading zeros",
        pool(4, { start: "010.2.0.12", end: "10.2.0.13", ...v4 }),
        'spec.ipRanges[0].start: Invalid value: "010.2.0.12": must be an address such as 10.2.0.12 or 3ffe:ffff::100: no leading zeros',
    ],
    ["leading zeros in a CIDR", pool(4, { cidr: "10.2.00.0/24", ...v4 }), "no leading zeros"],
    ["leading zeros in a length", pool(4, { cidr: "10.2.0.0/024", ...v4 }), "must be a CIDR such as"],
    ["a zone", pool(6, { start: "fe80::2%eth0", end: "fe80::3", gateway: "fe80::1", prefixLength: 64 }), "no zone"],
    ["spaces", pool(4, { start: " 10.2.0.12", end: "10.2.0.13", ...v4 }), "must be an address such as"],
    ["an address as CIDR", pool(4, { cidr: "10.2.0.12", ...v4 }), "must be a CIDR such as"],
    ["a text of any length", pool(4, { cidr: "1".repeat(1_000), ...v4 }), "spec.ipRanges[0].cidr: Too long"],
    [
        "vlan 4095",
        pool(4, { ...good, vlan: 4095 }),
        "spec.ipRanges[0].vlan: Invalid value: 4095: must be 0 (untagged) or a VLAN ID from 1 to 4094; 802.1Q reserves 4095",
    ],
    ["a negative vlan", pool(4, { ...good, vlan: -1 }), "spec.ipRanges[0].vlan: Invalid value: -1"],
    [
        "too many ranges",
        pool(4, ...Array.from({ length: 501 }, () => good)),
        "spec.ipRanges: Too many: 501: must have at most 500 items",
    ],
];

describe("the definition of IPPool", () => {
    let server: TestApiServer;
    let api: ApiClient;
    let strict: Manifest;
    let count = 0;

    /** The API server's response to a new pool; nothing is stored. */
    const judge = (spec: IpPoolSpec): Promise<string> => {
        const metadata = { name: `judged-${(count += 1)}` };
        const body = JSON.stringify({ apiVersion: "crd.antrea.io/v1alpha2", kind: "IPPool", metadata, spec });
        return outcome(api.request({ method: "POST", path: "/apis/crd.antrea.io/v1alpha2/ippools?dryRun=All", body }));
    };
    const kubectl = async (...args: readonly string[]): Promise<string> =>
        (await run("kubectl", ["--kubeconfig", server.kubeconfig(), ...args])).stdout;

    beforeAll(async () => {
        strict = named(await render(), "CustomResourceDefinition", definition);
        server = await TestApiServer.start();
        ({ api } = server.clients());
        await server.apply([strict]);
    });
    afterAll(() => server.stop());

    it.each(accepted)("accepts %s", async (_name, spec) => {
        expect(await judge(spec)).toBe("ok");
        expect(readPool({ spec }).problems).toEqual([]);
    });

    it.each(refused)("refuses %s", async (_name, spec, message) => {
        expect(await judge(spec)).toContain(message);
    });

    it("accepts as many ranges as it allows, within the API server's budget", async () => {
        const ranges = Array.from({ length: 500 }, (_, at) => ({
            start: `fd00::${at.toString(16)}:0`,
            end: `fd00::${at.toString(16)}:ffff`,
            gateway: "fd00::f000:1",
            prefixLength: 64,
        }));
        expect(await judge(pool(6, ...ranges))).toBe("ok");
    });

    it("agrees with the rules of the webhook and the agent on any range", async () => {
        const octet = fc.constantFrom(0, 1, 2, 3, 9, 127, 128, 224, 254, 255);
        const ipv4 = fc
            .tuple(fc.constantFrom(10, 10, 10, 127, 224, 0), octet, octet, octet)
            .map((parts) => parts.join("."));
        const group = fc.constantFrom("0", "1", "2", "8000", "ffff");
        const ipv6 = fc
            .tuple(
                fc.constantFrom("fd00", "fd00", "fd00", "ff02", "8000"),
                fc.array(group, { minLength: 7, maxLength: 7 }),
            )
            .map(([first, rest]) => [first, ...rest].join(":"));
        const range = (ip: fc.Arbitrary<string>, longest: number): fc.Arbitrary<Partial<IpRangeSpec>> => {
            const length = fc.integer({ min: 0, max: longest });
            const subnet = fc.record({ gateway: ip, prefixLength: fc.integer({ min: 1, max: longest }) });
            return fc.oneof(
                fc.tuple(subnet, ip, length).map(([all, base, bits]) => ({ ...all, cidr: `${base}/${bits}` })),
                fc.tuple(subnet, ip, ip).map(([all, start, end]) => ({ ...all, start, end })),
            );
        };
        const spec = fc.oneof(
            range(ipv4, 32).map((one) => pool(4, one)),
            range(ipv6, 128).map((one) => pool(6, one)),
        );
        await fc.assert(
            fc.asyncProperty(spec, async (one) => {
                const { problems } = readPool({ spec: one });
                const answer = await judge(one);
                expect({ answer, problems, ok: answer === "ok" }).toEqual({
                    answer,
                    problems,
                    ok: problems.length === 0,
                });
            }),
            { numRuns: 600 },
        );
    });

    it("leaves to the webhook what lies between start and end", async () => {
        const around = pool(4, { start: "200.0.0.0", end: "250.0.0.0", gateway: "200.0.0.1", prefixLength: 1 });
        expect(await judge(around)).toBe("ok");
        expect(readPool({ spec: around }).problems).toEqual([expect.stringContaining("multicast")]);
    });

    it("has short name, columns, and a text for every field", async () => {
        const second = { ...good, cidr: undefined, start: "10.2.0.130", end: "10.2.0.140" };
        await api.create(ipPools, { metadata: { name: "shown" }, spec: pool(4, good, second) });
        const condition = { status: "False", reason: "r", message: "m", lastTransitionTime: "2026-01-01T00:00:00Z" };
        const conditions = [
            { ...condition, type: "Exhausted" },
            { ...condition, type: "Ready", status: "True" },
        ];
        const usage = { total: 253, used: 3, reserved: 2, free: Number.MAX_SAFE_INTEGER };
        await api.patch(
            ipPools,
            { name: "shown" },
            { type: "merge", body: { status: { usage, conditions } } },
            { subresource: "status" },
        );
        const [head = "", row = ""] = (await kubectl("get", "ipp")).split("\n");
        expect(head.split(/\s+/)).toEqual(["NAME", "VERSION", "TOTAL", "USED", "RESERVED", "FREE", "READY", "AGE"]);
        expect(row.split(/\s+/).slice(0, 7)).toEqual(["shown", "4", "253", "3", "2", "9007199254740991", "True"]);
        const wide = (await kubectl("get", "ipp", "-o", "wide")).split("\n");
        const [title, ranges = ""] = wide.map((line) => line.split(/\s{2,}/).at(-1));
        expect([title, JSON.parse(ranges)]).toEqual(["RANGES", [good, { ...second, cidr: undefined }]]);
        const texts = await kubectl("explain", "ippools", "--recursive=false");
        expect(texts).toContain("IPPool is a set of addresses");
        expect(await kubectl("explain", "ippools.spec.ipRanges.vlan")).toContain("untagged");
    });

    it("keeps spec out of writes of the status, and status out of writes of the spec", async () => {
        const metadata = { name: "parts" };
        await api.create(ipPools, { metadata, spec: pool(4, good), status: { freeBlocks: ["10.2.0.0/24"] } });
        const body = { spec: pool(4, { ...good, cidr: "10.2.0.0/25" }), status: { freeBlocks: ["10.2.1.0/24"] } };
        const { spec, status } = await api.patch(ipPools, metadata, { type: "merge", body }, { subresource: "status" });
        expect([spec, status]).toEqual([pool(4, good), { freeBlocks: ["10.2.1.0/24"] }]);
    });

    it("never changes the version of a pool", async () => {
        const metadata = { name: "version" };
        await api.create(ipPools, { metadata, spec: pool(4, good) });
        const body = { spec: pool(6, { cidr: "fd00::/64", gateway: "fd00::1", prefixLength: 64 }) };
        expect(await outcome(api.patch(ipPools, metadata, { type: "merge", body }))).toBe(
            "spec.ipVersion: Invalid value: 6: cannot be changed; create another pool",
        );
    });

    describe("a pool that was stored before the rules", () => {
        const bad = refused.map(([name, spec], at): [string, string, IpPoolSpec] => [name, `old-${at}`, spec]);

        beforeAll(async () => {
            await server.apply([withoutRules(strict)]);
            const relaxed = async (): Promise<boolean> => (await judge(pool(4))) === "ok";
            await eventually(relaxed, { what: "the definition without rules in force" });
            for (const [, name, spec] of bad) await api.create(ipPools, { metadata: { name }, spec });
            await server.apply([strict]);
            const judged = async (): Promise<boolean> => (await judge(pool(4))) !== "ok";
            await eventually(judged, { what: "the rules in force" });
        });

        it.each(bad)("with %s stays open to changes of metadata and status, and goes", async (_what, name, spec) => {
            const labelled = await api.patch(
                ipPools,
                { name },
                { type: "merge", body: { metadata: { labels: { a: "b" } } } },
            );
            expect(labelled.spec).toEqual(spec);
            const usage = { total: 1, used: 0, reserved: 0, free: 1 };
            const body = { status: { usage } };
            await api.patch(ipPools, { name }, { type: "merge", body }, { subresource: "status" });
            const found: IpPool = await api.get(ipPools, { name });
            await api.update(ipPools, { ...found, metadata: { ...found.metadata, annotations: { a: "b" } } });
            await api.update(
                ipPools,
                { ...(await api.get(ipPools, { name })), status: { usage } },
                { subresource: "status" },
            );
            await api.delete(ipPools, { name });
        });
    });
});

/** The definition as one that knows nothing of the spec. */
function withoutRules(definition: Manifest): Manifest {
    const copy = structuredClone(definition) as Manifest & {
        readonly spec: {
            readonly versions: { readonly schema: { readonly openAPIV3Schema: Record<string, unknown> } }[];
        };
    };
    for (const { schema } of copy.spec.versions) {
        const properties = schema.openAPIV3Schema.properties as Record<string, unknown>;
        properties.spec = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    }
    return copy;
}
