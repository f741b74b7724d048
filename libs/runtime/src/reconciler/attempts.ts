import { abortedError, orAborted, type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import type { OperationName, ReconcilerMetrics } from "./metrics.ts";
import type { Operations } from "./operations.ts";
import type { Goal, TrackedObject } from "./tracked-object.ts";

/**
 * An object of a reconciler, and the goal it had when the operation began: the outcome is recorded for that goal, even
 * if the object has another one by then.
 */
export interface Try<K, V> {
    readonly object: TrackedObject<K, V>;
    readonly goal: Goal<V>;
}

/**
 * Runs the operations of a reconciler and records their results: one at a time for each object, none during a
 * comparison. Callers of `one` and `many` reserve the objects by `begin`; `prune` waits for all itself.
 */
export class Attempts<K, V> {
    readonly #name: string;
    readonly #operations: Operations<K, V>;
    readonly #objects: Map<K, TrackedObject<K, V>>;
    readonly #clock: Clock;
    readonly #metrics: ReconcilerMetrics | undefined;
    /** Resolves when the running comparison ends. */
    #pruning: Promise<void> | undefined;

    /** @param objects all objects of the reconciler; those whose deletion is done are removed from it */
    constructor(
        name: string,
        operations: Operations<K, V>,
        objects: Map<K, TrackedObject<K, V>>,
        components: { readonly clock: Clock; readonly metrics: ReconcilerMetrics | undefined },
    ) {
        this.#name = name;
        this.#operations = operations;
        this.#objects = objects;
        this.#clock = components.clock;
        this.#metrics = components.metrics;
    }

    /**
     * Waits until no operation runs on these objects, and blocks others until the returned function is called. Rejects
     * with AsyncError `ABORTED` when the signal aborts meanwhile.
     */
    async begin(objects: readonly TrackedObject<K, V>[], signal: AbortSignal | undefined): Promise<() => void> {
        for (;;) {
            const underWay = this.#pruning ?? objects.find(({ busy }) => busy !== undefined)?.busy;
            if (underWay === undefined) break;
            await orAborted(underWay, signal, () => signal && abortedError(`reconcile of ${this.#name}`, signal));
        }
        const ended = Promise.withResolvers<void>();
        for (const object of objects) object.busy = ended.promise;
        return () => {
            for (const object of objects) object.busy = undefined;
            ended.resolve();
        };
    }

    /**
     * Runs one operation and returns its failure, undefined if it succeeded; never rejects. A failure caused by the
     * signal leaves the object pending.
     */
    async one(
        { object, goal }: Try<K, V>,
        signal: AbortSignal | undefined,
    ): Promise<{ readonly error: unknown } | undefined> {
        const began = this.#clock.monotonic();
        try {
            if (goal === "deleted") await this.#operations.delete(object.removal(), signal);
            else await this.#operations.update(object.change(goal), signal);
        } catch (error) {
            if (signal?.aborted === true && isAborted(error)) return { error };
            object.failed(goal, error);
            this.#measure(goal === "deleted" ? "delete" : "update", 1, false, began);
            return { error };
        }
        this.#reached([{ object, goal }], began);
        return undefined;
    }

    /** Runs one operation for all objects. Returns false if it was rejected; each object must then be tried alone. */
    async many(tries: readonly Try<K, V>[], signal: AbortSignal | undefined): Promise<boolean> {
        const began = this.#clock.monotonic();
        try {
            await this.#sendMany(tries, signal);
        } catch {
            return false;
        }
        this.#reached(tries, began);
        return true;
    }

    /** Runs the comparison of a full pass, with no other operation beside it. Rejects as `prune` does. */
    async prune(desired: ReadonlyMap<K, V>, signal: AbortSignal | undefined): Promise<void> {
        if (this.#operations.prune === undefined) return;
        const ended = Promise.withResolvers<void>();
        this.#pruning = ended.promise;
        const began = this.#clock.monotonic();
        let isSuccess = false;
        try {
            for (const { busy } of this.#objects.values()) await busy;
            const compared = [...this.#objects.values()].map((object) => ({ object, goal: object.goal }));
            const missing = new Set(await this.#operations.prune(desired, signal));
            for (const { object, goal } of compared) {
                if (goal === "deleted") continue;
                if (missing.has(object.key)) object.differs();
                else object.reached(goal);
            }
            isSuccess = true;
        } finally {
            this.#pruning = undefined;
            ended.resolve();
            this.#measure("prune", 1, isSuccess, began);
        }
    }

    async #sendMany(tries: readonly Try<K, V>[], signal: AbortSignal | undefined): Promise<void> {
        const changes = tries.flatMap(({ object, goal }) => (goal === "deleted" ? [] : [object.change(goal)]));
        const removals = tries.flatMap(({ object, goal }) => (goal === "deleted" ? [object.removal()] : []));
        if (removals.length > 0) await this.#operations.deleteMany?.(removals, signal);
        if (changes.length > 0) await this.#operations.updateMany?.(changes, signal);
    }

    #reached(tries: readonly Try<K, V>[], began: number): void {
        const [first] = tries;
        if (first === undefined) return;
        for (const { object, goal } of tries) {
            object.reached(goal);
            if (object.goal === "deleted" && !object.isOpen) this.#objects.delete(object.key);
        }
        this.#measure(first.goal === "deleted" ? "delete" : "update", tries.length, true, began);
    }

    #measure(operation: OperationName, objects: number, isSuccess: boolean, began: number): void {
        this.#metrics?.measure(this.#name, operation, {
            objects,
            isSuccess,
            ms: this.#clock.monotonic() - began,
        });
    }
}
