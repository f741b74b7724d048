import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { FakeCluster } from "./fake-cluster.ts";

describe("gateways of pools", () => {
    let cluster: FakeCluster;
    beforeEach(async () => {
        cluster = new FakeCluster();
        await cluster.start();
    });
    afterEach(async () => cluster[Symbol.asyncDispose]());

    it("are reserved once for all pools that name them, until none does", async () => {
        cluster.pool("a", "10.1.0.10", "10.1.0.19");
        cluster.pool("b", "10.1.0.20", "10.1.0.29");
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
        cluster.server.remove("ippools", "a");
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
        cluster.server.remove("ippools", "b");
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual([]);
        expect(cluster.server.writes).toEqual(["create ipallocations 10.1.0.1", "delete ipallocations 10.1.0.1"]);
    });

    it("that no pool names any more when the watch delivers the reservation are released then", async () => {
        const deliver = cluster.server.holdBack("ipallocations");
        cluster.pool("a", "10.1.0.10", "10.1.0.19");
        await cluster.settled();
        cluster.server.remove("ippools", "a");
        await cluster.settled();
        deliver();
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual([]);
        expect(cluster.log.messages("warn")).toEqual([]);
    });

    it("that a Pod has are reported on each pool, also a recreated one, and reserved when the Pod is gone", async () => {
        cluster.allocate("10.1.0.1", "old");
        await cluster.settled();
        cluster.pool("a", "10.1.0.10", "10.1.0.19");
        await cluster.settled();
        cluster.pool("b", "10.1.0.20", "10.1.0.29");
        await cluster.settled();
        await cluster.clock.advance(200_000);
        await cluster.settled();
        const named = (): readonly (string | undefined)[] => cluster.events.map(({ regarding: { name } }) => name);
        expect(named()).toEqual(["a", "b"]);
        cluster.server.remove("ippools", "b");
        cluster.pool("b", "10.1.0.20", "10.1.0.29");
        await cluster.settled();
        expect(named()).toEqual(["a", "b", "b"]);
        cluster.server.remove("ipallocations", "10.1.0.1");
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
    });

    it("that are a Node's are the Node's, until it is gone", async () => {
        cluster.pool("a", "10.1.0.10", "10.1.0.99");
        cluster.node("n1", "10.1.0.50");
        await cluster.settled();
        cluster.pool("b", "10.1.1.20", "10.1.1.29", "10.1.0.50");
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
        cluster.server.remove("nodes", "n1");
        await cluster.settled();
        expect(cluster.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a", "10.1.0.50 10.1.0.50 b"]);
        expect(cluster.events).toEqual([]);
    });
});
