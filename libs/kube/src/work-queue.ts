import { Backoff, sleep, systemClock, type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { TerminalError, type JobHealth, type MetricsFactory } from "@antrea/runtime";
import { KubeError } from "./errors.ts";
import { type KubeLogger } from "./logger.ts";
import { WorkQueueMetrics, type WorkResult } from "./work-queue-metrics.ts";

/** Dependencies of a work queue; without `metrics` and `jobs` it reports failures by its log only. */
export interface WorkQueueComponents {
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
    /** Receives the metrics `workqueue_*` and `antrea_workqueue_*`, which all queues of a process share. */
    readonly metrics?: MetricsFactory | undefined;
    /** Receives the status of the queue, for health endpoints. */
    readonly jobs?: { show(name: string, health: () => JobHealth): void } | undefined;
}

/** Options of a work queue: name, number of workers and backoff. */
export interface WorkQueueOptions {
    /** Name in logs, and the label `name` of its metrics. */
    readonly name: string;
    /** Number of keys worked on at the same time. Default 1. */
    readonly concurrency?: number;
    /** Delay after a key's first failure in milliseconds, doubled up to `maxBackoffMs`. Defaults 500 and 60,000. */
    readonly initialBackoffMs?: number;
    readonly maxBackoffMs?: number;
}

/**
 * Brings the actual state of one key to the desired state. Level-triggered: it reads the current state and gets no
 * event. A rejection is logged, unless it is an abort, and retried with backoff; one with TerminalError is only logged.
 * `close` waits for it, so it must end soon after the signal aborts.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult | void>;

/** Result of a successful reconcile; may request another one later. */
export interface ReconcileResult {
    /** Reconcile the key again after this many milliseconds. */
    readonly requeueAfterMs?: number;
}

/**
 * A queue of keys, processed from `start` on. A key waits at most once, is processed by one worker at a time, and is
 * processed again if it was added meanwhile. Failures are retried with a backoff per key (not before a Retry-After of
 * the API server), except TerminalError; `add` does not wait for the backoff. After the signal or `close` has ended it,
 * keys are ignored.
 */
export class WorkQueue implements AsyncDisposable {
    readonly #components: WorkQueueComponents;
    readonly #clock: Clock;
    readonly #options: WorkQueueOptions;
    readonly #reconcile: Reconcile;
    readonly #metrics: WorkQueueMetrics | undefined;
    /** The waiting keys, each with the monotonic time since when it waits. */
    readonly #waiting = new Map<string, number>();
    readonly #working = new Map<string, Promise<void>>();
    readonly #again = new Set<string>();
    readonly #delayed = new Map<string, { readonly dueMs: number; readonly cancel: AbortController }>();
    /** The keys whose last work failed. */
    readonly #failures = new Map<string, { readonly backoff: Backoff; readonly error: unknown }>();
    #succeededAtMs: number | undefined;
    #endedAtMs: number | undefined;
    readonly #stop = new AbortController();
    #signal: AbortSignal | undefined;

    constructor(components: WorkQueueComponents, options: WorkQueueOptions, reconcile: Reconcile) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#reconcile = reconcile;
        this.#metrics = components.metrics && WorkQueueMetrics.of(components.metrics);
        this.#metrics?.show(options.name, () => this.#waiting.size);
        components.jobs?.show(options.name, () => this.health());
    }

    /** Number of keys that wait, are processed, or are delayed. */
    get size(): number {
        return new Set([...this.#waiting.keys(), ...this.#working.keys(), ...this.#delayed.keys()]).size;
    }

    /**
     * Returns its status as that of a job whose objects are the keys: the last result, the keys that failed and will be
     * retried, and when the next key is due.
     */
    health(): JobHealth {
        // not spread into arguments: keys may be more than a call can have
        let dueMs = Infinity;
        for (const each of this.#delayed.values()) dueMs = Math.min(dueMs, each.dueMs);
        const isRunning = this.#working.size > 0;
        const [failed] = this.#failures.values();
        // Without any success, a failing key shows that the queue as a whole fails.
        const failures = this.#succeededAtMs === undefined ? this.#failures.size : 0;
        return {
            name: this.#options.name,
            state: this.#ended ? "stopped" : isRunning ? "running" : "waiting",
            failures,
            error: failures > 0 ? failed?.error : undefined,
            succeededAtMs: this.#succeededAtMs,
            endedAtMs: this.#succeededAtMs ?? this.#endedAtMs,
            nextAtMs: isRunning || dueMs === Infinity ? undefined : this.#clock.now() + dueMs - this.#clock.monotonic(),
            failedObjects:
                failed === undefined || failures > 0 ? undefined : { count: this.#failures.size, error: failed.error },
        };
    }

    /**
     * Starts processing, including the keys added before. Ends when the signal aborts or `close` is called. A second
     * call has no effect.
     */
    start(signal: AbortSignal): void {
        if (this.#signal !== undefined) return;
        this.#signal = AbortSignal.any([signal, this.#stop.signal]);
        this.#signal.addEventListener("abort", () => this.#cancelDelayed(), { once: true });
        this.#pump();
    }

    /** Adds a key, and cancels its delay if it has one. */
    add(key: string): void {
        if (this.#ended) return;
        this.#undelay(key);
        if (this.#working.has(key)) this.#again.add(key);
        else if (!this.#waiting.has(key)) {
            this.#waiting.set(key, this.#clock.monotonic());
            this.#metrics?.added(this.#options.name);
        }
        this.#pump();
    }

    /**
     * Adds a key after `delayMs` milliseconds; of several delays of one key the earliest counts. `add` cancels the
     * delay.
     */
    addAfter(key: string, delayMs: number): void {
        if (this.#ended) return;
        const dueMs = this.#clock.monotonic() + delayMs;
        const before = this.#delayed.get(key);
        if (before !== undefined && before.dueMs <= dueMs) return;
        this.#undelay(key);
        const cancel = new AbortController();
        this.#delayed.set(key, { dueMs, cancel });
        sleep(delayMs, cancel.signal, this.#clock).then(
            () => this.add(key),
            () => undefined,
        );
    }

    /** Discards the backoff of a key that is gone for good. Work in progress and a retry already delayed continue. */
    forget(key: string): void {
        this.#failures.delete(key);
    }

    /**
     * Takes no more keys, drops those that wait, aborts the work's signal and waits for the work to end. Idempotent;
     * never rejects.
     */
    async close(): Promise<void> {
        this.#stop.abort();
        this.#cancelDelayed();
        this.#waiting.clear();
        await Promise.allSettled(this.#working.values());
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    get #ended(): boolean {
        return this.#stop.signal.aborted || this.#signal?.aborted === true;
    }

    #pump(): void {
        const signal = this.#signal;
        if (signal === undefined) return;
        for (const [key, since] of this.#waiting) {
            if (this.#ended || this.#working.size >= (this.#options.concurrency ?? 1)) break;
            this.#waiting.delete(key);
            this.#metrics?.taken(this.#options.name, (this.#clock.monotonic() - since) / 1000);
            this.#working.set(key, this.#work(key, signal));
        }
    }

    async #work(key: string, signal: AbortSignal): Promise<void> {
        // The map of processed keys must contain this key before its work can end.
        await Promise.resolve();
        const began = this.#clock.monotonic();
        const done = (result: WorkResult): void =>
            this.#metrics?.done(this.#options.name, result, (this.#clock.monotonic() - began) / 1000);
        try {
            const result = await this.#reconcile(key, signal);
            this.#failures.delete(key);
            this.#succeededAtMs = this.#clock.now();
            done("success");
            if (result?.requeueAfterMs !== undefined) this.addAfter(key, result.requeueAfterMs);
        } catch (error) {
            if (!this.#ended) done(this.#failed(key, error));
        } finally {
            this.#working.delete(key);
            if (this.#again.delete(key)) this.add(key);
            this.#pump();
        }
    }

    #failed(key: string, error: unknown): "retry" | "terminal" {
        const { logger } = this.#components;
        this.#endedAtMs = this.#clock.now();
        const fields = { queue: this.#options.name, key, error };
        if (error instanceof TerminalError) {
            this.#failures.delete(key);
            logger.error("work failed for good", fields);
            return "terminal";
        }
        const { initialBackoffMs: initialMs = 500, maxBackoffMs: maxMs = 60_000 } = this.#options;
        const backoff = this.#failures.get(key)?.backoff ?? new Backoff({ initialMs, maxMs });
        this.#failures.set(key, { backoff, error });
        const delayMs = Math.max(backoff.next(), error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0);
        if (!isAborted(error)) logger.warn("work failed, trying again", { ...fields, delayMs: Math.round(delayMs) });
        this.addAfter(key, delayMs);
        return "retry";
    }

    #undelay(key: string): void {
        this.#delayed.get(key)?.cancel.abort();
        this.#delayed.delete(key);
    }

    #cancelDelayed(): void {
        for (const key of [...this.#delayed.keys()]) this.#undelay(key);
    }
}
