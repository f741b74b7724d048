import { formatIp, type Family, type IpAddress } from "./address.ts";
import { IpError } from "./error.ts";
import { prefixSize, type Prefix } from "./prefix.ts";

/** Consecutive addresses of one family from `first` to `last`, both included and as unsigned numbers; never empty. */
export interface IpRange {
    readonly family: Family;
    readonly first: bigint;
    readonly last: bigint;
}

/**
 * Returns the range from one address to another, by default of the one address. Throws IpError `FAMILY_MISMATCH`, or
 * `OUT_OF_ORDER` if `last` precedes `first`.
 */
export function rangeOf(first: IpAddress, last: IpAddress = first): IpRange {
    if (first.family !== last.family) {
        const message = `${formatIp(first)} and ${formatIp(last)} are no range: they are of different families`;
        throw new IpError("FAMILY_MISMATCH", "caller", message);
    }
    if (first.value > last.value) {
        const message = `${formatIp(first)}-${formatIp(last)} is no range: its first address comes after its last`;
        throw new IpError("OUT_OF_ORDER", "caller", message);
    }
    return { family: first.family, first: first.value, last: last.value };
}

/** Returns the range of all addresses of a prefix, network and broadcast address included. */
export function prefixRange(prefix: Prefix): IpRange {
    return { family: prefix.family, first: prefix.base, last: prefix.base + prefixSize(prefix) - 1n };
}

/** Number of addresses in the range. */
export function rangeSize(range: IpRange): bigint {
    return range.last - range.first + 1n;
}

/** True if the address lies in the range; false for different families. */
export function rangeContains(range: IpRange, ip: IpAddress): boolean {
    return ip.family === range.family && range.first <= ip.value && ip.value <= range.last;
}

/** True if the ranges have an address in common; false for different families. */
export function rangesOverlap(a: IpRange, b: IpRange): boolean {
    return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

/**
 * Comparison function for sorting: IPv4 before IPv6, then by first address, then by last. Returns a negative number, 0
 * or a positive number.
 */
export function compareRanges(a: IpRange, b: IpRange): number {
    if (a.family !== b.family) return a.family - b.family;
    if (a.first !== b.first) return a.first < b.first ? -1 : 1;
    return a.last < b.last ? -1 : a.last > b.last ? 1 : 0;
}

/** Formats a range as `10.0.0.1-10.0.0.9`, or as `10.0.0.1` if it has one address. */
export function formatRange(range: IpRange): string {
    const first = formatIp({ family: range.family, value: range.first });
    if (range.first === range.last) return first;
    return `${first}-${formatIp({ family: range.family, value: range.last })}`;
}
