import { orAborted } from "@antrea/async";
import { OvsdbError } from "../codec/error.ts";

/** Options of `Waiters.wait`: the signal rejects with `ABORTED`, the end of the time with `TIMEOUT`. */
export interface WaitOptions {
    /** Names what the caller waits for, in messages. */
    readonly what: string;
    readonly signal?: AbortSignal | undefined;
    /** In milliseconds. Default: no limit. */
    readonly timeoutMs?: number | undefined;
    /** The possible reason of a timeout or abort, as the cause of its error. */
    readonly why?: () => unknown;
}

interface Waiter {
    /** Runs the probe; returns whether the wait has ended. */
    readonly evaluate: () => boolean;
    readonly reject: (error: OvsdbError) => void;
}

/**
 * Promises that wait until a probe of the current state returns a value; the owner of the state calls `evaluate` after
 * each change.
 */
export class Waiters {
    readonly #waiting = new Set<Waiter>();
    #closed: OvsdbError | undefined;

    /**
     * Resolves with the first value of `probe` that is not undefined, now or at a later `evaluate`; rejects with what
     * it throws.
     *
     * @throws OvsdbError `TIMEOUT`, `ABORTED`, or the error of `close`
     */
    async wait<T>(probe: () => T | undefined, { what, signal, timeoutMs, why }: WaitOptions): Promise<T> {
        const now = probe();
        if (now !== undefined) return now;
        if (this.#closed !== undefined) throw this.#closed;
        const { promise, resolve, reject } = Promise.withResolvers<T>();
        const waiter: Waiter = {
            evaluate: () => {
                try {
                    const value = probe();
                    if (value === undefined) return false;
                    resolve(value);
                } catch (error) {
                    reject(error);
                }
                return true;
            },
            reject,
        };
        const onTimeout = (): void => {
            const message = `${what} did not come within ${timeoutMs} ms`;
            reject(new OvsdbError("TIMEOUT", "timeout", message, { cause: why?.() }));
        };
        const cancelled = (): OvsdbError => {
            const cause = why?.() ?? signal?.reason;
            return new OvsdbError("ABORTED", "aborted", `waiting for ${what} was cancelled`, { cause });
        };
        const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
        this.#waiting.add(waiter);
        try {
            return await orAborted(promise, signal, cancelled);
        } finally {
            clearTimeout(timer);
            this.#waiting.delete(waiter);
        }
    }

    /** Runs all probes; called after each change of the state. */
    evaluate(): void {
        for (const waiter of [...this.#waiting]) if (waiter.evaluate()) this.#waiting.delete(waiter);
    }

    /** Rejects all waiting promises with this error, and later ones whose probe returns no value at once. */
    close(error: OvsdbError): void {
        this.#closed = error;
        for (const waiter of [...this.#waiting]) waiter.reject(error);
    }
}
