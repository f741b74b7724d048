import { Backoff, sleep, type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import { isKubeError } from "@antrea/kube";

/**
 * Whether the same request may be made again: nobody said what became of it, or the server said that it cannot serve it
 * now.
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
        // A token that was rotated is read again with the next request.
        "UNAUTHORIZED",
    );
}

/** Whether the work may succeed as soon as the API server, OVS, or other work on a container lets it. */
export function isToBeRepeated(error: unknown): boolean {
    return isRetryable(error) || (error instanceof AntreaError && ["timeout", "aborted"].includes(error.fault));
}

export interface Repetition {
    /** No further try after this. The request under way is not cut short: its outcome would stay unknown. */
    readonly signal: AbortSignal;
    readonly clock: Clock;
    readonly onRepeat: (error: unknown) => void;
}

/** Makes a request until it is answered. Rejects with its last error when the signal ends first. */
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

/** A request about one interface may take this long: a Pod, or a container's DEL, waits for it. */
export const askLimitMs = 3_000;

/**
 * A container's lock is waited for this long, so that what is known is not old: one that is busy keeps no others waiting,
 * and is left to the next look. What is written under the lock has as long: DEL and the repair of OVS wait for it.
 */
export const lockLimitMs = 3_000;

/** A signal that ends with the given one, or after this time. */
export function within(signal: AbortSignal, ms: number): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(ms)]);
}
