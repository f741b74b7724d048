import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { PoolCluster } from "./support/pool-cluster.ts";
import { podsOnNodes, quantile, WorkerPool } from "./support/worker-pool.ts";

// Some 10 s of a quiet machine's two cores.
const limitMs = 240_000;

let cluster: PoolCluster;
let workers: WorkerPool;

beforeAll(async () => {
    cluster = await PoolCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
    workers = new WorkerPool(4);
});
afterEach(async () => {
    workers[Symbol.dispose]();
    await cluster.clear();
});

describe("100 agents in 4 processes, each with its own connections, views and caches", () => {
    it(
        "claim a pool to its last address, with no duplicate and no failure",
        async () => {
            await cluster.addPool("pool1", { start: "10.2.0.1", end: "10.2.2.88", gateway: "10.2.255.1" });
            const result = await workers.run({
                kubeconfig: cluster.server.kubeconfig(),
                pool: "pool1",
                pods: podsOnNodes(100, 600),
                parallel: 1,
                sandbox: "1",
            });
            const times = result.allocations.map(({ ms }) => ms);
            console.log(
                `600 allocations: p50 ${Math.round(quantile(times, 0.5))} ms, p99 ${Math.round(quantile(times, 0.99))} ms, ` +
                    `${result.conflicts} conflicts, ${result.relists} relists`,
            );
            expect(result.failures).toEqual([]);
            expect(new Set(result.allocations.map(({ ip }) => ip)).size).toBe(600);
            expect(await cluster.allocations("pool1")).toHaveLength(600);
        },
        limitMs,
    );

    it(
        "die between allocation and use, come again, and no address is lost or given twice",
        async () => {
            await cluster.addPool("pool1", { start: "10.2.0.1", end: "10.2.1.200", gateway: "10.2.255.1" });
            const pods = podsOnNodes(100, 300);
            const job = { kubeconfig: cluster.server.kubeconfig(), pool: "pool1", pods, parallel: 1 };
            const killed = workers.run({ ...job, sandbox: "1" });
            while ((await cluster.allocations()).length < 80) await new Promise((resolve) => setTimeout(resolve, 100));
            workers.kill();
            await killed;
            // kubelet tries again, in new sandboxes, whatever had been claimed for the old ones.
            const result = await workers.run({ ...job, sandbox: "2" });
            expect(result.failures).toEqual([]);
            expect(new Set(result.allocations.map(({ ip }) => ip)).size).toBe(300);
            const allocations = await cluster.allocations();
            const used = allocations.filter(({ spec }) => spec.pod?.containerID.endsWith("-2"));
            expect(used.map(({ spec }) => spec.address).sort()).toEqual(result.allocations.map(({ ip }) => ip).sort());
            // At most what was on its way to the server when its sender died and came after the new agent had checked.
            expect(allocations.length - used.length).toBeLessThan(20);
        },
        limitMs,
    );
});
