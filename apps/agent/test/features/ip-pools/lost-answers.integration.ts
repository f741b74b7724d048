import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { PoolCluster } from "./support/pool-cluster.ts";

let cluster: PoolCluster;
let proxy: CuttingProxy;

beforeAll(async () => {
    cluster = await PoolCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(async () => {
    proxy = await CuttingProxy.start(cluster.server.kubeconfig());
});
afterEach(async () => {
    await cluster.clear();
    await proxy[Symbol.asyncDispose]();
});

async function holders(): Promise<readonly string[]> {
    return (await cluster.allocations()).map(({ spec }) => `${spec.address} ${spec.pod?.name}`).sort();
}

describe("answers that are lost after the write", () => {
    it("lose no address and give none twice", async () => {
        await cluster.addPool("pool1", { start: "10.2.0.1", end: "10.2.0.60", gateway: "10.2.0.254" });
        let writes = 0;
        proxy.cut = () => (writes += 1) % 3 !== 0;
        const agents = Array.from({ length: 6 }, (_, at) => cluster.agent(`n${at}`, { kubeconfig: proxy.kubeconfig }));
        const pods = Array.from({ length: 60 }, (_, at) => `p${at}`);
        const agentOf = (at: number) => agents[at % agents.length]!;
        const given = await Promise.all(pods.map((pod, at) => agentOf(at).claim(pod, { pools: ["pool1"] })));
        expect(await holders()).toEqual(pods.map((pod, at) => `${given[at]?.[0]} ${pod}`).sort());
        expect(proxy.lost).toBeGreaterThan(60);
        await Promise.all(
            pods.map((pod, at) => agentOf(at).claim(pod, { pools: ["pool1"], containerId: `c2-${pod}` })),
        );
        expect(await holders()).toHaveLength(60);
        await Promise.all(pods.map((pod, at) => agentOf(at).release(pod, `c2-${pod}`)));
        expect(await holders()).toEqual([]);
    });

    it("of an ADD that gave up leave one allocation, which the next ADD of the Pod gets", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.254" });
        proxy.cut = () => true;
        const agent = cluster.agent("a", { kubeconfig: proxy.kubeconfig });
        await expect(agent.claim("p1", { pools: ["pool1"] }, AbortSignal.timeout(1_000))).rejects.toThrow();
        proxy.cut = () => false;
        const [ip] = await agent.claim("p1", { pools: ["pool1"], containerId: "c2" });
        expect(await holders()).toEqual([`${ip} p1`]);
    });
});

describe("an API server that goes away", () => {
    it("is waited for by an ADD under way, and a DEL meanwhile is made good", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.254" });
        const agent = cluster.agent("a");
        await agent.claim("p1", { pools: ["pool1"] });
        await cluster.server.stopApiServer();
        const allocation = agent.claim("p2", { pools: ["pool1"] });
        await agent.pools.release({ containerId: "c-p1", ifName: "eth0" });
        await cluster.server.startApiServer();
        const [ip] = await allocation;
        await agent.pools.allocator.settle(AbortSignal.timeout(60_000));
        expect(await holders()).toEqual([`${ip} p2`]);
    });
});
