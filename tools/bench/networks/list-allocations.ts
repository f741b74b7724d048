// The allocations of a burst by the design with one object per pool: addresses alone, of one Node.
import { isErrorOf } from "@antrea/errors";
import { openListAgent } from "../allocations/list-agent.ts";
import { type SimulatedAgent } from "../allocations/simulated-agent.ts";
import { BenchError } from "../error.ts";
import { serveBench } from "../helper.ts";

/** What is claimed: an address of each pool for each Pod. */
export interface ListAllocationsInput {
    readonly kubeconfig: string;
    readonly pools: readonly string[];
    readonly pods: number;
    /** Index of the round: each round has other Pods. */
    readonly round: number;
}

/** What that took. */
export interface ListAllocations {
    readonly seconds: number;
    /** Updates that another one had overtaken. */
    readonly conflicts: number;
    /** Allocations that gave up after a row of conflicts, and were repeated. */
    readonly failures: number;
}

/** All allocations begin at once; one that gives up is repeated at once, as a container runtime repeats an ADD later. */
async function claimAll({ kubeconfig, pools, pods, round }: ListAllocationsInput): Promise<ListAllocations> {
    await using stack = new AsyncDisposableStack();
    const agents: SimulatedAgent[] = [];
    for (const [agent, pool] of pools.entries()) {
        agents.push(stack.use(await openListAgent({ side: "list", kubeconfig, agent, round, pool })));
    }
    let failures = 0;
    const claim = async (agent: SimulatedAgent, pod: number): Promise<void> => {
        for (;;) {
            try {
                return await agent.claim(pod);
            } catch (error) {
                if (!isErrorOf(BenchError, error, "CALL_FAILED") || error.fault === "internal") throw error;
                failures += 1;
            }
        }
    };
    const begin = performance.now();
    await Promise.all(agents.flatMap((agent) => Array.from({ length: pods }, (_, pod) => claim(agent, pod))));
    const seconds = (performance.now() - begin) / 1000;
    const conflicts = await Promise.all(agents.map((agent) => agent.conflicts()));
    return { seconds, conflicts: conflicts.reduce((sum, one) => sum + one, 0), failures };
}

serveBench({ claimAll });
