import { ipAllocations } from "@antrea/crd";
import { comparison, type Result } from "../result.ts";
import { type Run } from "./workers.ts";
import { blocksOfPool } from "./pools.ts";
import { apiCpuOfOne, noFailures, p50 } from "./run-figures.ts";
import { type AllocationsStage } from "./stage.ts";

const claiming = 10;
const watching = 1_000;
const roundSeconds = 2.5;
const flat = 1.25;

/** Whether an allocation costs the same while many idle agents watch. */
export async function watchingAgents(stage: AllocationsStage): Promise<readonly Result[]> {
    const { workers, api } = stage;
    const pool = await stage.addPool();
    const alone: Run[] = [];
    const watched: Run[] = [];
    const round = (): Promise<Run> => workers.round("allocations", claiming, pool.name, roundSeconds);
    alone.push(await round());
    const { resourceVersion } = await api.list(ipAllocations, { fieldSelector: "spec.block=" });
    await workers.watch(watching, blocksOfPool(pool), resourceVersion);
    watched.push(await round(), await round());
    await workers.unwatch();
    alone.push(await round());

    const what = `${claiming} agents claim, ${watching} more watch`;
    const row = (id: string, figure: string, unit: string, of: (run: Run) => number): Result =>
        comparison({
            id: `claims-watched-${id}`,
            what: `${what}: ${figure}`,
            peer: "the same without more agents",
            unit,
            maxRatio: flat,
            pairs: { ours: watched.map(of), peer: alone.map(of) },
        });
    return [
        row("p50", "an allocation, p50", "ms", p50),
        row("cpu", "processor time of kube-apiserver", "ms", apiCpuOfOne),
        noFailures("claims-watched-failures", `${what}: allocations that failed`, watched),
    ];
}
