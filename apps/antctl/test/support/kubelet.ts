import { spawn } from "node:child_process";
import { createServer, type Server } from "node:https";
import { createSelfSigned } from "@antrea/serving";
import { WebSocketServer, type WebSocket } from "ws";

/** What stands where a container does: the environment that its commands run in. */
export type Containers = (path: {
    readonly namespace: string;
    readonly pod: string;
    readonly container: string;
}) => NodeJS.ProcessEnv | undefined;

/**
 * The exec endpoint of a kubelet, for API servers that pass WebSockets on to it (feature ExtendWebSocketsToKubelet,
 * which a Node declares in status.declaredFeatures). Commands run here, in the environment of their container.
 */
export class FakeKubelet implements AsyncDisposable {
    readonly #server: Server;
    readonly #sockets: WebSocketServer;
    /** `namespace/pod/container command …` of each call. */
    readonly calls: string[] = [];

    private constructor(server: Server, containers: Containers) {
        this.#server = server;
        this.#sockets = new WebSocketServer({ server, handleProtocols: (offered) => [...offered][0] ?? false });
        this.#sockets.on("connection", (socket, request) => {
            const url = new URL(request.url ?? "", "https://kubelet");
            const [, , namespace = "", pod = "", container = ""] = url.pathname.split("/");
            const command = url.searchParams.getAll("command");
            this.calls.push(`${namespace}/${pod}/${container} ${command.join(" ")}`);
            execute(socket, command, containers({ namespace, pod, container }));
        });
    }

    static async start(containers: Containers): Promise<FakeKubelet> {
        const { cert, key } = createSelfSigned({
            commonName: "kubelet",
            names: ["127.0.0.1"],
            notBeforeMs: Date.now() - 60_000,
            validMs: 3_600_000,
        });
        const server = createServer({ cert, key });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        return new FakeKubelet(server, containers);
    }

    get port(): number {
        return (this.#server.address() as { port: number }).port;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        for (const client of this.#sockets.clients) client.terminate();
        this.#sockets.close();
        this.#server.closeAllConnections();
        await new Promise((resolve) => this.#server.close(resolve));
    }
}

function execute(socket: WebSocket, command: readonly string[], env: NodeJS.ProcessEnv | undefined): void {
    const send = (channel: number, data: Buffer): void => socket.send(Buffer.concat([Buffer.of(channel), data]));
    const end = (status: object): void => {
        send(3, Buffer.from(JSON.stringify({ metadata: {}, ...status })));
        socket.close(1000);
    };
    const [program = "", ...words] = command;
    if (env === undefined) return end({ status: "Failure", message: "container not found" });
    const child = spawn(program, words, { env });
    child.stdout.on("data", (data: Buffer) => send(1, data));
    child.stderr.on("data", (data: Buffer) => send(2, data));
    child.on("error", (error) => end({ status: "Failure", message: error.message }));
    child.on("close", (code) => {
        if (code === 0) return end({ status: "Success" });
        const causes = [{ reason: "ExitCode", message: String(code) }];
        end({
            status: "Failure",
            reason: "NonZeroExitCode",
            message: `command terminated with ${code}`,
            details: { causes },
        });
    });
}
