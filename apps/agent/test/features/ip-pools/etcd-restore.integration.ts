import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { namespaces } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { PoolCluster } from "./support/pool-cluster.ts";

// docs/operations.md: after a restore of etcd the agents make allocations again for the Pods that run.
describe("agents after a restore of etcd, with versions that are lower than before", () => {
    let cluster: PoolCluster;
    beforeAll(async () => {
        cluster = await PoolCluster.start();
    });
    afterAll(() => cluster[Symbol.asyncDispose]());

    async function claimedFor(): Promise<readonly string[]> {
        return (await cluster.allocations()).map(
            ({ spec }) => `${spec.address} ${spec.pod?.uid} ${spec.pod?.containerID}`,
        );
    }

    it("see what the API server has, without a restart, and claim again for what runs", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: 0 } as const;
        const first = { pod: { namespace: "default", name: "web-0", uid: "uid1" }, containerId: "c1", ifName: "eth0" };
        const made = newAllocation(parseIp("10.2.0.77"), "pool1", { ...first, nodeName: "a" }, { owner });
        const { pod: _, ...spec } = made.spec;
        await cluster.api.create(ipAllocations, { ...made, spec: { ...spec, state: "Reserved" } });
        const wiring = new FakeWiring();
        const agent = cluster.agent("a", { confirmMs: 0 });
        const statefulSet = { name: "web", ordinal: 0 };
        const reconcile = (): Promise<void> => agent.pools.reconcile(wiring, AbortSignal.timeout(60_000));
        expect(await agent.claim("web-0", { pools: ["pool1"], statefulSet, ...first })).toEqual(["10.2.0.77"]);
        await cluster.server.backUp();
        // So many changes of other objects that the restored server does not come to the versions of what follows by itself:
        // a watch that is resumed at a version of the new past would go on from there.
        for (let at = 0; at < 300; at += 1) {
            const body = { metadata: { labels: { at: String(at) } } };
            await cluster.api.patch(namespaces, { name: "default" }, { type: "merge", body });
        }
        // Pods that came and went since.
        await agent.release("web-0", "c1");
        const second = { ...first, pod: { ...first.pod, uid: "uid2" }, containerId: "c2" };
        wiring.wire(
            "web-0",
            await agent.claimAddresses("web-0", { pools: ["pool1"], statefulSet, ...second }),
            "c2",
            "uid2",
        );
        wiring.wire("p1", await agent.claimAddresses("p1", { pools: ["pool1"] }));
        // The watch has come to these versions too: it delivers a change that is not the agent's own.
        const body = { metadata: { labels: { seen: "yes" } } };
        const labelled = await cluster.api.patch(ipAllocations, { name: "10.2.0.77" }, { type: "merge", body });
        expect(labelled.spec.pod?.uid).toBe("uid2");
        await eventually(() => agent.pools.own.get("10.2.0.77")?.metadata?.labels?.["seen"], { timeoutMs: 60_000 });
        const kept = (await claimedFor()).filter((line) => line.includes("uid-p1"));
        expect(kept).toHaveLength(1);
        await cluster.server.restoreBackup();
        expect(await claimedFor()).toEqual(["10.2.0.77 uid1 c1"]);
        // A watch is silent from a version that the server has not reached yet: after 120 s at most it is given up.
        const { own } = agent.pools;
        await eventually(() => own.ofPod("uid1", "eth0").length === 1, { timeoutMs: 180_000 });
        await eventually(() => reconcile().then(() => own.size === 2));
        // What runs has its allocation again; what runs with the address of a Pod that is there again is isolated.
        expect(await claimedFor()).toEqual(expect.arrayContaining(["10.2.0.77 uid1 c1", ...kept]));
        await reconcile();
        expect([...wiring.cut]).toEqual(["c2"]);
        wiring.unwire("c2");
        await agent.release("web-0", "c2");
        // The watch of reservations may be silent for longer than that of allocations; kubelet tries again.
        const again = (): Promise<readonly string[]> =>
            agent.claim("web-0", { pools: ["pool1"], statefulSet, ...first, containerId: "c3" });
        expect(await eventually(again, { timeoutMs: 180_000 })).toEqual(["10.2.0.77"]);
        expect(await claimedFor()).toEqual(expect.arrayContaining(["10.2.0.77 uid1 c3", ...kept]));
    }, 400_000);
});
