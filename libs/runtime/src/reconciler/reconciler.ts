import { Mutex, settleAll, systemClock, type Clock } from "@antrea/async";
import type { Logger } from "../logger.ts";
import { Attempts } from "./attempts.ts";
import { ReconcilerMetrics } from "./metrics.ts";
import type { Operations } from "./operations.ts";
import type { PassResult, ReconcilerComponents, ReconcilerOptions } from "./options.ts";
import { PassLog } from "./pass-log.ts";
import { PassPlan } from "./pass-plan.ts";
import type { ObjectState, ObjectStatus } from "./status.ts";
import { TrackedObject } from "./tracked-object.ts";

/**
 * Brings the actual objects to the desired state by the operations of its user; see {@link Operations} for the
 * contract. It keeps the desired objects and the status of each; failures are retried with a backoff per object, logged
 * once for each message, and measured.
 *
 * It has no loop: its owner runs `pass` in a job, which processes all objects that changed or are due for a retry. The
 * first pass, one every `fullEveryMs`, and requested ones compare all objects with the actual ones (`prune`, if there
 * is one). `apply` processes one object, for a caller that needs its result.
 */
export class Reconciler<K, V> implements Disposable {
    readonly #operations: Operations<K, V>;
    readonly #options: Required<Omit<ReconcilerOptions<K, V>, "fullEveryMs">>;
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #plan: PassPlan;
    readonly #passes = new Mutex();
    readonly #desired = new Map<K, V>();
    /** The desired objects, and those whose deletion is not done. */
    readonly #objects = new Map<K, TrackedObject<K, V>>();
    readonly #attempts: Attempts<K, V>;
    readonly #shown: Disposable | undefined;

    constructor(
        { logger, clock = systemClock, metrics }: ReconcilerComponents,
        options: ReconcilerOptions<K, V>,
        operations: Operations<K, V>,
    ) {
        this.#operations = operations;
        const { name, fullEveryMs = 60_000, concurrency = 1, isEqual = Object.is, keyText = String } = options;
        // Without jitter: objects that failed together are retried together.
        const backoff = { initialMs: 1000, maxMs: 60_000, jitter: 0, ...options.backoff };
        this.#options = { name, backoff, concurrency, isEqual, keyText };
        this.#logger = logger;
        this.#clock = clock;
        this.#plan = new PassPlan({ clock }, { everyMs: fullEveryMs });
        const shared = metrics && ReconcilerMetrics.of(metrics);
        this.#shown = shared?.show(name, () => this.counts());
        this.#attempts = new Attempts(name, operations, this.#objects, { clock, metrics: shared });
    }

    /** The desired objects, by key. */
    get desired(): ReadonlyMap<K, V> {
        return this.#desired;
    }

