import { createKubeClients, Informer, nodes } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
// eslint-disable-next-line @nx/enforce-module-boundaries -- what is measured is the agent's own code, which no library has
import { IpPools } from "../../../apps/agent/src/ip-pools/index.ts";
import { BenchError } from "../error.ts";
import { metricSum } from "../meter.ts";
import { silent } from "../silent.ts";
import { nodeNameOf, podOf, type Place, type SimulatedAgent } from "./simulated-agent.ts";

const claimLimitMs = 60_000;

/**
 * The agent's allocation, built as the agent builds it. Only the Event that says once a Pod how far its address is
 * routed is not written: it goes out beside the claim, and ends with that limit.
 */
export async function openAllocatorAgent(place: Place): Promise<SimulatedAgent> {
    await using stack = new AsyncDisposableStack();
    const never = new AbortController().signal;
    const nodeName = nodeNameOf(place.agent);
    const { api } = stack.use(createKubeClients({ kubeconfig: place.kubeconfig, userAgent: "antrea-agent/0" }));
    const nodeInformer = stack.use(new Informer({ api, logger: silent }, { resource: nodes }));
    nodeInformer.start(never);
    const metrics = new Metrics({ processMetrics: false });
    const pools = stack.use(
        new IpPools({ api, logger: silent, metrics, record: () => undefined, nodes: nodeInformer }, { nodeName }),
    );
    pools.startAllocation(never);
    await Promise.all([pools.book.synced(never), pools.own.synced(never)]);
    const parts = stack.move();
    return {
        claim: async (number) => {
            const { containerId, ...pod } = podOf(place, number);
            const request = {
                pod,
                containerId,
                ifName: "eth0",
                pools: [place.pool],
                fixed: [],
                statefulSet: undefined,
            };
            const claimed = await pools.allocator.claim(request, AbortSignal.timeout(claimLimitMs));
            if (claimed.length !== 1) throw new BenchError("WRONG_RESULT", "internal", `${claimed.length} addresses`);
        },
        conflicts: async () => metricSum(await metrics.text(), "antrea_agent_ipam_claim_conflicts_total"),
        [Symbol.asyncDispose]: () => parts.disposeAsync(),
    };
}
