import { constants } from "node:os";
import { getSystemErrorMap } from "node:util";
import { type Fault } from "@antrea/errors";
import { NetlinkError, type NetlinkErrorCode, type NetlinkErrorDetails } from "../errors.ts";

// Second names of numbers on Linux; the manual pages of netlink and packet sockets use the others.
const ALIASES: readonly string[] = ["EWOULDBLOCK", "ENOTSUP"];

const names: ReadonlyMap<number, NetlinkErrorCode> = new Map(
    Object.entries(constants.errno)
        .filter(([name]) => !ALIASES.includes(name))
        .map(([name, number]) => [number, name as `E${string}`]),
);

/** The name of an errno, such as "EEXIST"; `E<number>` for one that Node.js has no name for. */
export function errnoName(errno: number): NetlinkErrorCode {
    return names.get(errno) ?? `E${errno}`;
}

/**
 * Returns, without throwing it, the NetlinkError for an errno of the kernel (a positive number): `what` names the
 * request or system call, `reason` is the kernel's own text if any.
 */
export function refused(
    what: string,
    errno: number,
    reason?: string,
    details: Readonly<Partial<NetlinkErrorDetails>> = {},
): NetlinkError {
    const code = errnoName(errno);
    const general = getSystemErrorMap().get(-errno)?.[1];
    const words = [general, reason && `the kernel reports: ${reason}`].filter((text) => text !== undefined).join("; ");
    return new NetlinkError(
        code,
        faultOf(code),
        `${what}: ${code}${words === "" ? "" : ` (${words})`}${advice(code)}`,
        {
            details: { ...details, errno, ...(reason !== undefined && { kernel: reason }) },
        },
    );
}

/**
 * Returns the result of a system call. If it is negative, throws `refused` for the number that `errno` then returns.
 */
export function checked(result: number, what: string, errno: () => number): number {
    if (result < 0) throw refused(what, errno());
    return result;
}

function faultOf(code: string): Fault {
    if (code === "EINVAL" || code === "ERANGE") return "caller";
    return code === "EOPNOTSUPP" || code === "EAFNOSUPPORT" ? "unsupported" : "environment";
}

function advice(code: string): string {
    return code === "EPERM" ? "; run with CAP_NET_ADMIN and CAP_SYS_ADMIN" : "";
}
