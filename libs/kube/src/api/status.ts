import { KubeError, type KubeErrorCode } from "../errors.ts";

const codesByReason: Readonly<Record<string, KubeErrorCode>> = {
    BadRequest: "BAD_REQUEST",
    Unauthorized: "UNAUTHORIZED",
    Forbidden: "FORBIDDEN",
    NotFound: "NOT_FOUND",
    AlreadyExists: "ALREADY_EXISTS",
    Conflict: "CONFLICT",
    Expired: "EXPIRED",
    Gone: "EXPIRED",
    Invalid: "INVALID",
    TooManyRequests: "TOO_MANY_REQUESTS",
    ServerTimeout: "SERVER_TIMEOUT",
    Timeout: "SERVER_TIMEOUT",
    ServiceUnavailable: "UNAVAILABLE",
};

const codesByStatus: Readonly<Record<number, KubeErrorCode>> = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    410: "EXPIRED",
    422: "INVALID",
    429: "TOO_MANY_REQUESTS",
    503: "UNAVAILABLE",
    504: "SERVER_TIMEOUT",
};

const maxMessageLength = 2_000;

/**
 * Returns the KubeError for an error answer or the ERROR event of a watch. Its code follows from the `reason` of the
 * Status object in `body`, else from the HTTP status; of an unknown one it is SERVER_ERROR from 500 on, else
 * BAD_REQUEST. `outcomeUnknown` is set for a write answered with 5xx.
 *
 * @param what the request, for the message
 */
export function statusError(
    what: string,
    httpStatus: number,
    body: unknown,
    options: { readonly retryAfterMs?: number | undefined; readonly write?: boolean } = {},
): KubeError {
    const status = isRecord(body) && body.kind === "Status" ? body : {};
    const reason = typeof status.reason === "string" ? status.reason : "";
    const message = typeof status.message === "string" ? status.message.slice(0, maxMessageLength) : "no message";
    const code =
        codesByReason[reason] ?? codesByStatus[httpStatus] ?? (httpStatus >= 500 ? "SERVER_ERROR" : "BAD_REQUEST");
    const details = isRecord(status.details) ? status.details : {};
    const seconds = typeof details.retryAfterSeconds === "number" ? details.retryAfterSeconds : undefined;
    const retryAfterMs = options.retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
    return new KubeError(code, `${what}: the API server answered ${httpStatus} ${reason || code}: ${message}`, {
        status: httpStatus,
        // A server error after a write was accepted does not show whether etcd stored it.
        outcomeUnknown: options.write === true && httpStatus >= 500 && code !== "TOO_MANY_REQUESTS",
        retryAfterMs,
        details: { reason, causes: details.causes },
    });
}

/** True for an object that is neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
