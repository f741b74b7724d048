import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { allocationName, ipAllocations, ipPools } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { validatingWebhookConfigurations } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { type KubeAnswer } from "./support/kube-request.ts";
import {
    annotated,
    allocationOf,
    namespaceOf,
    paths,
    podOf,
    poolOf,
    workloadOf,
    type RangeFields,
} from "./support/objects.ts";
import { WebhookCluster } from "./support/webhook-cluster.ts";

let cluster: WebhookCluster;
beforeAll(async () => {
    cluster = await WebhookCluster.start(2);
    await cluster.server.addNode("node-1", { podCidrs: ["10.244.1.0/24"], internalIps: ["172.18.0.2"] });
});
afterAll(async () => {
    const complaints = cluster.complaints();
    await cluster[Symbol.asyncDispose]();
    expect(complaints).toEqual([]);
});

const create = async (pool: object, dryRun = false): Promise<KubeAnswer> =>
    cluster.requests.send("POST", paths.pools, pool, { dryRun });
const remove = async (name: string): Promise<KubeAnswer> => cluster.requests.send("DELETE", `${paths.pools}/${name}`);
const merge = { contentType: "application/merge-patch+json" };
const change = async (name: string, spec: object, dryRun = false): Promise<KubeAnswer> =>
    cluster.requests.send("PATCH", `${paths.pools}/${name}`, { spec }, { ...merge, dryRun });

const subnet = { gateway: "10.1.0.1", prefixLength: 24 };
const subnet6 = { gateway: "fd00:1::1", prefixLength: 64 };
const v4 = (start: string, end = start, more: RangeFields = {}): RangeFields => ({ ...subnet, start, end, ...more });

async function withPool(pool: object, work: (name: string) => Promise<void>): Promise<void> {
    const { name } = (pool as { metadata: { name: string } }).metadata;
    expect(await create(pool)).toMatchObject({ status: 201 });
    try {
        await work(name);
    } finally {
        await remove(name);
    }
}

