import { AntreaError, type AntreaErrorOptions, type Fault, isAborted, isErrorOf } from "@antrea/errors";

/**
 * Codes of KubeError:
 *
 * - `BAD_REQUEST` … `SERVER_ERROR`: the server's reason, from its Status object or the HTTP status;
 * - `TIMEOUT`, `CONNECTION_FAILED`: no complete answer; a write may still take effect (`outcomeUnknown`);
 * - `BAD_ANSWER`, `TOO_LARGE`: the answer violates the protocol or exceeds a limit of this client;
 * - `BAD_CONFIG`: kubeconfig, service account or override are not usable;
 * - `ABORTED`: the caller's signal aborted, or the informer stopped.
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

/** Details of KubeError; the comments name when each is set. */
export interface KubeErrorDetails {
    /** `reason` of the Status object in the answer, "" without one; set for codes of the server. */
    readonly reason: string;
    /** `details.causes` of the Status object, unchecked; set with `reason` if present. */
    readonly causes: unknown;
    /** The unreadable kubeconfig; set for `BAD_CONFIG` if a file could not be read. */
    readonly file: string;
}

/** Options of the constructor of KubeError, besides cause and details: what the answer of the API server had. */
export interface KubeErrorOptions extends AntreaErrorOptions<KubeErrorDetails> {
    /** HTTP status, if there was an answer. */
    readonly status?: number;
    /** Milliseconds that the server asked to wait before the next try. */
    readonly retryAfterMs?: number | undefined;
    /** True if a write may or may not have taken effect: read the object before deciding. */
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
    BAD_ANSWER: "remote",
    TOO_LARGE: "remote",
    BAD_CONFIG: "environment",
    ABORTED: "aborted",
};

/**
 * Error of a request to the API server, or of its configuration. Its fault follows from its code: CONFLICT, NOT_FOUND,
 * ALREADY_EXISTS and INVALID are `caller`, BAD_REQUEST is `internal`, ABORTED `aborted`, TIMEOUT and SERVER_TIMEOUT
 * `timeout`, BAD_ANSWER and TOO_LARGE `remote`, all others `environment`.
 */
export class KubeError extends AntreaError<KubeErrorCode, KubeErrorDetails> {
    /** HTTP status, if there was an answer. */
    readonly status: number | undefined;
    /** Milliseconds that the server asked to wait before the next try. */
    readonly retryAfterMs: number | undefined;
    /** True if a write may or may not have taken effect. */
    readonly outcomeUnknown: boolean;

    constructor(code: KubeErrorCode, message: string, options: KubeErrorOptions = {}) {
        super(code, faults[code], message, options);
        this.status = options.status;
        this.retryAfterMs = options.retryAfterMs;
        this.outcomeUnknown = options.outcomeUnknown ?? false;
    }
}

/** True for a KubeError whose code is one of `codes`, or has any code if none are given. */
export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): error is KubeError {
    return isErrorOf(KubeError, error, ...codes);
}

/** Throws KubeError ABORTED if the signal is aborted; `what` names the operation in the message. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
    if (signal?.aborted === true) throw abortedError(what, signal.reason);
}

/** Returns KubeError ABORTED with the message "`what` was aborted", and `cause` unless that is an abort itself. */
export function abortedError(what: string, cause?: unknown): KubeError {
    return new KubeError("ABORTED", `${what} was aborted`, isAborted(cause) ? {} : { cause });
}
