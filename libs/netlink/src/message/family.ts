import { familyBits, type Family } from "@antrea/ip";
import { NetlinkError } from "../errors.ts";
import { AddressFamily } from "./constants.ts";

/** AF_INET for 4, AF_INET6 for 6. */
export function familyNumber(family: Family): number {
    return family === 4 ? AddressFamily.INET : AddressFamily.INET6;
}

/** 4 for AF_INET, 6 for AF_INET6; undefined for other families, whose messages are skipped. */
export function familyOf(number: number): Family | undefined {
    if (number === AddressFamily.INET) return 4;
    return number === AddressFamily.INET6 ? 6 : undefined;
}

/**
 * Returns a received prefix length. Throws `NetlinkError` `BAD_MESSAGE` if it exceeds the bits of the family; `what`
 * names the object.
 */
export function checkedLength(length: number, family: Family, what: string): number {
    if (length <= familyBits(family)) return length;
    throw new NetlinkError(
        "BAD_MESSAGE",
        "remote",
        `netlink ${what}: prefix length ${length}, at most ${familyBits(family)} for IPv${family}`,
    );
}
