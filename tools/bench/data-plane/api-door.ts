import { connect, createServer, type Server, type Socket } from "node:net";
import { type TestApiServer } from "@antrea/kube/testing";
import { Helper } from "../helper.ts";
import { joinSockets } from "../join-sockets.ts";
import { workPath } from "../paths.ts";

/** Makes a test API server, which listens on 127.0.0.1 of the current network namespace, reachable from others. */
export class ApiDoor implements AsyncDisposable {
    readonly #port: number;
    readonly #socketPath = workPath("api.sock");
    readonly #server: Server;
    readonly #clients = new Set<Socket>();
    readonly #relays = new AsyncDisposableStack();

    private constructor(port: number) {
        this.#port = port;
        this.#server = createServer((client) => {
            this.#clients.add(client);
            client.once("close", () => this.#clients.delete(client));
            joinSockets(client, connect(port, "127.0.0.1"));
        });
    }

    static async open(server: TestApiServer): Promise<ApiDoor> {
        const door = new ApiDoor(Number(new URL(server.url).port));
        const { promise, resolve } = Promise.withResolvers<void>();
        door.#server.listen(door.#socketPath, resolve);
        await promise;
        return door;
    }

    /**
     * Makes the server reachable from the network namespace at a path, at the same address, until the disposal of what it
     * resolves with or of the door.
     */
    async openIn(netnsPath: string): Promise<AsyncDisposable> {
        const relay = this.#relays.use(new Helper("data-plane/relay.ts", { netnsPath }));
        await relay.ask("listen", { port: this.#port, socketPath: this.#socketPath });
        return relay;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#relays.disposeAsync();
        for (const client of this.#clients) client.destroy();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#server.close(() => resolve());
        await promise;
    }
}
