import { expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { FurtherInterfaces, FunctionWiring } from "../../../src/features/pod-network/index.ts";
import { noPorts } from "../../../src/features/pod-network/further-types.ts";
import { NetworkInterfaces, type PlannedNetwork } from "../../../src/platform/pod-interfaces/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { testBootId } from "../../support/records.ts";
import { FakeNode, nothingTaken } from "./fake-node.ts";

const planned: PlannedNetwork = {
    ifName: "eth1",
    network: "default/net1",
    vlan: 100,
    mtu: 1450,
    mac: undefined,
    addresses: undefined,
    routes: [],
    dns: undefined,
    defaultGateways: [],
};

/** A Node on which OVS opens the port of the network when `opened` resolves. */
function nodeWith(opened: () => Promise<void>): FakeNode {
    return new FakeNode({
        pools: true,
        networks: ({ netlink, podInterfaces, namespaces }) => {
            const table = new NetworkInterfaces();
            const links = { take: () => Promise.resolve(), bringHome: () => Promise.resolve() };
            const functions = new FunctionWiring(
                { table, podInterfaces, writeRecord: () => Promise.resolve(), links, logger: silentLogger },
                { namespaces },
            );
            const further = new FurtherInterfaces(
                {
                    table,
                    podInterfaces,
                    netlink,
                    functions,
                    ports: { ...noPorts, exists: true, opened: () => opened().then(() => []) },
                    pools: undefined,
                    announce: () => undefined,
                    serviceCidrs: () => [],
                    clock: new ManualClock(),
                    logger: silentLogger,
                },
                { bootId: testBootId, disableTxChecksumOffload: true, namespaces },
            );
            return { further, planNetworks: () => Promise.resolve([planned]) };
        },
    });
}

it("an ADD whose own allocation is deleted by force while it waits for a network fails and gives all back", async () => {
    const port = Promise.withResolvers<void>();
    const node = nodeWith(() => port.promise);
    const added = node.add().then(
        () => undefined,
        (error: unknown) => error,
    );
    for (let turns = 0; turns < 200; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(node.network.interfaces()).toHaveLength(1);
    node.allocations.clear();
    port.resolve();
    expect(await added).toMatchObject({ code: "ALLOCATION_DELETED", message: expect.stringContaining("for eth0 of") });
    // The link of the network is down, and goes with the namespace.
    expect(node.taken()).toEqual({ ...nothingTaken, links: ["antrea1 released"] });
    await node.clock.advance(1);
    await node.add();
    expect(node.network.interfaces()).toHaveLength(1);
});
