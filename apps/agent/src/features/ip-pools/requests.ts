import { Backoff, sleep, type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import { isKubeError } from "@antrea/kube";

/**
 * Whether the same request may be retried: a KubeError whose outcome is unknown, or by which the server reported that
 * it cannot serve it now, UNAUTHORIZED included. False for other errors.
 */
export function isRetryable(error: unknown): boolean {
    if (!isKubeError(error)) return false;
    if (error.outcomeUnknown) return true;
    return isKubeError(
        error,
        "TIMEOUT",
        "CONNECTION_FAILED",
        "SERVER_TIMEOUT",
        "UNAVAILABLE",
        "SERVER_ERROR",
        "TOO_MANY_REQUESTS",
        // A rotated token is reread for the next request.
        "UNAUTHORIZED",
    );
}

/**
 * Whether the work may succeed once the API server, OVS, or other work on a container permits it: a retryable
 * KubeError, or an AntreaError with the fault `timeout` or `aborted`.
 */
export function isToBeRepeated(error: unknown): boolean {
    return isRetryable(error) || (error instanceof AntreaError && ["timeout", "aborted"].includes(error.fault));
}

/** How to retry a request. */
export interface Repetition {
    /** No further attempt after abort. The request in flight is not aborted, since its outcome would remain unknown. */
    readonly signal: AbortSignal;
    readonly clock: Clock;
    /** Called with the error before each repetition. */
    readonly onRepeat: (error: unknown) => void;
}

/**
 * Repeats a request, 50 ms to 1 s apart, until it is answered. Rejects at once with an error that is not retryable,
 * else with the error of the last request when the signal aborts; one request is made even if it is aborted already.
 */
export async function retryUntilAnswered<T>(request: () => Promise<T>, o: Repetition): Promise<T> {
    const backoff = new Backoff({ initialMs: 50, maxMs: 1_000 });
    for (;;) {
        try {
            return await request();
        } catch (error) {
            if (!isRetryable(error) || o.signal.aborted) throw error;
            o.onRepeat(error);
            try {
                await sleep(backoff.next(), o.signal, o.clock);
            } catch {
                throw error;
            }
        }
    }
}

/** Limit for a request about one interface, in milliseconds: a Pod, or a container's DEL, waits for it. */
export const askLimitMs = 3_000;

/**
 * Limit for waiting for a container's lock, in milliseconds, so that cached data is not outdated: a busy container does
 * not delay the others and is left to the next check. A write under the lock has the same limit, because DEL and OVS
 * repair wait for it.
 */
export const lockLimitMs = 3_000;

/**
 * A signal that aborts with the given one or after `ms` milliseconds of real time, whatever clock is injected; then its
 * reason is a `TimeoutError` (DOMException), for which `isAborted` is false.
 */
export function within(signal: AbortSignal, ms: number): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(ms)]);
}
