/**
 * Resolves when the signal aborts, immediately if it is aborted already. Never rejects. Its listener stays on the
 * signal until then, so it is for signals that live as long as the caller.
 */
export function aborted(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/**
 * Settles as `promise` does, or rejects as soon as the signal aborts: with `error()`, by default with the signal's
 * reason. Without a signal it only waits for `promise`. The work behind `promise` is not stopped and its later outcome
 * is ignored. No listener remains on the signal.
 */
export async function orAborted<T>(
    promise: Promise<T>,
    signal: AbortSignal | undefined,
    error: () => unknown = () => signal?.reason,
): Promise<T> {
    if (signal === undefined) return promise;
    const given = Promise.withResolvers<never>();
    const onAbort = (): void => given.reject(error() as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
        return await Promise.race([promise, given.promise]);
    } finally {
        signal.removeEventListener("abort", onAbort);
    }
}
