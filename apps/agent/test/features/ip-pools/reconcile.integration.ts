import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { forceDeleteAnnotation, ipAllocations } from "@antrea/crd";
import { pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { FakeWiring } from "./support/fake-wiring.ts";
import { PoolCluster } from "./support/pool-cluster.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

let cluster: PoolCluster;
let wiring: FakeWiring;
let agent: TestPoolAgent;

beforeAll(async () => {
    cluster = await PoolCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(async () => {
    await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    wiring = new FakeWiring();
    agent = cluster.agent("a", { confirmMs: 0 });
    await agent.pools.own.synced(AbortSignal.timeout(60_000));
});
afterEach(() => cluster.clear());

async function reconcile(times: number): Promise<void> {
    for (let at = 0; at < times; at += 1) await agent.pools.reconcile(wiring, AbortSignal.timeout(60_000));
}

async function addPod(name: string): Promise<string> {
    const created = await cluster.api.create(pods, {
        metadata: { namespace: "default", name },
        spec: { nodeName: "a", containers: [{ name: "c", image: "i" }] },
    });
    return created.metadata?.uid ?? "";
}

async function deletePod(name: string): Promise<void> {
    await cluster.api.delete(pods, { namespace: "default", name }, { gracePeriodSeconds: 0 });
}

async function holders(): Promise<readonly string[]> {
    return (await cluster.allocations()).map(({ spec }) => `${spec.address} ${spec.pod?.containerID}`);
}

describe("the reconcile of allocations on a real API server", () => {
    it("keeps the address of a container that runs on after its Pod object was force-deleted", async () => {
        const uid = await addPod("p1");
        const claimed = await agent.claimAddresses("p1", {
            pools: ["pool1"],
            pod: { namespace: "default", name: "p1", uid },
        });
        wiring.wire("p1", claimed);
        await deletePod("p1");
        await reconcile(3);
        expect(await holders()).toHaveLength(1);
        wiring.unwire("c-p1");
        await eventually(async () => {
            await reconcile(1);
            return (await holders()).length === 0;
        });
    });

    it("keeps the allocation of a Pod that lives, and frees it when the Pod is gone", async () => {
        const pod = { namespace: "default", name: "p1", uid: await addPod("p1") };
        await agent.claim("p1", { pools: ["pool1"], pod });
        await reconcile(3);
        expect(await holders()).toHaveLength(1);
        await deletePod("p1");
        await reconcile(3);
        await eventually(async () => {
            await reconcile(1);
            return (await holders()).length === 0;
        });
    });

    it("races with the ADD of the next sandbox, and the container that runs keeps its address", async () => {
        for (let round = 0; round < 20; round += 1) {
            const name = `p${round}`;
            const containerId = `next-${round}`;
            await agent.claim(name, { pools: ["pool1"] });
            // The Pod never was: each pass is allowed to free the allocation, and the ADD comes in between.
            const add = (async () => {
                await new Promise((resolve) => setTimeout(resolve, round));
                wiring.adding.add(`uid-${name}`);
                wiring.wire(name, await agent.claimAddresses(name, { pools: ["pool1"], containerId }), containerId);
                wiring.adding.delete(`uid-${name}`);
            })();
            await Promise.all([reconcile(6), add]);
        }
        const wired = wiring.interfaces().map(({ containerId }) => containerId);
        await reconcile(3);
        expect((await holders()).map((line) => line.split(" ")[1]).sort()).toEqual([...wired].sort());
    });

    it("makes an allocation anew that was deleted by hand, as soon as the watch reports", async () => {
        wiring.wire("p1", await agent.claimAddresses("p1", { pools: ["pool1"] }));
        let notified = 0;
        agent.pools.own.onGone(() => void (notified += 1));
        const [allocation] = await cluster.allocations();
        const name = allocation?.metadata?.name ?? "";
        await cluster.api.patch(
            ipAllocations,
            { name },
            { type: "merge", body: { metadata: { annotations: { [forceDeleteAnnotation]: "true" } } } },
        );
        await cluster.api.delete(ipAllocations, { name });
        await eventually(() => notified === 1);
        await reconcile(1);
        expect(await cluster.allocations()).toMatchObject([{ spec: { ...allocation?.spec } }]);
    });
});
