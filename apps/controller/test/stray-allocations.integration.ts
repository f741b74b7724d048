import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { events, nodes } from "@antrea/kube";
import { TestApiServer, eventually } from "@antrea/kube/testing";
import { ControllerProcess } from "./controller-process.ts";
import { PoolCluster, podOn } from "./pool-cluster.ts";

describe("allocations of addresses that no IPPool has", () => {
    let server: TestApiServer;
    let cluster: PoolCluster;
    beforeAll(async () => {
        server = await TestApiServer.start();
        await server.apply(customResourceDefinitions());
        cluster = new PoolCluster(server);
    });
    afterAll(async () => server.stop());
    afterEach(async () => cluster.clear());

    const start = (clusterCidr: string): Promise<ControllerProcess> =>
        ControllerProcess.start(server, {
            nodeIPAM: { clusterCIDRs: [clusterCidr] },
            config: { featureGates: { AntreaIPAM: true } },
        });
    const podCidrs = async (name: string): Promise<readonly string[]> =>
        (await cluster.api.get(nodes, { name })).spec?.podCIDRs ?? [];

    it("keep no Node from its podCIDR when their Pods do not exist, and are reported on the Node that made them", async () => {
        await server.addNode("n1", { internalIps: ["172.18.0.2"] });
        await using _controller = await start("10.244.0.0/22");
        await eventually(async () => (await podCidrs("n1")).length === 1);
        // Allocated to a Pod of n1, owner Pod: all that the policies ask of the agent of n1.
        for (let at = 0; at < 4; at += 1) await cluster.claim(`10.244.${at}.77`, "nope", podOn("n1", `ghost-${at}`));
        await server.addNode("n2", { internalIps: ["172.18.0.3"] });
        await eventually(async () => (await podCidrs("n2")).length === 1);
        await eventually(async () =>
            (await cluster.api.list(events)).items.some(
                ({ reason, regarding }) => reason === "ClaimsOutsidePools" && regarding?.name === "n1",
            ),
        );
    });

    it("hold the subnets that living Pods have addresses of, and the Node that waits names them", async () => {
        for (let at = 0; at < 4; at += 1) {
            const { metadata } = await cluster.pod(`live-${at}`, "n1");
            await cluster.claim(`10.245.${at}.77`, "gone", podOn("n1", `live-${at}`, metadata?.uid));
        }
        await using _controller = await start("10.245.0.0/22");
        await server.addNode("n3", { internalIps: ["172.18.0.4"] });
        const reported = await eventually(async () =>
            (await cluster.api.list(events)).items.find(
                ({ reason, regarding }) => reason === "CIDRNotAvailable" && regarding?.name === "n3",
            ),
        );
        expect(reported.note).toContain("IPAllocation 10.245.0.77 (Pod default/live-0 on Node n1, IPPool gone)");
        expect(await podCidrs("n3")).toEqual([]);
        await cluster.deletePod("live-2");
        await cluster.free("10.245.2.77");
        await eventually(async () => (await podCidrs("n3")).join() === "10.245.2.0/24");
    });
});
