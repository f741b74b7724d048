import { aborted, type Clock } from "@antrea/async";
import { type EventRecorder } from "@antrea/kube";
import {
    Jobs,
    Reconciler,
    type Job,
    type Logger,
    type MetricsFactory,
    type Operations,
    type PassResult,
} from "@antrea/runtime";
import { type AllocationCache, type AllocationWriter, type Reclaims } from "../../platform/allocations/index.ts";
import { type LeaderJobs } from "../../platform/leader-jobs.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";

/** What reservations depend on; the caller starts and closes the caches. */
export interface ReservationComponents {
    readonly pools: PoolCache;
    readonly allocations: AllocationCache;
    readonly writer: AllocationWriter;
    readonly reclaims: Pick<Reclaims, "done">;
    readonly recorder: Pick<EventRecorder, "record">;
    /** Receives the metrics of the reconciler and of its job. */
    readonly metrics?: MetricsFactory;
    /** Lists the job with its last result. */
    readonly jobs?: Pick<LeaderJobs, "show">;
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Name, interval in milliseconds and comparison of a ReservationJob. */
export interface ReservationJobOptions<V> {
    /** Of the job and of the reconciler, for logs and metrics. */
    readonly name: string;
    /** How often all reservations are compared, in addition to changes. */
    readonly intervalMs: number;
    /** Whether two desired values are the same, so that no update is needed. */
    readonly isEqual: (one: V, other: V) => boolean;
}

/**
 * The operations on reservations that ReservationJob runs. Keys are texts that name the address; a rejection of an
 * operation is logged and retried with backoff (0.5 to 60 s).
 */
export interface ReservationOperations<V> extends Operations<string, V> {
    /**
     * Sets the desired reservations that changed since the last pass, by `ReservationJob.reconciler`; called before
     * each pass.
     */
    desire(): void;
    /** Reports what a pass found; called after each that did not reject. */
    report?(): void;
}

const concurrency = 8;
// As those of the work queues of the other features.
const backoff = { initialMs: 500, maxMs: 60_000 };

/**
 * The reconciler of reservations of one kind during one term of leadership, and the job that runs it: after `trigger`,
 * when a retry is due, and at every interval. Nothing runs before `run`.
 */
export class ReservationJob<V> {
    /** The desired reservations: `desire` sets and deletes them. */
    readonly reconciler: Reconciler<string, V>;
    readonly #operations: ReservationOperations<V>;
    readonly #jobs: Jobs;
    readonly #job: Job;

    constructor(
        { logger, metrics, jobs, clock }: ReservationComponents,
        { name, intervalMs, isEqual }: ReservationJobOptions<V>,
        operations: ReservationOperations<V>,
    ) {
        const components = { logger, ...(metrics && { metrics }), ...(clock && { clock }) };
        this.#operations = operations;
        this.reconciler = new Reconciler<string, V>(
            components,
            { name, fullEveryMs: intervalMs, concurrency, backoff, isEqual },
            operations,
        );
        this.#jobs = new Jobs(components);
        this.#job = this.#jobs.every(name, intervalMs, (signal) => this.#pass(signal));
        jobs?.show(name, () => this.#job.health());
    }

    /** Requests a pass, because something changed; requests before a pass begins share it. */
    trigger(): void {
        this.#job.trigger();
    }

    /**
     * Runs passes until the signal aborts and all work has ended; then disposes of the reconciler. Called once. Never
     * rejects.
     */
    async run(signal: AbortSignal): Promise<void> {
        using _reconciler = this.reconciler;
        this.#jobs.start(signal);
        await aborted(signal);
        await this.#jobs.stop();
    }

    async #pass(signal: AbortSignal): Promise<PassResult> {
        this.#operations.desire();
        const result = await this.reconciler.pass(signal);
        this.#operations.report?.();
        return result;
    }
}
