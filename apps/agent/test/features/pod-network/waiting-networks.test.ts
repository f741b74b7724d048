import { expect, it } from "@jest/globals";
import { FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import { nothingTaken } from "./fake-node.ts";

it("an ADD whose own allocation is deleted by force while it waits for a network fails and gives all back", async () => {
    const networks = new FakeNetworks({ pools: true });
    networks.plans = [plannedNetwork("eth1")];
    const { node } = networks;
    const port = Promise.withResolvers<void>();
    node.steps.waits.set("network ports opened", port.promise);
    const added = node.add().then(
        () => undefined,
        (error: unknown) => error,
    );
    for (let turns = 0; turns < 200; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(node.network.interfaces()).toHaveLength(1);
    node.allocations.clear();
    port.resolve();
    expect(await added).toMatchObject({ code: "ALLOCATION_DELETED", message: expect.stringContaining("for eth0 of") });
    // The link of the network is gone too, though the namespace is not.
    expect(node.taken()).toEqual(nothingTaken);
    expect(networks.ports.size).toBe(0);
    await node.clock.advance(1);
    await node.add();
    expect(node.network.interfaces()).toHaveLength(1);
});
