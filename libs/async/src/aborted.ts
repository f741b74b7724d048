/** Resolves when the signal aborts, at once if it has; never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/**
 * The outcome of `promise`, or a rejection as soon as the signal aborts: with `error()`, by default with the reason of
 * the signal. The promise goes on then, and its outcome is ignored. Leaves no listener behind.
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
