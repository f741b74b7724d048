import { AntreaError } from "@antrea/errors";

/**
 * Text or bytes that are no address, prefix or MAC address (`INVALID_*`), addresses that are no range (`OUT_OF_ORDER`,
 * `FAMILY_MISMATCH`), or a question that an address, prefix or set cannot answer (`OUT_OF_RANGE`, `FAMILY_MISMATCH`).
 * The message holds the refused text and the rule it breaks; for text, `details.rule` is the rule alone.
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

/** Quotes refused text for a message: escaped, and cut so that hostile input cannot fill a log. */
export function quote(text: unknown): string {
    if (typeof text !== "string") return `a value of type ${text === null ? "null" : typeof text}`;
    return JSON.stringify(text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text);
}
