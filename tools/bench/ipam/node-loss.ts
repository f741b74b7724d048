import { setTimeout as sleep } from "node:timers/promises";
import { poolsAnnotation } from "@antrea/crd";
import { nodes, pods, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { allocationsOfPods } from "../allocations-of-pods.ts";
import { antreaConfig, podCall } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { NodeUnderTest } from "../node-under-test.ts";
import { shimPath } from "../paths.ts";
import { execPlugin, pluginEnvironment, startPlugin } from "../plugin.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { pool } from "./allocator.ts";

const podNamespace = "bench";
const nodeName = "bench-node";
const limitMs = 200_000;
const pollMs = 100;

/** How long the addresses of vanished containers stay allocated, in seconds, and how many stay for good. */
export interface Freed {
    readonly seconds: number;
    readonly left: number;
}

/**
 * A complete agent and controller whose Pods vanish without a DEL; which of them releases the addresses depends on
 * what follows.
 */
export interface AgentLoss {
    /** The runtime calls GC without valid attachments. */
    readonly gc: Freed;
    /** Without any call: the agent's periodic reconciliation. */
    readonly alone: Freed;
    /** The agent is lost with its Node, which gets the out-of-service taint: the controller. */
    readonly outOfService: Freed;
}

/** Makes so many Pods with addresses of the pool vanish, three times. */
export async function loseAgentPods(server: TestApiServer, count: number, first: number): Promise<AgentLoss> {
    const node = await NodeUnderTest.start({ pools: true, server });
    await using stack = new AsyncDisposableStack();
    stack.use(node);
    await node.createPodNamespace();
    using namespaces = new PodNamespaces();
    const { api } = node;
    const vanish = async (from: number, before?: () => Promise<void>): Promise<void> => {
        const names = await addPods(node, namespaces, count, from);
        await before?.();
        await namespaces.delete(...names);
        const gone = names.map((_, at) => ({ namespace: podNamespace, name: podName(from + at) }));
        await Promise.all(gone.map((pod) => api.delete(pods, pod, { gracePeriodSeconds: 0 })));
    };
    await vanish(first);
    const gc = await untilFree(api, async () => {
        const env = { ...pluginEnvironment("GC", podCall(0, "")), ANTREA_CNI_SOCKET: node.cniSocket };
        const config = { ...(JSON.parse(antreaConfig) as object), "cni.dev/valid-attachments": [] };
        const { code, output } = await execPlugin(shimPath, env, JSON.stringify(config));
        if (code !== 0) throw new BenchError("CALL_FAILED", "environment", `GC of antrea-cni: ${output}`);
    });
    await vanish(first + count);
    const alone = await untilFree(api, async () => undefined);
    await vanish(first + 2 * count, () => node.loseAgent());
    const outOfService = await untilFree(api, async () => {
        const taint = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
        await api.patch(nodes, { name: nodeName }, { type: "merge", body: { spec: { taints: [taint] } } });
    });
    return { gc, alone, outOfService };
}

/** Pods, each added by one run of `antrea-cni`; the names of their namespaces. */
async function addPods(
    node: NodeUnderTest,
    namespaces: PodNamespaces,
    count: number,
    first: number,
): Promise<readonly string[]> {
    const names = Array.from({ length: count }, (_, at) => `lost-${first + at}`);
    const paths = namespaces.add(...names);
    const uids = await node.createPods(
        names.map((_, at) => podName(first + at)),
        { [poolsAnnotation]: pool },
    );
    await Promise.all(
        names.map((_, at) => {
            const call = podCall(first + at, paths[at] ?? "", uids[at] ?? "");
            const env = { ...pluginEnvironment("ADD", call), ANTREA_CNI_SOCKET: node.cniSocket };
            return startPlugin(shimPath, env, antreaConfig);
        }),
    );
    return names;
}

function podName(index: number): string {
    return `bench-${index}`;
}

/** From the start of the work until no address is allocated to a Pod. */
async function untilFree(api: ApiClient, work: () => Promise<void>): Promise<Freed> {
    const begin = performance.now();
    await work();
    for (;;) {
        const left = (await allocationsOfPods(api)).length;
        const passed = performance.now() - begin;
        if (left === 0 || passed > limitMs) return { seconds: passed / 1000, left };
        await sleep(pollMs);
    }
}
