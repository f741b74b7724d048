import { setTimeout as sleep } from "node:timers/promises";
import { ipPools, poolsAnnotation } from "@antrea/crd";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { nodes, type ApiClient } from "@antrea/kube";
import { eventually, type TestApiServer } from "@antrea/kube/testing";
import { type Listed } from "../at-rest/lister.ts";
import { kubeconfigOf, startChartServer } from "@antrea/chart/testing/chart-server";
import { Workers } from "../allocations/workers.ts";
import { nodeNameOf } from "../allocations/simulated-agent.ts";
import { podCall } from "../cni-client.ts";
import { spawnController } from "../controller.ts";
import { type Memory } from "../daemon.ts";
import { withoutRules } from "../definitions.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { inParallel } from "../in-parallel.ts";
import { ApiServerMeter } from "../meter.ts";
import { NodeUnderTest } from "../node-under-test.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { isReady } from "../readyz.ts";
import { comparison, figure, type Result } from "../result.ts";
import { inTurn, seededRandom } from "../statistics.ts";

const allocationCount = 100_000;
const nodeCount = 400;
const pool = "bench";
// 172.16.0.0/15: 131,072 addresses, three quarters of them allocated.
const poolBase = 0xac10_0000;
const poolSize = 1 << 17;
const rounds = 3;
const readyLimitMs = 120_000;
const quietMs = 5_000;
const podCount = 10;
const controllerPort = 10_349;

/**
 * The cost of 100,000 allocations at the start of the controller, and for the agent of one Node that uses their pool.
 */
export async function allocationsAtRest(): Promise<readonly Result[]> {
    await using server = await startChartServer();
    await server.apply(withoutRules(customResourceDefinitions()));
    const { api } = server.clients();
    await createPool(api);
    const begin = performance.now();
    await createAllocations(server);
    const filled = (performance.now() - begin) / 1000;
    return [
        figure({ id: "claims-at-rest-fill", what: `${allocationCount} allocations created`, value: filled, unit: "s" }),
        ...(await controllerStart(server)),
        ...(await agentMemory(server)),
    ];
}

async function createPool(api: ApiClient): Promise<void> {
    const range = { cidr: "172.16.0.0/15", gateway: "172.17.255.254", prefixLength: 15 };
    await api.create(ipPools, { metadata: { name: pool }, spec: { ipVersion: 4, ipRanges: [range] } });
    await inParallel(nodeCount, 32, (index) => {
        const podCIDRs = [`10.${index >> 8}.${index & 255}.0/24`, `fd00:10:0:${index.toString(16)}::/64`];
        return api.create(nodes, {
            metadata: { name: nodeNameOf(index) },
            spec: { podCIDR: podCIDRs[0] ?? "", podCIDRs },
        });
    });
}

async function createAllocations(server: TestApiServer): Promise<void> {
    await using workers = new Workers({ meter: new ApiServerMeter(server), server });
    const random = seededRandom(1);
    const addresses = Array.from({ length: poolSize - 4 }, (_, index) => ({
        value: poolBase + 1 + index,
        at: random(),
    }));
    const claimed = addresses.sort((one, other) => one.at - other.at).slice(0, allocationCount);
    await workers.fill(
        pool,
        claimed.map(({ value }) => value),
        nodeCount,
    );
}

/** The time until the controller's process is ready, against a plain list of all allocations. */
async function controllerStart(server: TestApiServer): Promise<readonly Result[]> {
    const kubeconfig = await kubeconfigOf(server, "antrea-controller");
    const pairs = { ours: [] as number[], peer: [] as number[] };
    const { api } = server.clients();
    const usageSeconds: number[] = [];
    const memory: Memory[] = [];
    for (let round = 0; round < rounds; round++) {
        await inTurn(
            round,
            async () => {
                await api.patch(
                    ipPools,
                    { name: pool },
                    { type: "merge", body: { status: null } },
                    { subresource: "status" },
                );
                await using controller = spawnController(`at-rest-${round}`, kubeconfig, { AntreaIPAM: true });
                const begin = performance.now();
                await controller.ready(() => isReady(controllerPort), readyLimitMs);
                pairs.ours.push((performance.now() - begin) / 1000);
                await eventually(() => hasUsage(api), { timeoutMs: readyLimitMs, what: "the pool's usage" });
                usageSeconds.push((performance.now() - begin) / 1000);
                await sleep(quietMs);
                memory.push(controller.memory());
            },
            async () => {
                await using lister = new Helper("at-rest/lister.ts");
                const { count, seconds } = await lister.ask<Listed>("list", { kubeconfig });
                if (count !== allocationCount)
                    throw new BenchError("WRONG_RESULT", "environment", `${count} allocations listed`);
                pairs.peer.push(seconds);
            },
        );
    }
    const most = (of: (one: Memory) => number): number => Math.max(...memory.map(of));
    const what = `${allocationCount} allocations: antrea-controller`;
    return [
        comparison({
            id: "claims-at-rest-start",
            what: `${what}, from its start as a process until it is ready`,
            peer: "a list of all allocations in pages, keeping nothing",
            pairs,
            unit: "s",
            maxRatio: 1.3,
        }),
        figure({
            id: "claims-at-rest-usage",
            what: `${what}, until the pool's usage is written as well`,
            value: Math.max(...usageSeconds),
            unit: "s",
        }),
        figure({
            id: "claims-at-rest-controller",
            what: `${what}, resident memory`,
            value: most(({ now }) => now),
            unit: "MiB",
            max: 300,
        }),
        figure({
            id: "claims-at-rest-controller-peak",
            what: `${what}, highest resident memory`,
            value: most(({ peak }) => peak),
            unit: "MiB",
        }),
    ];
}

async function hasUsage(api: ApiClient): Promise<boolean> {
    const { status } = await api.get(ipPools, { name: pool });
    return status?.usage?.used === allocationCount;
}

/** The agent of one more Node, whose Pods get addresses of the pool. */
async function agentMemory(server: TestApiServer): Promise<readonly Result[]> {
    await using node = await NodeUnderTest.start({ pools: true, server });
    await node.createPodNamespace();
    using namespaces = new PodNamespaces();
    const names = Array.from({ length: podCount }, (_, index) => `bench-${index}`);
    const uids = await node.createPods(names, { [poolsAnnotation]: pool });
    const paths = namespaces.add(...names);
    const calls = names.map((_, index) => podCall(index, paths[index] ?? "", uids[index] ?? ""));
    await Promise.all(calls.map((call) => node.cni.call("CmdAdd", call)));
    await sleep(quietMs);
    const { now } = node.memory().agent;
    await Promise.all(calls.map((call) => node.cni.call("CmdDel", call)));
    await namespaces.delete(...names);
    return [
        figure({
            id: "claims-at-rest-agent",
            what: `${allocationCount} allocations: antrea-agent with ${podCount} Pods of their pool, resident memory`,
            value: now,
            unit: "MiB",
            max: 120,
        }),
    ];
}
