/** The parts of Bun's API that the binary uses; the rest of the program is independent of the platform. */
export interface BunApi {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly stdin: { bytes(): Promise<Uint8Array> };
    readonly stdout: unknown;
    connect(options: { readonly unix: string; readonly socket: BunSocketHandlers }): Promise<BunSocket>;
    write(destination: unknown, bytes: Uint8Array): Promise<number>;
}

/** A connected socket (Bun.Socket). */
export interface BunSocket {
    /** Returns the number of bytes written; `drain` is called when more can be written. */
    write(bytes: Uint8Array): number;
    terminate(): void;
}

/** The events of a socket (Bun's SocketHandler). */
export interface BunSocketHandlers {
    /** The memory of `bytes` is reused after the call. */
    data(socket: BunSocket, bytes: Uint8Array): void;
    drain(socket: BunSocket): void;
    close(socket: BunSocket): void;
    error(socket: BunSocket, error: Error): void;
    connectError(socket: BunSocket, error: Error): void;
}
