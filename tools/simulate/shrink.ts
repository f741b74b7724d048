import { run, type RunOptions, type RunResult } from "./simulation.ts";

/**
 * Omits actions as long as the same invariant is still violated (delta debugging), within that many runs. Returns the
 * result of the shortest history.
 */
export async function shrink(failed: RunResult, options: RunOptions, maxRuns: number): Promise<RunResult> {
    const invariant = failed.violations[0]?.invariant;
    let best = failed;
    let runs = 0;
    const tries = async (only: readonly number[]): Promise<boolean> => {
        runs += 1;
        const result = await run({ ...options, only });
        if (result.violations[0]?.invariant !== invariant) return false;
        best = { ...result, actions: only };
        return true;
    };
    let parts = 2;
    while (best.actions.length > 1 && runs < maxRuns) {
        const { actions } = best;
        const size = Math.ceil(actions.length / parts);
        let isShorter = false;
        for (let from = 0; from < actions.length && runs < maxRuns && !isShorter; from += size) {
            const rest = actions.filter((_, at) => at < from || at >= from + size);
            if (rest.length > 0) isShorter = await tries(rest);
        }
        if (isShorter) parts = Math.max(parts - 1, 2);
        else if (size === 1) break;
        else parts = Math.min(parts * 2, actions.length);
    }
    return best;
}
