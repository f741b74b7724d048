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
 * Makes the objects that are in place those that are desired, by the operations of its user; see {@link Operations} for the
 * contract. It keeps what is desired and each object's status; failures are retried with a backoff of their own, logged
 * once for each message, and measured.
 *
 * It has no loop: whoever owns it runs `pass` in a job, which brings about all that changed or is due for a retry, and
 * compares all with what is in place (`prune`) in the first pass, every `fullEveryMs`, and when asked to. `apply` does the
 * same for one object, for a caller that needs its outcome.
 */
export class Reconciler<K, V> {
    readonly #operations: Operations<K, V>;
    readonly #options: Required<Omit<ReconcilerOptions<K, V>, "fullEveryMs">>;
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #plan: PassPlan;
    readonly #passes = new Mutex();
    readonly #desired = new Map<K, V>();
    /** The desired ones, and those whose deletion is not done. */
    readonly #objects = new Map<K, TrackedObject<K, V>>();
    readonly #attempts: Attempts<K, V>;

    constructor(
        { logger, clock = systemClock, metrics }: ReconcilerComponents,
        options: ReconcilerOptions<K, V>,
        operations: Operations<K, V>,
    ) {
        this.#operations = operations;
        const { name, fullEveryMs = 60_000, concurrency = 1, isEqual = Object.is, keyText = String } = options;
        // Without jitter: what failed together is retried together.
        const backoff = { initialMs: 1000, maxMs: 60_000, jitter: 0, ...options.backoff };
        this.#options = { name, backoff, concurrency, isEqual, keyText };
        this.#logger = logger;
        this.#clock = clock;
        this.#plan = new PassPlan({ clock }, { everyMs: fullEveryMs });
        const shared = metrics && ReconcilerMetrics.of(metrics);
        shared?.show(name, () => this.counts());
        this.#attempts = new Attempts(name, operations, this.#objects, { clock, metrics: shared });
    }

    /** What is desired, by key. */
    get desired(): ReadonlyMap<K, V> {
        return this.#desired;
    }

    /** Desires the object; the next pass, or `apply`, brings it about. */
    set(key: K, value: V): void {
        this.#desired.set(key, value);
        const object = this.#objects.get(key);
        if (object === undefined) this.#track(key, value, true);
        else object.want(value, this.#options.isEqual);
    }

    /**
     * Desires that the object is not there.
     *
     * @param last what may be in place of it; without it, one that this reconciler never set is left to the next full pass
     */
    delete(key: K, last?: V): void {
        this.#desired.delete(key);
        const object = this.#objects.get(key);
        if (object !== undefined) object.unwant();
        else if (last !== undefined) this.#track(key, last, false);
    }

    /** Desires the object, which is in place already: whoever calls this put it there. */
    adopt(key: K, value: V): void {
        this.set(key, value);
        this.#objects.get(key)?.adopted();
    }

    /** What is in place of the object may not be what was put there: it is updated again, if it is desired. */
    refresh(key: K): void {
        this.#objects.get(key)?.differs();
    }

    /** Desires these objects and no others. */
    replace(desired: ReadonlyMap<K, V>): void {
        for (const key of [...this.#desired.keys()]) if (!desired.has(key)) this.delete(key);
        for (const [key, value] of desired) this.set(key, value);
    }

    /** Undefined for an object that is neither desired nor waiting to be deleted. */
    status(key: K): ObjectStatus | undefined {
        return this.#objects.get(key)?.status;
    }

    /** How many objects have each status. */
    counts(): Readonly<Record<ObjectState, number>> {
        const counts = { pending: 0, done: 0, error: 0 };
        for (const { status } of this.#objects.values()) counts[status.state] += 1;
        return counts;
    }

    /** What is in place may not be what was put there: the next pass is a full one. */
    askForFull(): void {
        this.#plan.askForFull();
    }

    /**
     * Brings about what changed and what is due for a retry: deletions first, as they may free what an update needs. A full
     * pass compares all before that. Passes run one after another.
     *
     * Rejects when the comparison of a full pass fails, and as soon as an operation ends after the signal aborted; an
     * object that fails is in the result and in its status.
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
     * Brings about what is desired of one object now, whether a retry is due or not, after the operation on it that is under
     * way. Rejects with its failure, which is left to the caller to log; the object stays due for a retry.
     */
    async apply(key: K, signal?: AbortSignal): Promise<void> {
        const object = this.#objects.get(key);
        if (object === undefined) return;
        const end = await this.#attempts.begin([object], signal);
        try {
            // Whoever was first may have brought it about.
            if (!object.isOpen) return;
            const failure = await this.#attempts.one({ object, goal: object.goal }, signal);
            if (failure !== undefined) throw failure.error;
        } finally {
            end();
        }
    }

    #track(key: K, last: V, isDesired: boolean): void {
        const { backoff } = this.#options;
        this.#objects.set(key, new TrackedObject(key, last, isDesired, { clock: this.#clock, backoff }));
    }

    /** Tries all objects that are due for this operation. */
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
            againInMs: open.length === 0 ? undefined : Math.min(...open.map(({ dueInMs }) => dueInMs)),
        };
    }
}
