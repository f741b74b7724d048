import { type Clock } from "@antrea/async";
import { PodNetworkError } from "./errors.ts";

/** A signal that aborts when the time is over, or with one of the given signals. Disposing of it frees its timer. */
export class Limit implements Disposable {
    readonly signal: AbortSignal;
    readonly #timer: Disposable;

    /** `ms` by the clock; `what` for the error that the signal carries then: "unwiring". */
    constructor(clock: Clock, ms: number, what: string, outer?: AbortSignal) {
        const over = new AbortController();
        this.#timer = clock.after(ms, () =>
            over.abort(new PodNetworkError("TOO_SLOW", "timeout", `${what} took longer than ${ms / 1000} s`)),
        );
        this.signal = outer === undefined ? over.signal : AbortSignal.any([outer, over.signal]);
    }

    [Symbol.dispose](): void {
        this.#timer[Symbol.dispose]();
    }
}
