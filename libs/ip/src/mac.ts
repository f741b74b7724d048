import { type IpAddress } from "./address.ts";
import { IpError, quote } from "./error.ts";

const macText = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i;
const macBytes = 6;

/** Reads `aa:bb:cc:dd:ee:ff` (either case); anything else is `INVALID_MAC`. */
export function parseMac(text: string): Uint8Array {
    if (typeof text !== "string" || !macText.test(text)) {
        const rule = "it must be six pairs of hexadecimal digits with colons between";
        throw new IpError("INVALID_MAC", "caller", `${quote(text)} is not a MAC address: ${rule}`);
    }
    return Uint8Array.from(text.split(":"), (pair) => Number.parseInt(pair, 16));
}

/** The text form, lower case with colons. */
export function formatMac(mac: Uint8Array): string {
    return [...checked(mac)].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}

/** The MAC address as an unsigned number of 48 bits. */
export function macToBigint(mac: Uint8Array): bigint {
    return checked(mac).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

/** The bytes of a 48-bit number; `OUT_OF_RANGE` for a larger or negative one. */
export function macFromBigint(value: bigint): Uint8Array {
    if (value < 0n || value >> 48n !== 0n) {
        throw new IpError("OUT_OF_RANGE", "caller", `${value} is not a MAC address: it has 48 bits`);
    }
    return Uint8Array.from({ length: macBytes }, (_, at) => Number((value >> BigInt(40 - 8 * at)) & 0xffn));
}

const linkLocalBase = 0xfe80n << 112n;

/** The link-local address that a modified EUI-64 identifier gives: RFC 4291 section 2.5.1 and appendix A. */
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
