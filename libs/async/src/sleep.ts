import { type Clock, systemClock } from "./clock.ts";
import { abortedError, AsyncError } from "./errors.ts";

/**
 * Resolves after `ms` milliseconds. Rejects with AsyncError `ABORTED` as soon as the signal aborts. Neither a timer nor
 * a listener remains afterwards.
 */
export function sleep(ms: number, signal?: AbortSignal, clock: Clock = systemClock): Promise<void> {
    return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(abortedError("sleep", signal));
        const onAbort = (): void => {
            timer[Symbol.dispose]();
            reject(abortedError("sleep", signal as AbortSignal));
        };
        const timer = clock.after(ms, () => {
            signal?.removeEventListener("abort", onAbort);
            resolve();
        });
        signal?.addEventListener("abort", onAbort, { once: true });
    });
}

/** Options of `withTimeout`: the name in its errors, and the clock. */
export interface TimeoutOptions {
    /** Name of the operation in the error message. Default "the operation". */
    readonly what?: string;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/**
 * Runs `work` with a signal that aborts after `ms` milliseconds or when `signal` aborts; if that is aborted already,
 * `work` does not start. Rejects at that moment with AsyncError `TIMEOUT` or `ABORTED`, even if `work` ignores its
 * signal; the later outcome of `work` is ignored, including a rejection.
 */
export async function withTimeout<T>(
    work: (signal: AbortSignal) => Promise<T>,
    ms: number,
    signal?: AbortSignal,
    options: TimeoutOptions = {},
): Promise<T> {
    const what = options.what ?? "the operation";
    if (signal?.aborted) throw abortedError(what, signal);
    const inner = new AbortController();
    const given = Promise.withResolvers<never>();
    const giveUp = (error: AsyncError): void => {
        given.reject(error);
        inner.abort(error);
    };
    const timer = (options.clock ?? systemClock).after(ms, () =>
        giveUp(new AsyncError("TIMEOUT", "timeout", `${what} did not end within ${ms} ms`, { details: { ms } })),
    );
    const onAbort = (): void => giveUp(abortedError(what, signal as AbortSignal));
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
        return await Promise.race([work(inner.signal), given.promise]);
    } finally {
        timer[Symbol.dispose]();
        signal?.removeEventListener("abort", onAbort);
    }
}