describe("a pool is refused, when created and when changed", () => {
    beforeAll(async () => {
        expect(await create(poolOf("other", v4("10.1.0.100", "10.1.0.120")))).toMatchObject({ status: 201 });
        expect(await create(poolOf("other6", { ...subnet6, cidr: "fd00:1::ff00/120" }))).toMatchObject({ status: 201 });
    });
    afterAll(async () => {
        await remove("other");
        await remove("other6");
    });

    it.each<[string, readonly RangeFields[], RegExp, ...ipVersion: readonly number[]]>([
        ["no ranges", [], /spec.ipRanges/],
        ["an overlap with another pool", [v4("10.1.0.90", "10.1.0.100")], /IPPool \\?"other": both have 10.1.0.100/],
        [
            "an overlap with another pool in other words",
            [{ ...subnet6, start: "fd00:1:0:0:0:0:0:ff05", end: "fd00:1::ff05" }],
            /fd00:1::ff05.*overlaps IPPool \\?"other6": both have fd00:1::ff05/,
        ],
        [
            "an overlap within itself",
            [v4("10.1.0.5", "10.1.0.9"), v4("10.1.0.9", "10.1.0.12")],
            /spec.ipRanges\[1\].*overlaps spec.ipRanges\[0\].*10.1.0.9/,
        ],
        ["a range twice", [{ ...subnet, cidr: "10.1.0.8/29" }, v4("10.1.0.10")], /overlaps/],
        ["start after end", [v4("10.1.0.9", "10.1.0.5")], /spec.ipRanges\[0\]/],
        ["mixed families in a range", [v4("10.1.0.9", "fd00:1::9")], /spec.ipRanges\[0\]/],
        ["mixed families in a pool", [v4("10.1.0.9"), { ...subnet6, cidr: "fd00:1::/120" }], /spec.ipRanges/],
        ["another family than ipVersion", [v4("10.1.0.9")], /spec.ip/, 6],
        ["addresses outside the subnet", [v4("10.1.0.250", "10.1.1.5")], /10.1.0.0\/24|gateway|prefixLength/],
        ["a CIDR that is wider than the subnet", [{ ...subnet, cidr: "10.1.0.0/23" }], /spec.ipRanges\[0\]/],
        ["prefixLength 0", [v4("10.1.0.9", "10.1.0.9", { prefixLength: 0 })], /prefixLength/],
        ["prefixLength 32 of IPv4", [v4("10.1.0.9", "10.1.0.9", { prefixLength: 32 })], /prefixLength/],
        ["prefixLength 128 of IPv6", [{ ...subnet6, cidr: "fd00:1::/120", prefixLength: 128 }], /prefixLength/],
        ["a gateway that is the network address", [v4("10.1.0.9", "10.1.0.9", { gateway: "10.1.0.0" })], /gateway/],
        ["a gateway that is the broadcast address", [v4("10.1.0.9", "10.1.0.9", { gateway: "10.1.0.255" })], /gateway/],
        ["loopback", [{ cidr: "127.0.0.0/29", gateway: "127.0.0.1", prefixLength: 24 }], /loopback/i],
        ["multicast", [{ cidr: "224.0.0.0/29", gateway: "224.0.0.1", prefixLength: 24 }], /multicast/i],
        ["unspecified", [{ cidr: "0.0.0.0/29", gateway: "0.0.0.1", prefixLength: 24 }], /unspecified|0.0.0.0/i],
        ["multicast of IPv6", [{ cidr: "ff02::/120", gateway: "ff02::1", prefixLength: 64 }], /multicast/i],
        ["IPv4-mapped IPv6", [{ ...subnet6, start: "::ffff:10.0.0.1", end: "::ffff:10.0.0.2" }], /spec.ipRanges\[0\]/],
        ["leading zeros", [v4("10.1.0.010")], /spec.ipRanges\[0\].start/],
        ["a leading zero in a prefix", [{ ...subnet, cidr: "10.1.0.0/029" }], /spec.ipRanges\[0\].cidr/],
        ["a VLAN of 4095", [v4("10.1.0.9", "10.1.0.9", { vlan: 4095 })], /vlan.*4094/s],
        ["a negative VLAN", [v4("10.1.0.9", "10.1.0.9", { vlan: -1 })], /vlan/],
        ["words", [v4("ten")], /spec.ipRanges\[0\].start/],
        ["neither cidr nor start", [subnet], /spec.ipRanges\[0\]/],
        ["start without end", [{ ...subnet, start: "10.1.0.9" }], /spec.ipRanges\[0\]/],
    ])("for %s", async (_name, ipRanges, text, ...[ipVersion]) => {
        const pool = poolOf("bad", ...ipRanges) as { spec: Record<string, unknown> };
        pool.spec.ipVersion = ipVersion ?? pool.spec.ipVersion;
        const answers = [await create(pool), await create(pool, true)];
        const good = poolOf("bad", pool.spec.ipVersion === 6 ? { ...subnet6, cidr: "fd00:1::/120" } : v4("10.1.0.200"));
        await withPool(good, async (name) => {
            answers.push(await change(name, { ipRanges }));
        });
        for (const { status, message } of answers) {
            expect(message).toMatch(text);
            expect(status).toBe(422);
        }
    });
});

