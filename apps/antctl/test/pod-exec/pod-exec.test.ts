import { Agent, createServer, type IncomingMessage, type Server } from "node:http";
import { type Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { WebSocketServer, type WebSocket } from "ws";
import { PodExec } from "../../src/pod-exec/index.ts";

const request = {
    namespace: "kube-system",
    pod: "agent-1",
    container: "antrea-ovs",
    command: ["ovs-vsctl", "list", "Port"],
};
const frame = (channel: number, text: string): Buffer => Buffer.concat([Buffer.of(channel), Buffer.from(text)]);
const success = frame(3, '{"status":"Success"}');

describe("PodExec", () => {
    const servers: Server[] = [];
    afterEach(() => {
        for (const server of servers.splice(0)) {
            server.closeAllConnections();
            server.close();
        }
    });

    async function listen(server: Server): Promise<PodExec> {
        servers.push(server);
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const { port } = server.address() as { port: number };
        const connection = {
            server: new URL(`http://127.0.0.1:${port}/base/`),
            headers: { Authorization: "Bearer t" },
            agent: new Agent(),
            streamAgent: new Agent(),
        };
        return new PodExec(
            { connection: async () => connection },
            { userAgent: "antctl/1", timeoutMs: 1_000, maxBytes: 1_000 },
        );
    }

    /** A real WebSocket server that treats each connection so. */
    async function serve(
        converse: (socket: WebSocket, incoming: IncomingMessage) => void,
        protocol: string | false = "v5.channel.k8s.io",
    ): Promise<PodExec> {
        const server = createServer();
        const sockets = new WebSocketServer({ server, handleProtocols: () => protocol });
        sockets.on("connection", (socket, incoming) => converse(socket, incoming));
        return listen(server);
    }

    it("asks for the command with the connection's credentials and gives its output", async () => {
        let seen: IncomingMessage | undefined;
        const exec = await serve((socket, incoming) => {
            seen = incoming;
            socket.send(frame(1, "out"));
            socket.send(frame(2, "warn"));
            socket.send(success);
            socket.close(1000);
        });
        expect(await exec.run(request)).toEqual({ stdout: "out", stderr: "warn", exitCode: 0 });
        expect(seen?.url).toBe(
            "/base/api/v1/namespaces/kube-system/pods/agent-1/exec?container=antrea-ovs&stdout=true&stderr=true" +
                "&command=ovs-vsctl&command=list&command=Port",
        );
        expect(seen?.headers).toMatchObject({
            authorization: "Bearer t",
            "user-agent": "antctl/1",
            "sec-websocket-protocol": "v5.channel.k8s.io",
        });
    });

    it("reads a message that comes in fragments", async () => {
        const exec = await serve((socket) => {
            socket.send(frame(1, "ab"), { fin: false });
            socket.send(Buffer.from("cd"), { fin: true });
            socket.send(success);
            socket.close(1000);
        });
        expect(await exec.run(request)).toMatchObject({ stdout: "abcd" });
    });

    it.each<[string, (socket: WebSocket) => void, RegExp]>([
        [
            "another exit code",
            (socket) => {
                socket.send(frame(2, "no such table\n"));
                socket.send(
                    frame(
                        3,
                        '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"1"}]}}',
                    ),
                );
                socket.close();
            },
            /cannot run ovs-vsctl in container antrea-ovs of Pod kube-system\/agent-1: exit code 1: no such table$/,
        ],
        ["an early end", (socket) => socket.close(1011), /ended before the command did/],
        ["a cut connection", (socket) => socket.terminate(), /ended before the command did/],
        ["too much output", (socket) => socket.send(frame(1, "x".repeat(2_000))), /longer than 1000 bytes/],
        ["no end", () => undefined, /no end within 1000 ms/],
    ])("reports %s", async (_name, converse, message) => {
        const exec = await serve(converse);
        await expect(exec.run(request)).rejects.toMatchObject({
            code: "EXEC_FAILED",
            message: expect.stringMatching(message),
            next: "try: kubectl -n kube-system exec agent-1 -c antrea-ovs -- ovs-vsctl list Port",
        });
    });

    it("reports what the API server reports when it refuses", async () => {
        const server = createServer();
        server.on("upgrade", (_request, socket: Socket) => {
            const body = JSON.stringify({ kind: "Status", message: 'pods "agent-1" is forbidden:\nno' });
            socket.end(
                `HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\nContent-Type: application/json\r\n\r\n${body}`,
            );
        });
        const exec = await listen(server);
        await expect(exec.run(request)).rejects.toThrow(
            /the API server answered 403: pods "agent-1" is forbidden: no$/,
        );
    });

    it("reports the status of an answer that is no JSON", async () => {
        const server = createServer();
        server.on("upgrade", (_request, socket: Socket) =>
            socket.end("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\n<p>"),
        );
        const exec = await listen(server);
        await expect(exec.run(request)).rejects.toThrow(/the API server answered 502$/);
    });

    it("does not go on with a server that chose no subprotocol", async () => {
        const exec = await serve((socket) => socket.send(success), false);
        await expect(exec.run(request)).rejects.toThrow(/sent no subprotocol|does not speak v5/);
    });

    it("reports that nothing listens", async () => {
        const exec = await listen(createServer());
        const [server] = servers.splice(0);
        await new Promise((resolve) => server?.close(resolve));
        await expect(exec.run(request)).rejects.toThrow(/ECONNREFUSED/);
    });
});
