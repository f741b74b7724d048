import { messageOf } from "@antrea/errors";
import { connect, TestPoolAgent } from "./test-agent.ts";

/** The work of a worker: its agents claim addresses for these Pods, some at a time each. */
export interface WorkerJob {
    readonly kubeconfig: string;
    readonly pool: string;
    /** Pods by the Node whose agent claims for them. */
    readonly pods: Readonly<Record<string, readonly string[]>>;
    readonly parallel: number;
    /** Distinguishes the sandboxes of one try from those of the next. */
    readonly sandbox: string;
}

export interface WorkerResult {
    readonly allocations: readonly { readonly pod: string; readonly ip: string; readonly ms: number }[];
    readonly failures: readonly string[];
    readonly conflicts: number;
    readonly relists: number;
    readonly blockViews: number;
}

/** A process with agents in it, each with its own connections, views and caches. Started by WorkerPool. */
async function work(job: WorkerJob): Promise<WorkerResult> {
    const { kubeconfig, pool, parallel, pods, sandbox } = job;
    const allocations: { pod: string; ip: string; ms: number }[] = [];
    const failures: string[] = [];
    const agents = Object.keys(pods).map((nodeName) => {
        return new TestPoolAgent({ nodeName, ...connect(kubeconfig, nodeName) }).start("allocation");
    });
    await Promise.all(agents.map(({ pools }) => pools.synced(AbortSignal.timeout(120_000))));
    const claimAll = async (agent: TestPoolAgent): Promise<void> => {
        const left = [...(pods[agent.nodeName] ?? [])];
        const claimNext = async (): Promise<void> => {
            for (let pod = left.shift(); pod !== undefined; pod = left.shift()) {
                const began = performance.now();
                try {
                    const [ip = ""] = await agent.claim(pod, { pools: [pool], containerId: `c-${pod}-${sandbox}` });
                    allocations.push({ pod, ip, ms: performance.now() - began });
                } catch (error) {
                    failures.push(`${pod}: ${messageOf(error)}`);
                }
            }
        };
        await Promise.all(Array.from({ length: parallel }, claimNext));
    };
    await Promise.all(agents.map(claimAll));
    const sum = async (name: string): Promise<number> =>
        (await Promise.all(agents.map((agent) => agent.metric(`antrea_agent_ipam_${name}`)))).reduce(
            (a, b) => a + b,
            0,
        );
    const result = {
        allocations,
        failures,
        conflicts: await sum("claim_conflicts_total"),
        relists: await sum("pool_relists_total"),
        blockViews: await sum("block_views"),
    };
    await Promise.all(agents.map((agent) => agent.kill()));
    return result;
}

process.on("disconnect", () => process.exit());
process.on("message", (job) => {
    work(job as WorkerJob).then(
        (result) => process.send?.(result),
        (error: unknown) => {
            console.error(error);
            process.exit(1);
        },
    );
});
