import { AntreaError, isErrorOf } from "@antrea/errors";

/**
 * What went wrong: the kernel's errno by name (`EEXIST`, `ENODEV`, `EPERM`, ...), or one of ours:
 *
 * - `SHORT_MESSAGE`, `BAD_MESSAGE`: bytes that break the framing or a fixed layout of rtnetlink.
 * - `TRUNCATED`: the kernel's message was larger than the receive buffer.
 * - `NO_ANSWER`: a request was taken and neither acknowledged nor refused.
 * - `DUMP_INTERRUPTED`: the objects changed during each try of a dump.
 * - `DUMP_TOO_LARGE`: a dump went over its limit.
 * - `BAD_ARGUMENT`: the caller asked for what cannot be written into a message.
 * - `NOT_A_NETNS`: the path is there and is no network namespace.
 * - `CLOSED`: the socket was closed before.
 */
export type NetlinkErrorCode =
    | `E${string}`
    | "SHORT_MESSAGE"
    | "BAD_MESSAGE"
    | "TRUNCATED"
    | "NO_ANSWER"
    | "DUMP_INTERRUPTED"
    | "DUMP_TOO_LARGE"
    | "BAD_ARGUMENT"
    | "NOT_A_NETNS"
    | "CLOSED";

/** Of a refusal of the kernel. */
export interface NetlinkErrorDetails {
    readonly errno: number;
    /** The words of the kernel (extended ACK). */
    readonly kernel: string;
    /** The place of the request in its batch. */
    readonly index: number;
    /** How many requests of the batch were refused. */
    readonly failures: number;
}

/** Every error of this library. */
export class NetlinkError extends AntreaError<NetlinkErrorCode, NetlinkErrorDetails> {}

/** True for a NetlinkError with one of these codes. */
export function isNetlinkError(error: unknown, ...codes: readonly NetlinkErrorCode[]): error is NetlinkError {
    return isErrorOf(NetlinkError, error, ...codes);
}

/** The error of an argument that cannot be sent: `what` names the object and field, `rule` what is allowed. */
export function badArgument(what: string, value: unknown, rule: string): NetlinkError {
    return new NetlinkError("BAD_ARGUMENT", "caller", `${what} is ${JSON.stringify(value) ?? String(value)}: ${rule}`);
}
