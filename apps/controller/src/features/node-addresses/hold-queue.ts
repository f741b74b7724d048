import { sleep, systemClock, type Clock } from "@antrea/async";
import { WorkQueue, type EventRecorder, type KubeLogger, type ReconcileResult } from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import { type AllocationCache, type ClaimWriter, type Reclaims } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";

/** What holds addresses needs these, whichever addresses they are. */
export interface HoldComponents {
    readonly pools: PoolCache;
    readonly claims: AllocationCache;
    readonly writer: ClaimWriter;
    readonly reclaims: Pick<Reclaims, "done">;
    readonly recorder: Pick<EventRecorder, "record">;
    /** Gets the metrics of the work queue. */
    readonly metrics?: MetricsFactory;
    readonly logger: KubeLogger;
    readonly clock?: Clock;
}

export interface HoldQueueOptions {
    /** In logs. */
    readonly name: string;
    /** How often everything that is held is looked at, beside when something changes. */
    readonly intervalMs: number;
}

const concurrency = 8;

/** How soon it is looked again where another's claim was seen that the watch has not told yet. */
export const unseenMs = 2_000;

/** Looks at what is to be held when it is added, and at all of it at every interval, during one term of leadership. */
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

    add(name: string): void {
        this.#queue.add(name);
    }

    forget(name: string): void {
        this.#queue.forget(name);
    }

    /** Works until the signal aborts, and is done with all of it when it resolves. `all`: names to look at each time. */
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
