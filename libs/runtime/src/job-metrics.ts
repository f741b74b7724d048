import { type Counter, type Histogram, type MetricsFactory } from "./metrics.ts";

/** The metrics of all jobs of a process, with the job's name as label. */
export class JobMetrics {
    static readonly #byFactory = new WeakMap<MetricsFactory, JobMetrics>();
    readonly runs: Counter<"job" | "result">;
    readonly seconds: Histogram<"job">;

    private constructor(factory: MetricsFactory) {
        this.runs = factory.counter({
            name: "antrea_job_runs_total",
            help: "Runs of background jobs by result (success, failure).",
            labelNames: ["job", "result"],
        });
        this.seconds = factory.histogram({
            name: "antrea_job_duration_seconds",
            help: "How long runs of background jobs took.",
            labelNames: ["job"],
        });
    }

    /** Returns the metrics declared in this registry; declares them at the first call. */
    static of(factory: MetricsFactory): JobMetrics {
        const known = this.#byFactory.get(factory) ?? new JobMetrics(factory);
        this.#byFactory.set(factory, known);
        return known;
    }
}
