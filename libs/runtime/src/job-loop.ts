import { Backoff, Notify, withTimeout, type BackoffOptions, type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { TerminalError } from "./errors.ts";
import { type JobMetrics } from "./job-metrics.ts";
import { type FailedObjects, type Job, type JobHealth, type JobResult, type JobWork } from "./job.ts";
import { type Logger } from "./logger.ts";

/** When a job runs; times in milliseconds. Without an interval it runs until it succeeds once. */
export interface JobPlan {
    readonly intervalMs: number | undefined;
    readonly backoff: BackoffOptions;
    readonly delayed?: boolean;
    readonly timeoutMs?: number;
}

/** Runs one job of `Jobs`, again at its interval, when it is woken, and with backoff after failures; keeps its health. */
export class JobLoop implements Job {
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
