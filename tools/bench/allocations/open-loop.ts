import { figure, type Result } from "../result.ts";
import { quantile } from "../statistics.ts";
import { type Run } from "./workers.ts";
import { noFailures } from "./run-figures.ts";
import { type Side } from "./simulated-agent.ts";
import { type AllocationsStage } from "./stage.ts";

const agents = 100;
const perSecond = 300;
const seconds = 10;

/** Latency of an allocation at a steady rate of starts, independent of the duration of others. */
export async function openLoop(stage: AllocationsStage): Promise<readonly Result[]> {
    const pool = await stage.addPool();
    const run = async (side: Side): Promise<Run> => {
        await stage.workers.open(side, agents, pool.name);
        const made = await stage.workers.openLoop({ perSecond, seconds });
        await stage.workers.close();
        return made;
    };
    const allocations = await run("allocations");
    const creates = await run("creates");
    const what = `${perSecond} allocations a second of ${agents} agents, open loop`;
    const row = (id: string, share: number, of: Run, max?: number): Result =>
        figure({
            id: `claims-open-${id}`,
            what: `${what}: ${of === creates ? "a bare create" : "an allocation"}, p${100 * share}`,
            value: quantile(of.latencies, share),
            unit: "ms",
            ...(max !== undefined && { max }),
        });
    return [
        row("p50", 0.5, allocations),
        row("p99", 0.99, allocations, 100),
        noFailures("claims-open-failures", `${what}: allocations that failed`, [allocations]),
        row("p50-creates", 0.5, creates),
        row("p99-creates", 0.99, creates),
    ];
}
