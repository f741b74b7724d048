import { ManualClock } from "@antrea/async/testing";
import { Metrics } from "../../src/metrics.ts";
import { Reconciler, type Operations } from "../../src/reconciler/index.ts";
import { MemoryLog } from "../../src/testing/index.ts";

/** What is in place, and a reconciler for it whose operations take a turn of the event loop and fail on request. */
export class Fixture {
    readonly actual = new Map<string, number>();
    /** Operations so far, e.g. `update a=1 was ?`. */
    readonly calls: string[] = [];
    /** Messages of keys that are refused. */
    readonly refused = new Map<string, string>();
    readonly clock = new ManualClock();
    readonly log = new MemoryLog();
    readonly metrics = new Metrics({ processMetrics: false });
    readonly reconciler: Reconciler<string, number>;
    /** Keys under work now; two operations on one key at a time are an error of the test. */
    readonly #under = new Set<string>();
    pause: () => Promise<void> = () => Promise.resolve();

    constructor(options: { readonly inBatches?: boolean; readonly concurrency?: number } = {}) {
        const each: Operations<string, number> = {
            update: ({ key, value, before }) =>
                this.#work(`update ${key}=${value} was ${before ?? "?"}`, [key], () => this.actual.set(key, value)),
            delete: ({ key, last }) => this.#work(`delete ${key}=${last}`, [key], () => this.actual.delete(key)),
            prune: async (desired) => {
                this.calls.push("prune");
                if (this.#under.size > 0) throw new Error("pruned beside other work");
                const present = new Map(this.actual);
                await this.pause();
                for (const key of present.keys()) if (!desired.has(key)) this.actual.delete(key);
                return [...desired].flatMap(([key, value]) => (present.get(key) === value ? [] : [key]));
            },
        };
        const many: Operations<string, number> = {
            ...each,
            updateMany: (changes) =>
                this.#work(
                    `updateMany ${changes.map(({ key }) => key).join()}`,
                    changes.map(({ key }) => key),
                    () => {
                        for (const { key, value } of changes) this.actual.set(key, value);
                    },
                ),
            deleteMany: (objects) =>
                this.#work(
                    `deleteMany ${objects.map(({ key }) => key).join()}`,
                    objects.map(({ key }) => key),
                    () => {
                        for (const { key } of objects) this.actual.delete(key);
                    },
                ),
        };
        this.reconciler = new Reconciler(
            { logger: this.log.logger, clock: this.clock, metrics: this.metrics },
            { name: "fixture", concurrency: options.concurrency ?? 1 },
            options.inBatches === true ? many : each,
        );
    }

    /** The calls since the last time. */
    done(): readonly string[] {
        return this.calls.splice(0);
    }

    async #work(call: string, keys: readonly string[], take: () => void): Promise<void> {
        this.calls.push(call);
        for (const key of keys) {
            if (this.#under.has(key)) throw new Error(`two operations on ${key} at a time`);
            this.#under.add(key);
        }
        try {
            await this.pause();
            for (const key of keys) {
                const message = this.refused.get(key);
                if (message !== undefined) throw new Error(message);
            }
            take();
        } finally {
            for (const key of keys) this.#under.delete(key);
        }
    }
}
