import koffi from "koffi";
import { BenchError } from "../error.ts";

// Blocking sockets of the C library, as netperf uses: the event loop of Node.js takes longer for a message than a
// switch does, and would dominate the measurement.

const library = koffi.load(null);
const libc = {
    socket: library.func("int socket(int, int, int)"),
    bind: library.func("int bind(int, const void *, uint32_t)"),
    listen: library.func("int listen(int, int)"),
    accept: library.func("int accept(int, void *, void *)"),
    connect: library.func("int connect(int, const void *, uint32_t)"),
    setsockopt: library.func("int setsockopt(int, int, int, const void *, uint32_t)"),
    send: library.func("intptr_t send(int, const void *, size_t, int)"),
    recv: library.func("intptr_t recv(int, void *, size_t, int)"),
    close: library.func("int close(int)"),
};

const AF_INET = 2;
const SOCK_STREAM = 1;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_RCVTIMEO = 20;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
/** A network that drops everything ends the run. */
const receiveTimeoutSeconds = 5n;

/** TCP sockets as file descriptors; every call blocks the process. */
export const tcp = {
    listen(port: number): number {
        const fd = check("socket", libc.socket(AF_INET, SOCK_STREAM, 0));
        setOption(fd, SOL_SOCKET, SO_REUSEADDR, one);
        setOption(fd, SOL_SOCKET, SO_RCVTIMEO, timeout);
        const address = socketAddress("0.0.0.0", port);
        check("bind", libc.bind(fd, address, address.length));
        check("listen", libc.listen(fd, 128));
        return fd;
    },

    accept(listener: number): number {
        return prepared(check("accept", libc.accept(listener, null, null)));
    },

    connect(address: Uint8Array): number {
        const fd = prepared(check("socket", libc.socket(AF_INET, SOCK_STREAM, 0)));
        check("connect", libc.connect(fd, address, address.length));
        return fd;
    },

    send(fd: number, bytes: Uint8Array): void {
        check("send", libc.send(fd, bytes, bytes.length, 0));
    },

    /** Number of bytes received; 0 at the end. */
    receive(fd: number, into: Uint8Array): number {
        return check("recv", libc.recv(fd, into, into.length, 0));
    },

    close(fd: number): void {
        check("close", libc.close(fd));
    },
};

/** struct sockaddr_in, ip(7). */
export function socketAddress(ip: string, port: number): Uint8Array {
    const bytes = Uint8Array.from([
        AF_INET,
        0,
        port >> 8,
        port & 255,
        ...ip.split(".").map(Number),
        ...Array(8).fill(0),
    ]);
    return bytes;
}

const one = new Uint8Array(Int32Array.of(1).buffer);
const timeout = new Uint8Array(BigInt64Array.of(receiveTimeoutSeconds, 0n).buffer);

function prepared(fd: number): number {
    setOption(fd, IPPROTO_TCP, TCP_NODELAY, one);
    setOption(fd, SOL_SOCKET, SO_RCVTIMEO, timeout);
    return fd;
}

function setOption(fd: number, level: number, option: number, value: Uint8Array): void {
    check("setsockopt", libc.setsockopt(fd, level, option, value, value.length));
}

function check(call: string, result: number): number {
    if (result >= 0) return result;
    throw new BenchError("CALL_FAILED", "environment", `${call}: errno ${koffi.errno()}`);
}
