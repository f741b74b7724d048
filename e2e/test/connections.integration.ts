import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ConnectingClient, type Connection, type ConnectionPath } from "../fixture/connections.ts";
import { eventually } from "../fixture/run.ts";

/** Connects in the network namespace of this process, to servers on its loopback. */
describe("a client that connects all the time", () => {
    let web: Server;
    let client: ConnectingClient;
    let path: ConnectionPath;

    beforeAll(async () => {
        web = createServer((_request, response) => void response.end("web-1"));
        web.listen(0, "127.0.0.1");
        await once(web, "listening");
        const { port } = web.address() as AddressInfo;
        path = { name: "loopback", ip: "127.0.0.1", port, nodes: [], servers: ["web-1"] };
        client = await ConnectingClient.start(String(process.pid), [path], { perSecond: 10, seconds: 120 });
    });
    afterAll(async () => {
        await client[Symbol.asyncDispose]();
        web.close();
    });

    const failureAfter = (from: number, is: RegExp): Promise<Connection> =>
        eventually(`a failure like ${is.source}`, () =>
            Promise.resolve(client.connections.find((one) => one.from > from && is.test(one.failure ?? ""))),
        );

    /** Takes the port of the server while `use` runs. */
    async function instead(other: TcpServer, use: (since: number) => Promise<void>): Promise<void> {
        web.close();
        web.closeAllConnections();
        await once(other.listen(path.port, path.ip), "listening");
        await use(Date.now());
        other.close();
        await once(web.listen(path.port, path.ip), "listening");
    }

    it("is answered by the server", () => {
        const [first] = client.connections.filter(({ failure }) => failure === undefined);
        expect(first).toMatchObject({ path, server: "web-1" });
    });

    it("fails when it is reset", async () => {
        const resets = createTcpServer((socket) => void socket.resetAndDestroy());
        await instead(resets, async (since) => {
            await failureAfter(since, /^ECONNRESET$/);
        });
    });

    it("fails when it is closed without an answer", async () => {
        const closes = createTcpServer((socket) => void socket.resume().end());
        await instead(closes, async (since) => {
            await failureAfter(since, /^closed without an answer$/);
        });
    });

    it("fails when it has no answer within the limit", async () => {
        const sockets: (() => void)[] = [];
        const silent = createTcpServer((socket) => {
            socket.on("error", () => undefined);
            sockets.push(() => void socket.destroy());
        });
        await instead(silent, async (since) => {
            const { from, to } = await failureAfter(since, /^no answer within 5 s$/);
            expect(to - from).toBeGreaterThanOrEqual(5_000);
            for (const end of sockets) end();
        });
    });

    it("fails when it is refused, and is answered again after that", async () => {
        web.close();
        web.closeAllConnections();
        await failureAfter(Date.now(), /^ECONNREFUSED$/);
        await once(web.listen(path.port, path.ip), "listening");
        const since = Date.now();
        await eventually("it is answered", () =>
            Promise.resolve(client.connections.some((one) => one.from > since && one.server === "web-1") || undefined),
        );
    });
});
