import { createKubeClients, Informer, nodes } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
import { IpPools, type IpPoolsOptions } from "@antrea/agent/features/ip-pools";
import { silent } from "../silent.ts";

/** The allocation of one Node's agent, with its own connections and watches. */
export interface AgentPools extends AsyncDisposable {
    readonly pools: IpPools;
    readonly metrics: Metrics;
}

/**
 * The agent's allocation, built as in the agent; its caches are synced when this resolves. Only the Event about the
 * routing range of a Pod's address is not written: it is sent concurrently with the allocation.
 */
export async function openAgentPools(kubeconfig: string, options: IpPoolsOptions): Promise<AgentPools> {
    await using stack = new AsyncDisposableStack();
    const never = new AbortController().signal;
    const { api } = stack.use(createKubeClients({ kubeconfig, userAgent: "antrea-agent/0" }));
    const nodeInformer = stack.use(new Informer({ api, logger: silent }, { resource: nodes }));
    nodeInformer.start(never);
    const metrics = new Metrics({ processMetrics: false });
    const components = { api, logger: silent, metrics, record: () => undefined, nodes: nodeInformer };
    const pools = stack.use(new IpPools(components, options));
    pools.startAllocation(never);
    await pools.synced(never);
    const parts = stack.move();
    return { pools, metrics, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}
