import { AntreaError, isErrorOf } from "@antrea/errors";

/**
 * Code of a NetlinkError: the kernel's errno by name (`EEXIST`, `ENODEV`, `EPERM`, ...), or one of this library:
 *
 * - `SHORT_MESSAGE`, `BAD_MESSAGE`: bytes that break the framing or a fixed layout of rtnetlink.
 * - `TRUNCATED`: the kernel's message was larger than the receive buffer.
 * - `NO_ANSWER`: the kernel neither acknowledged nor rejected a request within a second; it may have taken effect.
 * - `DUMP_INTERRUPTED`: the objects changed during each attempt of a dump.
 * - `DUMP_TOO_LARGE`: a dump exceeded its limit of objects.
 * - `BAD_ARGUMENT`: an argument that cannot be written into a message; work in a namespace that returned a promise.
 * - `NOT_A_NETNS`: the file at the path is not a network namespace.
 * - `CLOSED`: the `Netlink` object was disposed before the call began; nothing was sent.
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

/**
 * Details of a NetlinkError whose code is an errno of the kernel; all are absent for other codes and for errors of
 * node:fs. `index` and `failures` are set if it was the answer to a change (`Netlink.batch`), `kernel` and
 * `missingAttribute` if the kernel gave them.
 */
export interface NetlinkErrorDetails {
    /** The errno as a positive number. */
    readonly errno: number;
    /** Error text of the kernel (extended ACK). */
    readonly kernel: string;
    /** Index of the request in its batch, from 0. */
    readonly index: number;
    /** Number of requests of the batch that the kernel rejected. */
    readonly failures: number;
    /** Number of the attribute that the request lacks (NLMSGERR_ATTR_MISS_TYPE). */
    readonly missingAttribute: number;
}

/**
 * The class of every error of this library, except IpError of @antrea/ip for addresses and MAC addresses; see
 * `NetlinkErrorCode`. Of the kernel's errnos `EINVAL` and `ERANGE` have the fault `caller`, `EOPNOTSUPP` and
 * `EAFNOSUPPORT` `unsupported`, all others, and those of node:fs, `environment`.
 */
export class NetlinkError extends AntreaError<NetlinkErrorCode, NetlinkErrorDetails> {}

/** True for a NetlinkError with one of these codes, or without codes for any NetlinkError. */
export function isNetlinkError(error: unknown, ...codes: readonly NetlinkErrorCode[]): error is NetlinkError {
    return isErrorOf(NetlinkError, error, ...codes);
}

/**
 * Returns, without throwing it, NetlinkError `BAD_ARGUMENT` (fault `caller`): `what` names the object and field, `rule`
 * is what is allowed; the message has both and the value, a number as JavaScript writes it, else as JSON.
 */
export function badArgument(what: string, value: unknown, rule: string): NetlinkError {
    // JSON has null for NaN and Infinity, and nothing for undefined.
    const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
    return new NetlinkError("BAD_ARGUMENT", "caller", `${what} is ${text}: ${rule}`);
}
