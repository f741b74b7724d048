import { createServer, Agent, type IncomingMessage, type RequestListener } from "node:http";
import { afterEach, describe, expect, it } from "@jest/globals";
import { type Connection } from "../../src/api/credentials.ts";
import { readBody, send, socketAddress, type HttpRequest } from "../../src/api/transport.ts";
import { KubeError } from "../../src/errors.ts";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
    for (const each of cleanUp.splice(0)) await each();
});

/** A server on loopback that treats each request so. */
async function serve(listener: RequestListener, base = "/"): Promise<Connection> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanUp.push(() => {
        server.closeAllConnections();
        return new Promise((resolve) => server.close(resolve));
    });
    return connectionTo(`http://127.0.0.1:${(server.address() as { port: number }).port}${base}`);
}

function connectionTo(url: string): Connection {
    const [agent, streamAgent] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
    cleanUp.push(() => {
        agent.destroy();
        streamAgent.destroy();
    });
    return { server: new URL(url), headers: { Authorization: "Bearer t" }, agent, streamAgent };
}

const get: HttpRequest = { method: "GET", path: "/x?y=z", userAgent: "antrea-test/1", timeoutMs: 10_000 };
const put: HttpRequest = { ...get, method: "PUT", body: '"ü"' };
const read = { maxBytes: 100, timeoutMs: 10_000 };

describe("socketAddress", () => {
    it.each([
        ["https://api", "api", 443],
        ["http://api", "api", 80],
        ["https://api:6443/base", "api", 6443],
        ["https://[fd00::1]:6443", "fd00::1", 6443],
        ["https://192.0.2.1", "192.0.2.1", 443],
    ])("of %s", (url, host, port) => {
        expect(socketAddress(new URL(url))).toEqual({ host, port });
    });
});

describe("send", () => {
    it("sends method, path below the server's, headers and body, and gives the head of the answer", async () => {
        const seen: Pick<IncomingMessage, "method" | "url" | "headers">[] = [];
        const bodies: string[] = [];
        const connection = await serve((request, response) => {
            seen.push(request);
            request.setEncoding("utf8").on("data", (text: string) => bodies.push(text));
            request.on("end", () => response.writeHead(201, { "x-answer": "yes" }).end("body"));
        }, "/base/");
        for (const request of [get, put, { ...put, contentType: "text/plain", accept: "text/html" }]) {
            const response = await send(connection, request);
            expect([response.statusCode, response.headers["x-answer"]]).toEqual([201, "yes"]);
            expect(await readBody(response, "x", read)).toBe("body");
        }
        expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
            "GET /base/x?y=z",
            "PUT /base/x?y=z",
            "PUT /base/x?y=z",
        ]);
        const common = { authorization: "Bearer t", "user-agent": "antrea-test/1" };
        expect(seen.map(({ headers }) => headers)).toEqual([
            expect.objectContaining({ ...common, accept: "application/json" }),
            expect.objectContaining({ ...common, "content-type": "application/json", "content-length": "4" }),
            expect.objectContaining({ ...common, "content-type": "text/plain", accept: "text/html" }),
        ]);
        expect(seen[0]?.headers).not.toHaveProperty("content-type");
        expect(bodies).toEqual(['"ü"', '"ü"']);
    });

    it("keeps connections for the next request, and watches on connections of their own", async () => {
        const ports = new Set<number | undefined>();
        const connection = await serve((request, response) => {
            ports.add(request.socket.remotePort);
            response.end("{}");
        });
        const ask = async (request: HttpRequest): Promise<void> => {
            await readBody(await send(connection, request), "x", read);
            await new Promise((resolve) => setImmediate(resolve));
        };
        await ask(get);
        await ask(get);
        expect(ports.size).toBe(1);
        await ask({ ...get, stream: true });
        await ask({ ...get, stream: true });
        expect(ports.size).toBe(2);
    });

    it("waits for an answer only as long as it may: what a write did is not known then", async () => {
        const connection = await serve(() => undefined);
        const reading = send(connection, { ...get, timeoutMs: 20 });
        await expect(reading).rejects.toMatchObject({ code: "TIMEOUT", outcomeUnknown: false });
        await expect(reading).rejects.toThrow("GET /x?y=z: no answer within 20 ms");
        const writing = send(connection, { ...put, timeoutMs: 20 });
        await expect(writing).rejects.toMatchObject({ code: "TIMEOUT", outcomeUnknown: true });
    });

    it("sends nothing for a caller that gave up, and ends the request of one that gives up", async () => {
        let asked = 0;
        const arrived = Promise.withResolvers<void>();
        const connection = await serve(() => {
            asked += 1;
            arrived.resolve();
        });
        const before = send(connection, { ...get, signal: AbortSignal.abort() });
        await expect(before).rejects.toMatchObject({ code: "ABORTED", message: "GET /x?y=z was aborted" });
        expect(asked).toBe(0);
        const stop = new AbortController();
        const during = send(connection, { ...get, signal: stop.signal });
        await arrived.promise;
        stop.abort();
        await expect(during).rejects.toMatchObject({ code: "ABORTED" });
    });

    it("knows that a write to where nobody listens did nothing", async () => {
        const connection = await serve(() => undefined);
        for (const each of cleanUp.splice(0, 1)) await each();
        const writing = send(connection, put);
        await expect(writing).rejects.toMatchObject({ code: "CONNECTION_FAILED", outcomeUnknown: false });
        await expect(writing).rejects.toThrow(`PUT /x?y=z: no connection to ${connection.server.host}`);
    });

    // Behind a proxy it is the agent that connects, and the error has no name of a system call.
    it.each([
        ["ECONNREFUSED", undefined, false],
        ["ENOTFOUND", undefined, false],
        ["EAI_AGAIN", undefined, false],
        ["ETIMEDOUT", "connect", false],
        ["ETIMEDOUT", "read", true],
        ["ECONNRESET", undefined, true],
    ])("knows by the error %s (%s) whether a write may have been done: %s", async (code, syscall, outcomeUnknown) => {
        const connection = connectionTo("http://192.0.2.1");
        const cause = Object.assign(new Error("made up"), { code, syscall });
        connection.agent.createConnection = (_options, done) => void done?.(cause, undefined as never);
        const asked = (request: HttpRequest): Promise<unknown> => send(connection, request);
        await expect(asked(put)).rejects.toMatchObject({
            code: "CONNECTION_FAILED",
            outcomeUnknown,
            cause,
            message: "PUT /x?y=z: no connection to 192.0.2.1",
        });
        await expect(asked(get)).rejects.toMatchObject({ code: "CONNECTION_FAILED", outcomeUnknown: false, cause });
    });

    it("does not know what a write did whose connection broke", async () => {
        const connection = await serve((request) => request.socket.destroy());
        await expect(send(connection, put)).rejects.toMatchObject({ code: "CONNECTION_FAILED", outcomeUnknown: true });
        await expect(send(connection, get)).rejects.toMatchObject({ code: "CONNECTION_FAILED", outcomeUnknown: false });
    });
});

