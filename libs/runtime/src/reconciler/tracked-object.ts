import { Backoff, type BackoffOptions, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { Change, Removal } from "./operations.ts";
import type { ObjectState, ObjectStatus } from "./status.ts";

interface Held<V> {
    readonly value: V;
}

/**
 * The target of an operation: the desired value, or `deleted`. Compared by identity, it shows whether the object
 * changed since.
 */
export type Goal<V> = Held<V> | "deleted";

/**
 * One object of a reconciler: its desired value, its value in place, and its status. It runs nothing: Attempts sets
 * `busy` around an operation and reports its outcome by `reached` or `failed`.
 */
export class TrackedObject<K, V> {
    readonly key: K;
    readonly #clock: Clock;
    readonly #backoff: Backoff;
    #goal: Goal<V>;
    /** The last desired value, or the one that was passed with the deletion. */
    #last: V;
    /** Undefined if unknown. */
    #inPlace: Held<V> | undefined;
    #status: ObjectStatus;
    #error: unknown;
    #dueMs = -Infinity;
    /** Resolves when the running operation ends; undefined if none runs. */
    busy: Promise<void> | undefined;

    constructor(key: K, last: V, isDesired: boolean, { clock, backoff }: { clock: Clock; backoff: BackoffOptions }) {
        this.key = key;
        this.#clock = clock;
        this.#backoff = new Backoff(backoff);
        this.#last = last;
        this.#goal = isDesired ? { value: last } : "deleted";
        this.#status = { state: "pending", message: undefined, sinceMs: clock.now(), failures: 0 };
    }

    /** State, message and failures of the object. */
    get status(): ObjectStatus {
        return this.#status;
    }

    /** Error of the last operation, if the state is `error`. */
    get error(): unknown {
        return this.#status.state === "error" ? this.#error : undefined;
    }

    /** The desired value, or `deleted`. */
    get goal(): Goal<V> {
        return this.#goal;
    }

    /** True if an operation is needed; `dueInMs` is the time until then. */
    get isOpen(): boolean {
        return this.#status.state !== "done";
    }

    /** Milliseconds until the object is due; 0 if it is due now. */
    get dueInMs(): number {
        return Math.max(this.#dueMs - this.#clock.monotonic(), 0);
    }

    /** Sets the desired value; without effect if it equals the current one. */
    want(value: V, isEqual: (one: V, other: V) => boolean): void {
        if (this.#goal !== "deleted" && isEqual(this.#goal.value, value)) return;
        this.#goal = { value };
        this.#last = value;
        this.#reopen();
    }

    /** Makes the object no longer desired. */
    unwant(): void {
        if (this.#goal === "deleted") return;
        this.#goal = "deleted";
        this.#reopen();
    }

    /**
     * The object in place differs from what was put there, or may differ. An operation that runs on it does not count,
     * since it may have ended before the difference arose. The delay of a pending retry remains.
     */
    differs(): void {
        this.#inPlace = undefined;
        if (this.#status.state === "done") this.#reopen();
        else if (this.busy !== undefined && this.#goal !== "deleted") this.#goal = { value: this.#goal.value };
    }

    /** Makes a pending retry due now; a further failure has the next longer delay. */
    retryNow(): void {
        this.#dueMs = -Infinity;
    }

    /** Records that the desired value is in place; without effect while an operation may be overwriting it. */
    adopted(): void {
        if (this.busy === undefined) this.reached(this.#goal);
    }

    /** Returns the input of an update to the desired value. */
    change({ value }: Held<V>): Change<K, V> {
        return { key: this.key, value, before: this.#inPlace?.value };
    }

    /** Returns the input of a deletion. */
    removal(): Removal<K, V> {
        return { key: this.key, last: this.#inPlace === undefined ? this.#last : this.#inPlace.value };
    }

    /** Records that `goal` was reached, which may no longer be the current goal. */
    reached(goal: Goal<V>): void {
        // With the same value in a new goal, the object may have been changed by others during the operation.
        const isDoubtful = this.#goal !== goal && valueOf(this.#goal) === valueOf(goal);
        this.#inPlace = goal === "deleted" || isDoubtful ? undefined : goal;
        if (this.#goal !== goal) return;
        this.#backoff.reset();
        this.#set("done", undefined, 0);
    }

    /** Records that `goal` was not reached. An object that changed meanwhile is due at once. */
    failed(goal: Goal<V>, error: unknown): void {
        if (this.#goal !== goal) return;
        this.#dueMs = this.#clock.monotonic() + this.#backoff.next();
        this.#error = error;
        this.#set("error", messageOf(error), this.#status.failures + 1);
    }

    #reopen(): void {
        this.#backoff.reset();
        this.#dueMs = -Infinity;
        this.#set("pending", undefined, 0);
    }

    #set(state: ObjectState, message: string | undefined, failures: number): void {
        const { state: before, message: messageBefore, sinceMs } = this.#status;
        const isSame = before === state && messageBefore === message;
        this.#status = { state, message, failures, sinceMs: isSame ? sinceMs : this.#clock.now() };
    }
}

function valueOf<V>(goal: Goal<V>): V | undefined {
    return goal === "deleted" ? undefined : goal.value;
}
