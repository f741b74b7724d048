import { AntreaError } from "@antrea/errors";

/** Error codes of the codec: bytes, messages and values that break RFC 7047, and arguments that have no form in it. */
export type CodecErrorCode =
    /** The bytes are not JSON objects one after another, or not UTF-8. */
    | "BAD_JSON"
    /** A JSON-RPC message, or a part of one, has another shape than the RFC defines. */
    | "BAD_MESSAGE"
    /** A value does not fit its column. */
    | "BAD_VALUE"
    /** One message is longer than the limit. */
    | "MESSAGE_TOO_LONG"
    /** An argument of the caller has no form in OVSDB. */
    | "BAD_ARGUMENT";

/**
 * Error codes of a database server: the error strings of RFC 7047 section 3.1 and of ovsdb-server in capitals, but
 * `NOT_LOCK_OWNER` is "not owner", `WAIT_TIMED_OUT` "timed out", `TRANSACTION_ABORTED` "aborted",
 * `REFERENTIAL_INTEGRITY` "referential integrity violation", and `NOT_ALLOWED` also "permission error".
 */
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

/** Error codes of a session. */
export type SessionErrorCode =
    /** Not connected when the request was made, or disconnected while a request that changes nothing was pending. */
    | "DISCONNECTED"
    /** The connection or the time ended after a transaction was sent, which may have been committed or not. */
    | "OUTCOME_UNKNOWN"
    /** A request or wait that changes nothing took longer than its time limit. */
    | "TIMEOUT"
    /** Cancelled by the caller's signal; a transaction that was sent may have taken effect. */
    | "ABORTED"
    /** The session was closed, by `close` or the signal of `start`; nothing was sent, or a wait ended. */
    | "CLOSED"
    /** More requests or bytes wait than the limits allow; nothing was sent. */
    | "QUEUE_FULL"
    /** The database lacks a table or column that is to be monitored. */
    | "SCHEMA_MISMATCH";

/** Every code of an `OvsdbError`. */
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

/**
 * Details of an `OvsdbError`, each present where it applies: `column`, `table` and `uuid` name the object,
 * `queuedBytes` wait for the server, `maxBytes` is the limit that was exceeded.
 */
export interface OvsdbErrorDetails {
    /**
     * Index of the operation, in the caller's list, that the server rejected or that cannot be encoded; absent when the
     * commit failed.
     */
    readonly operationIndex: number;
    /** The operation as `describeOperation` names it. */
    readonly operation: string;
    /** The server's error string, and its explanation. */
    readonly error: string;
    readonly reason: string;
    /** The part of a message or value that breaks a rule: `result[2].rows[0].name`. */
    readonly path: string;
    readonly column: string;
    readonly table: string;
    readonly uuid: string;
    readonly socketPath: string;
    readonly maxBytes: number;
    readonly queuedBytes: number;
    /** Milliseconds since the server sent something. */
    readonly silentMs: number;
}

/**
 * The class of every error that this library throws or rejects with; `CodecErrorCode`, `ServerErrorCode` and
 * `SessionErrorCode` describe the codes.
 */
export class OvsdbError extends AntreaError<OvsdbErrorCode, OvsdbErrorDetails> {
    /**
     * True when the same request may succeed later unchanged. After `OUTCOME_UNKNOWN` check the rows first: the request
     * may have taken effect.
     */
    get retryable(): boolean {
        return retryableCodes.has(this.code);
    }

    /** Index of the rejected operation in the caller's list. */
    get operationIndex(): number | undefined {
        return this.details.operationIndex;
    }
}
