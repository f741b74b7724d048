import { AntreaError } from "@antrea/errors";
import { maxVlan } from "@antrea/flows";
import { parseIp, parseMac, type IpAddress } from "@antrea/ip";

/** Separator of the lists of addresses in link aliases and external_ids. */
export const separator = ",";
/** In place of a text that there is none of: in a list, or before a later word of a link alias. */
export const none = "-";
/** In link aliases: the interface is isolated. Ignored by agents that do not support it. */
export const isolatedMark = "iso";
/** IFALIASZ of linux/if.h without the final zero. */
const maxAliasBytes = 255;

class RecordError extends AntreaError<"BAD_PREFIX_LENGTH"> {}

/**
 * Parses an address and its prefix length in bits. Throws IpError or RecordError `BAD_PREFIX_LENGTH` if either is
 * invalid.
 */
export function readAddress(ip: string, length: string): { readonly ip: IpAddress; readonly prefixLength: number } {
    const address = parseIp(ip);
    const prefixLength = /^[0-9]{1,3}$/.test(length) ? Number(length) : Infinity;
    if (prefixLength <= (address.family === 4 ? 32 : 128)) return { ip: address, prefixLength };
    throw new RecordError("BAD_PREFIX_LENGTH", "remote", `${length} is no prefix length of ${ip}`);
}

/** Parses a VLAN ID; 0 (untagged) for any text but a decimal number up to `maxVlan` of at most four digits. */
export function readVlan(text: string): number {
    const vlan = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
    return vlan <= maxVlan ? vlan : 0;
}

/** Parses the gateways of default routes, at most one of each family; undefined if they are something else. */
export function readGateways(text: string | undefined): readonly IpAddress[] | undefined {
    try {
        const gateways = text === undefined ? [] : text.split(separator).map((one) => parseIp(one));
        return new Set(gateways.map(({ family }) => family)).size === gateways.length ? gateways : undefined;
    } catch {
        return undefined;
    }
}

/**
 * Parses a VLAN ID, 0 for untagged. Unlike `readVlan` undefined for a text that is none: the interface must not get into
 * another one, nor into none.
 */
export function readOwnVlan(text: string): number | undefined {
    const vlan = readVlan(text);
    return String(vlan) === text ? vlan : undefined;
}

/** Parses an MTU in bytes; undefined if it is none. */
export function readMtu(text: string | undefined): number | undefined {
    return text !== undefined && /^[1-9]\d{1,4}$/.test(text) ? Number(text) : undefined;
}

/** Whether the kernel takes the text as alias of a link: it has at most 255 bytes. */
export function fitsAlias(text: string): boolean {
    return Buffer.byteLength(text) <= maxAliasBytes;
}

/** Whether a text of a record is a MAC address. */
export function isMac(text: string): boolean {
    try {
        parseMac(text);
        return true;
    } catch {
        return false;
    }
}
