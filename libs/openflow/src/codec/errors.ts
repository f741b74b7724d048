import { AntreaError } from "@antrea/errors";

/**
 * - `SHORT`, `LONG`, `MALFORMED`: bytes that end too early, go on too long, or break a rule of the protocol.
 * - `VERSION`: a message of another OpenFlow version.
 * - `BAD_FIELD`, `BAD_VALUE`: a match, an action or a message asks for what the wire cannot carry.
 * - `TOO_BIG`: a message would pass 65,535 bytes, or an answer the configured limit.
 */
export type CodecErrorCode = "SHORT" | "LONG" | "MALFORMED" | "VERSION" | "BAD_FIELD" | "BAD_VALUE" | "TOO_BIG";

/**
 * - `REFUSED`: the switch answered with an error; see {@link OpenFlowErrorDetails}. Asking again gives the same answer.
 * - `NEGOTIATION`: the peer does not speak OpenFlow 1.5.
 * - `NOT_CONNECTED`: nothing was sent. `DISCONNECTED`: the connection ended before the answer; what was asked may have
 *   taken effect. `TIMEOUT`: no answer in time; the same. `BUFFER_FULL`: nothing was sent, the peer does not read.
 *   These four are worth a retry (`retryable`).
 * - `ABORTED`: the caller's signal, or `close`.
 */
export type ConnectionErrorCode =
    "REFUSED" | "NEGOTIATION" | "NOT_CONNECTED" | "DISCONNECTED" | "TIMEOUT" | "BUFFER_FULL" | "ABORTED";

export type OpenFlowErrorCode = CodecErrorCode | ConnectionErrorCode;

const retryableCodes: ReadonlySet<OpenFlowErrorCode> = new Set([
    "NOT_CONNECTED",
    "DISCONNECTED",
    "TIMEOUT",
    "BUFFER_FULL",
]);

/** Beside these, the codec adds what it read or was given, by name, for logs. */
export interface OpenFlowErrorDetails {
    /** Type and code of the switch's error, and both by name; of `REFUSED`. */
    readonly errorType: number;
    readonly errorCode: number;
    readonly errorName: string;
    /** The place in its bundle of the message that was refused, and its flow. */
    readonly index: number;
    readonly flow: string;
    /** The switch applied the rest of the bundle. */
    readonly partial: boolean;
    readonly [name: string]: unknown;
}

/** Every error of the OpenFlow codec and connection. */
export class OpenFlowError extends AntreaError<OpenFlowErrorCode, OpenFlowErrorDetails> {
    /** True when the same request may succeed later, unchanged. */
    get retryable(): boolean {
        return retryableCodes.has(this.code);
    }
}

/** Bytes of the peer that break the protocol. */
export function peerError(
    code: "SHORT" | "LONG" | "MALFORMED" | "VERSION" | "TOO_BIG",
    message: string,
    details: Readonly<Partial<OpenFlowErrorDetails>> = {},
): OpenFlowError {
    return new OpenFlowError(code, "peer", message, { details });
}

/** A request of the caller that cannot be written down as OpenFlow. */
export function callerError(
    code: "BAD_FIELD" | "BAD_VALUE" | "TOO_BIG",
    message: string,
    details: Readonly<Partial<OpenFlowErrorDetails>> = {},
): OpenFlowError {
    return new OpenFlowError(code, "caller", message, { details });
}
