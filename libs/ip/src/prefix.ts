import { familyBits, formatIp, parseIp, type Family, type IpAddress } from "./address.ts";
import { IpError, quote } from "./error.ts";

/** A range of addresses with a common head of `length` bits. `base` has no bits set behind the head. */
export interface Prefix {
    readonly family: Family;
    readonly base: bigint;
    readonly length: number;
}

export interface ParsePrefixOptions {
    /** What is done with bits set behind the prefix length: `refuse` (default, error `HOST_BITS`) or `mask` them. */
    readonly hostBits?: "refuse" | "mask";
}

const lengthText = /^(?:0|[1-9]\d{0,2})$/;

/** Reads `address/length`. Errors: `INVALID_PREFIX`, `HOST_BITS`; the address part is as strict as `parseIp`. */
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

/** Reads `10.0.0.5/24`: the address and the prefix it lies in. Errors: `INVALID_PREFIX`. */
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

/** The text form `address/length`. */
export function formatPrefix(prefix: Prefix): string {
    return `${formatIp({ family: prefix.family, value: prefix.base })}/${prefix.length}`;
}

/** The prefix of this length that holds the address; by default the prefix of that one address. */
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

/** The prefix's mask as a number: its head all ones. */
export function prefixMask(prefix: Prefix): bigint {
    return maskOf(prefix.family, prefix.length);
}

/** Whether the address lies in the prefix; false across families. */
export function prefixContains(prefix: Prefix, ip: IpAddress): boolean {
    return ip.family === prefix.family && (ip.value & prefixMask(prefix)) === prefix.base;
}

/** Whether the prefixes share an address; false across families. */
export function prefixesOverlap(a: Prefix, b: Prefix): boolean {
    const [wide, narrow] = a.length <= b.length ? [a, b] : [b, a];
    return prefixContains(wide, { family: narrow.family, value: narrow.base });
}

/** How many addresses the prefix has, network and broadcast address included. */
export function prefixSize(prefix: Prefix): bigint {
    return 1n << BigInt(familyBits(prefix.family) - prefix.length);
}

/** The address at an index counted from 0; `OUT_OF_RANGE` when the prefix has none there. */
export function prefixAt(prefix: Prefix, index: bigint): IpAddress {
    if (index < 0n || index >= prefixSize(prefix)) {
        const last = prefixSize(prefix) - 1n;
        throw new IpError("OUT_OF_RANGE", "caller", `${formatPrefix(prefix)} has no address ${index}: 0 to ${last}`);
    }
    return { family: prefix.family, value: prefix.base + index };
}

/** The index of an address in the prefix; `FAMILY_MISMATCH` or `OUT_OF_RANGE` when it lies outside. */
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
