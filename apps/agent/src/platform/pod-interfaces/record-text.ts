import { AntreaError } from "@antrea/errors";
import { parseIp, type IpAddress } from "@antrea/ip";

/** Between the parts of a list in the text of a record. */
export const separator = ",";

class RecordError extends AntreaError<"BAD_PREFIX_LENGTH"> {}

/** An address and the length of its prefix. Throws IpError or RecordError when either is none. */
export function readAddress(ip: string, length: string): { readonly ip: IpAddress; readonly prefixLength: number } {
    const address = parseIp(ip);
    const prefixLength = /^[0-9]{1,3}$/.test(length) ? Number(length) : Infinity;
    if (prefixLength <= (address.family === 4 ? 32 : 128)) return { ip: address, prefixLength };
    throw new RecordError("BAD_PREFIX_LENGTH", "peer", `${length} is no prefix length of ${ip}`);
}

/** The VLAN that a text names; 0, untagged, when it names none. */
export function readVlan(text: string): number {
    return /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
}
