import { type IpAddress } from "./address.ts";
import { IpError, quote } from "./error.ts";

const macText = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i;
const macBytes = 6;

/**
 * Parses a MAC address `aa:bb:cc:dd:ee:ff` (either case) to its 6 bytes. Throws IpError `INVALID_MAC` for anything
 * else.
 */
export function parseMac(text: string): Uint8Array {
    if (typeof text !== "string" || !macText.test(text)) {
        const rule = "it must be six pairs of hexadecimal digits with colons between";
        throw new IpError("INVALID_MAC", "caller", `${quote(text)} is not a MAC address: ${rule}`);
    }
    return Uint8Array.from(text.split(":"), (pair) => Number.parseInt(pair, 16));
}

/** Formats 6 bytes as a MAC address in lower case with colons. Throws IpError `INVALID_MAC` for another length. */
export function formatMac(mac: Uint8Array): string {
    return [...checked(mac)].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

/**
 * Returns the 6 bytes of a MAC address as an unsigned 48-bit number. Throws IpError `INVALID_MAC` for another length.
 */
export function macToBigint(mac: Uint8Array): bigint {
    return checked(mac).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

/** Returns the 6 bytes of an unsigned 48-bit number. Throws IpError `OUT_OF_RANGE` for a negative or larger number. */
export function macFromBigint(value: bigint): Uint8Array {
    if (value < 0n || value >> 48n !== 0n) {
        throw new IpError("OUT_OF_RANGE", "caller", `${value} is not a MAC address: it has 48 bits`);
    }
    return Uint8Array.from({ length: macBytes }, (_, at) => Number((value >> BigInt(40 - 8 * at)) & 0xffn));
}

const linkLocalBase = 0xfe80n << 112n;

/**
 * Returns the IPv6 link-local address with the modified EUI-64 interface identifier of a MAC address (RFC 4291 section
 * 2.5.1 and appendix A). Throws IpError `INVALID_MAC` unless the address has 6 bytes.
 */
export function linkLocalFromMac(mac: Uint8Array): IpAddress {
    const value = macToBigint(mac);
    const universalBit = 1n << 57n;
    const eui64 = ((value >> 24n) << 40n) | (0xfffen << 24n) | (value & 0xffffffn);
    return { family: 6, value: linkLocalBase | (eui64 ^ universalBit) };
}

function checked(mac: Uint8Array): Uint8Array {
    if (mac.length !== macBytes) {
        throw new IpError("INVALID_MAC", "caller", `${mac.length} bytes are no MAC address: it has ${macBytes}`);
    }
    return mac;
}