    /** Sets the desired value of an object; the next pass, or `apply`, puts it in place. */
    set(key: K, value: V): void {
        this.#desired.set(key, value);
        const object = this.#objects.get(key);
        if (object === undefined) this.#track(key, value, true);
        else object.want(value, this.#options.isEqual);
    }

    /**
     * Makes an object no longer desired; the next pass, or `apply`, deletes it.
     *
     * @param last its value, if it may be in place although this reconciler never set it; without, such an object is
     * left to the next full pass
     */
    delete(key: K, last?: V): void {
        this.#desired.delete(key);
        const object = this.#objects.get(key);
        if (object !== undefined) object.unwant();
        else if (last !== undefined) this.#track(key, last, false);
    }

    /**
     * Sets the desired value of an object that the caller has already put in place. While an operation runs on the
     * object, it is put in place again after that.
     */
    adopt(key: K, value: V): void {
        this.set(key, value);
        this.#objects.get(key)?.adopted();
    }

    /**
     * Marks an object as possibly changed by others: it is updated again, if it is desired, also after an operation that
     * runs on it now.
     */
    refresh(key: K): void {
        this.#objects.get(key)?.differs();
    }

    /** Makes the retry of an object that failed due now, because the cause of its failure may be gone. */
    retry(key: K): void {
        this.#objects.get(key)?.retryNow();
    }

    /** Replaces the desired objects by these. */
    replace(desired: ReadonlyMap<K, V>): void {
        for (const key of [...this.#desired.keys()]) if (!desired.has(key)) this.delete(key);
        for (const [key, value] of desired) this.set(key, value);
    }

    /** Returns the status of an object; undefined if it is neither desired nor waiting for its deletion. */
    status(key: K): ObjectStatus | undefined {
        return this.#objects.get(key)?.status;
    }

    /** Returns the number of objects in each state. */
    counts(): Readonly<Record<ObjectState, number>> {
        const counts = { pending: 0, done: 0, error: 0 };
        for (const { status } of this.#objects.values()) counts[status.state] += 1;
        return counts;
    }

    /** Makes the next pass a full one, because the actual objects may have been changed by others; starts none. */
    askForFull(): void {
        this.#plan.askForFull();
    }

    /**
     * Processes all objects that changed or are due for a retry: deletions first, as they may free what an update
     * needs. A full pass compares all objects before that. Passes run one at a time.
     *
     * Rejects if the comparison of a full pass fails, and after the signal aborted. Failures of objects are in the
     * result and in their status.
     */
    pass(signal?: AbortSignal): Promise<PassResult> {
        return this.#passes.run(async () => {
            await this.#plan.run(() => this.#attempts.prune(this.#desired, signal));
            const log = new PassLog<K, V>(this.#logger, this.#options.keyText);
            try {
                await this.#workOff("delete", log, signal);
                await this.#workOff("update", log, signal);
            } finally {
                log.write();
            }
            signal?.throwIfAborted();
            return this.#result();
        });
    }

    /**
     * Processes one object now, whether or not a retry is due, after an operation that runs on it. Rejects with the
     * object's failure, which the caller must log, and the object stays due for a retry; or with AsyncError `ABORTED`
     * if the signal aborts while it waits. Does nothing for an unknown object or one in place.
     */
    async apply(key: K, signal?: AbortSignal): Promise<void> {
        const object = this.#objects.get(key);
        if (object === undefined) return;
        const end = await this.#attempts.begin([object], signal);
        try {
            // An earlier caller may already have put it in place.
            if (!object.isOpen) return;
            const failure = await this.#attempts.one({ object, goal: object.goal }, signal);
            if (failure !== undefined) throw failure.error;
        } finally {
            end();
        }
    }

    /** Ends the report of its counts, for a reconciler that is used only while its process leads. */
    [Symbol.dispose](): void {
        this.#shown?.[Symbol.dispose]();
    }

    #track(key: K, last: V, isDesired: boolean): void {
        const { backoff } = this.#options;
        this.#objects.set(key, new TrackedObject(key, last, isDesired, { clock: this.#clock, backoff }));
    }

    /** Processes all objects that are due for this operation. */
    async #workOff(operation: "update" | "delete", log: PassLog<K, V>, signal: AbortSignal | undefined): Promise<void> {
        const isDue = ({ goal, isOpen, dueInMs }: TrackedObject<K, V>): boolean =>
            isOpen && dueInMs === 0 && (goal === "deleted") === (operation === "delete");
        const due = [...this.#objects.values()].filter(isDue);
        const hasMany = this.#operations[`${operation}Many`] !== undefined;
        if (hasMany && due.length > 1 && (await this.#inOneGo(due, isDue, log, signal))) return;
        const left = due.values();
        const work = async (): Promise<void> => {
            for (const object of left) {
                signal?.throwIfAborted();
                const end = await this.#attempts.begin([object], signal);
                const before = object.status.message;
                try {
                    if (!isDue(object)) continue;
                    await this.#attempts.one({ object, goal: object.goal }, signal);
                } finally {
                    end();
                }
                log.note(object, before);
            }
        };
        await settleAll(Array.from({ length: Math.min(this.#options.concurrency, due.length) }, work));
    }

    async #inOneGo(
        objects: readonly TrackedObject<K, V>[],
        isDue: (object: TrackedObject<K, V>) => boolean,
        log: PassLog<K, V>,
        signal: AbortSignal | undefined,
    ): Promise<boolean> {
        const end = await this.#attempts.begin(objects, signal);
        try {
            const tries = objects.filter(isDue).map((object) => ({ object, goal: object.goal }));
            const before = tries.map(({ object }) => object.status.message);
            const isDone = await this.#attempts.many(tries, signal);
            if (isDone) tries.forEach(({ object }, at) => log.note(object, before[at]));
            return isDone;
        } finally {
            end();
        }
    }

    #result(): PassResult {
        const open = [...this.#objects.values()].filter(({ isOpen }) => isOpen);
        const failed = open.filter(({ status }) => status.state === "error");
        return {
            failed: failed.length,
            error: failed[0]?.error,
            // not spread into arguments: objects may be more than a call can have
            againInMs:
                open.length === 0 ? undefined : open.reduce((first, { dueInMs }) => Math.min(first, dueInMs), Infinity),
        };
    }
}
