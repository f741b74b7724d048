import { BenchError } from "../error.ts";
import { comparison, figure, type Result } from "../result.ts";
import { type Pairs } from "../statistics.ts";
import { type Run } from "./workers.ts";
import {
    agentCpuOfOne,
    apiCpuOfOne,
    failureOf,
    noFailures,
    p50,
    p99,
    percentOf,
    watchedOfOne,
    writtenOfOne,
} from "./run-figures.ts";
import { type Side } from "./simulated-agent.ts";
import { type AllocationsStage } from "./stage.ts";

const rounds = 3;
const roundSeconds = 2.5;
const sides: readonly Side[] = ["allocations", "creates", "list"];

const creates = "bare creates of objects of the same kind and size";
const list = "a list in the status of one object";

/**
 * Allocations of so many concurrent agents, against plain creates and the design with one object per pool, round by
 * round.
 */
export async function sideBySide(stage: AllocationsStage, agents: number): Promise<readonly Result[]> {
    const pool = await stage.addPool();
    const runs: Readonly<Record<Side, Run[]>> = { allocations: [], creates: [], list: [] };
    for (let round = 0; round < rounds; round++) {
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
            runs[side].push(await stage.workers.round(side, agents, pool.name, roundSeconds));
        }
    }
    refuseFailures(runs.creates);
    const pairs = (peer: Side, of: (run: Run) => number): Pairs => ({
        ours: runs.allocations.map(of),
        peer: runs[peer].map(of),
    });
    const atOnce = `${agents} ${agents === 1 ? "agent" : "agents"}`;
    const against = (id: string, what: string, unit: string, of: (run: Run) => number): Result =>
        comparison({
            id: `claims-${id}-${agents}`,
            what: `${atOnce}: ${what}`,
            peer: creates,
            unit,
            pairs: pairs("creates", of),
        });
    const againstList = (id: string, what: string, unit: string, of: (run: Run) => number): Result =>
        comparison({
            id: `claims-${id}-list-${agents}`,
            what: `${atOnce}: ${what}, against the list`,
            peer: list,
            unit,
            pairs: pairs("list", of),
            ...(id === "rate" && agents === 10 && { minRatio: 20 }),
        });
    return [
        comparison({
            id: `claims-rate-${agents}`,
            what: `${atOnce}: allocations`,
            peer: creates,
            unit: "/s",
            pairs: pairs("creates", perSecond),
            minRatio: 0.9,
        }),
        againstList("rate", "allocations", "/s", perSecond),
        against("p50", "an allocation, p50", "ms", p50),
        against("p99", "an allocation, p99", "ms", p99),
        against("cpu", "processor time of kube-apiserver for an allocation", "ms", apiCpuOfOne),
        againstList("cpu", "processor time of kube-apiserver for an allocation", "ms", apiCpuOfOne),
        against("agent-cpu", "processor time of the agents for an allocation", "ms", agentCpuOfOne),
        against("written", "bytes in etcd's log for an allocation", "B", writtenOfOne),
        againstList("written", "bytes in etcd's log for an allocation", "B", writtenOfOne),
        against("watched", "bytes of watch events for an allocation", "B", watchedOfOne),
        figure({
            id: `claims-conflicts-${agents}`,
            what: `${atOnce}: creates that met another's allocation, of 100 allocations`,
            value: percentOf(runs.allocations, (run) => run.conflicts),
            unit: "%",
        }),
        noFailures(`claims-failures-${agents}`, `${atOnce}: allocations that failed`, runs.allocations),
        figure({
            id: `claims-failures-list-${agents}`,
            what: `${atOnce}: of the list design, allocations that failed`,
            value: percentOf(runs.list, (run) => run.failures),
            unit: "%",
        }),
    ];
}

function perSecond(run: Run): number {
    return run.perSecond;
}

// The baseline must be valid, or the ratio is meaningless.
function refuseFailures(runs: readonly Run[]): void {
    const failure = failureOf(runs);
    if (failure !== undefined) throw new BenchError("CALL_FAILED", "environment", `a bare create failed: ${failure}`);
}
