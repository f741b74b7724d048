import { type Fault } from "@antrea/errors";
import { OvsdbError, type OvsdbErrorDetails, type ServerErrorCode } from "./error.ts";
import { member, show } from "./reader.ts";

// The error strings of RFC 7047 sections 3.1, 4.1.3 and 5.2, and those that only ovsdb-server uses.
const known: ReadonlyMap<string, readonly [ServerErrorCode, Fault]> = new Map<string, [ServerErrorCode, Fault]>([
    ["aborted", ["TRANSACTION_ABORTED", "caller"]],
    ["canceled", ["CANCELED", "aborted"]],
    ["constraint violation", ["CONSTRAINT_VIOLATION", "caller"]],
    ["domain error", ["DOMAIN_ERROR", "caller"]],
    ["duplicate uuid-name", ["DUPLICATE_UUID_NAME", "caller"]],
    ["I/O error", ["IO_ERROR", "environment"]],
    ["not allowed", ["NOT_ALLOWED", "caller"]],
    ["not owner", ["NOT_LOCK_OWNER", "environment"]],
    ["not supported", ["NOT_SUPPORTED", "unsupported"]],
    ["permission error", ["NOT_ALLOWED", "caller"]],
    ["range error", ["RANGE_ERROR", "caller"]],
    ["referential integrity violation", ["REFERENTIAL_INTEGRITY", "caller"]],
    ["resources exhausted", ["RESOURCES_EXHAUSTED", "environment"]],
    ["syntax error", ["SYNTAX_ERROR", "caller"]],
    ["timed out", ["WAIT_TIMED_OUT", "timeout"]],
    ["unknown column", ["UNKNOWN_COLUMN", "caller"]],
    ["unknown database", ["UNKNOWN_DATABASE", "environment"]],
    ["unknown method", ["UNKNOWN_METHOD", "unsupported"]],
]);

/**
 * Returns, without throwing it, the error for an error of the server: an object with `error` and optional `details`
 * (RFC 7047 section 3.1, <error>), or a bare string. The code is that of its error string, `REFUSED` for any other.
 *
 * @param what begins the message: the rejected request or operation
 * @param details are added to `error` and `reason`, the server's texts
 */
export function fromServerError(
    raw: unknown,
    what: string,
    details: Readonly<Partial<OvsdbErrorDetails>> = {},
): OvsdbError {
    const isObject = typeof raw === "object" && raw !== null && !Array.isArray(raw);
    const body = isObject ? (raw as Readonly<Record<string, unknown>>) : { error: raw };
    const name = member(body, "error");
    const error = typeof name === "string" ? name : show(raw);
    const reason = member(body, "details");
    const [code, fault] = known.get(error) ?? (["REFUSED", "remote"] as const);
    const because = typeof reason === "string" ? `: ${reason}` : "";
    return new OvsdbError(code, fault, `${what} refused by the database: ${error}${because}`, {
        details: { ...details, error, ...(typeof reason === "string" ? { reason } : {}) },
    });
}
