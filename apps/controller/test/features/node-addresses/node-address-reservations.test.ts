import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type IpAllocation } from "@antrea/crd";
import { KubeError } from "@antrea/kube";
import { FakeCluster } from "./fake-cluster.ts";

describe("addresses of Nodes in pools", () => {
    let cluster: FakeCluster;
    beforeEach(async () => {
        cluster = new FakeCluster();
        cluster.pool("p4", "10.1.0.10", "10.1.0.99");
        await cluster.start();
    });
    afterEach(async () => cluster[Symbol.asyncDispose]());

    const writes = (): readonly string[] =>
        cluster.server.writes.splice(0).filter((write) => !write.endsWith(" 10.1.0.1") && !write.endsWith(" 10.1.0.2"));

    it("are reserved, and released before others are taken when the Node reports others", async () => {
        cluster.node("n1", "10.1.0.11", "10.2.0.11");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 p4"]);
        writes();
        cluster.node("n1", "10.1.0.12");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.12 p4"]);
        expect(writes()).toEqual(["delete ipallocations 10.1.0.11", "create ipallocations 10.1.0.12"]);
        cluster.pool("p4", "10.1.0.20", "10.1.0.99");
        await cluster.settled();
        expect(cluster.held()).toEqual([]);
    });

    it("change to the pool that has the address now", async () => {
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        cluster.pool("p4", "10.1.0.20", "10.1.0.99");
        cluster.pool("other", "10.1.0.10", "10.1.0.15", "10.1.0.2");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 other"]);
    });

    it("are left alone by a new leader, which releases and takes only what changed meanwhile", async () => {
        cluster.node("n1", "10.1.0.11");
        cluster.node("n2", "10.1.0.12");
        await cluster.settled();
        await cluster.endTerm();
        expect(await cluster.metrics.text()).not.toContain("antrea_reconciler_objects{");
        cluster.server.remove("nodes", "n1");
        cluster.node("n3", "10.1.0.13");
        writes();
        await cluster.settled();
        expect(writes()).toEqual([]);
        await cluster.lead();
        expect(writes()).toEqual(["delete ipallocations 10.1.0.11", "create ipallocations 10.1.0.13"]);
        expect(cluster.held()).toEqual(["n2 10.1.0.12 p4", "n3 10.1.0.13 p4"]);
        expect(await cluster.metrics.text()).toContain(
            'antrea_reconciler_objects{reconciler="node-addresses/nodes",status="done"} 2',
        );
    });

    it("go to the present Node of the name, and to the other of two Nodes with the address", async () => {
        cluster.node("n1", "10.1.0.11");
        cluster.node("n2", "10.1.0.11");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 p4"]);
        cluster.server.remove("nodes", "n1");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n2 10.1.0.11 p4"]);
        writes();
        cluster.server.remove("nodes", "n2");
        cluster.node("n2", "10.1.0.11");
        await cluster.settled();
        const [node] = cluster.server.all("nodes");
        const owners = cluster.server.all<IpAllocation>("ipallocations").map(({ spec: { owner } }) => owner);
        expect(owners.find(({ kind }) => kind === "Node")?.uid).toBe(node?.metadata?.uid);
        expect(writes()).toEqual(["update ipallocations 10.1.0.11"]);
    });

    it("of two Nodes with one address at the start of a term are one, without a failure", async () => {
        await cluster.endTerm();
        cluster.node("n1", "10.1.0.11");
        cluster.node("n2", "10.1.0.11");
        writes();
        await cluster.lead();
        await cluster.settled();
        expect(cluster.held()).toHaveLength(1);
        expect(writes()).toEqual(["create ipallocations 10.1.0.11"]);
        expect(await cluster.metrics.text()).not.toContain('operation="update",result="failure"');
    });

    it("are 16 for each pool, and stay in favour of later ones except for the first address", async () => {
        const outside = Array.from({ length: 18 }, (_, at) => `10.200.0.${at + 1}`);
        cluster.node("n1", ...outside, "10.1.0.90");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.90 p4"]);
        const many = Array.from({ length: 20 }, (_, at) => `10.1.0.${at + 20}`);
        cluster.node("n1", ...many, "10.1.0.90");
        await cluster.settled();
        const first = cluster.held();
        expect(first).toHaveLength(16);
        expect(first).toContain("n1 10.1.0.90 p4");
        expect(cluster.notes("NodeAddressesNotHeld")).toHaveLength(2);
        cluster.node("n1", "10.1.0.10", "10.1.0.90", ...many.reverse());
        await cluster.settled();
        expect(cluster.held()).toEqual([...first, "n1 10.1.0.10 p4"].sort());
    });

    it("that a Pod has are reported once, and reserved as soon as the Pod is gone", async () => {
        cluster.allocate("10.1.0.11", "p4");
        await cluster.settled();
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        await cluster.clock.advance(200_000);
        await cluster.settled();
        expect(cluster.notes("AddressHeldElsewhere")).toHaveLength(1);
        cluster.server.remove("ipallocations", "10.1.0.11");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 p4"]);
    });

    it("whose allocation the watch has not delivered are tried again, and reported when it has", async () => {
        const deliver = cluster.server.holdBack("ipallocations");
        cluster.allocate("10.1.0.11", "p4");
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        expect(cluster.log.messages("warn")).toEqual(["reconcile failed, retrying"]);
        const job = cluster.jobs.health().find(({ name }) => name === "node-addresses/nodes");
        expect(job?.failedObjects).toMatchObject({ count: 1, error: { code: "ALLOCATION_NOT_KNOWN" } });
        deliver();
        await cluster.settled();
        expect(cluster.notes("AddressHeldElsewhere")).toHaveLength(1);
        expect(cluster.log.messages("warn")).toHaveLength(1);
    });

    it("are not reserved twice while the watch is late, and released if they are not needed when it delivers", async () => {
        const deliver = cluster.server.holdBack("ipallocations");
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        cluster.node("n1", "10.1.0.11", "10.1.0.12");
        await cluster.settled();
        expect(writes()).toEqual(["create ipallocations 10.1.0.11", "create ipallocations 10.1.0.12"]);
        cluster.node("n1", "10.1.0.12");
        await cluster.settled();
        expect(writes()).toEqual(["delete ipallocations 10.1.0.11"]);
        deliver();
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.12 p4"]);
        expect(cluster.log.messages("warn")).toEqual([]);
    });

    it("are retried one by one after failures, logged once, and in the end in place", async () => {
        cluster.server.refuse = (write) => {
            if (write === "create ipallocations 10.1.0.11") throw new KubeError("FORBIDDEN", "not allowed");
        };
        cluster.node("n1", "10.1.0.11", "10.1.0.12");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.12 p4"]);
        for (let seconds = 0; seconds < 20; seconds += 1) {
            await cluster.clock.advance(1_000);
            await cluster.settled();
        }
        const tries = writes().filter((write) => write === "create ipallocations 10.1.0.11");
        expect(tries.length).toBeGreaterThan(3);
        expect(tries.length).toBeLessThan(12);
        expect(cluster.log.messages("warn")).toEqual(["reconcile failed, retrying"]);
        cluster.server.refuse = () => undefined;
        await cluster.clock.advance(60_000);
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 p4", "n1 10.1.0.12 p4"]);
    });

    it("stay although the watch reports that the Node is gone, if the API server has it", async () => {
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        writes();
        cluster.server.remove("nodes", "n1");
        cluster.server.holdBack("nodes");
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 p4"]);
        expect(writes()).toEqual([]);
    });

    it("that someone deleted are made again", async () => {
        cluster.node("n1", "10.1.0.11");
        await cluster.settled();
        cluster.server.remove("ipallocations", "10.1.0.11");
        await cluster.settled();
        expect(cluster.held()).toEqual(["n1 10.1.0.11 p4"]);
    });
});
