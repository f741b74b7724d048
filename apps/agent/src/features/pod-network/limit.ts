import { type Clock } from "@antrea/async";
import { isAborted, messageOf } from "@antrea/errors";
import { PodNetworkError } from "./errors.ts";

/**
 * An abort signal with a timeout, whose reason then is PodNetworkError `TOO_SLOW`, combined with an optional outer
 * signal. What waits with the signal alone rejects with its own `ABORTED` error, of which that is the cause; `run`
 * rejects with `TOO_SLOW` instead. Disposing of it frees its timer; the signal stays as it is.
 */
export class Limit implements Disposable {
    readonly signal: AbortSignal;
    readonly #over = new AbortController();
    readonly #timer: Disposable;

    /**
     * @param ms the timeout in milliseconds of the clock
     * @param what names the work in the error of the signal, e.g. "unwiring"
     */
    constructor(clock: Clock, ms: number, what: string, outer?: AbortSignal) {
        this.#timer = clock.after(ms, () =>
            this.#over.abort(new PodNetworkError("TOO_SLOW", "timeout", `${what} took longer than ${ms / 1000} s`)),
        );
        this.signal = outer === undefined ? this.#over.signal : AbortSignal.any([outer, this.#over.signal]);
    }

    /**
     * Runs the work with the signal and settles as it does; but if the timeout aborted it, rejects with PodNetworkError
     * `TOO_SLOW`, whose message also has that of the part that waited: a timeout is a failure, which callers report,
     * and no abort on purpose (`isAborted`), which they drop. An abort by the outer signal stays what it is.
     */
    async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
        try {
            return await work(this.signal);
        } catch (error) {
            // Of two aborts the signal has the reason of the first.
            const isOver = this.#over.signal.aborted && this.signal.reason === this.#over.signal.reason;
            if (!isOver || !isAborted(error)) throw error;
            // Not as its cause: that has the same reason again.
            const waited = error instanceof Error ? error.message : messageOf(error);
            throw new PodNetworkError("TOO_SLOW", "timeout", `${messageOf(this.signal.reason)}: ${waited}`);
        }
    }

    /** Frees the timer. */
    [Symbol.dispose](): void {
        this.#timer[Symbol.dispose]();
    }
}
