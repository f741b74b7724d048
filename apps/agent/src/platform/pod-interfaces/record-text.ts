import { AntreaError } from "@antrea/errors";
import { maxVlan } from "@antrea/flows";
import { parseIp, parseMac, type IpAddress } from "@antrea/ip";

/** Separator of the lists of addresses in link aliases and external_ids. */
export const separator = ",";

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

/** Whether a text of a record is a MAC address. */
export function isMac(text: string): boolean {
    try {
        parseMac(text);
        return true;
    } catch {
        return false;
    }
}
