import { type Clock } from "@antrea/async";
import { PodNetworkError } from "./errors.ts";

/**
 * An abort signal with a timeout, whose reason then is PodNetworkError `TOO_SLOW`, combined with an optional outer
 * signal. What waits with it rejects with its own `ABORTED` error, of which that is the cause. Disposing of it frees
 * its timer; the signal stays as it is.
 */
export class Limit implements Disposable {
    readonly signal: AbortSignal;
    readonly #timer: Disposable;

    /**
     * @param ms the timeout in milliseconds of the clock
     * @param what names the work in the error of the signal, e.g. "unwiring"
     */
    constructor(clock: Clock, ms: number, what: string, outer?: AbortSignal) {
        const over = new AbortController();
        this.#timer = clock.after(ms, () =>
            over.abort(new PodNetworkError("TOO_SLOW", "timeout", `${what} took longer than ${ms / 1000} s`)),
        );
        this.signal = outer === undefined ? over.signal : AbortSignal.any([outer, over.signal]);
    }

    /** Frees the timer. */
    [Symbol.dispose](): void {
        this.#timer[Symbol.dispose]();
    }
}
