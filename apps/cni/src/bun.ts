/** What the binary uses of Bun's API; the rest of the program runs on any platform. */
export interface BunApi {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly stdin: { bytes(): Promise<Uint8Array> };
    readonly stdout: unknown;
    connect(options: { readonly unix: string; readonly socket: BunSocketHandlers }): Promise<BunSocket>;
    write(destination: unknown, bytes: Uint8Array): Promise<number>;
}

export interface BunSocket {
    /** Gives the number of bytes taken; `drain` tells when more will be. */
    write(bytes: Uint8Array): number;
    terminate(): void;
}

export interface BunSocketHandlers {
    /** The memory of `bytes` is reused after the call. */
    data(socket: BunSocket, bytes: Uint8Array): void;
    drain(socket: BunSocket): void;
    close(socket: BunSocket): void;
    error(socket: BunSocket, error: Error): void;
    connectError(socket: BunSocket, error: Error): void;
}
