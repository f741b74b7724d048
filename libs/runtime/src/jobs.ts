import { AsyncError, systemClock, type Clock } from "@antrea/async";
import { RuntimeError } from "./errors.ts";
import { JobLoop, type JobPlan } from "./job-loop.ts";
import { JobMetrics } from "./job-metrics.ts";
import { type Job, type JobHealth, type JobOptions, type JobWork, type RepeatedJobOptions } from "./job.ts";
import { type Logger } from "./logger.ts";
import { type MetricsFactory } from "./metrics.ts";

/** Dependencies of Jobs, which log failed runs and measure all. */
export interface JobsComponents {
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
    /**
     * Receives `antrea_job_runs_total` and `antrea_job_duration_seconds`, which all Jobs of a process share. Default:
     * none are reported.
     */
    readonly metrics?: MetricsFactory;
    /** Names of jobs in an earlier release, by current name: their metrics are reported under the earlier name too. */
    readonly formerNames?: Readonly<Record<string, string>>;
}

/**
 * The background jobs of a process, each with a name, retries and metrics. Jobs may be added before and after `start`;
 * they run side by side. No run begins after `stop`, which the owner calls and awaits.
 */
export class Jobs {
    readonly #components: JobsComponents & { readonly clock: Clock };
    readonly #metrics: JobMetrics | undefined;
    readonly #jobs = new Map<string, JobLoop>();
    readonly #lifetime = new AbortController();
    #started = false;

    constructor(components: JobsComponents) {
        this.#components = { ...components, clock: components.clock ?? systemClock };
        this.#metrics = components.metrics && JobMetrics.of(components.metrics);
    }

    /**
     * Adds a job that runs repeatedly: at once, unless `delayed`; `intervalMs` milliseconds after the end of a
     * successful run, or earlier by `againInMs` or `trigger`; after a backoff when it failed; until it throws
     * TerminalError. Throws RuntimeError `DUPLICATE_NAME`.
     */
    every(name: string, intervalMs: number, work: JobWork, options: RepeatedJobOptions = {}): Job {
        const backoff = { initialMs: Math.min(1000, intervalMs), maxMs: intervalMs, ...options.backoff };
        return this.#add(name, work, { ...options, backoff, intervalMs });
    }

    /** Adds a job that runs until it succeeds once or throws TerminalError. Throws RuntimeError `DUPLICATE_NAME`. */
    once(name: string, work: JobWork, options: JobOptions = {}): Job {
        const backoff = { initialMs: 1000, maxMs: 60_000, ...options.backoff };
        return this.#add(name, work, { ...options, backoff, intervalMs: undefined });
    }

    /**
     * Starts all jobs without waiting for them. They end when the signal aborts or `stop` is called; a job that is
     * added after that does not run. Throws RuntimeError `WRONG_STATE` at a second call.
     */
    start(signal?: AbortSignal): void {
        if (this.#started) throw new RuntimeError("WRONG_STATE", "internal", "the jobs are started twice");
        this.#started = true;
        if (signal?.aborted) this.#lifetime.abort(signal.reason);
        else signal?.addEventListener("abort", () => this.#lifetime.abort(signal.reason), { once: true });
        for (const job of this.#jobs.values()) job.start(this.#lifetime.signal);
    }

    /**
     * Aborts the signal of all jobs and waits for running work to end; of a run with `timeoutMs` it does not wait for
     * work that ignores its signal. Never rejects; may be called again.
     */
    async stop(): Promise<void> {
        this.#lifetime.abort(new AsyncError("ABORTED", "aborted", "the jobs are being stopped"));
        await Promise.all([...this.#jobs.values()].map((job) => job.ended));
    }

    /** Returns the status of all jobs, in the order in which they were added. */
    health(): readonly JobHealth[] {
        return [...this.#jobs.values()].map((job) => job.health());
    }

    #add(name: string, work: JobWork, plan: JobPlan): Job {
        if (this.#jobs.has(name)) throw new RuntimeError("DUPLICATE_NAME", "internal", `two jobs are called ${name}`);
        const job = new JobLoop(name, work, plan, {
            ...this.#components,
            runs: this.#metrics,
            formerName: this.#components.formerNames?.[name],
        });
        this.#jobs.set(name, job);
        if (this.#started) job.start(this.#lifetime.signal);
        return job;
    }
}
