import { Worker } from "node:worker_threads";
import { Mailbox } from "./mailbox.ts";
import { type Order, type Report } from "./messages.ts";

/** How a worker's work ended: as it should, with an input that went on too long, or in its death. */
export type Ending =
    { readonly kind: "done" } | { readonly kind: "hang" | "death"; readonly input: Uint8Array; readonly text: string };

const lookMs = 50;
const maxHeapMb = 512;

export interface ThreadOptions {
    /** After which time one input counts as a hang. */
    readonly limitMs: number;
    /** Whether stacks name lines of the sources. The map takes memory when the first stack is read. Default false. */
    readonly sourceMaps?: boolean;
}

/** A worker thread with a target, watched from outside: it is ended when one input takes too long. */
export class Thread {
    readonly #file: string;
    readonly #limitMs: number;

    readonly #sourceMaps: boolean;

    constructor(file: string, options: ThreadOptions) {
        this.#file = file;
        this.#limitMs = options.limitMs;
        this.#sourceMaps = options.sourceMaps ?? false;
    }

    /** Has a fresh worker do this; `hear` gets what it tells and says true when that was the last. */
    async work(order: Order, hear: (report: Report) => boolean): Promise<Ending> {
        const mailbox = new Mailbox();
        const worker = new Worker(this.#file, {
            workerData: { mailbox: mailbox.memory },
            // A main thread's stack, so that what is too deep for the product is too deep here.
            resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, stackSizeMb: 1 },
            execArgv: this.#sourceMaps ? ["--enable-source-maps"] : [],
        });
        const { promise, resolve, reject } = Promise.withResolvers<Ending>();
        worker.on("message", (report: Report) => {
            if (report.kind === "ready") worker.postMessage(order);
            else if (report.kind === "failed") reject(new Error(`the fuzzer failed: ${report.text}`));
            else if (hear(report)) resolve({ kind: "done" });
        });
        worker.on("error", (error) =>
            resolve({ kind: "death", input: mailbox.input, text: error.stack ?? String(error) }),
        );
        worker.on("exit", (code) => resolve({ kind: "death", input: mailbox.input, text: `exit code ${code}` }));
        let turn: number | undefined;
        let since = performance.now();
        const watch = setInterval(() => {
            if (turn !== mailbox.turn || turn === undefined) {
                turn = mailbox.turn;
                since = performance.now();
            } else if (performance.now() - since > this.#limitMs) {
                resolve({ kind: "hang", input: mailbox.input, text: `no end after ${this.#limitMs} ms` });
            }
        }, lookMs);
        try {
            return await promise;
        } finally {
            clearInterval(watch);
            await worker.terminate();
        }
    }
}
