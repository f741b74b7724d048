import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "@jest/globals";
import { MemoryLog } from "@antrea/runtime/testing";
import { HttpServer, type HttpOptions } from "../src/index.ts";

const running: HttpServer[] = [];
const open: Socket[] = [];

afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function start(options: HttpOptions = {}, place: { port: number; host?: string } = { port: 0 }) {
    const answer = (_: unknown, response: { end(text: string): unknown }): void => void response.end("ok");
    const server = new HttpServer({ logger: new MemoryLog().logger, answer }, options);
    running.push(server);
    await server.start(place);
    return server;
}

async function get(port: number, host = "127.0.0.1"): Promise<string | undefined> {
    try {
        return await (await fetch(`http://${host}:${port}/`, { headers: { connection: "close" } })).text();
    } catch {
        return undefined;
    }
}

/** True if the server keeps the connection. */
async function isKept(port: number): Promise<boolean> {
    const socket = connect(port, "127.0.0.1");
    open.push(socket);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    const closed = once(socket, "close").then(() => false);
    const kept = new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 200));
    return Promise.race([closed, kept]);
}

describe("a plain HTTP server", () => {
    it("serves all addresses of both families, or one", async () => {
        const all = await start();
        expect([await get(all.port), await get(all.port, "[::1]")]).toEqual(["ok", "ok"]);
        const one = await start({}, { port: 0, host: "127.0.0.1" });
        expect([await get(one.port), await get(one.port, "[::1]")]).toEqual(["ok", undefined]);
    });

    it("does not start at a port in use", async () => {
        const { port } = await start({}, { port: 0, host: "127.0.0.1" });
        await expect(start({}, { port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    });

    it("closes connections that it does not admit", async () => {
        const { port } = await start({ admits: ({ localAddress }) => !/127\.0\.0\.1$/.test(localAddress ?? "") });
        expect([await get(port), await get(port, "127.0.0.2")]).toEqual([undefined, "ok"]);
    });

    it.each<[string, HttpOptions]>([
        ["in all", { maxConnections: 2 }],
        ["from one address", { maxConnectionsPerAddress: 2 }],
    ])("limits connections %s", async (_, options) => {
        const { port } = await start(options);
        const kept = [await isKept(port), await isKept(port), await isKept(port)];
        expect(kept).toEqual([true, true, false]);
        open.splice(0).forEach((socket) => socket.destroy());
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect(await isKept(port)).toBe(true);
    });

    it("ends with its connections", async () => {
        const server = await start();
        const { port } = server;
        expect(await isKept(port)).toBe(true);
        const [socket] = open;
        const closed = socket && once(socket, "close");
        await server.stop();
        await closed;
        expect(await get(port)).toBeUndefined();
    });
});
