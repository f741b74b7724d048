import { isErrorOf } from "@antrea/errors";
import { OvsdbError } from "../codec/error.ts";

/** Options of one request; `timeoutMs` is in milliseconds. */
export interface RequestOptions {
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
    /** The request may change the database: its outcome is unknown when the answer is lost. */
    readonly changes: boolean;
}

interface Pending {
    readonly method: string;
    readonly changes: boolean;
    /** Settles with the result that `read` returns, or the server's error that it throws. */
    readonly settle: (read: () => unknown) => void;
    readonly reject: (error: OvsdbError) => void;
}

/**
 * The requests that wait for an answer, each until its answer, time limit or abort, whichever is first. `max` limits
 * their number. For one that timed out or was aborted `cancel` is called; a later answer is ignored.
 */
export class PendingRequests {
    readonly #max: number;
    readonly #cancel: (id: number) => void;
    readonly #waiting = new Map<unknown, Pending>();
    #nextId = 1;

    /** @param cancel notifies the server that the answer to this request is not needed */
    constructor(max: number, cancel: (id: number) => void) {
        this.#max = max;
        this.#cancel = cancel;
    }

    /**
     * Sends a request and resolves with what `receive` returns for its result.
     *
     * @param send sends the request under this id; an error that it throws rejects
     * @throws OvsdbError `QUEUE_FULL`, `ABORTED`, `TIMEOUT`, `OUTCOME_UNKNOWN`, an error of `receive` or the server's
     *   error
     */
    add<T>(
        method: string,
        receive: (result: unknown) => T,
        options: RequestOptions,
        send: (id: number) => void,
    ): Promise<T> {
        const { signal, timeoutMs, changes } = options;
        return new Promise<T>((resolve, reject) => {
            if (signal?.aborted === true) throw aborted(method, "it was not sent", signal.reason);
            if (this.#waiting.size >= this.#max) throw full(method, this.#max);
            const id = this.#nextId++;
            send(id);
            const timer = setTimeout(() => {
                release();
                this.#cancel(id);
                reject(timedOut(method, changes, timeoutMs));
            }, timeoutMs);
            const onAbort = (): void => {
                release();
                this.#cancel(id);
                reject(aborted(method, changes ? "it may have taken effect" : "its answer is ignored", signal?.reason));
            };
            const release = (): void => {
                clearTimeout(timer);
                signal?.removeEventListener("abort", onAbort);
                this.#waiting.delete(id);
            };
            signal?.addEventListener("abort", onAbort, { once: true });
            this.#waiting.set(id, {
                method,
                changes,
                settle: (read) => {
                    release();
                    try {
                        resolve(receive(read()));
                    } catch (error) {
                        reject(error as Error);
                    }
                },
                reject: (error) => {
                    release();
                    reject(error);
                },
            });
        });
    }

    /** Settles the request with this id with what `read` returns or throws; without effect if there is none. */
    settle(id: unknown, read: (method: string) => unknown): void {
        const pending = this.#waiting.get(id);
        pending?.settle(() => read(pending.method));
    }

    /** Rejects all requests: with `OUTCOME_UNKNOWN` those that may change the database, others with `lost`. */
    rejectAll(reason: OvsdbError): void {
        for (const { method, changes, reject } of [...this.#waiting.values()]) {
            reject(changes ? outcomeUnknown(method, "the connection ended", reason) : lost(method, reason));
        }
    }
}

/**
 * Returns, without throwing it, the error of a request that changes nothing and whose connection has ended, or of one
 * that was not sent because it had: `CLOSED` if the session was closed, else `DISCONNECTED`.
 */
export function lost(method: string, cause: OvsdbError): OvsdbError {
    const code = isErrorOf(OvsdbError, cause, "CLOSED") ? "CLOSED" : "DISCONNECTED";
    return new OvsdbError(code, cause.fault, `request ${method} got no answer: the connection ended`, { cause });
}

function outcomeUnknown(method: string, what: string, cause?: OvsdbError): OvsdbError {
    const message = `${what} before request ${method} was answered: it may or may not have taken effect, check the rows`;
    return new OvsdbError("OUTCOME_UNKNOWN", cause === undefined ? "timeout" : "environment", message, { cause });
}

function timedOut(method: string, changes: boolean, timeoutMs: number): OvsdbError {
    if (changes) return outcomeUnknown(method, `${timeoutMs} ms passed`);
    return new OvsdbError("TIMEOUT", "timeout", `request ${method} was not answered within ${timeoutMs} ms`);
}

function aborted(method: string, what: string, cause: unknown): OvsdbError {
    return new OvsdbError("ABORTED", "aborted", `request ${method} was cancelled: ${what}`, { cause });
}

function full(method: string, max: number): OvsdbError {
    const message = `${max} requests wait for the server: request ${method} was not sent, ask again later`;
    return new OvsdbError("QUEUE_FULL", "environment", message);
}
