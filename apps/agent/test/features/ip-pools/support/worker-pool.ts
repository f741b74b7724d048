import { fork, type ChildProcess } from "node:child_process";
import { type WorkerJob, type WorkerResult } from "./worker.ts";

const script = new URL("./worker.ts", import.meta.url).pathname;

/** Processes that run agents. */
export class WorkerPool implements Disposable {
    #workers: readonly ChildProcess[];

    constructor(size: number) {
        this.#workers = Array.from({ length: size }, start);
    }

    /** Deals the Nodes of the job out among the processes; resolves when all are done, or died. */
    async run(job: WorkerJob): Promise<WorkerResult> {
        const nodes = Object.entries(job.pods);
        const size = this.#workers.length;
        const results = await Promise.all(
            this.#workers.map((worker, at) => {
                const pods = Object.fromEntries(nodes.filter((_, index) => index % size === at));
                return runOn(worker, { ...job, pods });
            }),
        );
        const total = (part: "conflicts" | "relists" | "blockViews"): number =>
            results.reduce((sum, result) => sum + result[part], 0);
        return {
            allocations: results.flatMap(({ allocations }) => allocations),
            failures: results.flatMap(({ failures }) => failures),
            conflicts: total("conflicts"),
            relists: total("relists"),
            blockViews: total("blockViews"),
        };
    }

    /** kill -9 of all processes, and others in their place. */
    kill(): void {
        for (const worker of this.#workers) worker.kill("SIGKILL");
        this.#workers = this.#workers.map(start);
    }

    [Symbol.dispose](): void {
        for (const worker of this.#workers) worker.kill("SIGKILL");
    }
}

function start(): ChildProcess {
    return fork(script, { execArgv: ["--no-warnings"], stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

const died: WorkerResult = { allocations: [], failures: [], conflicts: 0, relists: 0, blockViews: 0 };

function runOn(worker: ChildProcess, job: WorkerJob): Promise<WorkerResult> {
    return new Promise((resolve) => {
        worker.once("message", (result) => resolve(result as WorkerResult));
        worker.once("exit", () => resolve(died));
        worker.send(job);
    });
}

/** Pods dealt out among Nodes: `node-3` has `pod-3-0`, `pod-3-1` and so on. */
export function podsOnNodes(nodes: number, pods: number): Readonly<Record<string, readonly string[]>> {
    const dealt: Record<string, string[]> = {};
    for (let at = 0; at < pods; at += 1) {
        const node = at % nodes;
        (dealt[`node-${node}`] ??= []).push(`pod-${node}-${Math.floor(at / nodes)}`);
    }
    return dealt;
}

/** The value below which this share of the numbers lies. */
export function quantile(numbers: readonly number[], share: number): number {
    const sorted = [...numbers].sort((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}
