import { AntreaError } from "@antrea/errors";

/**
 * The error class of this library:
 *
 * - `INVALID_ADDRESS`, `INVALID_PREFIX`, `INVALID_MAC`, `HOST_BITS`: text or bytes that are not in the required form.
 * - `OUT_OF_ORDER`, `FAMILY_MISMATCH`: two addresses that do not form a range, or an address of the wrong family.
 * - `OUT_OF_RANGE`: an index, length or number outside its limits.
 *
 * The message contains the rejected text and the violated rule; `details.rule` is the rule alone, set only by `parseIp`
 * and for `INVALID_PREFIX`. The fault is always `caller`.
 */
export class IpError extends AntreaError<
    | "INVALID_ADDRESS"
    | "INVALID_PREFIX"
    | "INVALID_MAC"
    | "HOST_BITS"
    | "OUT_OF_RANGE"
    | "OUT_OF_ORDER"
    | "FAMILY_MISMATCH",
    { readonly rule: string }
> {}

const shownCharacters = 64;

/**
 * Quotes rejected input for a message: escaped as JSON, and truncated to 64 characters so that hostile input cannot
 * fill a log. Of a value that is not a string, only the type is named.
 */
export function quote(text: unknown): string {
    if (typeof text !== "string") return `a value of type ${text === null ? "null" : typeof text}`;
    return JSON.stringify(text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text);
}
