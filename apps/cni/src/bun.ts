/**
 * The parts of Bun's API (Bun.stdin, Bun.connect, Bun.write …) that the binary uses; the rest of the program is
 * independent of the platform.
 */
export interface BunApi {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly stdin: { bytes(): Promise<Uint8Array> };
    readonly stdout: unknown;
    /** Rejects with a system error such as `ENOENT` or `ECONNREFUSED`. */
    connect(options: { readonly unix: string; readonly socket: BunSocketHandlers }): Promise<BunSocket>;
    /** Writes all bytes to a destination such as `stdout`; resolves with their number. */
    write(destination: unknown, bytes: Uint8Array): Promise<number>;
}

/** A connected socket (Bun.Socket). */
export interface BunSocket {
    /**
     * Returns the number of bytes written, negative if the socket is closed; `drain` is called when more can be
     * written.
     */
    write(bytes: Uint8Array): number;
    /** Closes the socket at once; what is not written is dropped. */
    terminate(): void;
}

/** The events of a socket (Bun's SocketHandler). */
export interface BunSocketHandlers {
    /** The memory of `bytes` is reused after the call. */
    data(socket: BunSocket, bytes: Uint8Array): void;
    /** Called when more can be written. */
    drain(socket: BunSocket): void;
    close(socket: BunSocket): void;
    error(socket: BunSocket, error: Error): void;
    /** `connect` rejects with the same error. */
    connectError(socket: BunSocket, error: Error): void;
}
