import { formatIp, type Family, type IpAddress } from "./address.ts";
import { IpError } from "./error.ts";
import { prefixSize, type Prefix } from "./prefix.ts";

/** Consecutive addresses of one family, `first` and `last` included; never empty. */
export interface IpRange {
    readonly family: Family;
    readonly first: bigint;
    readonly last: bigint;
}

/** The range from one address to another, by default of one address. Errors: `FAMILY_MISMATCH`, `OUT_OF_ORDER`. */
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

/** All addresses of a prefix, network and broadcast address included. */
export function prefixRange(prefix: Prefix): IpRange {
    return { family: prefix.family, first: prefix.base, last: prefix.base + prefixSize(prefix) - 1n };
}

/** How many addresses the range has. */
export function rangeSize(range: IpRange): bigint {
    return range.last - range.first + 1n;
}

/** Whether the address lies in the range; false across families. */
export function rangeContains(range: IpRange, ip: IpAddress): boolean {
    return ip.family === range.family && range.first <= ip.value && ip.value <= range.last;
}

/** Whether the ranges share an address; false across families. */
export function rangesOverlap(a: IpRange, b: IpRange): boolean {
    return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

/** Order for sorting: IPv4 first, then by first address, then by last. Negative, 0 or positive. */
export function compareRanges(a: IpRange, b: IpRange): number {
    if (a.family !== b.family) return a.family - b.family;
    if (a.first !== b.first) return a.first < b.first ? -1 : 1;
    return a.last < b.last ? -1 : a.last > b.last ? 1 : 0;
}

/** The text form `10.0.0.1-10.0.0.9`; of one address `10.0.0.1`. */
export function formatRange(range: IpRange): string {
    const first = formatIp({ family: range.family, value: range.first });
    if (range.first === range.last) return first;
    return `${first}-${formatIp({ family: range.family, value: range.last })}`;
}
