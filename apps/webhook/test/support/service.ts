import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** What a Service is to its clients: one address, each connection goes to one of the ready endpoints, in turn. */
export class TestService implements AsyncDisposable {
    readonly #server: Server;
    readonly #sockets = new Set<Socket>();
    #endpoints: readonly number[] = [];
    #turn = 0;

    private constructor() {
        this.#server = createServer((client) => this.#forward(client));
    }

    static async start(): Promise<TestService> {
        const service = new TestService();
        await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
        return service;
    }

    get port(): number {
        return (this.#server.address() as AddressInfo).port;
    }

    /** Ports of 127.0.0.1; connections that are there stay. */
    set endpoints(ports: readonly number[]) {
        this.#endpoints = ports;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const socket of this.#sockets) socket.destroy();
        await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    }

    #forward(client: Socket): void {
        const port = this.#endpoints[this.#turn++ % Math.max(1, this.#endpoints.length)];
        if (port === undefined) return void client.resetAndDestroy();
        const endpoint = connect(port, "127.0.0.1");
        for (const [socket, other] of [
            [client, endpoint],
            [endpoint, client],
        ] as const) {
            this.#sockets.add(socket);
            socket.setNoDelay(true);
            socket.on("error", () => other.destroy());
            socket.once("close", () => {
                this.#sockets.delete(socket);
                other.destroy();
            });
            socket.pipe(other);
        }
    }
}
