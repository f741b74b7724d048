import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type IpAllocation } from "@antrea/crd";
import { KubeError } from "@antrea/kube";
import { World } from "./world.ts";

describe("addresses of Nodes in pools", () => {
    let world: World;
    beforeEach(async () => {
        world = new World();
        world.pool("p4", "10.1.0.10", "10.1.0.99");
        await world.start();
    });
    afterEach(async () => world[Symbol.asyncDispose]());

    const writes = (): readonly string[] =>
        world.server.writes.splice(0).filter((write) => !write.endsWith(" 10.1.0.1") && !write.endsWith(" 10.1.0.2"));

    it("are reserved, and released before others are taken when the Node reports others", async () => {
        world.node("n1", "10.1.0.11", "10.2.0.11");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 p4"]);
        writes();
        world.node("n1", "10.1.0.12");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.12 p4"]);
        expect(writes()).toEqual(["delete ipallocations 10.1.0.11", "create ipallocations 10.1.0.12"]);
        world.pool("p4", "10.1.0.20", "10.1.0.99");
        await world.settled();
        expect(world.held()).toEqual([]);
    });

    it("change to the pool that has the address now", async () => {
        world.node("n1", "10.1.0.11");
        await world.settled();
        world.pool("p4", "10.1.0.20", "10.1.0.99");
        world.pool("other", "10.1.0.10", "10.1.0.15", "10.1.0.2");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 other"]);
    });

    it("are left alone by a new leader, which releases and takes only what changed meanwhile", async () => {
        world.node("n1", "10.1.0.11");
        world.node("n2", "10.1.0.12");
        await world.settled();
        await world.endTerm();
        expect(await world.metrics.text()).not.toContain("antrea_reconciler_objects{");
        world.server.remove("nodes", "n1");
        world.node("n3", "10.1.0.13");
        writes();
        await world.settled();
        expect(writes()).toEqual([]);
        await world.lead();
        expect(writes()).toEqual(["delete ipallocations 10.1.0.11", "create ipallocations 10.1.0.13"]);
        expect(world.held()).toEqual(["n2 10.1.0.12 p4", "n3 10.1.0.13 p4"]);
        expect(await world.metrics.text()).toContain(
            'antrea_reconciler_objects{reconciler="node-addresses/nodes",status="done"} 2',
        );
    });

    it("go to the present Node of the name, and to the other of two Nodes with the address", async () => {
        world.node("n1", "10.1.0.11");
        world.node("n2", "10.1.0.11");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 p4"]);
        world.server.remove("nodes", "n1");
        await world.settled();
        expect(world.held()).toEqual(["n2 10.1.0.11 p4"]);
        writes();
        world.server.remove("nodes", "n2");
        world.node("n2", "10.1.0.11");
        await world.settled();
        const [node] = world.server.all("nodes");
        const owners = world.server.all<IpAllocation>("ipallocations").map(({ spec: { owner } }) => owner);
        expect(owners.find(({ kind }) => kind === "Node")?.uid).toBe(node?.metadata?.uid);
        expect(writes()).toEqual(["update ipallocations 10.1.0.11"]);
    });

    it("of two Nodes with one address at the start of a term are one, without a failure", async () => {
        await world.endTerm();
        world.node("n1", "10.1.0.11");
        world.node("n2", "10.1.0.11");
        writes();
        await world.lead();
        await world.settled();
        expect(world.held()).toHaveLength(1);
        expect(writes()).toEqual(["create ipallocations 10.1.0.11"]);
        expect(await world.metrics.text()).not.toContain('operation="update",result="failure"');
    });

    it("are 16 for each pool, and stay in favour of later ones except for the first address", async () => {
        const outside = Array.from({ length: 18 }, (_, at) => `10.200.0.${at + 1}`);
        world.node("n1", ...outside, "10.1.0.90");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.90 p4"]);
        const many = Array.from({ length: 20 }, (_, at) => `10.1.0.${at + 20}`);
        world.node("n1", ...many, "10.1.0.90");
        await world.settled();
        const first = world.held();
        expect(first).toHaveLength(16);
        expect(first).toContain("n1 10.1.0.90 p4");
        expect(world.notes("NodeAddressesNotHeld")).toHaveLength(2);
        world.node("n1", "10.1.0.10", "10.1.0.90", ...many.reverse());
        await world.settled();
        expect(world.held()).toEqual([...first, "n1 10.1.0.10 p4"].sort());
    });

    it("that a Pod has are reported once, and reserved as soon as the Pod is gone", async () => {
        world.allocate("10.1.0.11", "p4");
        await world.settled();
        world.node("n1", "10.1.0.11");
        await world.settled();
        await world.clock.advance(200_000);
        await world.settled();
        expect(world.notes("AddressHeldElsewhere")).toHaveLength(1);
        world.server.remove("ipallocations", "10.1.0.11");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 p4"]);
    });

    it("whose allocation the watch has not delivered are tried again, and reported when it has", async () => {
        const deliver = world.server.holdBack("ipallocations");
        world.allocate("10.1.0.11", "p4");
        world.node("n1", "10.1.0.11");
        await world.settled();
        expect(world.log.messages("warn")).toEqual(["reconcile failed, retrying"]);
        const job = world.jobs.health().find(({ name }) => name === "node-addresses/nodes");
        expect(job?.failedObjects).toMatchObject({ count: 1, error: { code: "ALLOCATION_NOT_KNOWN" } });
        deliver();
        await world.settled();
        expect(world.notes("AddressHeldElsewhere")).toHaveLength(1);
        expect(world.log.messages("warn")).toHaveLength(1);
    });

    it("are not reserved twice while the watch is late, and released if they are not needed when it delivers", async () => {
        const deliver = world.server.holdBack("ipallocations");
        world.node("n1", "10.1.0.11");
        await world.settled();
        world.node("n1", "10.1.0.11", "10.1.0.12");
        await world.settled();
        expect(writes()).toEqual(["create ipallocations 10.1.0.11", "create ipallocations 10.1.0.12"]);
        world.node("n1", "10.1.0.12");
        await world.settled();
        expect(writes()).toEqual(["delete ipallocations 10.1.0.11"]);
        deliver();
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.12 p4"]);
        expect(world.log.messages("warn")).toEqual([]);
    });

    it("are retried one by one after failures, logged once, and in the end in place", async () => {
        world.server.refuse = (write) => {
            if (write === "create ipallocations 10.1.0.11") throw new KubeError("FORBIDDEN", "not allowed");
        };
        world.node("n1", "10.1.0.11", "10.1.0.12");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.12 p4"]);
        for (let seconds = 0; seconds < 20; seconds += 1) {
            await world.clock.advance(1_000);
            await world.settled();
        }
        const tries = writes().filter((write) => write === "create ipallocations 10.1.0.11");
        expect(tries.length).toBeGreaterThan(3);
        expect(tries.length).toBeLessThan(12);
        expect(world.log.messages("warn")).toEqual(["reconcile failed, retrying"]);
        world.server.refuse = () => undefined;
        await world.clock.advance(60_000);
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 p4", "n1 10.1.0.12 p4"]);
    });

    it("stay although the watch reports that the Node is gone, if the API server has it", async () => {
        world.node("n1", "10.1.0.11");
        await world.settled();
        writes();
        world.server.remove("nodes", "n1");
        world.server.holdBack("nodes");
        world.node("n1", "10.1.0.11");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 p4"]);
        expect(writes()).toEqual([]);
    });

    it("that someone deleted are made again", async () => {
        world.node("n1", "10.1.0.11");
        await world.settled();
        world.server.remove("ipallocations", "10.1.0.11");
        await world.settled();
        expect(world.held()).toEqual(["n1 10.1.0.11 p4"]);
    });
});
