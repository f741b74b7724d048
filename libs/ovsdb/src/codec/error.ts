import { AntreaError } from "@antrea/errors";

/** Codes for bytes, messages and values that break RFC 7047, and for arguments that cannot be put into it. */
export type CodecErrorCode =
    /** The bytes are not JSON objects one after another, or not UTF-8. */
    | "BAD_JSON"
    /** A JSON-RPC message, or a part of one, has another shape than the RFC gives it. */
    | "BAD_MESSAGE"
    /** A value does not fit its column. */
    | "BAD_VALUE"
    /** One message is longer than the limit. */
    | "MESSAGE_TOO_LONG"
    /** What the caller wants to send has no notation in OVSDB. */
    | "BAD_ARGUMENT";

/** Codes for what a database server answers: the error strings of RFC 7047 section 3.1 and of ovsdb-server. */
export type ServerErrorCode =
    | "CANCELED"
    | "CONSTRAINT_VIOLATION"
    | "DOMAIN_ERROR"
    | "DUPLICATE_UUID_NAME"
    | "IO_ERROR"
    | "NOT_ALLOWED"
    | "NOT_LOCK_OWNER"
    | "NOT_SUPPORTED"
    | "RANGE_ERROR"
    | "REFERENTIAL_INTEGRITY"
    | "RESOURCES_EXHAUSTED"
    | "SYNTAX_ERROR"
    | "TRANSACTION_ABORTED"
    | "UNKNOWN_COLUMN"
    | "UNKNOWN_DATABASE"
    | "UNKNOWN_METHOD"
    | "WAIT_TIMED_OUT"
    /** Any other error text; `details.error` has it. */
    | "REFUSED";

/** Codes of a session. */
export type SessionErrorCode =
    /** No connection when the request was made, or it ended while a request without effect was pending. */
    | "DISCONNECTED"
    /** The connection ended, or time ran out, after a transaction was sent: it may have been committed or not. */
    | "OUTCOME_UNKNOWN"
    /** Time ran out for something without effect on the database. */
    | "TIMEOUT"
    /** Cancelled by the caller's signal. */
    | "ABORTED"
    /** The session was closed. */
    | "CLOSED"
    /** More requests or bytes are waiting than the limits allow. */
    | "QUEUE_FULL"
    /** The database lacks a table or column that is to be monitored. */
    | "SCHEMA_MISMATCH";

export type OvsdbErrorCode = CodecErrorCode | ServerErrorCode | SessionErrorCode;

const retryableCodes: ReadonlySet<OvsdbErrorCode> = new Set([
    "DISCONNECTED",
    "OUTCOME_UNKNOWN",
    "TIMEOUT",
    "QUEUE_FULL",
    "NOT_LOCK_OWNER",
    "CANCELED",
    "IO_ERROR",
    "RESOURCES_EXHAUSTED",
    "WAIT_TIMED_OUT",
]);

export interface OvsdbErrorDetails {
    /** Index of the refused operation in the caller's list; missing when the transaction was refused at its commit. */
    readonly operationIndex: number;
    /** The operation in a few words. */
    readonly operation: string;
    /** The name of the server's error, and its words. */
    readonly error: string;
    readonly reason: string;
    /** Where in a message or value a rule is broken. */
    readonly path: string;
    readonly column: string;
    readonly table: string;
    readonly uuid: string;
    readonly socketPath: string;
    readonly maxBytes: number;
    readonly queuedBytes: number;
    /** For how long the server sent nothing, in milliseconds. */
    readonly silentMs: number;
}

/** Every error of this library. */
export class OvsdbError extends AntreaError<OvsdbErrorCode, OvsdbErrorDetails> {
    /**
     * True when the same request may succeed later unchanged. After `OUTCOME_UNKNOWN` look at the rows first: what was
     * asked may have taken effect.
     */
    get retryable(): boolean {
        return retryableCodes.has(this.code);
    }

    /** Index of the refused operation in the list the caller gave. */
    get operationIndex(): number | undefined {
        return this.details.operationIndex;
    }
}
