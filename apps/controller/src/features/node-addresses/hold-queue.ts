import { sleep, systemClock, type Clock } from "@antrea/async";
import { WorkQueue, type EventRecorder, type KubeLogger, type ReconcileResult } from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import { type AllocationCache, type ClaimWriter, type Reclaims } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";

/** What holders of reservations depend on. */
export interface HoldComponents {
    readonly pools: PoolCache;
    readonly claims: AllocationCache;
    readonly writer: ClaimWriter;
    readonly reclaims: Pick<Reclaims, "done">;
    readonly recorder: Pick<EventRecorder, "record">;
    /** Receives the metrics of the work queue. */
    readonly metrics?: MetricsFactory;
    readonly logger: KubeLogger;
    readonly clock?: Clock;
}

/** Name and interval of a HoldQueue. */
export interface HoldQueueOptions {
    /** For logs. */
    readonly name: string;
    /** How often all reservations are checked, in addition to changes. */
    readonly intervalMs: number;
}

const concurrency = 8;

/** Retry delay if a conflicting allocation exists that the watch has not delivered yet. */
export const unseenMs = 2_000;

/** Checks reservations when they are added, and all of them at every interval, during one term of leadership. */
export class HoldQueue {
    readonly #clock: Clock;
    readonly #intervalMs: number;
    readonly #queue: WorkQueue;

    constructor(
        { logger, metrics, clock = systemClock }: Pick<HoldComponents, "logger" | "metrics" | "clock">,
        { name, intervalMs }: HoldQueueOptions,
        reconcile: (name: string, signal: AbortSignal) => Promise<ReconcileResult | void>,
    ) {
        this.#clock = clock;
        this.#intervalMs = intervalMs;
        this.#queue = new WorkQueue({ logger, metrics, clock }, { name, concurrency }, reconcile);
    }

    /** Queues a name for a check. */
    add(name: string): void {
        this.#queue.add(name);
    }

    /** Drops the retry state of a name. */
    forget(name: string): void {
        this.#queue.forget(name);
    }

    /** Runs until the signal aborts and all work has ended. `all`: names to check at each interval. */
    async run(signal: AbortSignal, all: () => Iterable<string>): Promise<void> {
        this.#queue.start(signal);
        try {
            while (!signal.aborted) {
                for (const name of all()) this.#queue.add(name);
                await sleep(this.#intervalMs, signal, this.#clock).catch(() => undefined);
            }
        } finally {
            await this.#queue.close();
        }
    }
}
