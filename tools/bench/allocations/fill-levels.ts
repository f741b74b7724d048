import { comparison, typical, type Result } from "../result.ts";
import { seededRandom } from "../statistics.ts";
import { type Run } from "./workers.ts";
import { poolSize, type StagePool } from "./pools.ts";
import { apiCpuOfOne, noFailures, p50 } from "./run-figures.ts";
import { type AllocationsStage } from "./stage.ts";

const agents = 10;
const rounds = 3;
/** Including the warm-up, all rounds together allocate 5 % of a pool. */
const allocationsOfRound = 220;
const flat = 1.25;
const otherNodes = 100;

/**
 * Whether an allocation costs the same in an empty, a half full and a nearly full pool; the three pools are used in
 * turn.
 */
export async function fillLevels(stage: AllocationsStage): Promise<readonly Result[]> {
    const empty = { ...(await stage.addPool()), runs: [] as Run[] };
    const half = { ...(await filledPool(stage, 0.45)), runs: [] as Run[] };
    const full = { ...(await filledPool(stage, 0.9)), runs: [] as Run[] };
    const pools = [empty, half, full];
    for (let round = 0; round < rounds; round++) {
        for (const pool of round % 2 === 0 ? pools : pools.toReversed()) {
            await stage.workers.open("allocations", agents, pool.name);
            pool.runs.push(await stage.workers.closedLoop({ allocations: allocationsOfRound }));
            await stage.workers.close();
        }
    }
    const row = (id: string, what: string, unit: string, pool: typeof full, of: (run: Run) => number): Result =>
        comparison({
            id,
            what,
            unit,
            maxRatio: flat,
            peer: "the same in an empty pool",
            pairs: { ours: pool.runs.map(of), peer: empty.runs.map(of) },
        });
    const lists = (id: string, what: string, { runs }: typeof full): Result =>
        typical({
            id: `claims-${id}-lists`,
            unit: "lists",
            what: `${agents} agents, ${what}: lists of allocations that ${allocationsOfRound} allocations took`,
            samples: runs.map(({ cost }) => cost.allocationLists),
        });
    const levels = [
        { id: "half", what: "pool 45 to 50 % full", pool: half },
        { id: "full", what: "pool 90 to 95 % full", pool: full },
    ];
    const ofLevels = levels.flatMap(({ id, what, pool }) => [
        row(`claims-${id}-p50`, `${agents} agents, ${what}: an allocation, p50`, "ms", pool, p50),
        row(`claims-${id}-cpu`, `${agents} agents, ${what}: processor time of kube-apiserver`, "ms", pool, apiCpuOfOne),
        noFailures(`claims-${id}-failures`, `${agents} agents, ${what}: allocations that failed`, pool.runs),
        lists(id, what, pool),
    ]);
    return [lists("empty", "empty pool", empty), ...ofLevels];
}

/** A pool with a share of its addresses allocated, evenly distributed. */
async function filledPool(stage: AllocationsStage, share: number): Promise<StagePool> {
    const pool = await stage.addPool();
    const random = seededRandom(1);
    const addresses = Array.from({ length: poolSize }, (_, index) => ({ value: pool.first + index, at: random() }));
    const claimed = addresses.sort((one, other) => one.at - other.at).slice(0, Math.floor(share * poolSize));
    await stage.workers.fill(
        pool.name,
        claimed.map(({ value }) => value),
        otherNodes,
    );
    return pool;
}