describe("a pool is allowed", () => {
    const whole64 = { ...subnet6, start: "fd00:1::", end: "fd00:1::ffff:ffff:ffff:ffff" };
    it.each<[string, readonly RangeFields[], ...(readonly (readonly RegExp[])[])]>([
        ["with its gateway inside a range", [v4("10.1.0.1", "10.1.0.10")]],
        [
            "with several subnets",
            [v4("10.1.0.9"), { cidr: "10.7.0.0/24", gateway: "10.7.0.1", prefixLength: 24, vlan: 7 }],
        ],
        ["with adjacent ranges", [v4("10.1.0.8", "10.1.0.9"), v4("10.1.0.10", "10.1.0.11")]],
        ["with a huge range", [whole64]],
        [
            "with host bits in a CIDR, with a warning",
            [{ ...subnet, cidr: "10.1.0.13/29" }],
            [/10\.1\.0\.8\/29; did you/],
        ],
        ["with a CIDR of one address", [{ ...subnet, cidr: "10.1.0.13/32" }]],
        [
            "on a Service CIDR, with a warning",
            [{ cidr: "10.96.0.0/29", gateway: "10.96.0.1", prefixLength: 16 }],
            [/no address to hand out/, /Service CIDRs/],
        ],
        [
            "on a Node and its podCIDR, with warnings",
            [
                { cidr: "172.18.0.0/29", gateway: "172.18.0.1", prefixLength: 16 },
                { cidr: "10.244.1.0/28", gateway: "10.244.1.1", prefixLength: 24 },
            ],
            [/spec.ipRanges\[0\].*Nodes.*172.18.0.2/, /spec.ipRanges\[1\].*podCIDRs/],
        ],
    ])("%s", async (_name, ranges, warnings = []) => {
        const answer = await create(poolOf("good", ...ranges));
        expect(answer).toMatchObject({ status: 201 });
        expect(answer.warnings).toEqual(warnings.map((warning) => expect.stringMatching(warning)));
        await remove("good");
    });

    it("by a dry run that leaves nothing behind", async () => {
        expect(await create(poolOf("dry", v4("10.1.0.9")), true)).toMatchObject({ status: 201 });
        expect(await create(poolOf("wet", v4("10.1.0.9")))).toMatchObject({ status: 201 });
        expect(await cluster.api.find(ipPools, { name: "dry" })).toBeUndefined();
        await remove("wet");
    });
});

/** Makes the pool used in one way, and ends that. */
const uses: Readonly<Record<string, () => Promise<() => Promise<unknown>>>> = {
    "an allocation": async () => claimed("10.1.0.9", "web-1"),
    "a reservation": async () => claimed("10.1.0.9"),
    "a Namespace": async () => made("/api/v1/namespaces", namespaceOf("user", annotated("pool")), "user"),
    "an unfinished Pod": async () => made(paths.pods("default"), podOf("user", annotated("pool")), "user"),
    "a Deployment": async () =>
        made(paths.deployments("default"), workloadOf("Deployment", "user", annotated("pool, x")), "user"),
    "a StatefulSet": async () =>
        made(paths.statefulSets("default"), workloadOf("StatefulSet", "user", annotated("x,pool")), "user"),
};

async function claimed(address: string, pod?: string): Promise<() => Promise<unknown>> {
    await cluster.api.create(ipAllocations, allocationOf("pool", address, pod));
    return async () => cluster.api.delete(ipAllocations, { name: allocationName(parseIp(address)) });
}

async function made(path: string, object: object, name: string): Promise<() => Promise<unknown>> {
    expect(await cluster.requests.send("POST", path, object)).toMatchObject({ status: 201 });
    return async () => cluster.remove(path, name);
}

const whole = v4("10.1.0.8", "10.1.0.15", { vlan: 5 });

