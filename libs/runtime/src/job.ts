import { type BackoffOptions } from "@antrea/async";

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
