import { BenchError } from "../error.ts";
import { metricSum } from "../meter.ts";
import { openAgentPools } from "./agent-pools.ts";
import { nodeNameOf, podOf, type Place, type SimulatedAgent } from "./simulated-agent.ts";

const allocationLimitMs = 60_000;

/** The agent's own allocation. */
export async function openAllocatorAgent(place: Place): Promise<SimulatedAgent> {
    const { pools, metrics, ...rest } = await openAgentPools(place.kubeconfig, { nodeName: nodeNameOf(place.agent) });
    return {
        ...rest,
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
            const claimed = await pools.allocator.claim(request, AbortSignal.timeout(allocationLimitMs));
            if (claimed.length !== 1) throw new BenchError("WRONG_RESULT", "internal", `${claimed.length} addresses`);
        },
        conflicts: async () => metricSum(await metrics.text(), "antrea_agent_ipam_claim_conflicts_total"),
    };
}
