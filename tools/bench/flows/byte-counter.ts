import { rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { joinSockets } from "../join-sockets.ts";
import { workPath } from "../paths.ts";

/** Forwards connections to a unix socket and counts the bytes. */
export class ByteCounter implements AsyncDisposable {
    readonly socketPath = workPath("counted.sock");
    readonly #server: Server;
    readonly #clients = new Set<Socket>();
    #sent = 0;

    private constructor(target: string) {
        this.#server = createServer((client) => {
            const upstream = connect(target);
            client.on("data", (chunk: Buffer) => (this.#sent += chunk.length));
            this.#clients.add(client);
            joinSockets(client, upstream);
        });
    }

    static async open(target: string): Promise<ByteCounter> {
        const counter = new ByteCounter(target);
        const { promise, resolve } = Promise.withResolvers<void>();
        counter.#server.listen(counter.socketPath, resolve);
        await promise;
        return counter;
    }

    /** Bytes to the target since the last call. */
    take(): number {
        const sent = this.#sent;
        this.#sent = 0;
        return sent;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const client of this.#clients) client.destroy();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#server.close(() => resolve());
        await promise;
        rmSync(this.socketPath, { force: true });
    }
}
