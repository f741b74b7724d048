import { plants } from "./plants/index.ts";
import { shrink } from "./shrink.ts";
import { prepareProcess, run, type RunResult } from "./simulation.ts";

/** What the process that hands out seeds asks for. */
export interface Order {
    readonly seed: number;
    readonly steps: number;
    /** Runs that a failure may be shrunk by. */
    readonly shrinkRuns: number;
    readonly plant?: string | undefined;
}

export interface Delivery {
    readonly result: RunResult;
    readonly shrunk: RunResult | undefined;
}

prepareProcess();
// Many failures are part of each seed, and nobody reads where they came from.
Error.stackTraceLimit = 0;
process.on("message", ({ seed, steps, shrinkRuns, plant: name }: Order) => {
    const work = async (): Promise<void> => {
        const plant = name === undefined ? undefined : plants[name]?.plant;
        const result = await run({ seed, steps, plant });
        const isShrunk = result.violations.length > 0 && shrinkRuns > 0;
        const shrunk = isShrunk ? await shrink(result, { seed, steps, plant }, shrinkRuns) : undefined;
        process.send?.({ result, shrunk } satisfies Delivery, () => undefined);
    };
    work().catch((error: unknown) => {
        process.stderr.write(`seed ${seed}: ${(error as Error).stack ?? String(error)}\n`);
        process.exit(2);
    });
});
// The process that hands out seeds is done, or has ended: nobody waits for a result, and none can be sent.
process.on("disconnect", () => process.exit());
process.send?.("ready");
