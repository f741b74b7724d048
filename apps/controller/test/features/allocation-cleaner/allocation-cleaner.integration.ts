import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ForwardClock } from "@antrea/async/testing";
import { ipAllocations } from "@antrea/crd";
import { nodes, pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster, podOn, type Term } from "../../pool-cluster.ts";
import { replacing } from "../../replacing.ts";

const goneMs = 1_500;

describe("allocations that their Node cannot free", () => {
    let cluster: PoolCluster;
    let term: Term | undefined;
    beforeAll(async () => {
        cluster = await PoolCluster.start();
    });
    afterAll(async () => cluster[Symbol.asyncDispose]());
    afterEach(async () => {
        await term?.stop();
        await cluster.clear();
    });

    async function taint(node: string, on: boolean): Promise<void> {
        const taints = on
            ? [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }]
            : null;
        await cluster.api.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } });
    }

    /** A StatefulSet of one replica whose Pod uses its address on a Node. */
    async function running(name: string, pool: string, node: string, uid?: string): Promise<string> {
        await cluster.set(name, { pools: pool });
        await eventually(async () => (await cluster.ofSet(name)).length === 1);
        const allocation = (await cluster.all()).find(({ spec: { owner } }) => owner.name === name);
        await cluster.use(allocation!, podOn(node, `${name}-0`, uid));
        return allocation!.spec.address;
    }

    it("are freed when the Node is gone for a while, those of StatefulSets become Reserved; others stay", async () => {
        await cluster.pool("a", "10.3.0.10-10.3.0.29");
        await cluster.server.addNode("dead");
        await cluster.server.addNode("alive");
        const clock = new ForwardClock();
        term = cluster.term({ clock, goneMs: 600_000, intervalMs: 300 });
        const sticky = await running("web", "a", "dead");
        await cluster.claim("10.3.0.20", "a", podOn("dead", "plain"));
        // Its Pod does not exist, but its Node does: its own agent's business.
        await cluster.claim("10.3.0.21", "a", podOn("alive", "plain"));
        await cluster.server.deleteNode("dead");
        await term.eventuallyMetric('antrea_controller_ippool_leaks{reason="node-gone"}', "2");
        expect(await cluster.find("10.3.0.20")).toBeDefined();
        clock.skip(600_000);
        await eventually(async () => (await cluster.find("10.3.0.20")) === undefined);
        await cluster.eventuallyOfSet("web", [`0 ${sticky} Reserved`]);
        expect((await cluster.find("10.3.0.21"))?.spec.state).toBe("Allocated");
        await term.eventuallyMetric('antrea_controller_ippool_reclaims_total{reason="node-gone"}', "2");
        await term.eventuallyMetric('antrea_controller_ippool_leaks{reason="node-gone"}', "0");
    });

    it("stay when the Node comes back in time, and the time counts anew when it goes again", async () => {
        await cluster.server.addNode("flaky");
        await cluster.server.addNode("gone");
        await cluster.claim("10.3.1.20", "a", podOn("flaky", "plain"));
        await cluster.claim("10.3.1.21", "a", podOn("gone", "plain"));
        const clock = new ForwardClock();
        const { nodes: seen, ...one } = (term = cluster.term({ clock, goneMs: 600_000, intervalMs: 300 }));
        await one.allocations.synced(AbortSignal.timeout(60_000));
        const isSeen = (name: string, there: boolean): Promise<true> =>
            eventually(() => (seen.get(name) !== undefined) === there || undefined);
        await Promise.all([isSeen("flaky", true), isSeen("gone", true)]);
        await cluster.server.deleteNode("flaky");
        await isSeen("flaky", false);
        clock.skip(420_000);
        await cluster.server.addNode("flaky");
        await isSeen("flaky", true);
        // From now on this one is gone all the time.
        await cluster.server.deleteNode("gone");
        await isSeen("gone", false);
        clock.skip(420_000);
        await cluster.server.deleteNode("flaky");
        await isSeen("flaky", false);
        clock.skip(420_000);
        // By then the Nodes have been checked.
        await eventually(async () => (await cluster.find("10.3.1.21")) === undefined);
        expect(await cluster.find("10.3.1.20")).toBeDefined();
        clock.skip(420_000);
        await eventually(async () => (await cluster.find("10.3.1.20")) === undefined);
    });

    it("of Nodes that were gone before the controller began are freed after the same time", async () => {
        await cluster.claim("10.3.2.20", "a", podOn("never", "plain"));
        term = cluster.term({ goneMs, intervalMs: 300 });
        const began = performance.now();
        await eventually(async () => (await cluster.find("10.3.2.20")) === undefined);
        expect(performance.now() - began).toBeGreaterThan(goneMs - 100);
    });

    it("of a Pod that is gone are handed over at once when the Node is tainted out of service", async () => {
        await cluster.pool("a", "10.3.3.10-10.3.3.29");
        await cluster.server.addNode("down");
        const { metadata: here } = await cluster.pod("here", "down");
        term = cluster.term({ intervalMs: 600_000 });
        const sticky = await running("web", "a", "down");
        await cluster.claim("10.3.3.20", "a", podOn("down", "gone"));
        await cluster.claim("10.3.3.21", "a", podOn("down", "here", here?.uid));
        // The same name, another UID: that Pod is gone.
        const { metadata: again } = await cluster.pod("again", "down");
        await cluster.claim("10.3.3.22", "a", podOn("down", "again"));
        // A static Pod is known by the hash of its manifest.
        const annotations = { "kubernetes.io/config.hash": "abcd", "kubernetes.io/config.mirror": "abcd" };
        await cluster.api.create(pods, {
            metadata: { namespace: "default", name: "static", annotations },
            spec: { nodeName: "down", containers: [{ name: "main", image: "none" }] },
        });
        await cluster.claim("10.3.3.23", "a", podOn("down", "static", "abcd"));
        await new Promise((resolve) => setTimeout(resolve, 1_200));
        expect(await cluster.all()).toHaveLength(5);
        await taint("down", true);
        // Long before the next round of the clean-up, which comes after ten minutes.
        await cluster.eventuallyOfSet("web", [`0 ${sticky} Reserved`]);
        await eventually(async () => (await cluster.find("10.3.3.20")) === undefined);
        await eventually(async () => (await cluster.find("10.3.3.22")) === undefined);
        expect(again?.uid).toBeDefined();
        expect((await cluster.find("10.3.3.21"))?.spec.state).toBe("Allocated");
        expect((await cluster.find("10.3.3.23"))?.spec.state).toBe("Allocated");
        // The Pod is deleted by force after the taint.
        await cluster.deletePod("here");
        await eventually(async () => (await cluster.find("10.3.3.21")) === undefined, { timeoutMs: 90_000 });
        await term.eventuallyMetric('antrea_controller_ippool_reclaims_total{reason="out-of-service"}', "4");
    });

    it("stay when the taint is taken off before the Pod is gone", async () => {
        await cluster.server.addNode("down");
        const { metadata } = await cluster.pod("here", "down");
        await cluster.claim("10.3.4.21", "a", podOn("down", "here", metadata?.uid));
        term = cluster.term({ intervalMs: 300 });
        await taint("down", true);
        await new Promise((resolve) => setTimeout(resolve, 500));
        await taint("down", false);
        await new Promise((resolve) => setTimeout(resolve, 300));
        await cluster.deletePod("here");
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect((await cluster.find("10.3.4.21"))?.spec.state).toBe("Allocated");
    });

    it("stay with an agent that takes the allocation up again just before it is deleted", async () => {
        await cluster.server.addNode("down");
        await taint("down", true);
        const allocation = await cluster.claim("10.3.5.21", "a", podOn("down", "again"));
        const mine = podOn("down", "again");
        let raced = false;
        const wrap = replacing("delete", (target) => async (...args) => {
            if (args[0].plural === "ipallocations" && !raced) {
                raced = true;
                const { metadata } = await cluster.pod("again", "down");
                const pod = { ...mine, uid: metadata?.uid ?? "" };
                const owner = { ...allocation.spec.owner, uid: pod.uid };
                await cluster.api.update(ipAllocations, { ...allocation, spec: { ...allocation.spec, owner, pod } });
            }
            return target.delete(...args);
        });
        term = cluster.term({ wrap });
        await eventually(() => raced);
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        expect((await cluster.find("10.3.5.21"))?.metadata?.uid).toBe(allocation.metadata?.uid);
        expect(await term.metric('antrea_controller_ippool_reclaims_total{reason="out-of-service"}')).toBeUndefined();
    });

    it("stay when only the watch reports that the Node is gone", async () => {
        await cluster.server.addNode("there");
        await cluster.claim("10.3.6.21", "a", podOn("there", "plain"));
        const wrap = replacing("list", (target) => async (...args) => {
            const result = await target.list(...args);
            return args[0].plural === "nodes" ? { ...result, items: [] } : result;
        });
        term = cluster.term({ wrap, goneMs: 300, intervalMs: 200 });
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect((await cluster.find("10.3.6.21"))?.spec.state).toBe("Allocated");
    });
});
