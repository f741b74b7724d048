import { Worker } from "node:worker_threads";
import { FuzzError } from "../error.ts";
import { Mailbox } from "./mailbox.ts";
import { type Order, type Report } from "./messages.ts";

/** How a worker ended: normally, with an input that exceeded the time limit, or by crashing. */
export type Ending =
    { readonly kind: "done" } | { readonly kind: "hang" | "death"; readonly input: Uint8Array; readonly text: string };

const pollMs = 50;
const maxHeapMb = 512;
/** An input that waits takes no CPU time: it hangs after so many times the limit. */
const waits = 30;

export interface ThreadOptions {
    /** Limit of one input in milliseconds of CPU time, after which it counts as a hang. */
    readonly limitMs: number;
    /** How many worker threads this process has at once, which share its CPU time. Default 1. */
    readonly workers?: number;
    /**
     * Whether stack traces refer to source lines. The source map is loaded with the first stack trace. Default false.
     */
    readonly sourceMaps?: boolean;
}

/** A supervised worker thread with a target: it is terminated when one input exceeds the time limit. */
export class Thread {
    readonly #file: string;
    readonly #limitMs: number;
    readonly #workers: number;
    readonly #sourceMaps: boolean;

    constructor(file: string, options: ThreadOptions) {
        this.#file = file;
        this.#limitMs = options.limitMs;
        this.#workers = options.workers ?? 1;
        this.#sourceMaps = options.sourceMaps ?? false;
    }

    /** Runs an order in a new worker; `hear` receives its messages and returns true for the last one. */
    async work(order: Order, hear: (report: Report) => boolean): Promise<Ending> {
        const mailbox = new Mailbox();
        const worker = new Worker(this.#file, {
            workerData: { mailbox: mailbox.memory },
            // The stack size of a main thread, so that the product overflows here at the same depth.
            resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, stackSizeMb: 1 },
            execArgv: this.#sourceMaps ? ["--enable-source-maps"] : [],
        });
        const { promise, resolve, reject } = Promise.withResolvers<Ending>();
        worker.on("message", (report: Report) => {
            if (report.kind === "ready") worker.postMessage(order);
            else if (report.kind === "failed")
                reject(new FuzzError("WORKER_FAILED", "internal", `the fuzzer failed: ${report.text}`));
            else if (hear(report)) resolve({ kind: "done" });
        });
        worker.on("error", (error) =>
            resolve({ kind: "death", input: mailbox.input, text: error.stack ?? String(error) }),
        );
        worker.on("exit", (code) => resolve({ kind: "death", input: mailbox.input, text: `exit code ${code}` }));
        let turn: number | undefined;
        let since = performance.now();
        let before = process.cpuUsage();
        const watch = setInterval(() => {
            if (turn !== mailbox.turn || turn === undefined) {
                turn = mailbox.turn;
                since = performance.now();
                before = process.cpuUsage();
                return;
            }
            // The time of a clock would be that of others on a busy machine.
            const { user, system } = process.cpuUsage(before);
            const takenMs = (user + system) / 1_000 / this.#workers;
            const hang = (text: string): void => resolve({ kind: "hang", input: mailbox.input, text });
            if (takenMs > this.#limitMs) hang(`no end after ${this.#limitMs} ms`);
            else if (performance.now() - since > this.#limitMs * waits) {
                hang(`waits, with no end after ${this.#limitMs * waits} ms`);
            }
        }, pollMs);
        try {
            return await promise;
        } finally {
            clearInterval(watch);
            await worker.terminate();
        }
    }
}
