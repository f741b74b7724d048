import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ipPools, type Condition, type IpPoolStatus } from "@antrea/crd";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster, podOn } from "../../pool-cluster.ts";

describe("the status of IPPools", () => {
    let cluster: PoolCluster;
    beforeAll(async () => {
        cluster = await PoolCluster.start();
    });
    afterAll(async () => cluster[Symbol.asyncDispose]());
    afterEach(async () => cluster.clear());

    async function status(name: string): Promise<IpPoolStatus> {
        return (await cluster.api.get(ipPools, { name })).status ?? {};
    }
    async function condition(name: string, type: string): Promise<Condition | undefined> {
        return (await status(name)).conditions?.find((each) => each.type === type);
    }
    async function usage(name: string): Promise<string | undefined> {
        const { usage: found } = await status(name);
        return found && `${found.total} ${found.used} ${found.reserved} ${found.free}`;
    }

    it("counts what is used, reserved and free", async () => {
        await using term = cluster.term();
        await cluster.pool("one", "10.0.1.8/29");
        await eventually(async () => (await usage("one")) === "6 0 0 6");
        await cluster.claim("10.0.1.9", "one", podOn("n1", "a"));
        await cluster.claim("10.0.1.10", "one", podOn("n1", "b"));
        await eventually(async () => (await usage("one")) === "6 2 0 4");
        expect(await status("one")).toMatchObject({
            observedGeneration: 1,
            freeBlocks: ["10.0.1.0/24"],
            conditions: [
                { type: "Ready", status: "True", reason: "Usable", observedGeneration: 1 },
                { type: "Exhausted", status: "False" },
                { type: "Overlapping", status: "False" },
            ],
        });
        await cluster.set("web", { replicas: 2, pools: "one" });
        await eventually(async () => (await usage("one")) === "6 2 2 2");
        await cluster.free("10.0.1.9");
        await eventually(async () => (await usage("one")) === "6 1 2 3");
        await eventually(
            async () => (await term.metric('antrea_controller_ippool_free_addresses{pool="one"}')) === "3",
        );
        // The series ends with the pool.
        await cluster.api.delete(ipPools, { name: "one" });
        await eventually(
            async () => (await term.metric('antrea_controller_ippool_addresses{pool="one"}')) === undefined,
        );
    });

    it("has its counts at once when it is made, or its ranges change", async () => {
        // What waits for allocations to come to rest waits longer than the test.
        await using _term = cluster.term({ pace: { quietMs: 600_000, busyMs: 600_000 } });
        for (const at of [1, 2, 3, 4, 5]) {
            const [name, from] = [`new${at}`, `10.0.9.${at * 16 + 2}`];
            await cluster.pool(name, `${from}-10.0.9.${at * 16 + 9}`);
            await eventually(async () => (await usage(name)) === "8 0 0 8");
            await cluster.changePool(name, `${from}-10.0.9.${at * 16 + 10}`);
            await eventually(async () => (await usage(name)) === "9 0 0 9");
        }
    });

    it("has its counts when allocations have come to rest, and not only now and then", async () => {
        await using _term = cluster.term({ pace: { busyMs: 600_000 } });
        await cluster.pool("rests", "10.0.2.2-10.0.2.250");
        await eventually(async () => (await usage("rests")) === "249 0 0 249");
        for (const last of [2, 3, 4]) await cluster.claim(`10.0.2.${last}`, "rests", podOn("n1", `p${last}`));
        await eventually(async () => (await usage("rests")) === "249 3 0 246");
    });

    it("writes at most once in five seconds while allocations come and go all the time, and not at all when nothing changes", async () => {
        // However slow the steps are, allocations never come to rest.
        await using _term = cluster.term({ pace: { quietMs: 600_000 } });
        const began = performance.now();
        await cluster.pool("busy", "10.0.2.2-10.0.2.250");
        await eventually(async () => (await usage("busy")) !== undefined);
        const versions = new Set<string | undefined>();
        const end = performance.now() + 11_000;
        for (let last = 2; performance.now() < end; last += 1) {
            await cluster.claim(`10.0.2.${last}`, "busy", podOn("n1", `p${last}`));
            await new Promise((resolve) => setTimeout(resolve, 60));
            versions.add((await cluster.api.get(ipPools, { name: "busy" })).metadata?.resourceVersion);
        }
        // The one before, and one for each five seconds that it took: those of 5 s and 10 s on a machine that is not busy.
        expect(versions.size).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 5_000));
        expect(versions.size).toBeGreaterThanOrEqual(2);
        const made = (await cluster.all()).filter(({ spec }) => spec.state === "Allocated").length;
        await eventually(async () => (await usage("busy")) === `249 ${made} 0 ${249 - made}`);
        const before = (await cluster.api.get(ipPools, { name: "busy" })).metadata?.resourceVersion;
        await new Promise((resolve) => setTimeout(resolve, 3_000));
        expect((await cluster.api.get(ipPools, { name: "busy" })).metadata?.resourceVersion).toBe(before);
    });

    it("reports when all addresses are gone, by condition and event, and when some came free", async () => {
        await using term = cluster.term();
        await cluster.pool("tiny", "10.0.3.8-10.0.3.9");
        await cluster.claim("10.0.3.8", "tiny", podOn("n1", "a"));
        await cluster.claim("10.0.3.9", "tiny", podOn("n1", "b"));
        await eventually(async () => (await condition("tiny", "Exhausted"))?.status === "True");
        expect(await status("tiny")).toMatchObject({ usage: { free: 0 }, freeBlocks: [] });
        expect(term.events).toContainEqual(
            expect.objectContaining({ reason: "Exhausted", regarding: expect.objectContaining({ name: "tiny" }) }),
        );
        const since = (await condition("tiny", "Ready"))?.lastTransitionTime;
        await new Promise((resolve) => setTimeout(resolve, 1_100));
        await cluster.free("10.0.3.8");
        await eventually(async () => (await condition("tiny", "Exhausted"))?.status === "False");
        expect((await condition("tiny", "Ready"))?.lastTransitionTime).toBe(since);
        expect((await condition("tiny", "Exhausted"))?.lastTransitionTime).not.toBe(since);
        await cluster.changePool("tiny", "10.0.3.8-10.0.3.12");
        await eventually(async () => (await status("tiny")).observedGeneration === 2);
        expect(await usage("tiny")).toBe("5 1 0 4");
        expect(term.notes("Exhausted")).toHaveLength(1);
    });

    it("names the pools and the addresses of an overlap in both pools, counts each address once, and forgets it", async () => {
        await using term = cluster.term();
        await cluster.pool("left", "10.0.4.10-10.0.4.19");
        await cluster.pool("right", "10.0.4.15-10.0.4.24");
        await eventually(async () => (await condition("left", "Overlapping"))?.status === "True");
        await eventually(async () => (await condition("right", "Overlapping"))?.status === "True");
        expect((await condition("left", "Overlapping"))?.message).toContain("10.0.4.15-10.0.4.19 with IPPool right");
        expect((await condition("right", "Overlapping"))?.message).toContain("10.0.4.15-10.0.4.19 with IPPool left");
        expect(term.notes("Overlapping").length).toBeGreaterThanOrEqual(2);
        await cluster.claim("10.0.4.16", "left", podOn("n1", "a"));
        await eventually(async () => (await usage("right")) === "10 1 0 9");
        await eventually(async () => (await usage("left")) === "10 1 0 9");
        await cluster.api.delete(ipPools, { name: "right" });
        await eventually(async () => (await condition("left", "Overlapping"))?.status === "False");
    });

    it("leaves out addresses and podCIDRs of Nodes, and Services", async () => {
        await using _term = cluster.term();
        await cluster.pool("net", "10.0.5.0/24");
        await eventually(async () => (await usage("net")) === "253 0 0 253");
        await cluster.server.addNode("n1", { internalIps: ["10.0.5.77"], podCidrs: ["10.0.5.128/25"] });
        await eventually(async () => (await usage("net")) === "125 0 0 125");
        await cluster.server.deleteNode("n1");
        await eventually(async () => (await usage("net")) === "253 0 0 253");
        await cluster.pool("services", "10.96.7.2-10.96.7.9");
        await eventually(async () => (await condition("services", "Ready"))?.reason === "NoAddresses");
    });

    it("takes a status that was changed by hand back, and does not fight over one that someone writes meanwhile", async () => {
        await using _term = cluster.term();
        await cluster.pool("hand", "10.0.6.2-10.0.6.9");
        await eventually(async () => (await usage("hand")) === "8 0 0 8");
        const body = { status: { usage: { total: 1, used: 1, reserved: 0, free: 0 } } };
        await cluster.api.patch(ipPools, { name: "hand" }, { type: "merge", body }, { subresource: "status" });
        await eventually(async () => (await usage("hand")) === "8 0 0 8");
    });

    it("counts a huge IPv6 pool up to 2^53-1 and spreads its hints", async () => {
        await using _term = cluster.term();
        await cluster.pool("huge", "fd00:1::/64");
        await eventually(async () => (await usage("huge")) === `${2 ** 53 - 1} 0 0 ${2 ** 53 - 1}`);
        const { freeBlocks = [] } = await status("huge");
        expect(freeBlocks).toHaveLength(32);
        expect(new Set(freeBlocks.map((block) => block.split(":").slice(0, 5).join(":"))).size).toBeGreaterThan(20);
        expect(freeBlocks.every((block) => block.endsWith("/120"))).toBe(true);
    });
});
