import { open } from "node:fs/promises";
import { endianness } from "node:os";
import { isSystemError } from "@antrea/errors";
import { formatIp, type Family, type IpAddress } from "@antrea/ip";

/** Protocols whose sockets are read. */
export type SocketProtocol = "TCP" | "UDP";

/** A socket that gets packets from anybody: TCP in state LISTEN, UDP without a peer. */
export interface ListeningSocket {
    readonly protocol: SocketProtocol;
    /** The unspecified address of a family: at all addresses; that of IPv6 at those of IPv4 too. */
    readonly ip: IpAddress;
    readonly port: number;
}

/** TCP_LISTEN (include/net/tcp_states.h of the kernel). */
const listenState = "0A";
/** At most so much is read of each file: some 7,000 sockets. */
const maxBytes = 1 << 20;
const chunkBytes = 1 << 16;
/** Number, own address and port, address and port of the peer, state. */
const linePattern = /^ *\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{2}) /;

const files = (["TCP", "UDP"] as const).flatMap((protocol) =>
    ["", "6"].map((suffix) => ({ protocol, name: `${protocol.toLowerCase()}${suffix}` })),
);

/** Where programs of the Node listen, by protocol and port. */
export class ListeningPorts {
    readonly #ips = new Map<string, Set<string>>();

    constructor(sockets: Iterable<ListeningSocket>) {
        for (const { protocol, ip, port } of sockets) {
            const key = keyOf(protocol, port);
            const ips = this.#ips.get(key) ?? new Set();
            this.#ips.set(key, ips.add(formatIp(ip)));
        }
    }

    /**
     * Whether a program listens at one of these addresses. One at the unspecified address of IPv6 counts for IPv4 too: the
     * kernel does not show which ones are restricted to IPv6 (IPV6_V6ONLY).
     */
    has(ips: readonly IpAddress[], protocol: SocketProtocol, port: number): boolean {
        // most ports have no program
        const found = this.#ips.get(keyOf(protocol, port));
        if (found === undefined) return false;
        return ips.some(
            (ip) => found.has("::") || found.has(formatIp(ip)) || (ip.family === 4 && found.has("0.0.0.0")),
        );
    }
}

/**
 * Reads where programs listen in the network namespace of this process (proc(5): /proc/net/tcp, tcp6, udp, udp6). A kernel
 * without IPv6 has none of it. Rejects with the error of a file that cannot be read.
 */
export async function readListeningPorts(): Promise<ListeningPorts> {
    const sockets: ListeningSocket[] = [];
    for (const { name, protocol } of files) sockets.push(...(await readSockets(`/proc/self/net/${name}`, protocol)));
    return new ListeningPorts(sockets);
}

/**
 * Returns the listening sockets of lines of /proc/net/tcp, tcp6, udp or udp6; other lines are skipped. Addresses are
 * numbers of 32 bits each in the byte order of the host, IPv6 has four of them; ports are plain numbers.
 */
export function parseSockets(
    lines: readonly string[],
    protocol: SocketProtocol,
    byteOrder: "BE" | "LE",
): readonly ListeningSocket[] {
    return lines.flatMap((line) => {
        const [found, address = "", port = "", peerPort = "", state = ""] = linePattern.exec(line) ?? [];
        const isListening = protocol === "TCP" ? state === listenState : Number.parseInt(peerPort, 16) === 0;
        if (found === undefined || !isListening) return [];
        return [{ protocol, ip: parseAddress(address, byteOrder), port: Number.parseInt(port, 16) }];
    });
}

async function readSockets(path: string, protocol: SocketProtocol): Promise<readonly ListeningSocket[]> {
    const sockets: ListeningSocket[] = [];
    const read = (lines: readonly string[]): boolean => {
        const listening = parseSockets(lines, protocol, endianness());
        sockets.push(...listening);
        // of TCP the kernel lists those that listen first, before all connections
        return protocol === "UDP" || listening.length > 0;
    };
    try {
        await using file = await open(path);
        const buffer = Buffer.alloc(chunkBytes);
        let rest = "";
        for (let total = 0; total < maxBytes;) {
            const { bytesRead } = await file.read(buffer, 0, chunkBytes);
            if (bytesRead === 0) break;
            const isFirst = total === 0;
            total += bytesRead;
            const lines = (rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
            rest = lines.pop() ?? "";
            if (!read(lines) && !isFirst) break;
        }
    } catch (error) {
        if (!isSystemError(error, "ENOENT")) throw error;
    }
    return sockets;
}

function parseAddress(hex: string, byteOrder: "BE" | "LE"): IpAddress {
    const family: Family = hex.length === 8 ? 4 : 6;
    const words = hex.match(/.{8}/g) ?? [];
    const bytes = words.map((word) => (byteOrder === "BE" ? word : (word.match(/../g) ?? []).toReversed().join("")));
    const value = BigInt(`0x${bytes.join("")}`);
    // a program that takes IPv4 by a socket of IPv6
    if (family === 6 && value >> 32n === 0xffffn) return { family: 4, value: value & 0xffff_ffffn };
    return { family, value };
}

function keyOf(protocol: SocketProtocol, port: number): string {
    return `${protocol} ${port}`;
}
