import { concatBytes, internetChecksum } from "@antrea/ip";
import { u16, type IpPacket } from "./packet.ts";

const Protocol = { icmp: 1, tcp: 6, icmpv6: 58 } as const;
const TcpFlag = { fin: 1, syn: 2, rst: 4, ack: 16 } as const;
const hopLimit = 64;
/** An ICMP error has at most so many bytes: RFC 1812 section 4.3.2.3, RFC 4443 section 2.4. */
const maxErrorBytes = { 4: 576, 6: 1280 } as const;

/**
 * Returns the frame with which a host rejects a connection at a port on which it does not listen: a reset of TCP (RFC 9293
 * section 3.10.7.1), else the ICMP error "port unreachable" with the beginning of the packet (RFC 792, RFC 4443). Undefined for
 * what must not be answered: a reset, an ICMP message, a packet that is truncated.
 */
export function rejection(packet: IpPacket): Uint8Array | undefined {
    const { protocol } = packet;
    if (protocol === Protocol.icmp || protocol === Protocol.icmpv6) return undefined;
    return protocol === Protocol.tcp ? reset(packet) : unreachable(packet);
}

function reset(packet: IpPacket): Uint8Array | undefined {
    const { transport } = packet;
    const headerLength = ((transport[12] ?? 0) >> 4) * 4;
    const flags = transport[13] ?? 0;
    if (transport.length < 20 || headerLength < 20 || (flags & TcpFlag.rst) !== 0) return undefined;
    const header = new Uint8Array(20);
    const view = new DataView(header.buffer);
    view.setUint16(0, u16(transport, 2));
    view.setUint16(2, u16(transport, 0));
    const of = new DataView(transport.buffer, transport.byteOffset);
    if ((flags & TcpFlag.ack) !== 0) {
        view.setUint32(4, of.getUint32(8));
        header[13] = TcpFlag.rst;
    } else {
        const phantom = (flags & TcpFlag.syn ? 1 : 0) + (flags & TcpFlag.fin ? 1 : 0);
        view.setUint32(8, (of.getUint32(4) + Math.max(0, transport.length - headerLength) + phantom) >>> 0);
        header[13] = TcpFlag.rst | TcpFlag.ack;
    }
    header[12] = 5 << 4;
    return answer(packet, Protocol.tcp, header, 16);
}

function unreachable(packet: IpPacket): Uint8Array {
    const { family, ip } = packet;
    const headers = (family === 4 ? 20 : 40) + 8;
    const cited = ip.subarray(0, maxErrorBytes[family] - headers);
    const message = new Uint8Array(8 + cited.length);
    // type and code: destination unreachable, port unreachable
    message.set(family === 4 ? [3, 3] : [1, 4]);
    message.set(cited, 8);
    return answer(packet, family === 4 ? Protocol.icmp : Protocol.icmpv6, message, 2);
}

/** A frame from the receiver of the packet to its sender, with the checksum of the payload at `checksumAt`. */
function answer(
    { frame, family, ip }: IpPacket,
    protocol: number,
    payload: Uint8Array,
    checksumAt: number,
): Uint8Array {
    const [source, destination] =
        family === 4 ? [ip.subarray(16, 20), ip.subarray(12, 16)] : [ip.subarray(24, 40), ip.subarray(8, 24)];
    // ICMP of IPv4 is the only one without a pseudo-header
    const pseudo =
        protocol === Protocol.icmp
            ? []
            : [source, destination, Uint8Array.of(0, 0, payload.length >> 8, payload.length & 0xff, 0, 0, 0, protocol)];
    new DataView(payload.buffer).setUint16(checksumAt, internetChecksum([...pseudo, payload]));
    const header = family === 4 ? ipv4Header(payload.length, protocol) : ipv6Header(payload.length, protocol);
    const addressed = concatBytes([header, source, destination]);
    if (family === 4) new DataView(addressed.buffer).setUint16(10, internetChecksum([addressed]));
    return concatBytes([frame.subarray(6, 12), frame.subarray(0, 6), frame.subarray(12, 14), addressed, payload]);
}

function ipv4Header(payloadLength: number, protocol: number): Uint8Array {
    const length = 20 + payloadLength;
    return Uint8Array.of(0x45, 0, length >> 8, length & 0xff, 0, 0, 0x40, 0, hopLimit, protocol, 0, 0);
}

function ipv6Header(payloadLength: number, protocol: number): Uint8Array {
    return Uint8Array.of(0x60, 0, 0, 0, payloadLength >> 8, payloadLength & 0xff, protocol, hopLimit);
}
