import { AsyncError, Backoff, type BackoffOptions, Notify, type Clock, systemClock, withTimeout } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { RuntimeError, TerminalError } from "./errors.ts";
import { type Logger } from "./logger.ts";
import { type Counter, type Histogram, type MetricsFactory } from "./metrics.ts";

/**
 * The work of a background job, one run at a time. It must stop when its signal aborts, and may run again after any
 * failure. A rejection is a failed run, logged and retried after a backoff, unless it is an abort of a job that is
 * being stopped; a TerminalError ends the job.
 */
export type JobWork = (signal: AbortSignal) => Promise<JobResult | void> | JobResult | void;

/** Optional result of a successful run: when to run again, and the objects that failed although the run succeeded. */
export interface JobResult {
    /**
     * Run again after this many milliseconds, if that is sooner than the interval (undefined: after the interval); only
     * for `every`.
     */
    readonly againInMs: number | undefined;
    /** Number of objects that the run worked on and that failed; the job retries them itself. Default 0. */
    readonly failed?: number;
    /** The error of one of them. */
    readonly error?: unknown;
}

/** Objects, or keys of a queue, whose last operation failed and will be retried. */
export interface FailedObjects {
    readonly count: number;
    /** The error of one of them. */
    readonly error: unknown;
}

/** Options of a job: backoff and time limit. */
export interface JobOptions {
    /**
     * Delays after failures. Default: from 1 s (or the interval, if shorter) up to the interval (`every`) or one minute
     * (`once`), doubled each time, with a jitter of a fifth.
     */
    readonly backoff?: BackoffOptions;
    /**
     * Limit of one run in milliseconds, after which its signal aborts and the run counts as failed with AsyncError
     * `TIMEOUT`; work that ignores the signal can then overlap the next run. Default: none.
     */
    readonly timeoutMs?: number;
}

/** Options of a repeated job (`Jobs.every`): those of every job, and whether the first run waits. */
export interface RepeatedJobOptions extends JobOptions {
    /** Wait one interval before the first run. Default false. */
    readonly delayed?: boolean;
}

/**
 * State of a job: `waiting` for its start or next run, `running`, `done` (`once` succeeded), `given-up`
 * (TerminalError), `stopped` (by the signal or `stop`).
 */
export type JobState = "waiting" | "running" | "done" | "given-up" | "stopped";

/**
 * Status of a job at the time of the call, as health endpoints report it; a snapshot that does not change. Work queues
 * of @antrea/kube report theirs in the same form.
 */
export interface JobHealth {
    readonly name: string;
    readonly state: JobState;
    /** Number of failed runs since the last success. */
    readonly failures: number;
    /** Error of the last run, if it failed. */
    readonly error: unknown;
    /** Wall time of the end of the last successful run in milliseconds; undefined if there was none. */
    readonly succeededAtMs: number | undefined;
    /** Wall time of the end of the last run that succeeded or failed, in milliseconds; undefined if there was none. */
    readonly endedAtMs: number | undefined;
    /** Wall time of the next run in milliseconds; undefined during a run, and if none follows. */
    readonly nextAtMs: number | undefined;
    /** Objects that failed although the last run succeeded; undefined if there are none. */
    readonly failedObjects: FailedObjects | undefined;
}

/** Handle of a job that was added to Jobs: triggers a run and reports its status. A job cannot be removed. */
export interface Job {
    /**
     * Runs the job now instead of after its delay or backoff. If it is running, it runs once more afterwards, unless
     * that run ends it. Without effect on a job that is done, given up or stopped.
     */
    trigger(): void;
    /** Returns its current status. */
    health(): JobHealth;
}

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

/** The metrics of all jobs of a process, with the job's name as label. */
class JobMetrics {
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

interface JobPlan {
    readonly intervalMs: number | undefined;
    readonly backoff: BackoffOptions;
    readonly delayed?: boolean;
    readonly timeoutMs?: number;
}

class JobLoop implements Job {
    readonly #name: string;
    readonly #measuredAs: readonly string[];
    readonly #work: JobWork;
    readonly #plan: JobPlan;
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #metrics: JobMetrics | undefined;
    readonly #backoff: Backoff;
    readonly #changed: Notify;
    #health: Omit<JobHealth, "name"> = {
        state: "waiting",
        failures: 0,
        error: undefined,
        succeededAtMs: undefined,
        endedAtMs: undefined,
        nextAtMs: undefined,
        failedObjects: undefined,
    };
    /** Settles, without rejecting, when the loop has ended; immediately if it never began. */
    ended: Promise<void> = Promise.resolve();

