import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, type Socket } from "node:net";

/**
 * Stands between agents and the API server. Of writes to allocations it loses answers: the server did what it was asked for,
 * and the connection breaks before the agent gets the answer. Everything else passes.
 */
export class CuttingProxy implements AsyncDisposable {
    /** Called for each write that the server has answered; true loses the answer. */
    cut: (method: string, path: string) => boolean = () => false;
    readonly #server: Server;
    readonly #sockets = new Set<Socket>();
    readonly #target: URL;
    readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false });
    #lost = 0;

    #kubeconfig = "";

    private constructor(target: string) {
        this.#target = new URL(target);
        this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
        this.#server.on("connection", (socket: Socket) => {
            this.#sockets.add(socket);
            socket.on("close", () => this.#sockets.delete(socket));
        });
    }

    /** @param kubeconfig as JSON, of the server to stand before */
    static async start(kubeconfig: string): Promise<CuttingProxy> {
        const config = JSON.parse(await readFile(kubeconfig, "utf8")) as {
            readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
        };
        const proxy = new CuttingProxy(config.clusters[0]?.cluster.server ?? "");
        await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
        const server = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
        const cluster = { server, "insecure-skip-tls-verify": true };
        proxy.#kubeconfig = `${kubeconfig}.${server.split(":").at(-1)}`;
        await writeFile(proxy.#kubeconfig, JSON.stringify({ ...config, clusters: [{ name: "test", cluster }] }));
        return proxy;
    }

    /** For the agents, instead of the API server's. */
    get kubeconfig(): string {
        return this.#kubeconfig;
    }

    /** How many answers were lost. */
    get lost(): number {
        return this.#lost;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const socket of this.#sockets) socket.destroy();
        await new Promise((resolve) => this.#server.close(resolve));
        this.#agent.destroy();
    }

    #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
        const { method = "GET", url: path = "/", headers } = incoming;
        const { hostname, port } = this.#target;
        const forwarded = request({ hostname, port, method, path, headers, agent: this.#agent }, (answer) => {
            if (method !== "GET" && path.includes("/ipallocations") && this.cut(method, path)) {
                this.#lost += 1;
                answer.resume();
                answer.on("end", () => incoming.socket.destroy());
                return;
            }
            outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
            outgoing.flushHeaders();
            answer.pipe(outgoing);
            answer.on("error", () => incoming.socket.destroy());
        });
        forwarded.on("error", () => incoming.socket.destroy());
        outgoing.on("close", () => forwarded.destroy());
        incoming.pipe(forwarded);
    }
}
