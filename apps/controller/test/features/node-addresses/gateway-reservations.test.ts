import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { World } from "./world.ts";

describe("gateways of pools", () => {
    let world: World;
    beforeEach(async () => {
        world = new World();
        await world.start();
    });
    afterEach(async () => world[Symbol.asyncDispose]());

    it("are reserved once for all pools that name them, until none does", async () => {
        world.pool("a", "10.1.0.10", "10.1.0.19");
        world.pool("b", "10.1.0.20", "10.1.0.29");
        await world.settled();
        expect(world.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
        world.server.remove("ippools", "a");
        await world.settled();
        expect(world.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
        world.server.remove("ippools", "b");
        await world.settled();
        expect(world.held("Gateway")).toEqual([]);
        expect(world.server.writes).toEqual(["create ipallocations 10.1.0.1", "delete ipallocations 10.1.0.1"]);
    });

    it("that no pool names any more when the watch delivers the reservation are released then", async () => {
        const deliver = world.server.holdBack("ipallocations");
        world.pool("a", "10.1.0.10", "10.1.0.19");
        await world.settled();
        world.server.remove("ippools", "a");
        await world.settled();
        deliver();
        await world.settled();
        expect(world.held("Gateway")).toEqual([]);
        expect(world.log.messages("warn")).toEqual([]);
    });

    it("that a Pod has are reported on each pool, also a recreated one, and reserved when the Pod is gone", async () => {
        world.allocate("10.1.0.1", "old");
        await world.settled();
        world.pool("a", "10.1.0.10", "10.1.0.19");
        await world.settled();
        world.pool("b", "10.1.0.20", "10.1.0.29");
        await world.settled();
        await world.clock.advance(200_000);
        await world.settled();
        const named = (): readonly (string | undefined)[] => world.events.map(({ regarding: { name } }) => name);
        expect(named()).toEqual(["a", "b"]);
        world.server.remove("ippools", "b");
        world.pool("b", "10.1.0.20", "10.1.0.29");
        await world.settled();
        expect(named()).toEqual(["a", "b", "b"]);
        world.server.remove("ipallocations", "10.1.0.1");
        await world.settled();
        expect(world.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
    });

    it("that are a Node's are the Node's, until it is gone", async () => {
        world.pool("a", "10.1.0.10", "10.1.0.99");
        world.node("n1", "10.1.0.50");
        await world.settled();
        world.pool("b", "10.1.1.20", "10.1.1.29", "10.1.0.50");
        await world.settled();
        expect(world.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a"]);
        world.server.remove("nodes", "n1");
        await world.settled();
        expect(world.held("Gateway")).toEqual(["10.1.0.1 10.1.0.1 a", "10.1.0.50 10.1.0.50 b"]);
        expect(world.events).toEqual([]);
    });
});
