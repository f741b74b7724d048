import type { Family } from "@antrea/ip";

/** An IP packet in an Ethernet frame without a VLAN tag: where its parts are. */
export interface IpPacket {
    readonly frame: Uint8Array;
    readonly family: Family;
    /** The IP header and all after it, without padding of the frame. */
    readonly ip: Uint8Array;
    readonly protocol: number;
    /** The header and data of the transport protocol. */
    readonly transport: Uint8Array;
}

const ethernetLength = 14;
const etherTypes: Readonly<Record<number, Family>> = { 0x0800: 4, 0x86dd: 6 };
/** Extension headers before that of the transport protocol, with a length in their second byte: RFC 8200 section 4. */
const extensions: readonly number[] = [0, 43, 60];
const fragmentHeader = 44;

/** Reads a packet; undefined for a frame that is no IP packet, is truncated, or is a later fragment. */
export function readPacket(frame: Uint8Array): IpPacket | undefined {
    if (frame.length < ethernetLength) return undefined;
    const family = etherTypes[u16(frame, 12)];
    const rest = frame.subarray(ethernetLength);
    return family === 4 ? readIpv4(frame, rest) : family === 6 ? readIpv6(frame, rest) : undefined;
}

/** The unsigned number of 16 bits at this offset, which must be in the bytes. */
export function u16(bytes: Uint8Array, offset: number): number {
    return ((bytes[offset] ?? 0) << 8) | (bytes[offset + 1] ?? 0);
}

function readIpv4(frame: Uint8Array, rest: Uint8Array): IpPacket | undefined {
    const headerLength = ((rest[0] ?? 0) & 0xf) * 4;
    const length = u16(rest, 2);
    const offset = u16(rest, 6) & 0x1fff;
    if (headerLength < 20 || length < headerLength || length > rest.length || offset !== 0) return undefined;
    const ip = rest.subarray(0, length);
    return { frame, family: 4, ip, protocol: ip[9] ?? 0, transport: ip.subarray(headerLength) };
}

function readIpv6(frame: Uint8Array, rest: Uint8Array): IpPacket | undefined {
    const length = 40 + u16(rest, 4);
    if (length > rest.length) return undefined;
    const ip = rest.subarray(0, length);
    let [protocol, at] = [ip[6] ?? 0, 40];
    while (at + 8 <= length) {
        if (protocol === fragmentHeader) {
            if ((u16(ip, at + 2) & 0xfff8) !== 0) return undefined;
            [protocol, at] = [ip[at] ?? 0, at + 8];
        } else if (extensions.includes(protocol)) {
            [protocol, at] = [ip[at] ?? 0, at + 8 + (ip[at + 1] ?? 0) * 8];
        } else {
            break;
        }
    }
    return at > length ? undefined : { frame, family: 6, ip, protocol, transport: ip.subarray(at) };
}
