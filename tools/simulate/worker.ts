import { seededBugs } from "./seeded-bugs/index.ts";
import { shrink } from "./shrink.ts";
import { prepareProcess, run, type RunResult } from "./simulation.ts";

/** A request of the process that distributes seeds. */
export interface Order {
    readonly seed: number;
    readonly steps: number;
    /** Maximum number of runs to shrink a failure. */
    readonly shrinkRuns: number;
    readonly seededBug?: string | undefined;
}

export interface Delivery {
    readonly result: RunResult;
    readonly shrunk: RunResult | undefined;
}

prepareProcess();
// Many failures are part of each seed, and their stack traces are not used.
Error.stackTraceLimit = 0;
process.on("message", ({ seed, steps, shrinkRuns, seededBug: name }: Order) => {
    const work = async (): Promise<void> => {
        const hooks = name === undefined ? undefined : seededBugs[name]?.hooks;
        const result = await run({ seed, steps, hooks });
        const isShrunk = result.violations.length > 0 && shrinkRuns > 0;
        const shrunk = isShrunk ? await shrink(result, { seed, steps, hooks }, shrinkRuns) : undefined;
        process.send?.({ result, shrunk } satisfies Delivery, () => undefined);
    };
    work().catch((error: unknown) => {
        process.stderr.write(`seed ${seed}: ${(error as Error).stack ?? String(error)}\n`);
        process.exit(2);
    });
});
// The process that distributes seeds has ended: no result can be sent.
process.on("disconnect", () => process.exit());
// Without the callback the error of a process that has ended meanwhile would end this one with a message.
process.send?.("ready", () => undefined);
