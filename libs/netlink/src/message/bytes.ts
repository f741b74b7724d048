import { badArgument } from "../errors.ts";

/** True on a little-endian machine: netlink uses the byte order of the host. */
export const LITTLE_ENDIAN: boolean = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The next multiple of 4, at which messages and attributes begin (NLMSG_ALIGN, RTA_ALIGN). */
export function align(length: number): number {
    return (length + 3) & ~3;
}

/**
 * Returns the value. Throws `NetlinkError` `BAD_ARGUMENT` unless it is an integer from 0 that fits into `bits` bits.
 * The message names the value by `what` (default its size) and the text that `object` returns, which is called for an
 * error only.
 */
export function checkUint(value: number, bits: 2 | 8 | 16 | 32, what?: string, object?: () => string): number {
    const limit = 2 ** bits - 1;
    if (Number.isInteger(value) && value >= 0 && value <= limit) return value;
    const field = what ?? `a number of ${bits} bits`;
    throw badArgument(object === undefined ? field : `${field} of ${object()}`, value, `0 to ${limit} allowed`);
}
