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
    readonly evaluate: () => void;
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
    wait<T>(probe: () => T | undefined, options: WaitOptions): Promise<T> {
        const { what, signal, timeoutMs } = options;
        return new Promise<T>((resolve, reject) => {
            const now = probe();
            if (now !== undefined) {
                resolve(now);
                return;
            }
            if (this.#closed !== undefined) throw this.#closed;
            const fail = (error: unknown): void => {
                release();
                reject(error as Error);
            };
            const onAbort = (): void => {
                const cause = options.why?.() ?? signal?.reason;
                fail(new OvsdbError("ABORTED", "aborted", `waiting for ${what} was cancelled`, { cause }));
            };
            const onTimeout = (): void => {
                const message = `${what} did not come within ${timeoutMs} ms`;
                fail(new OvsdbError("TIMEOUT", "timeout", message, { cause: options.why?.() }));
            };
            const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
            const waiter: Waiter = {
                evaluate: () => {
                    try {
                        const value = probe();
                        if (value === undefined) return;
                        release();
                        resolve(value);
                    } catch (error) {
                        fail(error);
                    }
                },
                reject: fail,
            };
            const release = (): void => {
                clearTimeout(timer);
                signal?.removeEventListener("abort", onAbort);
                this.#waiting.delete(waiter);
            };
            this.#waiting.add(waiter);
            signal?.addEventListener("abort", onAbort, { once: true });
            if (signal?.aborted === true) onAbort();
        });
    }

    /** Runs all probes; called after each change of the state. */
    evaluate(): void {
        for (const waiter of [...this.#waiting]) waiter.evaluate();
    }

    /** Rejects all waiting promises with this error, and later ones whose probe returns no value at once. */
    close(error: OvsdbError): void {
        this.#closed = error;
        for (const waiter of [...this.#waiting]) waiter.reject(error);
    }
}
