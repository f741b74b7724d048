import { AntreaError, type AntreaErrorOptions, type Fault, isAborted, isErrorOf } from "@antrea/errors";

/**
 * What went wrong between us and the API server:
 *
 * - the server's own reasons (`NOT_FOUND` … `SERVER_ERROR`), taken from its Status object;
 * - `TIMEOUT` and `CONNECTION_FAILED`: no answer; a write may still take effect (`outcomeUnknown`);
 * - `BAD_ANSWER`, `TOO_LARGE`: an answer that breaks the protocol or a limit of ours;
 * - `BAD_CONFIG`: kubeconfig, service account or override cannot be used;
 * - `ABORTED`: the caller's signal.
 */
export type KubeErrorCode =
    | "BAD_REQUEST"
    | "UNAUTHORIZED"
    | "FORBIDDEN"
    | "NOT_FOUND"
    | "ALREADY_EXISTS"
    | "CONFLICT"
    | "EXPIRED"
    | "INVALID"
    | "TOO_MANY_REQUESTS"
    | "SERVER_TIMEOUT"
    | "UNAVAILABLE"
    | "SERVER_ERROR"
    | "TIMEOUT"
    | "CONNECTION_FAILED"
    | "BAD_ANSWER"
    | "TOO_LARGE"
    | "BAD_CONFIG"
    | "ABORTED";

export interface KubeErrorDetails {
    /** `reason` of the Status that the server answered with. */
    readonly reason: string;
    /** Its `details.causes`, unchecked. */
    readonly causes: unknown;
    /** The kubeconfig or token file; of `BAD_CONFIG`. */
    readonly file: string;
}

export interface KubeErrorOptions extends AntreaErrorOptions<KubeErrorDetails> {
    /** HTTP status, where there was an answer. */
    readonly status?: number;
    /** The server asked not to come back earlier. Milliseconds. */
    readonly retryAfterMs?: number;
    /** A write may or may not have taken effect: read again before deciding. */
    readonly outcomeUnknown?: boolean;
}

const faults: Readonly<Record<KubeErrorCode, Fault>> = {
    BAD_REQUEST: "internal",
    UNAUTHORIZED: "environment",
    FORBIDDEN: "environment",
    NOT_FOUND: "caller",
    ALREADY_EXISTS: "caller",
    CONFLICT: "caller",
    EXPIRED: "environment",
    INVALID: "caller",
    TOO_MANY_REQUESTS: "environment",
    SERVER_TIMEOUT: "timeout",
    UNAVAILABLE: "environment",
    SERVER_ERROR: "environment",
    TIMEOUT: "timeout",
    CONNECTION_FAILED: "environment",
    BAD_ANSWER: "peer",
    TOO_LARGE: "peer",
    BAD_CONFIG: "environment",
    ABORTED: "aborted",
};

/** Every failure of a request to the API server. */
export class KubeError extends AntreaError<KubeErrorCode, KubeErrorDetails> {
    readonly status: number | undefined;
    readonly retryAfterMs: number | undefined;
    readonly outcomeUnknown: boolean;

    constructor(code: KubeErrorCode, message: string, options: KubeErrorOptions = {}) {
        super(code, faults[code], message, options);
        this.status = options.status;
        this.retryAfterMs = options.retryAfterMs;
        this.outcomeUnknown = options.outcomeUnknown ?? false;
    }
}

/** True for a KubeError with one of these codes. */
export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): error is KubeError {
    return isErrorOf(KubeError, error, ...codes);
}

/** Throws ABORTED if the signal is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
    if (signal?.aborted === true) throw abortedError(what, signal.reason);
}

export function abortedError(what: string, cause?: unknown): KubeError {
    return new KubeError("ABORTED", `${what} was aborted`, isAborted(cause) ? {} : { cause });
}
