import { Backoff, type BackoffOptions, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { Change, Removal } from "./operations.ts";
import type { ObjectState, ObjectStatus } from "./status.ts";

interface Held<V> {
    readonly value: V;
}

/** What a try brings about. It says by its identity whether the object changed since. */
export type Goal<V> = Held<V> | "deleted";

/** One object of a reconciler: what is desired of it, what is in place, and how its last try went. */
export class TrackedObject<K, V> {
    readonly key: K;
    readonly #clock: Clock;
    readonly #backoff: Backoff;
    #goal: Goal<V>;
    /** The last value that was desired, or that whoever deleted the object knew of. */
    #last: V;
    /** Undefined when unknown. */
    #inPlace: Held<V> | undefined;
    #status: ObjectStatus;
    #error: unknown;
    #dueMs = -Infinity;
    /** Resolves when the operation under way ends. */
    busy: Promise<void> | undefined;

    constructor(key: K, last: V, isDesired: boolean, { clock, backoff }: { clock: Clock; backoff: BackoffOptions }) {
        this.key = key;
        this.#clock = clock;
        this.#backoff = new Backoff(backoff);
        this.#last = last;
        this.#goal = isDesired ? { value: last } : "deleted";
        this.#status = { state: "pending", message: undefined, sinceMs: clock.now(), failures: 0 };
    }

    get status(): ObjectStatus {
        return this.#status;
    }

    /** Of the last try, if the state is `error`. */
    get error(): unknown {
        return this.#status.state === "error" ? this.#error : undefined;
    }

    get goal(): Goal<V> {
        return this.#goal;
    }

    /** Whether there is something to do; `dueInMs` says when. */
    get isOpen(): boolean {
        return this.#status.state !== "done";
    }

    get dueInMs(): number {
        return Math.max(this.#dueMs - this.#clock.monotonic(), 0);
    }

    want(value: V, isEqual: (one: V, other: V) => boolean): void {
        if (this.#goal !== "deleted" && isEqual(this.#goal.value, value)) return;
        this.#goal = { value };
        this.#last = value;
        this.#reopen();
    }

    unwant(): void {
        if (this.#goal === "deleted") return;
        this.#goal = "deleted";
        this.#reopen();
    }

    /** What is in place is not what was put there. A failure that waits for its retry goes on waiting. */
    differs(): void {
        this.#inPlace = undefined;
        if (this.#status.state === "done") this.#reopen();
    }

    adopted(): void {
        this.reached(this.#goal);
    }

    change({ value }: Held<V>): Change<K, V> {
        return { key: this.key, value, before: this.#inPlace?.value };
    }

    removal(): Removal<K, V> {
        return { key: this.key, last: this.#inPlace === undefined ? this.#last : this.#inPlace.value };
    }

    /** The goal was reached; another one may have taken its place meanwhile. */
    reached(goal: Goal<V>): void {
        this.#inPlace = goal === "deleted" ? undefined : goal;
        if (this.#goal !== goal) return;
        this.#backoff.reset();
        this.#set("done", undefined, 0);
    }

    /** The goal was not reached; an object that changed meanwhile is due at once. */
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
        const { state: before, message: said, sinceMs } = this.#status;
        const isSame = before === state && said === message;
        this.#status = { state, message, failures, sinceMs: isSame ? sinceMs : this.#clock.now() };
    }
}
