import { AntreaError } from "@antrea/errors";
import { parseIp, type IpAddress } from "@antrea/ip";

/** Separator of lists in the text of a record. */
export const separator = ",";

class RecordError extends AntreaError<"BAD_PREFIX_LENGTH"> {}

/** Parses an address and its prefix length. Throws IpError or RecordError if either is invalid. */
export function readAddress(ip: string, length: string): { readonly ip: IpAddress; readonly prefixLength: number } {
    const address = parseIp(ip);
    const prefixLength = /^[0-9]{1,3}$/.test(length) ? Number(length) : Infinity;
    if (prefixLength <= (address.family === 4 ? 32 : 128)) return { ip: address, prefixLength };
    throw new RecordError("BAD_PREFIX_LENGTH", "remote", `${length} is no prefix length of ${ip}`);
}

/** Parses a VLAN ID; 0 (untagged) for any text but one to four digits. */
export function readVlan(text: string): number {
    return /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
}
