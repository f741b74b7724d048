import { closeSync } from "node:fs";
import { NetlinkError } from "../errors.ts";
import { LITTLE_ENDIAN } from "../message/bytes.ts";
import { AddressFamily } from "../message/constants.ts";
import { checked, errnoName, refused } from "../system/errno.ts";
import { libc, type Libc } from "../system/libc.ts";
import { inNetns, inNetnsFd, namespaceComponents } from "../system/namespace.ts";
import { ReceiveFlag, SocketOption, SocketType } from "./constants.ts";

/**
 * Datagrams to and from the kernel, for one caller at a time: call `receive` for all answers before the next `send`.
 * Errors are NetlinkError.
 */
export interface Channel {
    /**
     * The kernel handles the datagram before this returns, so its answers can then be received. Throws NetlinkError
     * with the errno by name.
     */
    send(datagram: Uint8Array): void;
    /**
     * `send` on a thread of its own, for requests that take long; `datagram` must not change until it settles. Rejects
     * as `send` throws.
     */
    sendOnThread(datagram: Uint8Array): Promise<void>;
    /**
     * The next datagram, a view that is valid until the next call. Blocks the event loop until there is one. Throws
     * `NetlinkError` `NO_ANSWER` if none arrives within a second, `TRUNCATED`, or the errno.
     */
    receive(): Uint8Array;
    /** Discards all unread datagrams, the rest of a dump included. Does not throw. */
    drain(): void;
}

/**
 * The namespace of a socket: that at a path, that of another socket's descriptor, or with `{}` that of this process.
 */
export type SocketPlace = { readonly netnsPath?: string | undefined } | { readonly socket: number };

// A dump has datagrams of at most 32 KiB, independent of the buffer; a single object is smaller.
const BUFFER_BYTES = 65_536;

// Answers can be received when send returns. This is for a kernel that behaves otherwise.
const ANSWER_TIMEOUT_MS = 1_000;
const MAX_DRAINED = 100_000;
const SIOCGSKNS = 0x894c;
const POLLIN = 1;

/** Protocols of netlink sockets (netlink(7)). */
export const NetlinkProtocol = { ROUTE: 0, NETFILTER: 12 } as const;

/**
 * Opens a non-blocking netlink socket of this protocol (`NetlinkProtocol`) that is connected to the kernel, which then drops
 * datagrams of other senders.
 * The socket keeps its namespace; the caller closes the returned descriptor. Throws `NetlinkError` with the errno
 * (`ENOENT` for a missing path), or `NOT_A_NETNS`.
 */
export function openNetlinkSocket(calls: Libc, place: SocketPlace, protocol: number = NetlinkProtocol.ROUTE): number {
    const type = SocketType.RAW | SocketType.CLOEXEC | SocketType.NONBLOCK;
    const create = (): number =>
        checked(calls.socket(AddressFamily.NETLINK, type, protocol), "open a netlink socket", calls.errno);
    const fd = createAt(calls, place, create);
    try {
        const kernel = new Uint8Array(12); // struct sockaddr_nl with port 0 and no groups
        new DataView(kernel.buffer).setUint16(0, AddressFamily.NETLINK, LITTLE_ENDIAN);
        checked(calls.connect(fd, kernel, kernel.length), "connect a netlink socket", calls.errno);
        return fd;
    } catch (error) {
        closeSync(fd);
        throw error;
    }
}

function createAt(calls: Libc, place: SocketPlace, create: () => number): number {
    if ("socket" in place) {
        const netns = checked(calls.ioctl(place.socket, SIOCGSKNS, 0), "find a socket's namespace", calls.errno);
        try {
            return inNetnsFd(namespaceComponents(), netns, "of a netlink socket", create);
        } finally {
            closeSync(netns);
        }
    }
    return place.netnsPath === undefined ? create() : inNetns(place.netnsPath, create);
}

/**
 * Sets a socket option with an int value (setsockopt(2); numbers in `SocketOption`). False if the kernel rejects it;
 * `calls.errno()` then has the reason.
 */
export function setSocketOption(calls: Libc, fd: number, level: number, option: number, value: number): boolean {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setInt32(0, value, LITTLE_ENDIAN);
    return calls.setsockopt(fd, level, option, bytes, bytes.length) === 0;
}

/**
 * Reads one datagram into `buffer` and returns a view of it, without waiting; undefined if there is none. Throws
 * `NetlinkError` `TRUNCATED`, or the errno by name.
 */
export function receiveNow(calls: Libc, fd: number, buffer: Uint8Array): Uint8Array | undefined {
    const length = calls.recv(fd, buffer, buffer.length, ReceiveFlag.DONTWAIT | ReceiveFlag.TRUNC);
    if (length > buffer.length) {
        throw new NetlinkError(
            "TRUNCATED",
            "internal",
            `netlink datagram of ${length} bytes: only ${buffer.length} can be read at once`,
        );
    }
    if (length >= 0) return buffer.subarray(0, length);
    const errno = calls.errno();
    if (errnoName(errno) === "EAGAIN" || errnoName(errno) === "EINTR") return undefined;
    throw refused("receive from netlink", errno);
}

/**
 * The channel of one netlink socket, by default of rtnetlink. The constructor throws as `openNetlinkSocket`. Dispose once;
 * it closes the socket.
 */
export class KernelChannel implements Channel, Disposable {
    readonly #libc: Libc;
    readonly #fd: number;
    readonly #buffer = new Uint8Array(new ArrayBuffer(BUFFER_BYTES));

    constructor(place: SocketPlace, protocol?: number) {
        this.#libc = libc();
        this.#fd = openNetlinkSocket(this.#libc, place, protocol);
        // Error texts, no copies of the request in answers, and an error for a filter that the kernel does not support.
        const { SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK } = SocketOption;
        for (const option of [NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK]) {
            setSocketOption(this.#libc, this.#fd, SOL_NETLINK, option, 1);
        }
    }

    /** The descriptor, to open another socket in the same namespace. */
    get socket(): number {
        return this.#fd;
    }

    send(datagram: Uint8Array): void {
        checked(this.#libc.send(this.#fd, datagram, datagram.length, 0), "send to netlink", this.#libc.errno);
    }

    async sendOnThread(datagram: Uint8Array): Promise<void> {
        const result = await this.#libc.sendOnThread(this.#fd, datagram, datagram.length, 0);
        if (result < 0) throw refused("send to netlink", -result);
    }

    receive(): Uint8Array {
        const datagram = receiveNow(this.#libc, this.#fd, this.#buffer) ?? this.#receiveLater();
        if (datagram !== undefined) return datagram;
        throw new NetlinkError(
            "NO_ANSWER",
            "timeout",
            `the kernel did not answer on netlink within ${ANSWER_TIMEOUT_MS} ms`,
        );
    }

    drain(): void {
        for (let count = 0; count < MAX_DRAINED; count++) {
            try {
                if (receiveNow(this.#libc, this.#fd, this.#buffer) === undefined) return;
            } catch {
                // A discarded datagram need not be readable.
            }
        }
    }

    [Symbol.dispose](): void {
        closeSync(this.#fd);
    }

    #receiveLater(): Uint8Array | undefined {
        const pollfd = new Uint8Array(8); // struct pollfd
        const view = new DataView(pollfd.buffer);
        view.setInt32(0, this.#fd, LITTLE_ENDIAN);
        view.setInt16(4, POLLIN, LITTLE_ENDIAN);
        this.#libc.poll(pollfd, 1, ANSWER_TIMEOUT_MS);
        return receiveNow(this.#libc, this.#fd, this.#buffer);
    }
}
