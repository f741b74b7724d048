import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { type Target } from "../target.ts";
import { Executor } from "./executor.ts";
import { Fuzzer } from "./fuzzer.ts";
import { Mailbox } from "./mailbox.ts";
import { type Order, type Report, type WorkerData } from "./messages.ts";

const leakCheckMs = 5_000;
/** A thread of the engine frees buffers after the collection, so one measurement is not conclusive. */
const againMs = 500;
const leakChecks = 3;
const progressMs = 500;
const maxGrowthBytes = 64 << 20;

/** Main loop of a worker thread: fuzzes its target, or runs single inputs, as ordered. */
export async function serve(target: Target): Promise<void> {
    const mailbox = new Mailbox((workerData as WorkerData).mailbox);
    const executor = new Executor(target, globalThis.antreaProbes);
    const send = (report: Report): void => parentPort?.postMessage(report);
    const seeds = target.seeds().map((seed) => (typeof seed === "string" ? new TextEncoder().encode(seed) : seed));
    parentPort?.on("message", (order: Order) => {
        const work = order.kind === "fuzz" ? fuzz(order) : run(order.input);
        work.catch((error: unknown) => {
            send({ kind: "failed", text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
        });
    });
    send({ kind: "ready" });

    async function run(input: Uint8Array): Promise<void> {
        mailbox.put(input);
        const outcome = await executor.execute(input);
        mailbox.rest();
        send({ kind: "outcome", outcome });
    }

    async function fuzz(order: Extract<Order, { kind: "fuzz" }>): Promise<void> {
        const began = performance.now();
        // The time limit applies to mutations: known inputs are always run.
        let end = Infinity;
        const heap = new HeapWatch();
        const reported = new Set<string>();
        let reportedAt = began;
        const fuzzer: Fuzzer = new Fuzzer(
            {
                target,
                probes: globalThis.antreaProbes,
                executor,
                announce: (input) => mailbox.put(input),
                rest: () => mailbox.rest(),
                added: (input) => send({ kind: "added", input }),
                found: (input, outcome) => {
                    if (!reported.has(outcome.key)) send({ kind: "found", input, outcome });
                    reported.add(outcome.key);
                },
            },
            {
                seed: order.seed,
                guided: order.guided,
                goOn: async (executions) => {
                    const now = performance.now();
                    if (now - reportedAt > progressMs) {
                        send({ kind: "progress", statistics: fuzzer.statistics, milliseconds: now - began });
                        reportedAt = now;
                    }
                    const growth = await heap.growth();
                    if (growth !== undefined && !reported.has("leak")) {
                        reported.add("leak");
                        const text = `${growth} bytes more are held than after the first inputs, ${executions} executions ago`;
                        send({ kind: "found", input: mailbox.input, outcome: { kind: "memory", key: "leak", text } });
                    }
                    return executions < order.executions && now < end;
                },
            },
        );
        await fuzzer.begin(seeds, order.inputs);
        await heap.begin();
        end = performance.now() + order.milliseconds;
        await fuzzer.run();
        const cover = fuzzer.corpus.cover(order.cover);
        send({ kind: "done", statistics: fuzzer.statistics, milliseconds: performance.now() - began, cover });
    }
}

/** Detects whether the heap after garbage collection has grown too much since the beginning. */
class HeapWatch {
    readonly #collect: () => void;
    #first: number | undefined;
    #next = performance.now() + leakCheckMs;
    #tooMuch = 0;

    constructor() {
        setFlagsFromString("--expose-gc");
        this.#collect = runInNewContext("gc") as () => void;
    }

    async begin(): Promise<void> {
        this.#first = await this.#held();
    }

    /** Growth in bytes, if it was too high in each of the last measurements. Measured periodically. */
    async growth(): Promise<number | undefined> {
        if (this.#first === undefined || performance.now() < this.#next) return undefined;
        const growth = (await this.#held()) - this.#first;
        this.#tooMuch = growth > maxGrowthBytes ? this.#tooMuch + 1 : 0;
        this.#next = performance.now() + (this.#tooMuch > 0 ? againMs : leakCheckMs);
        return this.#tooMuch >= leakChecks ? growth : undefined;
    }

    async #held(): Promise<number> {
        this.#collect();
        // External memory of garbage, such as zlib's, is freed in the next event loop iteration.
        await setImmediate();
        this.#collect();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
    }
}