describe("a pool in use", () => {
    const cases = Object.keys(uses);

    it.each(cases)("cannot shrink or change its VLAN: %s; it can when that has ended", async (use) => {
        await withPool(poolOf("pool", whole), async (name) => {
            const end = await (uses[use] as () => Promise<() => Promise<unknown>>)();
            const refusals = [
                async () => change(name, { ipRanges: [v4("10.1.0.8", "10.1.0.14", { vlan: 5 })] }),
                async () => change(name, { ipRanges: [{ ...whole, vlan: 6 }] }),
                async () => change(name, { ipRanges: [v4("10.1.0.20", "10.1.0.21", { vlan: 5 })] }),
            ];
            // By dry run at first: the informer may still be on its way.
            await eventually(async () => (await change(name, { ipRanges: [v4("10.1.0.8")] }, true)).status === 422);
            for (const attempt of refusals) {
                const answer = await attempt();
                expect(answer).toMatchObject({ status: 422 });
                expect(answer.message).toMatch(/in use/);
                expect(answer.message).toMatch(use === "an allocation" ? /10.1.0.9 of Pod default\/web-1/ : /web|user/);
            }
            await end();
            await eventually(async () => (await refusals[0]?.())?.status === 200);
        });
    });

    it("can grow, also in place, and be split, joined, re-ordered and re-spelled", async () => {
        await withPool(poolOf("pool", whole), async (name) => {
            const end = await claimed("10.1.0.9", "web-1");
            const tag = { vlan: 5 };
            const spellings: readonly (readonly RangeFields[])[] = [
                [v4("10.1.0.8", "10.1.0.11", tag), v4("10.1.0.12", "10.1.0.15", tag)],
                [v4("10.1.0.12", "10.1.0.15", tag), v4("10.1.0.8", "10.1.0.11", tag)],
                [v4("10.1.0.7", "10.1.0.16", tag)],
                [v4("10.1.0.7", "10.1.0.16", tag), { cidr: "10.7.0.0/24", gateway: "10.7.0.1", prefixLength: 24 }],
            ];
            for (const ipRanges of spellings) expect(await change(name, { ipRanges })).toMatchObject({ status: 200 });
            const six = { ...subnet6, start: "fd00:1::", end: "fd00:1:0:0:0:0:0:f" };
            await withPool(poolOf("six", six), async () => {
                expect(
                    await change("six", { ipRanges: [{ ...six, start: "fd00:0001::0", end: "fd00:1::f" }] }),
                ).toMatchObject({
                    status: 200,
                });
            });
            await end();
        });
    });

    it("cannot lose a claimed address at the edge of a CIDR, but others", async () => {
        await withPool(poolOf("pool", v4("10.1.0.8", "10.1.0.15")), async (name) => {
            const end = await claimed("10.1.0.15", "web-1");
            const answer = await change(name, { ipRanges: [{ ...subnet, cidr: "10.1.0.8/29" }] });
            expect(answer).toMatchObject({ status: 422 });
            expect(answer.message).toContain("10.1.0.15 of Pod default/web-1");
            await end();
            expect(
                await change(name, { ipRanges: [{ ...subnet, cidr: "10.1.0.8/29", start: null, end: null }] }),
            ).toMatchObject({
                status: 200,
            });
        });
    });

    it("keeps another from taking an address that a Pod uses as gateway, when created and when changed", async () => {
        await withPool(poolOf("pool", whole), async () => {
            const end = await claimed("10.1.0.9", "web-1");
            const text = /gateway "10\.1\.0\.9": is in use: 10\.1\.0\.9 of Pod default\/web-1/;
            const range = { start: "10.1.1.8", end: "10.1.1.15", gateway: "10.1.0.9", prefixLength: 23, vlan: 5 };
            const answer = await create(poolOf("gate", range));
            expect(answer.status).toBe(422);
            expect(answer.message).toMatch(text);
            await withPool(poolOf("gate", { ...range, gateway: "10.1.1.1" }), async (name) => {
                const more = { ...range, start: "10.1.1.20", end: "10.1.1.20" };
                const changed = await change(name, { ipRanges: [{ ...range, gateway: "10.1.1.1" }, more] });
                expect(changed.status).toBe(422);
                expect(changed.message).toMatch(text);
            });
            await end();
            await withPool(poolOf("gate", range), () => Promise.resolve());
        });
    });

    it("cannot be deleted while an address is claimed or reserved; annotations do not matter", async () => {
        await withPool(poolOf("pool", whole), async (name) => {
            for (const use of ["an allocation", "a reservation"]) {
                const end = await (uses[use] as () => Promise<() => Promise<unknown>>)();
                const answer = await remove(name);
                expect(answer).toMatchObject({ status: 403 });
                expect(answer.message).toMatch(/metadata.name "pool": cannot be deleted.*10.1.0.9/);
                await end();
            }
            // The address of a Node is held by an allocation that no Pod uses.
            const { metadata, spec } = allocationOf("pool", "10.1.0.10");
            const owner = { kind: "Node", name: "node-1", uid: "1" } as const;
            await cluster.api.create(ipAllocations, { metadata: metadata ?? {}, spec: { ...spec, owner } });
            const end = await (uses["a Namespace"] as () => Promise<() => Promise<unknown>>)();
            expect(await remove(name)).toMatchObject({ status: 200 });
            await end();
            await cluster.api.delete(ipAllocations, { name: "10.1.0.10" });
        });
    });
});