    constructor(
        name: string,
        work: JobWork,
        plan: JobPlan,
        components: {
            logger: Logger;
            clock: Clock;
            runs: JobMetrics | undefined;
            formerName: string | undefined;
        },
    ) {
        this.#name = name;
        this.#measuredAs = components.formerName === undefined ? [name] : [name, components.formerName];
        this.#work = work;
        this.#plan = plan;
        this.#logger = components.logger;
        this.#clock = components.clock;
        this.#metrics = components.runs;
        this.#backoff = new Backoff(plan.backoff);
        this.#changed = new Notify({ clock: components.clock });
    }

    start(signal: AbortSignal): void {
        this.ended = this.#loop(signal);
    }

    trigger(): void {
        this.#changed.notify();
    }

    health(): JobHealth {
        return { name: this.#name, ...this.#health };
    }

    async #loop(signal: AbortSignal): Promise<void> {
        let delayMs: number | undefined = this.#plan.delayed === true ? (this.#plan.intervalMs ?? 0) : 0;
        while (delayMs !== undefined && (await this.#pause(delayMs, signal))) delayMs = await this.#run(signal);
        // A job whose last run ended as the signal aborted keeps the state of that run.
        const { state } = this.#health;
        if (state === "waiting" || state === "running") this.#set({ state: "stopped", nextAtMs: undefined });
    }

    /** Runs the work once. Returns the delay before the next run in milliseconds, undefined if none follows. */
    async #run(signal: AbortSignal): Promise<number | undefined> {
        this.#changed.clear();
        this.#set({ state: "running", nextAtMs: undefined });
        const began = this.#clock.monotonic();
        let result: JobResult | undefined;
        try {
            result = await this.#limited(signal);
        } catch (error) {
            if (signal.aborted && isAborted(error)) return undefined;
            this.#measure("failure", began);
            return this.#failed(error);
        }
        this.#measure("success", began);
        this.#backoff.reset();
        const again = this.#plan.intervalMs;
        this.#set({
            state: again === undefined ? "done" : "waiting",
            failures: 0,
            error: undefined,
            succeededAtMs: this.#clock.now(),
            endedAtMs: this.#clock.now(),
            failedObjects: failedObjectsOf(result),
        });
        return again === undefined ? undefined : Math.min(again, result?.againInMs ?? Infinity);
    }

    async #limited(signal: AbortSignal): Promise<JobResult | undefined> {
        const { timeoutMs } = this.#plan;
        if (timeoutMs === undefined) return (await this.#work(signal)) ?? undefined;
        const result = await withTimeout(async (limit) => this.#work(limit), timeoutMs, signal, {
            what: `job ${this.#name}`,
            clock: this.#clock,
        });
        return result ?? undefined;
    }

    #failed(error: unknown): number | undefined {
        const failures = this.#health.failures + 1;
        const terminal = error instanceof TerminalError;
        this.#set({
            state: terminal ? "given-up" : "waiting",
            failures,
            error,
            endedAtMs: this.#clock.now(),
            failedObjects: undefined,
        });
        if (terminal) {
            this.#logger.error("job given up", { job: this.#name, failures, error });
            return undefined;
        }
        const delayMs = this.#backoff.next();
        this.#logger.warn("job failed", { job: this.#name, failures, retryInSeconds: delayMs / 1000, error });
        return delayMs;
    }

    /** Waits for the delay or a trigger. Returns false if the loop must end. */
    async #pause(delayMs: number, signal: AbortSignal): Promise<boolean> {
        if (signal.aborted) return false;
        if (delayMs <= 0) return true;
        this.#set({ nextAtMs: this.#clock.now() + delayMs });
        await this.#changed.wait({ ms: delayMs, signal });
        return !signal.aborted;
    }

    #measure(result: "success" | "failure", began: number): void {
        const seconds = (this.#clock.monotonic() - began) / 1000;
        for (const job of this.#measuredAs) {
            this.#metrics?.runs.inc({ job, result });
            this.#metrics?.seconds.observe(seconds, { job });
        }
    }

    #set(change: Partial<Omit<JobHealth, "name">>): void {
        this.#health = { ...this.#health, ...change };
    }
}

function failedObjectsOf({ failed = 0, error }: Partial<JobResult> = {}): FailedObjects | undefined {
    return failed === 0 ? undefined : { count: failed, error };
}
