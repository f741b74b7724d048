/** The API server's response to one request. */
export interface Answer {
    readonly status: number;
    /** JSON. */
    readonly body: string;
    readonly retryAfterSeconds?: number;
}

const reasons: Readonly<Record<number, string>> = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
};

/** A rejected request, as a Status object. */
export class Refusal extends Error {
    readonly status: number;
    readonly reason: string;

    constructor(status: number, message: string, reason: string = reasons[status] ?? "Unknown") {
        super(message);
        this.status = status;
        this.reason = reason;
    }

    get body(): string {
        const { status: code, message, reason } = this;
        const head = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" };
        return JSON.stringify({ ...head, message, reason, code });
    }
}
