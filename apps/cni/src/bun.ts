/**
 * The parts of Bun's API (Bun.env, Bun.stdin, Bun.connect, Bun.write) that the binary uses; the rest of the program is
 * independent of the platform.
 */
export interface BunApi {
    readonly env: Readonly<Record<string, string | undefined>>;
    /** `bytes` reads to the end of standard input. */
    readonly stdin: { bytes(): Promise<Uint8Array> };
    readonly stdout: unknown;
    /** Connects to a unix socket. Rejects with a system error such as `ENOENT` or `ECONNREFUSED`. */
    connect(options: { readonly unix: string; readonly socket: BunSocketHandlers }): Promise<BunSocket>;
    /** Writes all bytes to a destination such as `stdout`; resolves with their number, rejects with a system error. */
    write(destination: unknown, bytes: Uint8Array): Promise<number>;
}

/** A connected socket (Bun.Socket), as `BunApi.connect` resolves with it. */
export interface BunSocket {
    /**
     * Returns the number of bytes written, from the beginning, or a negative number if the socket is closed; the caller
     * keeps the rest until `drain` is called.
     */
    write(bytes: Uint8Array): number;
    /** Closes the socket at once; what is not written is dropped. */
    terminate(): void;
}

/** The handlers for the events of a socket (Bun's SocketHandler). */
export interface BunSocketHandlers {
    /** Bytes were received. Their memory is reused after the call. */
    data(socket: BunSocket, bytes: Uint8Array): void;
    /** Called when more can be written. */
    drain(socket: BunSocket): void;
    /** The socket was closed, by either side. */
    close(socket: BunSocket): void;
    error(socket: BunSocket, error: Error): void;
    /** `connect` rejects with the same error. */
    connectError(socket: BunSocket, error: Error): void;
}
