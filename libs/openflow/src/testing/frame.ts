import { ipToBytes, parseIp, type IpAddress } from "@antrea/ip";

/** One packet, or what conntrack knows of a connection in one direction. */
export interface Tuple {
    readonly src: string;
    readonly dst: string;
    readonly sport: number;
    readonly dport: number;
}

/** MAC addresses of a frame, 6 bytes each. */
export interface FrameMacs {
    readonly src: Uint8Array;
    readonly dst: Uint8Array;
}

const someMacs: FrameMacs = { src: Uint8Array.of(2, 0, 0, 0, 0, 1), dst: Uint8Array.of(2, 0, 0, 0, 0, 2) };

/** Returns an Ethernet frame with an empty datagram, or a SYN, of correct checksums. */
export function frame(
    { src, dst, sport, dport }: Tuple,
    protocol: "udp" | "tcp" = "udp",
    macs: FrameMacs = someMacs,
): Uint8Array {
    const [from, to] = [parseIp(src), parseIp(dst)];
    const body = new Uint8Array(protocol === "udp" ? 8 : 20);
    const view = new DataView(body.buffer);
    view.setUint16(0, sport);
    view.setUint16(2, dport);
    if (protocol === "udp") view.setUint16(4, body.length);
    else {
        view.setUint16(12, 0x5002);
        view.setUint16(14, 0xffff);
    }
    const number = protocol === "udp" ? 17 : 6;
    const pseudo = [...ipToBytes(from), ...ipToBytes(to), 0, number, 0, body.length];
    view.setUint16(protocol === "udp" ? 6 : 16, checksum([...pseudo, ...body]));
    const etherType = from.family === 4 ? [0x08, 0x00] : [0x86, 0xdd];
    const ip = ipHeader(from, to, number, body.length);
    return Uint8Array.from([...macs.dst, ...macs.src, ...etherType, ...ip, ...body]);
}

function ipHeader(from: IpAddress, to: IpAddress, protocol: number, length: number): readonly number[] {
    const addresses = [...ipToBytes(from), ...ipToBytes(to)];
    if (from.family === 6) return [0x60, 0, 0, 0, 0, length, protocol, 64, ...addresses];
    const head = [0x45, 0, 0, 20 + length, 0, 1, 0, 0, 64, protocol];
    const sum = checksum([...head, 0, 0, ...addresses]);
    return [...head, sum >> 8, sum & 0xff, ...addresses];
}

function checksum(bytes: readonly number[]): number {
    let sum = 0;
    bytes.forEach((byte, index) => {
        sum += index % 2 === 0 ? byte << 8 : byte;
    });
    while (sum > 0xffff) sum = (sum >> 16) + (sum & 0xffff);
    return ~sum & 0xffff;
}
