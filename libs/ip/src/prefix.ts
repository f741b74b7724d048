import { familyBits, formatIp, parseIp, type Family, type IpAddress } from "./address.ts";
import { IpError, quote } from "./error.ts";

/**
 * The addresses that share their first `length` bits (a CIDR). `base` is the first address as an unsigned number; its
 * remaining bits are 0.
 */
export interface Prefix {
    readonly family: Family;
    readonly base: bigint;
    readonly length: number;
}

/** Options of `parsePrefix`: whether bits set after the prefix length are an error. */
export interface ParsePrefixOptions {
    /** Treatment of bits set after the prefix length: `refuse` (default) throws `HOST_BITS`, `mask` clears them. */
    readonly hostBits?: "refuse" | "mask";
}

const lengthText = /^(?:0|[1-9]\d{0,2})$/;

/**
 * Parses `address/length`. Throws IpError `INVALID_PREFIX`, or `HOST_BITS` for bits set after the prefix length unless
 * they are masked. The address part is as strict as in `parseIp`.
 */
export function parsePrefix(text: string, options: ParsePrefixOptions = {}): Prefix {
    const { ip, prefix } = addressInPrefix(text);
    if (ip.value !== prefix.base && options.hostBits !== "mask") {
        throw new IpError(
            "HOST_BITS",
            "caller",
            `${quote(text)} has bits set behind its prefix length: write ${formatPrefix(prefix)}`,
        );
    }
    return prefix;
}

/**
 * Parses `address/length` where the address may be any in the prefix (`10.0.0.5/24`), and returns the address and its
 * prefix. Throws IpError `INVALID_PREFIX`.
 */
export function addressInPrefix(text: string): { readonly ip: IpAddress; readonly prefix: Prefix } {
    const slash = typeof text === "string" ? text.indexOf("/") : -1;
    if (slash < 0) throw invalid(text, "it must be written as address/length");
    const lengthPart = text.slice(slash + 1);
    let ip: IpAddress;
    try {
        ip = parseIp(text.slice(0, slash));
    } catch (cause) {
        throw invalid(text, cause instanceof IpError ? cause.message : "its address is wrong", cause);
    }
    const bits = familyBits(ip.family);
    if (!lengthText.test(lengthPart) || Number(lengthPart) > bits) {
        throw invalid(text, `its length must be a whole number from 0 to ${bits} without leading zeros`);
    }
    return { ip, prefix: prefixOf(ip, Number(lengthPart)) };
}

/** Formats a prefix as `address/length`. The address part is as `formatIp` returns it. */
export function formatPrefix(prefix: Prefix): string {
    return `${formatIp({ family: prefix.family, value: prefix.base })}/${prefix.length}`;
}

/**
 * Returns the prefix of this length that contains the address; by default the one of the single address. Throws IpError
 * `OUT_OF_RANGE` for a length outside the family's limits.
 */
export function prefixOf(ip: IpAddress, length: number = familyBits(ip.family)): Prefix {
    const bits = familyBits(ip.family);
    if (!Number.isInteger(length) || length < 0 || length > bits) {
        throw new IpError(
            "OUT_OF_RANGE",
            "caller",
            `prefix length ${length} of an IPv${ip.family} prefix: 0 to ${bits}`,
        );
    }
    return { family: ip.family, base: ip.value & maskOf(ip.family, length), length };
}

/** Returns the prefix mask as an unsigned number of 32 or 128 bits. */
export function prefixMask(prefix: Prefix): bigint {
    return maskOf(prefix.family, prefix.length);
}

/** True if the address lies in the prefix; false for different families. */
export function prefixContains(prefix: Prefix, ip: IpAddress): boolean {
    return ip.family === prefix.family && (ip.value & prefixMask(prefix)) === prefix.base;
}

/** True if the prefixes have an address in common; false for different families. */
export function prefixesOverlap(a: Prefix, b: Prefix): boolean {
    const [wide, narrow] = a.length <= b.length ? [a, b] : [b, a];
    return prefixContains(wide, { family: narrow.family, value: narrow.base });
}

/** Number of addresses in the prefix, network and broadcast address included. */
export function prefixSize(prefix: Prefix): bigint {
    return 1n << BigInt(familyBits(prefix.family) - prefix.length);
}

/** Returns the address at an index counted from 0. Throws IpError `OUT_OF_RANGE` for an index outside the prefix. */
export function prefixAt(prefix: Prefix, index: bigint): IpAddress {
    if (index < 0n || index >= prefixSize(prefix)) {
        const last = prefixSize(prefix) - 1n;
        throw new IpError("OUT_OF_RANGE", "caller", `${formatPrefix(prefix)} has no address ${index}: 0 to ${last}`);
    }
    return { family: prefix.family, value: prefix.base + index };
}

/**
 * Returns the index of an address in the prefix, counted from 0. Throws IpError `OUT_OF_RANGE` if it lies outside, or
 * `FAMILY_MISMATCH` if it is of the other family.
 */
export function prefixIndexOf(prefix: Prefix, ip: IpAddress): bigint {
    if (prefixContains(prefix, ip)) return ip.value - prefix.base;
    throw new IpError(
        ip.family === prefix.family ? "OUT_OF_RANGE" : "FAMILY_MISMATCH",
        "caller",
        `${formatIp(ip)} is not in ${formatPrefix(prefix)}`,
    );
}

function maskOf(family: Family, length: number): bigint {
    const bits = BigInt(familyBits(family));
    return ((1n << BigInt(length)) - 1n) << (bits - BigInt(length));
}

function invalid(text: unknown, rule: string, cause?: unknown): IpError {
    return new IpError("INVALID_PREFIX", "caller", `${quote(text)} is not a prefix: ${rule}`, {
        cause,
        details: { rule },
    });
}
