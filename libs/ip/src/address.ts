import { Address6 } from "ip-address";
import { IpError, quote } from "./error.ts";

/** IP version as a number. */
export type Family = 4 | 6;

/** One IP address. `value` is the address as an unsigned number of 32 (family 4) or 128 (family 6) bits. */
export interface IpAddress {
    readonly family: Family;
    readonly value: bigint;
}

/** Number of bits of an address of the family. */
export function familyBits(family: Family): 32 | 128 {
    return family === 4 ? 32 : 128;
}

const longestText = 45;
const ipv4Text = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const leadingZero = /(?:^|\.)0\d/;
const dottedTail = /(?:^|:)(\d+\.[\d.]*)$/;
const mappedPrefix = 0xffffn;

/**
 * Parses one address in the strict text form that Kubernetes accepts: dotted decimal without leading zeros, or RFC 4291
 * section 2.2. Throws IpError `INVALID_ADDRESS`, also for zone ids (`%eth0`), prefix lengths, spaces and IPv4-mapped
 * IPv6 (`::ffff:10.0.0.1`), which would give one address two texts of two families.
 */
export function parseIp(text: string): IpAddress {
    const rule = typeof text === "string" ? brokenRule(text) : "it must be text";
    if (rule !== undefined) throw invalid(text, rule);
    if (!text.includes(":")) return { family: 4, value: BigInt(numberOf(text.split("."))) };
    try {
        return unmapped(text, { family: 6, value: new Address6(text).bigInt() });
    } catch (cause) {
        if (cause instanceof IpError) throw cause;
        throw invalid(text, "it must be an IPv4 or IPv6 address", cause);
    }
}

/** Formats an address as dotted decimal or by RFC 5952; IPv4-mapped IPv6 with a dotted tail (section 5). */
export function formatIp(ip: IpAddress): string {
    if (ip.family === 4) return dotted(Number(ip.value));
    if (ip.value >> 32n === mappedPrefix) return `::ffff:${formatIp({ family: 4, value: ip.value & 0xffffffffn })}`;
    return formatGroups(ip.value);
}

/** Returns the 4 or 16 bytes of an address in network byte order. */
export function ipToBytes(ip: IpAddress): Uint8Array {
    const bytes = new Uint8Array(familyBits(ip.family) / 8);
    for (let at = bytes.length - 1, rest = ip.value; at >= 0; at -= 1, rest >>= 8n) bytes[at] = Number(rest & 0xffn);
    return bytes;
}

/**
 * Returns the address of 4 (IPv4) or 16 (IPv6) bytes in network byte order. Throws IpError `INVALID_ADDRESS` for any
 * other number of bytes.
 */
export function ipFromBytes(bytes: Uint8Array): IpAddress {
    if (bytes.length !== 4 && bytes.length !== 16) {
        throw new IpError("INVALID_ADDRESS", "caller", `${bytes.length} bytes are no IP address: it has 4 or 16`);
    }
    let value = 0n;
    for (const byte of bytes) value = (value << 8n) | BigInt(byte);
    return { family: bytes.length === 4 ? 4 : 6, value };
}

/** True if both addresses have the same family and value. */
export function sameIp(a: IpAddress, b: IpAddress): boolean {
    return a.family === b.family && a.value === b.value;
}

/**
 * Comparison function for sorting: IPv4 before IPv6, then ascending. Returns a negative number, 0 or a positive number.
 */
export function compareIp(a: IpAddress, b: IpAddress): number {
    if (a.family !== b.family) return a.family - b.family;
    return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}

function numberOf(parts: readonly string[]): number {
    return parts.reduce((number, part) => number * 256 + Number(part), 0);
}

function dotted(value: number): string {
    return `${value >>> 24}.${(value >>> 16) & 0xff}.${(value >>> 8) & 0xff}.${value & 0xff}`;
}

function brokenRule(text: string): string | undefined {
    if (text.length > longestText) return `it must have at most ${longestText} characters`;
    if (text.includes("%")) return "a zone id is not allowed";
    if (text.includes("/")) return "a prefix length is not allowed here";
    if (/[^0-9a-fA-F:.]/.test(text)) return "it must be an IPv4 or IPv6 address";
    const dotted = text.includes(":") ? dottedTail.exec(text)?.[1] : text;
    if (dotted === undefined) return text.includes(".") ? "it must be an IPv4 or IPv6 address" : undefined;
    if (leadingZero.test(dotted)) return "a decimal part must not start with 0: some programs read it as octal";
    if (!ipv4Text.test(dotted)) return "an IPv4 address has four decimal parts from 0 to 255";
    if (dotted.split(".").some((part) => Number(part) > 255)) return "a decimal part must be at most 255";
    return undefined;
}

function unmapped(text: string, ip: IpAddress): IpAddress {
    if (ip.value >> 32n !== mappedPrefix) return ip;
    const ipv4 = formatIp({ family: 4, value: ip.value & 0xffffffffn });
    throw invalid(text, `an IPv4-mapped IPv6 address is not allowed: write ${ipv4}`);
}

function invalid(text: unknown, rule: string, cause?: unknown): IpError {
    return new IpError("INVALID_ADDRESS", "caller", `${quote(text)} is not an IP address: ${rule}`, {
        cause,
        details: { rule },
    });
}

function formatGroups(value: bigint): string {
    const groups = Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - 16 * at)) & 0xffffn));
    const zeros = longestZeros(groups);
    const hex = groups.map((group) => group.toString(16));
    if (zeros.length < 2) return hex.join(":");
    return `${hex.slice(0, zeros.start).join(":")}::${hex.slice(zeros.start + zeros.length).join(":")}`;
}

// RFC 5952 section 4.2.3: the longest run is shortened; of equally long runs the first.
function longestZeros(groups: readonly number[]): { readonly start: number; readonly length: number } {
    let best = { start: 0, length: 0 };
    let length = 0;
    groups.forEach((group, at) => {
        length = group === 0 ? length + 1 : 0;
        if (length > best.length) best = { start: at - length + 1, length };
    });
    return best;
}
