import { type Counter, type Histogram, type MetricsFactory } from "@antrea/runtime";

/** How the work on a key ended: after `retry` it is tried again; `terminal` is a TerminalError, which is not. */
export type WorkResult = "success" | "retry" | "terminal";

/**
 * The metrics of all work queues of a process, with the queue's name as label; an instance for each registry (`of`).
 * Names, labels and meaning follow those of the work queues of Kubernetes' own programs; `antrea_workqueue_runs_total`
 * is an addition.
 */
export class WorkQueueMetrics {
    static readonly #byFactory = new WeakMap<MetricsFactory, WorkQueueMetrics>();
    readonly #depths = new Map<string, () => number>();
    readonly #adds: Counter<"name">;
    readonly #retries: Counter<"name">;
    readonly #waited: Histogram<"name">;
    readonly #worked: Histogram<"name">;
    readonly #runs: Counter<"name" | "result">;

    private constructor(factory: MetricsFactory) {
        factory.gauge({
            name: "workqueue_depth",
            help: "Keys that wait in a work queue.",
            labelNames: ["name"],
            collect: () => [...this.#depths].map(([name, depth]) => ({ labels: { name }, value: depth() })),
        });
        this.#adds = factory.counter({
            name: "workqueue_adds_total",
            help: "Keys added to a work queue that did not wait there already.",
            labelNames: ["name"],
        });
        this.#retries = factory.counter({
            name: "workqueue_retries_total",
            help: "Keys that a work queue retries because the work on them failed.",
            labelNames: ["name"],
        });
        this.#waited = factory.histogram({
            name: "workqueue_queue_duration_seconds",
            help: "How long keys waited in a work queue.",
            labelNames: ["name"],
        });
        this.#worked = factory.histogram({
            name: "workqueue_work_duration_seconds",
            help: "How long the work on a key of a work queue took.",
            labelNames: ["name"],
        });
        this.#runs = factory.counter({
            name: "antrea_workqueue_runs_total",
            help: "Work on keys of a work queue by result (success, retry, terminal).",
            labelNames: ["name", "result"],
        });
    }

    /** Returns the metrics declared in this registry; declares them at the first call. */
    static of(factory: MetricsFactory): WorkQueueMetrics {
        const known = this.#byFactory.get(factory) ?? new WorkQueueMetrics(factory);
        this.#byFactory.set(factory, known);
        return known;
    }

    /** Reports this depth under the name from now on; a later queue of that name replaces it. */
    show(name: string, depth: () => number): void {
        this.#depths.set(name, depth);
    }

    /** Counts a key that was added to the queue. */
    added(name: string): void {
        this.#adds.inc({ name });
    }

    /** Records how long a key waited. */
    taken(name: string, waitedSeconds: number): void {
        this.#waited.observe(waitedSeconds, { name });
    }

    /** Records how the work on a key ended, and how long it took. */
    done(name: string, result: WorkResult, seconds: number): void {
        this.#runs.inc({ name, result });
        this.#worked.observe(seconds, { name });
        if (result === "retry") this.#retries.inc({ name });
    }
}
