import koffi, { type LibraryHandle } from "koffi";

/** A watched descriptor. Close it before the descriptor. */
export interface Watch {
    /** Resumes after an error of the descriptor, at which libuv stops watching; otherwise without effect. */
    restart(): void;
    close(): void;
}

/**
 * The system calls that Node.js lacks, of section 2 of the manual. Each returns the result of the C function: -1 is an
 * error, see `errno`. None throws for an error of the kernel.
 */
export interface Libc {
    socket(domain: number, type: number, protocol: number): number;
    connect(fd: number, address: Uint8Array, length: number): number;
    bind(fd: number, address: Uint8Array, length: number): number;
    setsockopt(fd: number, level: number, option: number, value: Uint8Array, length: number): number;
    send(fd: number, bytes: Uint8Array, length: number, flags: number): number;
    recv(fd: number, bytes: Uint8Array, length: number, flags: number): number;
    setns(fd: number, type: number): number;
    /** `argument` is the structure that a pointer argument refers to, or a number. */
    ioctl(fd: number, request: number, argument: Uint8Array | number): number;
    /** Waits for one descriptor of a struct pollfd; blocks the thread. */
    poll(fds: Uint8Array, count: number, timeoutMs: number): number;
    /** `send` on a thread of its own, for requests that take long. Resolves to -errno or the length. */
    sendOnThread(fd: number, bytes: Uint8Array, length: number, flags: number): Promise<number>;
    /** errno of the last call here that returned -1; read it before any other call. */
    errno(): number;
    /** The address of the bytes, for structures that hold a pointer; valid while `bytes` is referenced. */
    addressOf(bytes: Uint8Array): bigint;
    /**
     * Calls `onReadable` on the event loop while the descriptor is readable or in error, until closed. libuv makes the
     * call directly: it must not throw, and promises settled in it wait, so it should only call `setImmediate`.
     */
    watch(fd: number, onReadable: () => void): Watch;
}

let loaded: Libc | undefined;

/** The C library of this process, loaded at the first call; always the same object. */
export function libc(): Libc {
    return (loaded ??= load());
}

function load(): Libc {
    // The process itself: node is linked with the C library of the system.
    const library = koffi.load(null);
    const send = library.func("intptr_t send(int, const void *, size_t, int)");
    return {
        socket: library.func("int socket(int, int, int)"),
        connect: library.func("int connect(int, const void *, uint32_t)"),
        bind: library.func("int bind(int, const void *, uint32_t)"),
        setsockopt: library.func("int setsockopt(int, int, int, const void *, uint32_t)"),
        send,
        recv: library.func("intptr_t recv(int, void *, size_t, int)"),
        setns: library.func("int setns(int, int)"),
        ioctl: ioctl(library),
        poll: library.func("int poll(void *, unsigned long, int)"),
        sendOnThread: (fd, bytes, length, flags) =>
            new Promise((resolve, reject) => {
                send.async(fd, bytes, length, flags, (error: unknown, result: number) => {
                    if (error !== null) reject(error as Error);
                    // Naming `bytes` here keeps them from being collected while the thread reads them.
                    else resolve(result < 0 ? -koffi.errno() : Math.min(result, bytes.length));
                });
            }),
        errno: () => koffi.errno(),
        addressOf: (bytes) => koffi.address(bytes),
        watch: (fd, onReadable) => {
            const events = { readable: true };
            const handle = koffi.node.poll(fd, events, onReadable);
            return { restart: () => handle.start(events, onReadable), close: () => handle.close() };
        },
    };
}

function ioctl(library: LibraryHandle): Libc["ioctl"] {
    const withBytes = library.func("ioctl", "int", ["int", "unsigned long", "void *"]);
    const withNumber = library.func("ioctl", "int", ["int", "unsigned long", "unsigned long"]);
    return (fd, request, argument) =>
        typeof argument === "number" ? withNumber(fd, request, argument) : withBytes(fd, request, argument);
}
