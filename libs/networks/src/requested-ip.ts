import { addressInPrefix, parseIp, type IpAddress } from "@antrea/ip";

/** An address that somebody requests for an interface. */
export interface RequestedIp {
    readonly ip: IpAddress;
    /** Bits of its subnet's prefix; undefined if the text has none, so that only an IPPool can tell. */
    readonly prefixLength: number | undefined;
}

/** Parses `address` or `address/length`. Throws IpError `INVALID_ADDRESS` or `INVALID_PREFIX`. */
export function parseRequestedIp(text: string): RequestedIp {
    if (!text.includes("/")) return { ip: parseIp(text), prefixLength: undefined };
    const { ip, prefix } = addressInPrefix(text);
    return { ip, prefixLength: prefix.length };
}