describe("a pool, in use or not", () => {
    it.each<[string, object, RegExp]>([
        ["ipVersion", { ipVersion: 6, ipRanges: [{ ...subnet6, cidr: "fd00:1::/120" }] }, /spec.ipVersion/],
        ["gateway", { ipRanges: [{ ...whole, gateway: "10.1.0.2" }] }, /spec.ipRanges\[0\].gateway.*10.1.0.1/],
        ["prefixLength", { ipRanges: [{ ...whole, prefixLength: 25 }] }, /spec.ipRanges\[0\].prefixLength.*24/],
    ])("cannot change its %s", async (_name, spec, text) => {
        await withPool(poolOf("pool", whole), async (name) => {
            const answer = await change(name, spec);
            expect(answer.message).toMatch(text);
            expect(answer.status).toBe(422);
        });
    });

    it("can shrink and change its VLAN when it is not in use", async () => {
        await withPool(poolOf("pool", whole), async (name) => {
            expect(await change(name, { ipRanges: [{ ...whole, vlan: 6 }] })).toMatchObject({ status: 200 });
            expect(await change(name, { ipRanges: [v4("10.1.0.8")] })).toMatchObject({ status: 200 });
        });
    });
});

describe("pools that overlap because the webhook was off", () => {
    it("can be labelled, get their status, be mended and deleted", async () => {
        const rule = async (operations: readonly string[]): Promise<void> => {
            const body = [{ op: "replace", path: "/webhooks/0/rules/0/operations", value: operations }] as const;
            await cluster.api.patch(validatingWebhookConfigurations, { name: "antrea" }, { type: "json", body });
        };
        await create(poolOf("one", v4("10.1.0.8", "10.1.0.15")));
        await rule(["DELETE"]);
        await eventually(async () => (await create(poolOf("two", v4("10.1.0.15", "10.1.0.20")))).status === 201);
        await rule(["CREATE", "UPDATE", "DELETE"]);
        await eventually(async () => (await create(poolOf("three", v4("10.1.0.15")), true)).status === 422);
        const label = { metadata: { labels: { a: "b" } } };
        expect(await cluster.requests.send("PATCH", `${paths.pools}/two`, label, merge)).toMatchObject({ status: 200 });
        const status = { status: { usage: { total: 8, used: 0, reserved: 0, free: 8 } } };
        expect(await cluster.requests.send("PATCH", `${paths.pools}/two/status`, status, merge)).toMatchObject({
            status: 200,
        });
        // Still wrong in another way: refused. Mended: allowed.
        expect(await change("two", { ipRanges: [v4("10.1.0.14", "10.1.0.20")] })).toMatchObject({ status: 422 });
        expect(await change("two", { ipRanges: [v4("10.1.0.16", "10.1.0.20")] })).toMatchObject({ status: 200 });
        for (const name of ["one", "two"]) expect(await remove(name)).toMatchObject({ status: 200 });
    });
});

describe("pools one right after the other, through any replica", () => {
    it("never overlap, and never seem to overlap what is gone", async () => {
        for (let round = 0; round < 20; round += 1) {
            expect(await create(poolOf(`a-${round}`, v4("10.1.0.8", "10.1.0.15")))).toMatchObject({ status: 201 });
            expect(await create(poolOf(`b-${round}`, v4("10.1.0.15", "10.1.0.20")))).toMatchObject({ status: 422 });
            expect(await remove(`a-${round}`)).toMatchObject({ status: 200 });
        }
    });
});