describe("readBody", () => {
    const answer = async (listener: RequestListener, signal?: AbortSignal) =>
        send(await serve(listener), { ...get, ...(signal === undefined ? {} : { signal }) });

    it("takes as many bytes as allowed and not one more", async () => {
        const five: RequestListener = (_request, response) => response.end("123ü");
        expect(await readBody(await answer(five), "x", { ...read, maxBytes: 5 })).toBe("123ü");
        const refused = readBody(await answer(five), "GET /x", { ...read, maxBytes: 4 });
        await expect(refused).rejects.toMatchObject({
            code: "TOO_LARGE",
            message: "GET /x: the answer is longer than 4 bytes",
        });
    });

    it("joins what comes in pieces, split within a character", async () => {
        const bytes = Buffer.from("aü€b");
        const pieces: RequestListener = (_request, response) => {
            response.write(bytes.subarray(0, 2), () => setImmediate(() => response.end(bytes.subarray(2))));
        };
        expect(await readBody(await answer(pieces), "x", read)).toBe("aü€b");
    });

    const begins: RequestListener = (_request, response) => void response.write("{");

    it("waits for the end only as long as it may", async () => {
        const reading = readBody(await answer(begins), "GET /x", { ...read, timeoutMs: 20 });
        await expect(reading).rejects.toMatchObject({
            code: "TIMEOUT",
            message: "GET /x: no whole answer within 20 ms",
        });
    });

    it("reports that the connection broke within the answer", async () => {
        const broken: RequestListener = (_request, response) => {
            response.writeHead(200, { "content-length": "100" });
            response.write("{", () => setImmediate(() => response.destroy()));
        };
        const reading = readBody(await answer(broken), "GET /x", read);
        await expect(reading).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
        await expect(reading).rejects.toBeInstanceOf(KubeError);
    });

    it("ends when the caller gives up", async () => {
        const stop = new AbortController();
        const response = await answer(begins, stop.signal);
        const reading = readBody(response, "GET /x", { ...read, signal: stop.signal });
        stop.abort();
        await expect(reading).rejects.toMatchObject({ code: "ABORTED", message: "GET /x was aborted" });
    });
});
