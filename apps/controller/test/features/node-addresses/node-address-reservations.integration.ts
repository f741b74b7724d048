import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ipPools } from "@antrea/crd";
import { nodes } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster, podOn } from "../../pool-cluster.ts";

describe("addresses of Nodes inside pools", () => {
    let cluster: PoolCluster;
    beforeAll(async () => {
        cluster = await PoolCluster.start();
    });
    afterAll(async () => cluster[Symbol.asyncDispose]());
    afterEach(async () => cluster.clear());

    async function held(): Promise<readonly string[]> {
        return (await cluster.all())
            .filter(({ spec: { owner } }) => owner.kind === "Node")
            .map(({ spec: { owner, address, state, pool } }) => `${owner.name} ${address} ${pool} ${state}`)
            .sort();
    }
    async function eventuallyHeld(...expected: readonly string[]): Promise<void> {
        await eventually(async () => JSON.stringify(await held()) === JSON.stringify(expected), {
            what: expected.join(", "),
        });
    }

    it("are held for the Node, whichever is first, pool or Node, and released when either is no more", async () => {
        await using term = cluster.term();
        await cluster.server.addNode("n1", { internalIps: ["10.1.0.11", "fd00:1::11"] });
        await cluster.pool("p4", "10.1.0.10-10.1.0.19");
        await eventuallyHeld("n1 10.1.0.11 p4 Reserved");
        await cluster.pool("p6", "fd00:1::10-fd00:1::1f");
        await cluster.server.addNode("n2", { internalIps: ["10.1.0.12"] });
        await eventuallyHeld("n1 10.1.0.11 p4 Reserved", "n1 fd00:1::11 p6 Reserved", "n2 10.1.0.12 p4 Reserved");
        // n2 gets another address.
        const addresses = [{ type: "InternalIP", address: "10.1.0.13" }];
        const patch = { type: "merge", body: { status: { addresses } } } as const;
        await cluster.api.patch(nodes, { name: "n2" }, patch, { subresource: "status" });
        await eventuallyHeld("n1 10.1.0.11 p4 Reserved", "n1 fd00:1::11 p6 Reserved", "n2 10.1.0.13 p4 Reserved");
        await cluster.server.deleteNode("n2");
        await cluster.api.delete(ipPools, { name: "p6" });
        await eventuallyHeld("n1 10.1.0.11 p4 Reserved");
        await cluster.changePool("p4", "10.1.0.15-10.1.0.19");
        await eventuallyHeld();
        await term.eventuallyMetric('antrea_controller_ippool_reclaims_total{reason="node-address-unwanted"}', "4");
    });

    it("stay with a Node that is registered anew, and come back when someone deletes the allocation", async () => {
        await using _term = cluster.term();
        await cluster.pool("p4", "10.1.1.10-10.1.1.19");
        await cluster.server.addNode("n1", { internalIps: ["10.1.1.11"] });
        await eventuallyHeld("n1 10.1.1.11 p4 Reserved");
        await cluster.server.deleteNode("n1");
        const { metadata } = await cluster.server.addNode("n1", { internalIps: ["10.1.1.11"] });
        await eventually(async () => (await cluster.find("10.1.1.11"))?.spec.owner.uid === metadata?.uid);
        await cluster.free("10.1.1.11");
        await eventuallyHeld("n1 10.1.1.11 p4 Reserved");
    });

    it("are held for the other of two Nodes that have them, when the one is deleted", async () => {
        await using _term = cluster.term();
        await cluster.pool("p4", "10.1.4.10-10.1.4.19");
        await cluster.server.addNode("old", { internalIps: ["10.1.4.11"] });
        await eventuallyHeld("old 10.1.4.11 p4 Reserved");
        // The same machine, registered under another name.
        await cluster.server.addNode("new", { internalIps: ["10.1.4.11"] });
        await cluster.server.deleteNode("old");
        await eventuallyHeld("new 10.1.4.11 p4 Reserved");
    });

    it("are 16 of each family at most, and what a Node reports beyond is reported on it and on the pool", async () => {
        await using term = cluster.term();
        await cluster.pool("p4", "10.1.6.0/24");
        const internalIps = Array.from({ length: 200 }, (_, at) => `10.1.6.${at + 2}`);
        await cluster.server.addNode("many", { internalIps });
        await eventually(async () => (await held()).length === 16);
        const status = await eventually(async () => {
            const pool = await cluster.api.get(ipPools, { name: "p4" });
            return pool.status?.usage?.total === 253 - 16 ? pool.status : undefined;
        });
        const further = "10.1.6.18-10.1.6.201 of Node many";
        expect(status.conditions?.[0]).toMatchObject({
            type: "Ready",
            status: "True",
            reason: "NodeAddressesNotHeld",
            message: `Of the addresses that a Node reports, a pool keeps 16 from Pods. Pods can get further ones that are not reserved for the Node yet: ${further}. Check what reports them.`,
        });
        await eventually(() => term.notes("NodeAddressesNotHeld").length === 2);
        expect(term.events.filter(({ reason }) => reason === "NodeAddressesNotHeld")).toMatchObject([
            {
                regarding: { kind: "Node", name: "many" },
                type: "Warning",
                note: "The Node reports more than 16 addresses of an IPPool. Pods can get further ones that are not reserved for the Node yet: 10.1.6.18-10.1.6.201 of IPPool p4. Check what reports them: status.addresses is written by kubelet and cloud controller.",
            },
            {
                regarding: { kind: "IPPool", name: "p4" },
                type: "Warning",
                note: `Of the addresses that a Node reports, a pool keeps 16 from Pods. Pods can get further ones that are not reserved for the Node yet: ${further}. Check what reports them.`,
            },
        ]);
        const addresses = [{ type: "InternalIP", address: "10.1.6.2" }];
        const patch = { type: "merge", body: { status: { addresses } } } as const;
        await cluster.api.patch(nodes, { name: "many" }, patch, { subresource: "status" });
        await eventuallyHeld("many 10.1.6.2 p4 Reserved");
        await eventually(
            async () => (await cluster.api.get(ipPools, { name: "p4" })).status?.conditions?.[0]?.reason === "Usable",
        );
    });

    it("of which a pool has few are held behind any number outside pools, and stay while the Node reports more", async () => {
        await using _term = cluster.term();
        await cluster.pool("p4", "10.1.7.0/24");
        const report = async (...list: readonly string[]): Promise<void> => {
            const addresses = list.map((address) => ({ type: "InternalIP", address }));
            const patch = { type: "merge", body: { status: { addresses } } } as const;
            await cluster.api.patch(nodes, { name: "n1" }, patch, { subresource: "status" });
        };
        const outside = Array.from({ length: 18 }, (_, at) => `10.200.0.${at + 1}`);
        await cluster.server.addNode("n1", { internalIps: [...outside, "10.1.7.200"] });
        await eventuallyHeld("n1 10.1.7.200 p4 Reserved");
        // By address it is the last of 21 now.
        const secondary = Array.from({ length: 20 }, (_, at) => `10.1.7.${at + 10}`);
        await report(...secondary, "10.1.7.200");
        await eventually(async () => (await held()).length === 16);
        const first = await held();
        expect(first).toContain("n1 10.1.7.200 p4 Reserved");
        await report("10.1.7.200", ...secondary.reverse());
        await report("10.1.7.5", "10.1.7.200", ...secondary);
        // The address that Kubernetes uses for the Node, beside what is held.
        await eventuallyHeld(...[...first, "n1 10.1.7.5 p4 Reserved"].sort());
    });

    it("that a Pod has are reported on the Node and held as soon as the Pod is gone", async () => {
        await using term = cluster.term();
        await cluster.pool("p4", "10.1.2.10-10.1.2.19");
        await cluster.claim("10.1.2.11", "p4", podOn("n0", "web"));
        await cluster.server.addNode("n1", { internalIps: ["10.1.2.11"] });
        await eventually(() => term.notes("AddressHeldElsewhere").length === 1);
        expect(term.notes("AddressHeldElsewhere")[0]).toContain("10.1.2.11");
        expect(term.notes("AddressHeldElsewhere")[0]).toContain("Pod default/web on Node n0");
        await cluster.free("10.1.2.11");
        await eventuallyHeld("n1 10.1.2.11 p4 Reserved");
    });

    it("found by a new leader after Nodes and pools came and went without one", async () => {
        await cluster.pool("p4", "10.1.3.10-10.1.3.19");
        await cluster.server.addNode("n1", { internalIps: ["10.1.3.11"] });
        await cluster.server.addNode("n2", { internalIps: ["10.1.3.12"] });
        const first = cluster.term();
        await eventuallyHeld("n1 10.1.3.11 p4 Reserved", "n2 10.1.3.12 p4 Reserved");
        await first.stop();
        await cluster.server.deleteNode("n1");
        await cluster.server.addNode("n3", { internalIps: ["10.1.3.13"] });
        await using _second = cluster.term();
        await eventuallyHeld("n2 10.1.3.12 p4 Reserved", "n3 10.1.3.13 p4 Reserved");
    });
});
