import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, type IpAllocation, type IpPool } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

const range = { cidr: "10.1.0.0/24", gateway: "10.1.0.1" };
const statefulSet = { name: "web", ordinal: 0 };

let cluster: FakeCluster;
let agent: TestPoolAgent;

beforeEach(async () => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", range);
    cluster.addPool("pool2", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    agent = cluster.agent("a", { reservationWaitMs: 50 });
    await agent.pools.synced(AbortSignal.timeout(60_000));
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** DELETE of a pool that a finalizer keeps. */
function markDeleted(name: string): void {
    const { metadata, ...rest } = cluster.api.get(ipPools, name) as IpPool;
    const deleted = { ...metadata, finalizers: ["example.com/keep"], deletionTimestamp: "2026-01-01T00:00:00Z" };
    cluster.api.put(ipPools, { metadata: deleted, ...rest } as never);
}

async function deletePool(name: string): Promise<void> {
    markDeleted(name);
    await eventually(() => agent.pools.cache.known(name)?.isDeleting === true);
}

function reserve(ip: string): void {
    const pod = { namespace: "default", name: "web-0", uid: "u" };
    const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: 0 } as const;
    const allocation = newAllocation(
        parseIp(ip),
        "pool1",
        { pod, nodeName: "a", containerId: "c", ifName: "eth0" },
        { owner },
    );
    const { pod: _, ...spec } = allocation.spec;
    cluster.api.put(ipAllocations, { ...allocation, spec: { ...spec, state: "Reserved" } } as IpAllocation);
}

const refused = {
    code: "POOL_DELETED",
    message: expect.stringContaining("IPPool pool1 is being deleted and hands out no new address") as unknown,
};

describe("an IPPool that is being deleted and waits for a finalizer", () => {
    it("hands out nothing new, and the Pod gets the next step", async () => {
        await deletePool("pool1");
        await expect(agent.claim("p1", { pools: ["pool1"] })).rejects.toMatchObject(refused);
        await expect(agent.claim("p1", { pools: ["pool1"], fixed: [parseIp("10.1.0.7")] })).rejects.toMatchObject(
            refused,
        );
        expect(agent.events).toMatchObject([
            { reason: "IPAllocationFailed", note: expect.stringContaining("name another IPPool") },
            { reason: "IPAllocationFailed" },
        ]);
        expect(cluster.allocations()).toEqual([]);
    });

    it("is passed over where the Pod names further pools", async () => {
        await deletePool("pool1");
        // First, since the other one gets any address that is free.
        const fixed = [parseIp("10.2.0.7")];
        expect(await agent.claim("p1", { pools: ["pool1", "pool2"], fixed })).toEqual(["10.2.0.7"]);
        expect(await agent.claim("p2", { pools: ["pool1", "pool2"] })).toEqual([expect.stringMatching(/^10\.2\./)]);
        const lost = agent.claim("p3", { pools: ["pool1", "pool2"], fixed: [parseIp("10.1.0.7")] });
        await expect(lost).rejects.toMatchObject(refused);
    });

    it("leaves a Pod the address that it has, in its next sandbox too", async () => {
        const given = await agent.claim("p1", { pools: ["pool1"] });
        await deletePool("pool1");
        expect(await agent.claim("p1", { pools: ["pool1"], containerId: "c2" })).toEqual(given);
    });

    it("leaves the ordinal of a StatefulSet what is reserved for it; one without a reservation is informed why", async () => {
        reserve("10.1.0.5");
        await deletePool("pool1");
        expect(await agent.claim("web-0", { pools: ["pool1"], statefulSet })).toEqual(["10.1.0.5"]);
        const next = agent.claim("web-1", { pools: ["pool1"], statefulSet: { name: "web", ordinal: 1 } });
        await expect(next).rejects.toMatchObject(refused);
    });

    it("takes back what was claimed before the watch reported the deletion, unless the Pod had it already", async () => {
        const given = await agent.claim("p1", { pools: ["pool1"] });
        cluster.api.holdEvents();
        markDeleted("pool1");
        expect(await agent.claim("p1", { pools: ["pool1"], containerId: "c2" })).toEqual(given);
        await expect(agent.claim("p2", { pools: ["pool1"] })).rejects.toMatchObject(refused);
        expect(cluster.allocations().map(({ spec }) => spec.address)).toEqual(given);
    });
});
