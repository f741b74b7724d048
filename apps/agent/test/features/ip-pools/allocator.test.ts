import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, ipPools, type IpAllocation } from "@antrea/crd";
import { KubeError, serviceCidrs, type Node } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { parseIp } from "@antrea/ip";
import { MemoryLog } from "@antrea/runtime/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { away, lost } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";

const small = { cidr: "10.1.0.8/29", gateway: "10.1.0.1", prefixLength: 24 };
const ranged = { start: "10.2.0.12", end: "10.2.0.13", gateway: "10.2.0.1", prefixLength: 24 };
const six = { start: "fd02::c", end: "fd02::c", gateway: "fd02::1", prefixLength: 64 };

let cluster: FakeCluster;

beforeEach(() => {
    cluster = new FakeCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** An allocation that somebody else has. */
function other(ip: string, change: Partial<IpAllocation["spec"]> = {}): void {
    const pod = { namespace: "other", name: "holder", uid: "uid-holder" };
    const allocation = newAllocation(parseIp(ip), "pool1", { pod, nodeName: "far", containerId: "c", ifName: "eth0" });
    const spec = { ...allocation.spec, ...change };
    if (spec.state === "Reserved") delete (spec as { pod?: unknown }).pod;
    cluster.api.put(ipAllocations, { ...allocation, spec } as never);
}

describe("an allocation of any free address", () => {
    it("gives each address of the pool once, with the settings of its subnet, then reports who has them all", async () => {
        cluster.addPool("pool1", { ...small, vlan: 7 });
        const agent = cluster.agent("a");
        const given = await Promise.all(
            [1, 2, 3, 4, 5, 6].map((at) => agent.claimAddresses(`p${at}`, { pools: ["pool1"] })),
        );
        expect(
            given
                .flat()
                .map(({ ip }) => Number(ip.value & 0xffn))
                .sort((a, b) => a - b),
        ).toEqual([9, 10, 11, 12, 13, 14]);
        expect(given[0]?.[0]).toMatchObject({ gateway: parseIp("10.1.0.1"), prefixLength: 24, vlan: 7, pool: "pool1" });
        await expect(agent.claim("p7", { pools: ["pool1"] })).rejects.toMatchObject({
            code: "EXHAUSTED",
            message: expect.stringContaining("no free address in IPPool pool1 (6 addresses)"),
        });
        expect(await agent.metric('antrea_agent_ipam_failures_total{reason="EXHAUSTED"}')).toBe(1);
        expect(agent.events.filter(({ reason }) => reason === "IPAllocationFailed")).toMatchObject([
            { regarding: { kind: "Pod", name: "p7", uid: "uid-p7" }, note: expect.stringContaining("pool1") },
        ]);
    });

    it("is followed by one event of type Normal that reports how far the addresses reach", async () => {
        cluster.addPool("pool1", ranged);
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        await agent.claim("p1", { pools: ["pool1"], containerId: "c2" });
        expect(agent.events).toMatchObject([
            { type: "Normal", reason: "PoolAddressNotRouted", note: expect.stringContaining("own Node only") },
        ]);
    });

    it("never gives gateways, the edges of the subnet, Node addresses, podCIDRs and Service CIDRs", async () => {
        cluster.addPool("pool1", { start: "10.2.0.0", end: "10.2.0.15", gateway: "10.2.0.1", prefixLength: 24 });
        cluster.addPool("pool2", { start: "10.3.0.2", end: "10.3.0.2", gateway: "10.2.0.2", prefixLength: 8 });
        cluster.api.put(serviceCidrs, { metadata: { name: "k" }, spec: { cidrs: ["10.2.0.8/29"] } } as never);
        const node: Node = {
            metadata: { name: "n" },
            spec: { podCIDRs: ["10.2.0.4/31"] },
            status: { addresses: [{ type: "InternalIP", address: "10.2.0.3" }] },
        };
        const agent = cluster.agent("a", { nodes: [node] });
        const given = await Promise.all([1, 2].map((at) => agent.claim(`p${at}`, { pools: ["pool1"] })));
        expect(given.flat().sort()).toEqual(["10.2.0.6", "10.2.0.7"]);
        await expect(agent.claim("p4", { pools: ["pool1"] })).rejects.toMatchObject({ code: "EXHAUSTED" });
    });

    it("never gives what lies in a podCIDR or Service CIDR written with host bits, or is the name of a Node", async () => {
        cluster.addPool("pool1", { start: "10.2.0.0", end: "10.2.0.15", gateway: "10.2.0.1", prefixLength: 24 });
        cluster.api.put(serviceCidrs, { metadata: { name: "k" }, spec: { cidrs: ["10.2.0.9/29"] } } as never);
        const node: Node = {
            metadata: { name: "n" },
            spec: { podCIDR: "10.2.0.5/31", podCIDRs: [] },
            status: { addresses: [{ type: "Hostname", address: "10.2.0.3" }] },
        };
        const agent = cluster.agent("a", { nodes: [node] });
        const given = await Promise.all([1, 2, 3].map((at) => agent.claim(`p${at}`, { pools: ["pool1"] })));
        expect(given.flat().sort()).toEqual(["10.2.0.2", "10.2.0.6", "10.2.0.7"]);
        await expect(agent.claim("p4", { pools: ["pool1"] })).rejects.toMatchObject({ code: "EXHAUSTED" });
    });

    it("is one create and one read of the pool, and the first does not wait for the allocations of the block", async () => {
        cluster.addPool("pool1", { cidr: "10.2.0.0/16", gateway: "10.2.0.1" });
        cluster.api.before = (method, _plural, name) =>
            method === "list" && name.startsWith("spec.block") ? new Promise(() => undefined) : Promise.resolve();
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        cluster.api.requests.length = 0;
        await agent.claim("p2", { pools: ["pool1"] });
        expect(cluster.api.requests).toEqual([
            expect.stringMatching(/^create ipallocations 10\.2\./),
            "find ippools pool1",
        ]);
    });

    it("does not try what a pool that overlaps has claimed, before it reports that all are", async () => {
        cluster.addPool("pool1", { start: "10.2.0.0", end: "10.2.3.255", gateway: "10.2.255.1" });
        cluster.addPool("pool2", { start: "10.2.0.0", end: "10.2.7.255", gateway: "10.2.255.1" });
        const pod = { namespace: "n", name: "other", uid: "o" };
        for (let at = 0; at < 1_024; at += 1) {
            const ip = parseIp(`10.2.${at >> 8}.${at & 255}`);
            const holder = { pod, nodeName: "far", containerId: "c", ifName: "eth0" };
            cluster.api.put(ipAllocations, newAllocation(ip, "pool2", holder) as never);
        }
        const agent = cluster.agent("a");
        await agent.pools.synced(AbortSignal.timeout(60_000));
        await expect(agent.claim("p1", { pools: ["pool1"] })).rejects.toMatchObject({ code: "EXHAUSTED" });
        const creates = cluster.api.requests.filter((request) => request.startsWith("create "));
        expect(creates.length).toBeLessThanOrEqual(16);
    });

    it("takes the pools of a family in their order, and one address of each family", async () => {
        cluster.addPool("pool1", ranged);
        cluster.addPool("pool2", { start: "10.3.0.12", end: "10.3.0.12", gateway: "10.3.0.1", prefixLength: 24 });
        cluster.addPool("pool6", { ...six, end: "fd02::f" });
        const agent = cluster.agent("a");
        const pools = ["pool2", "pool6", "pool1"];
        expect((await agent.claim("p1", { pools }))[0]).toBe("10.3.0.12");
        const next = await agent.claim("p2", { pools });
        expect(next[0]).toMatch(/^10\.2\.0\.1[23]$/);
        expect(next[1]).toMatch(/^fd02::[c-f]$/);
    });

    it("of pools that are all full reports how to see who has the addresses of each", async () => {
        cluster.addPool("pool1", { ...ranged, start: "10.2.0.9", end: "10.2.0.9" });
        cluster.addPool("pool2", { ...ranged, start: "10.2.0.10", end: "10.2.0.10" });
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        await expect(agent.claim("p2", { pools: ["pool1"] })).rejects.toMatchObject({
            message:
                "no free address in IPPool pool1 (1 address): all are allocated; delete Pods that use it, add a range to it, or name a further IPPool. kubectl get ipallocations --field-selector spec.pool=pool1 lists their owners",
        });
        await agent.claim("p2", { pools: ["pool2"] });
        await expect(agent.claim("p3", { pools: ["pool1", "pool2"] })).rejects.toMatchObject({
            message:
                "no free address in IPPool pool1 (1 address) or pool2 (1 address): all are allocated; delete Pods that use one of them, add a range to one, or name a further IPPool. kubectl get ipallocations --field-selector spec.pool=pool1 lists their owners, and so for spec.pool=pool2",
        });
    });

    it("of two families is all or nothing", async () => {
        cluster.addPool("pool1", ranged);
        cluster.addPool("pool6", six);
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1", "pool6"] });
        await expect(agent.claim("p2", { pools: ["pool1", "pool6"] })).rejects.toMatchObject({
            code: "EXHAUSTED",
            message: expect.stringContaining("pool6"),
        });
        expect(cluster.holders().map((line) => line.split(" ")[1])).toEqual(["p1", "p1"]);
    });

    it("refuses addresses of two VLANs for one interface, and gives them back", async () => {
        cluster.addPool("pool1", { ...ranged, vlan: 2 });
        cluster.addPool("pool6", { ...six, vlan: 3 });
        const agent = cluster.agent("a");
        const pools = ["pool1", "pool6"];
        await expect(agent.claim("p1", { pools })).rejects.toMatchObject({ code: "VLAN_CONFLICT" });
        expect(cluster.holders()).toEqual([]);
    });

    it("without bridging mode, gives an untagged and a tagged one: no frame has a tag", async () => {
        cluster.addPool("pool1", ranged);
        cluster.addPool("pool6", { ...six, vlan: 3 });
        expect(await cluster.agent("a").claim("p1", { pools: ["pool1", "pool6"] })).toHaveLength(2);
    });

    it("finds a pool that the cache lacks, and reports when there is none", async () => {
        const agent = cluster.agent("a");
        await expect(agent.claim("p1", { pools: ["pool1"] })).rejects.toMatchObject({
            code: "NO_POOL",
            message: expect.stringContaining("IPPool pool1 does not exist"),
        });
        cluster.api.holdEvents();
        cluster.addPool("pool1", ranged);
        await agent.claim("p1", { pools: ["pool1"] });
    });

    it("reports what is wrong with a pool without a range that can be read", async () => {
        cluster.api.put(ipPools, {
            metadata: { name: "bad" },
            spec: { ipVersion: 4, ipRanges: [{ start: "x" }] },
        } as never);
        await expect(cluster.agent("a").claim("p1", { pools: ["bad"] })).rejects.toMatchObject({
            code: "NO_POOL",
            message: expect.stringMatching(/^IPPool bad cannot be used: .*start/),
        });
    });

    it("asks for the pools one after the other, and no further than the first that is missing", async () => {
        const agent = cluster.agent("a");
        await agent.pools.synced(AbortSignal.timeout(60_000));
        cluster.api.requests.length = 0;
        const read: string[] = [];
        const pools = new Proxy(
            Array.from({ length: 62_000 }, (_, at) => `pool${at}`),
            {
                get: (target, name): unknown => {
                    if (typeof name === "string" && /^\d+$/.test(name)) read.push(name);
                    return Reflect.get(target, name);
                },
            },
        );
        await expect(agent.claim("p1", { pools })).rejects.toMatchObject({ code: "NO_POOL" });
        expect(cluster.api.requests.filter((request) => request.startsWith("find"))).toEqual(["find ippools pool0"]);
        expect(read).toEqual(["0"]);
    });

    it("goes on in blocks that the controller reports have free addresses", async () => {
        cluster.addPool("pool1", { cidr: "10.2.0.0/16", gateway: "10.2.0.1" });
        const pool = cluster.api.get(ipPools, "pool1");
        cluster.api.put(ipPools, { ...pool, status: { freeBlocks: ["10.2.77.0/24", "no block"] } } as never);
        const agent = cluster.agent("a");
        const first = await agent.claim("p1", { pools: ["pool1"] });
        const block = first[0]?.split(".").slice(0, 3).join(".") ?? "";
        for (let at = 0; at < 256; at += 1)
            if (!cluster.api.get(ipAllocations, `${block}.${at}`)) other(`${block}.${at}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect((await agent.claim("p2", { pools: ["pool1"] }))[0]).toMatch(/^10\.2\.77\./);
    });
});

describe("an allocation of a Pod that is bridged", () => {
    const pools = ["pool1", "pool6"];
    const conflict = (vlans: string) => ({
        code: "VLAN_CONFLICT",
        message: `IPPools pool1 and pool6 give addresses of the VLANs ${vlans}, and an interface has one; name IPPools of the same VLAN`,
    });

    it.each([
        ["an untagged IPv4 and a tagged IPv6 pool", 0, 3, "0 (untagged) and 3"],
        ["a tagged IPv4 and an untagged IPv6 pool", 2, 0, "2 and 0 (untagged)"],
        ["pools of two VLANs", 2, 3, "2 and 3"],
    ])("of %s is refused before anything is claimed, and reported on the Pod", async (_name, four, sixth, vlans) => {
        cluster.addPool("pool1", { ...ranged, vlan: four });
        cluster.addPool("pool6", { ...six, vlan: sixth });
        const agent = cluster.agent("a", { bridged: true });
        await expect(agent.claim("p1", { pools })).rejects.toMatchObject(conflict(vlans));
        expect(cluster.api.requests.filter((request) => request.startsWith("create"))).toEqual([]);
        expect(agent.events).toMatchObject([{ reason: "IPAllocationFailed", regarding: { name: "p1" } }]);
    });

    it("gives back what it claimed when only the addresses show that they are of two VLANs", async () => {
        cluster.addPool("pool1", { ...ranged, end: ranged.start, vlan: 2 }, { ...ranged, start: ranged.end });
        cluster.addPool("pool6", six);
        const agent = cluster.agent("a", { bridged: true });
        const fixed = [parseIp("10.2.0.12")];
        await expect(agent.claim("p1", { pools, fixed })).rejects.toMatchObject(conflict("2 and 0 (untagged)"));
        expect(cluster.holders()).toEqual([]);
        expect(await agent.claim("p2", { pools, fixed: [parseIp("10.2.0.13")] })).toEqual(["10.2.0.13", "fd02::c"]);
    });

    it.each([0, 2])("of pools of one VLAN, %i, has both", async (vlan) => {
        cluster.addPool("pool1", { ...ranged, vlan });
        cluster.addPool("pool6", { ...six, vlan });
        expect(await cluster.agent("a", { bridged: true }).claim("p1", { pools })).toHaveLength(2);
    });

    it("of a tagged pool of one family has no address of the other", async () => {
        cluster.addPool("pool1", { ...ranged, vlan: 2 });
        expect(await cluster.agent("a", { bridged: true }).claim("p1", { pools: ["pool1"] })).toHaveLength(1);
    });
});

describe("asking twice", () => {
    beforeEach(() => cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" }));

    it("gives the same Pod the same address, and the allocation names the last container", async () => {
        const agent = cluster.agent("a");
        const first = await agent.claim("p1", { pools: ["pool1"] });
        expect(await agent.claim("p1", { pools: ["pool1"], containerId: "c2" })).toEqual(first);
        expect(cluster.allocations().map(({ spec }) => spec.pod?.containerID)).toEqual(["c2"]);
        // The DEL of the first sandbox comes late.
        await agent.release("p1", "c-p1");
        expect(cluster.allocations()).toHaveLength(1);
        await agent.release("p1", "c2");
        expect(cluster.allocations()).toEqual([]);
    });

    it("gives back what the Pod had of pools that it does not name any more, whatever it gets now", async () => {
        cluster.addPool("pool1", small);
        cluster.addPool("pool2", ranged);
        cluster.addPool("pool6", six);
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1", "pool6"] });
        other("10.2.0.12");
        other("10.2.0.13");
        const next = agent.claim("p1", { pools: ["pool2"], containerId: "c2" });
        await expect(next).rejects.toMatchObject({ code: "EXHAUSTED" });
        expect(cluster.holders()).toEqual(["10.2.0.12 holder", "10.2.0.13 holder"]);
    });

    it("gives another interface, and another Pod of the name, addresses of their own", async () => {
        const agent = cluster.agent("a");
        const [first] = await agent.claim("p1", { pools: ["pool1"] });
        const [second] = await agent.claim("p1", { pools: ["pool1"], ifName: "eth1" });
        const pod = { namespace: "default", name: "p1", uid: "another" };
        const [third] = await agent.claim("p1", { pools: ["pool1"], pod, containerId: "c3" });
        expect(new Set([first, second, third]).size).toBe(3);
    });

    it("two ADDs at once for one Pod end with one allocation", async () => {
        const agent = cluster.agent("a");
        const given = await Promise.all(
            ["c1", "c2", "c3"].map((containerId) => agent.claim("p1", { pools: ["pool1"], containerId })),
        );
        expect(new Set(given.flat()).size).toBe(1);
        expect(cluster.allocations()).toHaveLength(1);
    });

    it.each([
        ["was carried out", { lose: lost() }],
        ["was not carried out", { refuse: lost() }],
    ])("repeats a create without an answer for the same name: it %s", async (_what, fault) => {
        const agent = cluster.agent("a");
        let left = 3;
        cluster.api.fault = (method) => (method === "create" && left-- > 0 ? fault : undefined);
        const [ip = ""] = await agent.claim("p1", { pools: ["pool1"] });
        expect(cluster.holders()).toEqual([`${ip} p1`]);
        const creates = cluster.api.requests.filter((request) => request.startsWith("create"));
        expect(new Set(creates).size).toBe(1);
    });

    it("begins with the address of which nobody knows, when an ADD before gave up", async () => {
        const agent = cluster.agent("a");
        cluster.api.fault = (method) => (method === "create" ? { lose: lost() } : undefined);
        // Before the watch can report it: else the ADD that fails knows of the allocation, and gives it back.
        cluster.api.before = (method) => {
            if (method === "create") cluster.api.holdEvents();
            return Promise.resolve();
        };
        const cancel = new AbortController();
        const allocation = agent.claim("p1", { pools: ["pool1"] }, cancel.signal);
        await eventually(() => cluster.allocations().length === 1);
        cancel.abort();
        await expect(allocation).rejects.toThrow();
        cluster.api.fault = () => undefined;
        const [ip = ""] = await agent.claim("p1", { pools: ["pool1"], containerId: "c2" });
        expect(cluster.holders()).toEqual([`${ip} p1`]);
    });

    it("gives back what a cancelled ADD claimed", async () => {
        const agent = cluster.agent("a");
        const cancel = new AbortController();
        cluster.api.before = (method) => {
            if (method === "create") cancel.abort();
            return Promise.resolve();
        };
        await expect(agent.claim("p1", { pools: ["pool1"] }, cancel.signal)).rejects.toThrow();
        expect(cluster.allocations()).toEqual([]);
        expect(agent.events).toEqual([]);
    });

    it("after a restart knows what the agent before claimed", async () => {
        const first = cluster.agent("a");
        const before = await first.claim("p1", { pools: ["pool1"] });
        await first.kill();
        const second = cluster.agent("a");
        expect(await second.claim("p1", { pools: ["pool1"], containerId: "c2" })).toEqual(before);
    });
});

describe("a fixed address", () => {
    const ask = { pools: ["pool1"], fixed: [parseIp("10.2.0.12")] };

    beforeEach(() => cluster.addPool("pool1", { ...ranged, end: "10.2.0.20" }));

    it("is given, and given again", async () => {
        const agent = cluster.agent("a");
        expect(await agent.claim("p1", ask)).toEqual(["10.2.0.12"]);
        cluster.api.requests.length = 0;
        expect(await agent.claim("p1", { ...ask, containerId: "c2" })).toEqual(["10.2.0.12"]);
        expect(cluster.api.requests).toEqual(["update ipallocations 10.2.0.12", "find ippools pool1"]);
    });

    it.each<[string, readonly string[], string]>([
        ["10.2.0.30", ["pool1"], "it is not in its ranges (IPPool pool1)"],
        ["10.2.0.1", ["pool1"], "(IPPool pool1)"],
        ["fd02::5", ["pool1"], "is of IPv6 and none of the IPPools pool1 is"],
    ])("that no pool hands out is refused: %s", async (ip, pools, text) => {
        const agent = cluster.agent("a");
        await expect(agent.claim("p1", { pools, fixed: [parseIp(ip)] })).rejects.toMatchObject({
            code: "NOT_IN_POOL",
            message: expect.stringContaining(text),
        });
    });

    it.each<[string, Partial<IpAllocation["spec"]>, string]>([
        ["a Pod", {}, "held by Pod other/holder (UID uid-holder) on Node far; delete that Pod"],
        [
            "an ordinal",
            { state: "Reserved", owner: { kind: "StatefulSet", namespace: "ns", name: "web", index: 3 } },
            "held by ordinal 3 of StatefulSet ns/web, for which it is reserved",
        ],
        [
            "a gateway",
            { state: "Reserved", owner: { kind: "Gateway", name: "10.2.0.12" } },
            "held by IPPool pool1, whose gateway it is",
        ],
        ["a Node", { state: "Reserved", owner: { kind: "Node", name: "n1" } }, "held by Node n1"],
    ])("that is held by %s is refused with the holder", async (_what, change, text) => {
        other("10.2.0.12", change);
        const agent = cluster.agent("a");
        await expect(agent.claim("p1", ask)).rejects.toMatchObject({
            code: "ADDRESS_HELD",
            message: expect.stringContaining(text),
        });
        expect(agent.events[0]?.note).toContain("fixed address 10.2.0.12 of IPPool pool1");
    });

    it("replaces another address that the Pod has from an earlier try", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"], fixed: [parseIp("10.2.0.15")] });
        expect(await agent.claim("p1", { ...ask, containerId: "c2" })).toEqual(["10.2.0.12"]);
    });
});

describe("release", () => {
    beforeEach(() => cluster.addPool("pool1", ranged));

    it("is a success for what is gone, another's, or unknown to the cache", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        cluster.api.remove(ipAllocations, cluster.allocations()[0]?.metadata?.name ?? "");
        await agent.release("p1");
        other("10.2.0.12");
        const limit = AbortSignal.timeout(60_000);
        const attachment = { containerId: "c-p1", ifName: "eth0" };
        await agent.pools.allocator.release(attachment, parseIp("10.2.0.12"), limit);
        await agent.pools.allocator.release(attachment, parseIp("10.2.0.13"), limit);
        expect(cluster.holders()).toEqual(["10.2.0.12 holder"]);
    });

    it("repeats a delete without an answer, and one that met a change", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        const [allocation] = cluster.allocations();
        cluster.api.holdEvents();
        cluster.api.put(ipAllocations, {
            ...allocation,
            metadata: { ...allocation?.metadata, annotations: { a: "b" } },
        } as never);
        let left = 1;
        cluster.api.fault = (method) => (method === "delete" && left-- > 0 ? { lose: lost() } : undefined);
        await agent.release("p1");
        expect(cluster.allocations()).toEqual([]);
    });

    it("that could not be done is not done after a new ADD of the container", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        cluster.api.fault = () => ({ refuse: away() });
        const attachment = { containerId: "c-p1", ifName: "eth0" };
        await expect(agent.pools.allocator.releaseAll(attachment, AbortSignal.timeout(20))).rejects.toThrow();
        cluster.api.fault = () => undefined;
        const [ip = ""] = await agent.claim("p1", { pools: ["pool1"] });
        await agent.pools.allocator.settle(AbortSignal.timeout(60_000));
        expect(cluster.holders()).toEqual([`${ip} p1`]);
    });

    it.each([
        ["before", { lose: lost() }],
        ["after", { refuse: away() }],
    ])("that takes effect %s the next ADD of the container takes no address from it", async (_, fault) => {
        const agent = cluster.agent("a");
        const [first = ""] = await agent.claim("p1", { pools: ["pool1"] });
        const [old] = cluster.allocations();
        // The watch is behind.
        cluster.api.holdEvents();
        cluster.api.fault = (method) => (method === "delete" ? fault : undefined);
        const attachment = { containerId: "c-p1", ifName: "eth0" };
        await expect(agent.pools.allocator.releaseAll(attachment, AbortSignal.timeout(20))).rejects.toThrow();
        cluster.api.fault = () => undefined;
        const [ip = ""] = await agent.claim("p1", { pools: ["pool1"] });
        const late = { uid: old?.metadata?.uid, resourceVersion: old?.metadata?.resourceVersion };
        await expect(cluster.api.delete(ipAllocations, { name: first }, late)).rejects.toThrow();
        expect(cluster.holders()).toEqual([`${ip} p1`]);
    });

    it("that is under way ends before a new ADD of the container begins", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        const held = Promise.withResolvers<void>();
        cluster.api.before = (method) => (method === "delete" ? held.promise : Promise.resolve());
        const released = agent.release("p1");
        const again = agent.claim("p1", { pools: ["pool1"] });
        await new Promise((resolve) => setTimeout(resolve, 20));
        held.resolve();
        await released;
        const [ip = ""] = await again;
        expect(cluster.holders()).toEqual([`${ip} p1`]);
    });

    it("that the API server was away for is made good later", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        cluster.api.fault = () => ({ refuse: away() });
        await agent.pools.release({ containerId: "c-p1", ifName: "eth0" });
        expect(cluster.allocations()).toHaveLength(1);
        cluster.api.fault = () => undefined;
        await agent.pools.allocator.settle(AbortSignal.timeout(60_000));
        expect(cluster.allocations()).toEqual([]);
    });
});

describe("a freed address", () => {
    it("rests while others are free, and is used when nothing else is left", async () => {
        cluster.addPool("pool1", { ...small });
        const agent = cluster.agent("a");
        const [first = ""] = await agent.claim("p1", { pools: ["pool1"] });
        await agent.release("p1");
        const next = await Promise.all([2, 3, 4, 5, 6].map((at) => agent.claim(`p${at}`, { pools: ["pool1"] })));
        expect(next.flat()).not.toContain(first);
        expect(await agent.claim("p7", { pools: ["pool1"] })).toEqual([first]);
    });

    it("rests on other agents too, which saw it freed", async () => {
        cluster.addPool("pool1", ranged);
        const [one, two] = [cluster.agent("a"), cluster.agent("b")];
        const [first] = await one.claim("p1", { pools: ["pool1"] });
        await two.claim("p2", { pools: ["pool1"] });
        await one.release("p1");
        await two.release("p2");
        await new Promise((resolve) => setTimeout(resolve, 30));
        // Both rest: the one that rested longest is first.
        expect(await two.claim("p3", { pools: ["pool1"] })).toEqual([first]);
    });
});

describe("while the API server is away", () => {
    it.each([
        ["does not answer", new KubeError("UNAVAILABLE", "made up"), "API_AWAY"],
        ["was asked by an agent that ends", new KubeError("ABORTED", "made up"), "API_AWAY"],
        ["refuses", new KubeError("FORBIDDEN", "made up"), "FORBIDDEN"],
    ])("or %s, an ADD fails with what is to be done about it", async (_what, refuse, code) => {
        const agent = cluster.agent("a");
        await agent.pools.synced(AbortSignal.timeout(60_000));
        cluster.api.fault = (method, plural) => (method === "find" && plural === "ippools" ? { refuse } : undefined);
        await expect(agent.claim("p1", { pools: ["pool1", "pool2"] })).rejects.toMatchObject({
            code,
            message: expect.stringMatching(/made up$/),
        });
    });

    it("an ADD reports it, to be tried again", async () => {
        cluster.addPool("pool1", ranged);
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        cluster.api.fault = () => ({ refuse: away() });
        const allocation = agent.claim("p2", { pools: ["pool1"] }, AbortSignal.timeout(300));
        await expect(allocation).rejects.toMatchObject({ name: "TimeoutError" });
        expect(cluster.allocations()).toHaveLength(1);
    });
});

describe("what others see of an allocation", () => {
    beforeEach(() => cluster.addPool("pool1", ranged));

    it("is how long it took, by the clock", async () => {
        const clock = new ManualClock();
        await clock.advance(100_000);
        cluster.api.before = (method) => (method === "create" ? clock.advance(2_000) : Promise.resolve());
        const agent = cluster.agent("a", { clock });
        await agent.claim("p1", { pools: ["pool1"] });
        expect(await agent.metric("antrea_agent_ipam_claim_duration_seconds_sum")).toBe(2);
        expect(await agent.metric("antrea_agent_ipam_claim_duration_seconds_count")).toBe(1);
        expect(await agent.metric("antrea_agent_ipam_claims")).toBe(1);
    });

    it("is each address that another had claimed first, and nothing of those that it got", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        expect(await agent.metric("antrea_agent_ipam_claim_conflicts_total")).toBe(0);
        cluster.api.holdEvents();
        other(cluster.allocations()[0]?.spec.address === "10.2.0.12" ? "10.2.0.13" : "10.2.0.12");
        await expect(agent.claim("p2", { pools: ["pool1"] })).rejects.toMatchObject({ code: "EXHAUSTED" });
        expect(await agent.metric("antrea_agent_ipam_claim_conflicts_total")).toBeGreaterThan(0);
    });

    it("is that a Pod without an object has none: the Pod and its Namespace are named, and nothing is claimed", async () => {
        const agent = cluster.agent("a");
        const pod = { namespace: "team", name: "web", uid: "" };
        await expect(agent.claim("web", { pools: ["pool1"], pod })).rejects.toMatchObject({
            code: "POD_GONE",
            message: "Pod team/web no longer exists",
        });
        expect(cluster.allocations()).toEqual([]);
    });

    it("is that a pool changed meanwhile, in the log", async () => {
        const log = new MemoryLog();
        const agent = cluster.agent("a", { logger: log.logger });
        await agent.pools.synced(AbortSignal.timeout(60_000));
        cluster.api.holdEvents();
        cluster.addPool("pool1", { ...ranged, gateway: "10.2.0.2" });
        const [ip] = await agent.claim("p1", { pools: ["pool1"] });
        expect(log.records.filter(({ msg }) => msg.includes("allocating again"))).toEqual([
            expect.objectContaining({
                pod: "default/p1",
                pool: "pool1",
                address: expect.stringMatching(/^10\.2\.0\.1[23]$/),
                difference: "IPPool pool1 now specifies gateway 10.2.0.2",
            }),
        ]);
        expect(cluster.holders()).toEqual([`${ip} p1`]);
        // By the definition that it had in the end.
        expect(cluster.allocations()[0]?.spec.poolGeneration).toBe(2);
    });

    it("is the definition of its pool, of a fixed address too", async () => {
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"], fixed: [parseIp("10.2.0.12")] });
        await agent.claim("p2", { pools: ["pool1"] });
        const uid = cluster.api.get(ipPools, "pool1")?.metadata?.uid;
        expect(cluster.allocations().map(({ spec }) => [spec.poolUID, spec.poolGeneration])).toEqual([
            [uid, 1],
            [uid, 1],
        ]);
    });

    it("is what a failed ADD left behind, in the log, until it is made good", async () => {
        const log = new MemoryLog();
        cluster.addPool("pool6", six);
        other("fd02::c", { pool: "pool6" });
        const agent = cluster.agent("a", { logger: log.logger });
        const refused = new KubeError("FORBIDDEN", "no permission");
        cluster.api.fault = (method) => (method === "delete" ? { refuse: refused } : undefined);
        const allocation = agent.claim("p1", { pools: ["pool1", "pool6"] });
        await expect(allocation).rejects.toMatchObject({ code: "EXHAUSTED" });
        expect(log.records.filter(({ msg }) => msg.includes("failed ADD"))).toEqual([
            expect.objectContaining({
                level: "warn",
                container: "c-p1",
                reason: expect.stringContaining("no permission"),
            }),
        ]);
        expect(cluster.holders()).toEqual([expect.stringMatching(/ p1$/), "fd02::c holder"].sort());
        cluster.api.fault = () => undefined;
        await agent.pools.allocator.settle(AbortSignal.timeout(60_000));
        expect(cluster.holders()).toEqual(["fd02::c holder"]);
        cluster.api.requests.length = 0;
        await agent.pools.allocator.settle(AbortSignal.timeout(60_000));
        expect(cluster.api.requests).toEqual([]);
    });
});

describe("a release of an allocation that only the API server knows", () => {
    it("frees it, when it names the container, and keeps what it named before it was another's", async () => {
        cluster.addPool("pool1", ranged);
        const agent = cluster.agent("a");
        await agent.pools.own.synced(AbortSignal.timeout(60_000));
        cluster.api.holdEvents();
        const pod = { namespace: "default", name: "p1", uid: "uid-p1" };
        const attachment = { containerId: "c-p1", ifName: "eth0" };
        cluster.api.put(
            ipAllocations,
            newAllocation(parseIp("10.2.0.12"), "pool1", { pod, nodeName: "a", ...attachment }),
        );
        const limit = AbortSignal.timeout(60_000);
        await agent.pools.allocator.release({ ...attachment, ifName: "eth1" }, parseIp("10.2.0.12"), limit);
        expect(cluster.allocations()).toHaveLength(1);
        await agent.pools.allocator.release(attachment, parseIp("10.2.0.12"), limit);
        expect(cluster.allocations()).toEqual([]);
    });
});
