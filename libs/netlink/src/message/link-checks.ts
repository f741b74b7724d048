import { badArgument } from "../errors.ts";

/** The most bytes of a link's name, without the NUL (IFNAMSIZ - 1). */
export const MAX_NAME_BYTES = 15;
const MAX_ALIAS_BYTES = 255;

/** Returns the index of a link. Throws `NetlinkError` `BAD_ARGUMENT` unless it is an integer from 1 to 2^31 - 1. */
export function linkIndex(index: number): number {
    if (Number.isInteger(index) && index > 0 && index <= 0x7fffffff) return index;
    throw badArgument("index of a link", index, "a positive 31-bit number expected");
}

/**
 * Returns the name of a link. Throws `NetlinkError` `BAD_ARGUMENT` if it breaks the kernel's rule (dev_valid_name): 1
 * to 15 bytes without `/`, `:` and white space, neither `.` nor `..`.
 */
export function checkedName(name: string): string {
    const length = new TextEncoder().encode(name).length;
    if (length > 0 && length <= MAX_NAME_BYTES && !/[/:\s\0]/.test(name) && name !== "." && name !== "..") return name;
    throw badArgument("name of a link", name, `1 to ${MAX_NAME_BYTES} bytes without "/", ":" and spaces allowed`);
}

/** Returns an MTU in bytes, from 68 (RFC 791) to 65535. Throws `NetlinkError` `BAD_ARGUMENT`. */
export function checkedMtu(mtu: number): number {
    if (Number.isInteger(mtu) && mtu >= 68 && mtu <= 65_535) return mtu;
    throw badArgument("MTU of a link", mtu, "68 to 65535 allowed");
}

/** Returns the number of a group of links. Throws `NetlinkError` `BAD_ARGUMENT` for a negative one or one above 2^31 - 1. */
export function checkedGroup(group: number): number {
    if (Number.isInteger(group) && group >= 0 && group <= 0x7fffffff) return group;
    throw badArgument("group of a link", group, "0 to 2147483647 allowed");
}

/** Encodes an alias of a link. Throws `NetlinkError` `BAD_ARGUMENT` for more than 255 bytes, or a NUL. */
export function aliasBytes(alias: string): Uint8Array {
    const bytes = new TextEncoder().encode(alias);
    if (bytes.length <= MAX_ALIAS_BYTES && !bytes.includes(0)) return bytes;
    throw badArgument("alias of a link", alias, `at most ${MAX_ALIAS_BYTES} bytes without NUL allowed`);
}
