import { addressInPrefix, parseIp, type IpAddress } from "@antrea/ip";

/** An address that is requested for an interface, of either family. */
export interface RequestedIp {
    readonly ip: IpAddress;
    /** Bits of its subnet's prefix; undefined if the text has none, so that an IPPool must provide it. */
    readonly prefixLength: number | undefined;
}

/**
 * Parses `address` or `address/length`, which may have host bits. Throws IpError `INVALID_ADDRESS` or `INVALID_PREFIX`.
 */
export function parseRequestedIp(text: string): RequestedIp {
    if (!text.includes("/")) return { ip: parseIp(text), prefixLength: undefined };
    const { ip, prefix } = addressInPrefix(text);
    return { ip, prefixLength: prefix.length };
}
