import { setTimeout as sleep } from "node:timers/promises";
import { ipPools, poolsAnnotation } from "@antrea/crd";
import { namespaces as namespaceResource, pods, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { agentKubeconfig, startChartServer } from "@antrea/chart/testing/chart-server";
import { heldGateways } from "../allocations-of-pods.ts";
import { podCall, timed } from "../cni-client.ts";
import { startController } from "../controller.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { ApiServerMeter, spent } from "../meter.ts";
import { ownNode, ownPodCidrs, PeerNode } from "../peers/peer-node.ts";
import { ownAddresses } from "../peers/simulated-peers.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { type ClaimantInput, type AllocationsInput } from "./claimant.ts";

const podNamespace = "bench";
const claimantNode = "growth-claimant";
const gates = { AntreaIPAM: true };
const allocationCount = 200;
const addCount = 30;
const warmUp = 5;
const quietMs = 3_000;
const usageLimitMs = 400_000;
const pollMs = 500;

/** The measurements at one point of the curves. */
export interface Shown {
    /** Milliseconds of the allocations of a simulated agent, one at a time. */
    readonly allocations: readonly number[];
    /** Bytes in etcd's log for an allocation and its release. */
    readonly written: number;
    /** Milliseconds of the ADDs of a complete agent. */
    readonly adds: readonly number[];
    /** Resident memory of agent and controller, in MiB. */
    readonly agentMib: number;
    readonly controllerMib: number;
}

/** A real API server for points on curves: the objects are created, then agent and controller are started. */
export class GrowthServer implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    #pods = 0;
    #places = 0;

    private constructor(server: TestApiServer) {
        this.server = server;
        this.api = server.clients().api;
    }

    static async start(): Promise<GrowthServer> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        await server.addNode(ownNode, { podCidrs: ownPodCidrs, internalIps: ownAddresses });
        const growing = new GrowthServer(server);
        await growing.api.create(namespaceResource, { metadata: { name: podNamespace } });
        stack.move();
        return growing;
    }

    /** Measures with an existing pool, and so many Nodes besides the agent's. */
    async measure(pool: string, otherNodes = 0): Promise<Shown> {
        const { server } = this;
        this.#places += 1;
        await using controller = await startController(`growth-controller-${this.#places}`, server, gates);
        await this.#usageWritten();
        await using node = await PeerNode.start("noEncap", server, gates);
        if (otherNodes > 0) await node.allRoutes(otherNodes);
        await node.agent.ready();
        const adds = await this.#adds(node, pool);
        await using claimant = new Helper("growth/claimant.ts");
        const kubeconfig = await agentKubeconfig(server, claimantNode);
        const input: ClaimantInput = { kubeconfig, nodeName: claimantNode };
        await claimant.ask("open", input);
        const allocations = (count: number): Promise<readonly number[]> =>
            claimant.ask<readonly number[]>("allocations", { pool, count } satisfies AllocationsInput);
        await allocations(warmUp);
        const meter = new ApiServerMeter(server);
        const before = await meter.read();
        const times = await allocations(allocationCount);
        const written = spent(before, await meter.read()).etcdBytes / allocationCount;
        await sleep(quietMs);
        return {
            allocations: times,
            written,
            adds,
            agentMib: node.agent.memory().now,
            controllerMib: controller.memory().now,
        };
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.server[Symbol.asyncDispose]();
    }

    /** Waits until the controller has written the usage of each pool and reserved its gateway, its first tasks. */
    async #usageWritten(): Promise<void> {
        const end = performance.now() + usageLimitMs;
        for (;;) {
            const { items } = await this.api.list(ipPools);
            // No two pools here share a gateway.
            const hasUsage = items.every(({ status }) => status?.usage !== undefined);
            if (hasUsage && (await heldGateways(this.api)) >= items.length) return;
            if (performance.now() > end) {
                throw new BenchError(
                    "NOT_READY",
                    "internal",
                    "a pool's usage is not written, or its gateway not reserved",
                );
            }
            await sleep(pollMs);
        }
    }

    async #adds({ agent }: PeerNode, pool: string): Promise<readonly number[]> {
        using namespaces = new PodNamespaces();
        const [netnsPath = ""] = namespaces.add("growth");
        const times: number[] = [];
        for (let at = -warmUp; at < addCount; at++) {
            const index = this.#pods++;
            const pod = await this.api.create(pods, {
                metadata: { name: `bench-${index}`, namespace: podNamespace, annotations: { [poolsAnnotation]: pool } },
                spec: { nodeName: ownNode, containers: [{ name: "main", image: "example.test/image:1" }] },
            });
            const call = podCall(index, netnsPath, pod.metadata?.uid);
            const ms = await timed(() => agent.cni.call("CmdAdd", call));
            if (at >= 0) times.push(ms);
            await agent.cni.call("CmdDel", call);
            await namespaces.clear();
        }
        await namespaces.delete("growth");
        return times;
    }
}
