import { AntreaError } from "@antrea/errors";

/**
 * Error codes of the codec.
 *
 * - `SHORT`, `LONG`, `MALFORMED`: bytes that end too early, have more than they may, or break a rule of the protocol.
 * - `VERSION`: a message of another OpenFlow version.
 * - `BAD_FIELD`, `BAD_VALUE`: a match, an action or a message that the wire format cannot carry.
 * - `TOO_BIG`: a message would exceed 65,535 bytes, or a request or reply the limit in the options of the connection.
 */
export type CodecErrorCode = "SHORT" | "LONG" | "MALFORMED" | "VERSION" | "BAD_FIELD" | "BAD_VALUE" | "TOO_BIG";

/**
 * Error codes of the connection.
 *
 * - `REFUSED`: the switch answered with an error; see {@link OpenFlowErrorDetails}. A retry gets the same answer.
 * - `NEGOTIATION`: the remote end does not support OpenFlow 1.5.
 * - `NOT_CONNECTED`: nothing was sent.
 * - `DISCONNECTED`, `TIMEOUT`: the connection or the time ended before the answer; the request may have taken effect.
 * - `BUFFER_FULL`: nothing was sent, because the switch does not read what was sent before.
 * - `ABORTED`: the caller's signal was aborted, or the connection was closed with `close`.
 *
 * `NOT_CONNECTED`, `DISCONNECTED`, `TIMEOUT` and `BUFFER_FULL` are `retryable`.
 */
export type ConnectionErrorCode =
    "REFUSED" | "NEGOTIATION" | "NOT_CONNECTED" | "DISCONNECTED" | "TIMEOUT" | "BUFFER_FULL" | "ABORTED";

/** Every code of an {@link OpenFlowError}. */
export type OpenFlowErrorCode = CodecErrorCode | ConnectionErrorCode;

const retryableCodes: ReadonlySet<OpenFlowErrorCode> = new Set([
    "NOT_CONNECTED",
    "DISCONNECTED",
    "TIMEOUT",
    "BUFFER_FULL",
]);

/** Details of an {@link OpenFlowError}, each present where it applies. */
export interface OpenFlowErrorDetails {
    /** With `REFUSED`: type and code of the switch's error, and both by name. */
    readonly errorType: number;
    readonly errorCode: number;
    readonly errorName: string;
    /**
     * The change of a bundle that the switch refused or that cannot be sent: its index, from 0, and its flow as text or
     * the id of its group.
     */
    readonly index: number;
    readonly flow: string;
    readonly group: number | "all";
    /** The switch applied the rest of the bundle. */
    readonly partial: boolean;
    /** The part of a message that is wrong, and the offset of the error in its bytes. */
    readonly what: string;
    readonly offset: number;
    /** The header of a message that is wrong. */
    readonly version: number;
    readonly type: number;
    /** Bytes of a message: by its header, or those that it would have. */
    readonly length: number;
    readonly xid: number;
    /** With `MALFORMED`: the OXM header of a match field that this codec does not know, 4 bytes. */
    readonly field: Uint8Array;
    /** With `BUFFER_FULL`: bytes that wait for the switch to read, and the most that may. */
    readonly waiting: number;
    readonly maxBufferBytes: number;
}

/**
 * The class of every error that the OpenFlow codec and connection throw or reject with; `CodecErrorCode` and
 * `ConnectionErrorCode` describe the codes, `OpenFlowErrorDetails` the details.
 */
export class OpenFlowError extends AntreaError<OpenFlowErrorCode, OpenFlowErrorDetails> {
    /** True when the same request may succeed later unchanged. */
    get retryable(): boolean {
        return retryableCodes.has(this.code);
    }
}

/**
 * Returns, without throwing it, the error, of fault `remote`, for received bytes that break the protocol or a limit.
 */
export function peerError(
    code: "SHORT" | "LONG" | "MALFORMED" | "VERSION" | "TOO_BIG",
    message: string,
    details: Readonly<Partial<OpenFlowErrorDetails>> = {},
): OpenFlowError {
    return new OpenFlowError(code, "remote", message, { details });
}

/** Returns, without throwing it, the error, of fault `caller`, for an argument that has no form in OpenFlow. */
export function callerError(
    code: "BAD_FIELD" | "BAD_VALUE" | "TOO_BIG",
    message: string,
    details: Readonly<Partial<OpenFlowErrorDetails>> = {},
): OpenFlowError {
    return new OpenFlowError(code, "caller", message, { details });
}
