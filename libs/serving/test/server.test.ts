import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { Jobs, Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { createSelfSigned, DaemonServer, probePortFrom, type DaemonServerComponents } from "../src/index.ts";

interface Answer {
    readonly status: number;
    readonly body: string;
    readonly headers: Readonly<Record<string, unknown>>;
}

interface Running {
    readonly server: DaemonServer;
    readonly log: MemoryLog;
    get(path: string, options?: { method?: string; headers?: Record<string, string>; ca?: string }): Promise<Answer>;
}

const running: DaemonServer[] = [];

afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function start(
    authorize: DaemonServerComponents["authorize"] = async () => true,
    more: {
        clock?: ManualClock;
        certificate?: { cert: string; key: string };
        handle?: NonNullable<DaemonServerComponents["handle"]>;
        probePort?: number;
        probeSocket?: string;
        maxConnections?: number;
        maxConnectionsPerAddress?: number;
        withoutMetrics?: boolean;
    } = {},
): Promise<Running> {
    const log = new MemoryLog();
    const metrics = new Metrics({ processMetrics: false });
    metrics.counter({ name: "calls_total", help: "Calls." }).inc();
    const { clock, handle, withoutMetrics, ...options } = more;
    const server = new DaemonServer(
        {
            logger: log.logger,
            metrics: withoutMetrics ? undefined : metrics,
            authorize,
            ...(clock && { clock }),
            ...(handle && { handle }),
        },
        { name: "antrea-test", host: "127.0.0.1", port: 0, ...options },
    );
    await server.start();
    running.push(server);
    const get: Running["get"] = (path, { method = "GET", headers = {}, ca = server.certificate ?? "" } = {}) =>
        new Promise((resolve, reject) => {
            const options = { host: "127.0.0.1", port: server.port, path, method, headers, ca, agent: false as const };
            request(options, (response) => {
                let body = "";
                response.setEncoding("utf8");
                response.on("data", (chunk: string) => (body += chunk));
                response.on("end", () =>
                    resolve({ status: response.statusCode ?? 0, body, headers: response.headers }),
                );
            })
                .on("error", reject)
                .end();
        });
    return { server, log, get };
}

const bearer = { headers: { authorization: "Bearer secret" } };

describe("the health endpoints", () => {
    it.each(["/livez", "/readyz", "/healthz"])(
        "%s is ok without checks, over TLS that the client verifies",
        async (path) => {
            const { get } = await start();
            expect(await get(path)).toMatchObject({ status: 200, body: "ok\n" });
            expect((await get(`${path}?verbose`)).body).toBe(`${path.slice(1)} check passed\n`);
            expect(await get(path, { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
        },
    );

    it("follow their checks: ready asks the live ones too", async () => {
        const { server, get, log } = await start();
        let problem: string | undefined = "no connection to OVS";
        server.addCheck("ovs", "ready", () => problem);
        server.addCheck("loop", "live", () => undefined);
        expect(await get("/livez?verbose")).toMatchObject({ status: 200, body: "[+]loop ok\nlivez check passed\n" });
        const failed = "[-]ovs failed: no connection to OVS\n[+]loop ok\nreadyz check failed\n";
        expect(await get("/readyz")).toMatchObject({ status: 503, body: failed });
        expect(await get("/readyz?verbose")).toMatchObject({ status: 503, body: failed });
        problem = undefined;
        expect((await get("/readyz?verbose")).body).toBe("[+]ovs ok\n[+]loop ok\nreadyz check passed\n");
        expect(log.messages("warn")).toEqual(["health checks fail"]);
        expect(log.messages("info")).toContain("health checks pass again");
    });

    it("/readyz?verbose lists jobs with their last result and next run, which decide nothing", async () => {
        const { server, get, log } = await start();
        const clock = new ManualClock();
        const jobs = new Jobs({ logger: log.logger, clock });
        const at = (ms: number): string => new Date(clock.now() + ms).toISOString();
        const began = at(0);
        const never = Promise.withResolvers<void>();
        server.showJobs(jobs);
        jobs.every("routes", 60_000, () => undefined);
        jobs.every("peers", 60_000, () => JSON.parse("secret"), { backoff: { jitter: 0 } });
        jobs.every("token", 5_000, () => never.promise);
        jobs.every("late", 5_000, () => undefined, { delayed: true });
        jobs.once("upgrade", () => undefined);
        const error = new TypeError("secret");
        jobs.every("pods", 60_000, () => ({ againInMs: 2_000, failed: 1, error }));
        jobs.every("vlans", 60_000, () => ({ againInMs: undefined, failed: 2, error }));
        const stop = new AbortController();
        jobs.start(stop.signal);
        await settle();
        const lines = (await get("/readyz?verbose")).body.split("\n");
        expect(lines).toEqual([
            "readyz check passed",
            `job routes: succeeded at ${began}; next run at ${at(60_000)}`,
            `job peers: failed with SyntaxError, last at ${began}; next run at ${at(1_000)}`,
            "job token: has not run yet; running",
            `job late: has not run yet; next run at ${at(5_000)}`,
            `job upgrade: succeeded at ${began}; done`,
            `job pods: succeeded at ${began}; 1 object failed with TypeError; next run at ${at(2_000)}`,
            `job vlans: succeeded at ${began}; 2 objects failed, one with TypeError; next run at ${at(60_000)}`,
            "",
        ]);
        await clock.advance(1_000);
        expect((await get("/readyz?verbose")).body).toContain(
            `job peers: failed 2 times with SyntaxError, last at ${at(0)};`,
        );
        expect((await get("/readyz")).body).toBe("ok\n");
        expect((await get("/livez?verbose")).body).toBe("livez check passed\n");
        stop.abort();
        never.resolve();
        await jobs.stop();
    });

    it("a check that throws has failed; one that is disposed of is gone", async () => {
        const { server, get } = await start();
        const check = server.addCheck("loop", "live", () => {
            throw new TypeError("no clue");
        });
        expect(() => server.addCheck("loop", "live", () => undefined)).toThrow("two health checks are called loop");
        expect(await get("/healthz")).toMatchObject({
            status: 503,
            body: "[-]loop failed: the check failed: no clue\nhealthz check failed\n",
        });
        check[Symbol.dispose]();
        expect((await get("/healthz")).status).toBe(200);
    });

    it.each([
        ["GET", "/", 404],
        ["GET", "/livez/", 404],
        ["GET", "/constructor", 404],
        ["POST", "/livez", 405],
        ["GET", "http://[", 400],
    ])("%s %s is %i", async (method, path, status) => {
        const { get } = await start();
        expect((await get(path, { method })).status).toBe(status);
    });
});

describe("/metrics", () => {
    it("gives them to who is allowed", async () => {
        const tokens: string[] = [];
        const { get } = await start(async (token) => tokens.push(token) > 0);
        const answer = await get("/metrics", bearer);
        expect(answer).toMatchObject({
            status: 200,
            headers: { "content-type": expect.stringMatching(/^text\/plain/) },
        });
        expect(answer.body).toMatch(/^calls_total 1$/m);
        expect(tokens).toEqual(["secret"]);
    });

    it.each<[string, Record<string, string>]>([
        ["no token", {}],
        ["another scheme", { authorization: "Basic c2VjcmV0" }],
        ["an empty token", { authorization: "Bearer " }],
        ["a token in two parts", { authorization: "Bearer a b" }],
    ])("is 401 with %s, and nobody is asked", async (_name, headers) => {
        const { get } = await start(() => Promise.reject(new TypeError("asked")));
        expect(await get("/metrics", { headers })).toMatchObject({
            status: 401,
            headers: { "www-authenticate": "Bearer" },
        });
    });

    it("is 403 for a token that is not allowed, 503 when it is unknown", async () => {
        const refused = await start(async () => false);
        expect((await refused.get("/metrics", bearer)).status).toBe(403);
        const away = await start(() => Promise.reject(new TypeError("the API server is away")));
        expect((await away.get("/metrics", bearer)).status).toBe(503);
        expect(away.log.messages("warn")).toHaveLength(1);
        expect(JSON.stringify(away.log.records)).not.toMatch(/secret/);
    });
});

describe("the server", () => {
    it("uses a certificate that is given", async () => {
        const now = Date.now() - 1000;
        const certificate = createSelfSigned({
            commonName: "mine",
            names: ["127.0.0.1"],
            notBeforeMs: now,
            validMs: 1e7,
        });
        const { get, server } = await start(undefined, { certificate });
        expect((await get("/livez", { ca: certificate.cert })).status).toBe(200);
        expect(server.certificate).toBe(certificate.cert);
        const other = createSelfSigned({ commonName: "mine", names: ["127.0.0.1"], notBeforeMs: now, validMs: 1e7 });
        await expect(get("/livez", { ca: other.cert })).rejects.toThrow();
    });

    it("makes its certificate anew before it ends", async () => {
        // Ends at the machine's time, so that the client takes both certificates for valid.
        const clock = new ManualClock(Date.now() - 335 * 86_400_000);
        const { server, get } = await start(undefined, { clock });
        const first = server.certificate ?? "";
        await clock.advance(334 * 86_400_000);
        expect(server.certificate).toBe(first);
        expect((await get("/livez", { ca: first })).status).toBe(200);
        await clock.advance(86_400_000);
        expect(server.certificate).not.toBe(first);
        expect((await get("/livez")).status).toBe(200);
        await expect(get("/livez", { ca: first })).rejects.toThrow(/certificate/);
    });

    it("shows another certificate from then on, and makes none of its own any more", async () => {
        const now = Date.now();
        const clock = new ManualClock(now);
        const { server, get } = await start(undefined, { clock });
        const own = server.certificate ?? "";
        const given = createSelfSigned({ commonName: "x", names: ["127.0.0.1"], notBeforeMs: now - 1e6, validMs: 1e9 });
        server.show(given);
        expect((await get("/livez", { ca: given.cert })).status).toBe(200);
        await expect(get("/livez", { ca: own })).rejects.toThrow(/certificate/);
        await clock.advance(400 * 86_400_000);
        expect(server.certificate).toBe(given.cert);
    });

    it("hands all other paths to a handler, whatever the method", async () => {
        const { get } = await start(undefined, {
            handle: (request, response) => void response.writeHead(201).end(`${request.method} ${request.url}`),
        });
        expect(await get("/validate/x?timeout=2s", { method: "POST" })).toMatchObject({
            status: 201,
            body: "POST /validate/x?timeout=2s",
        });
        expect((await get("/livez")).status).toBe(200);
        expect((await get("/metrics")).status).toBe(401);
        expect((await get("/livez", { method: "POST" })).status).toBe(405);
    });

    it("lets clients go while it drains: answers on, closes their connections, and ends when the last is answered", async () => {
        const answer = Promise.withResolvers<void>();
        const began = Promise.withResolvers<void>();
        const clock = new ManualClock(Date.now());
        const { server, get } = await start(undefined, {
            clock,
            handle: (_request, response) => {
                began.resolve();
                void answer.promise.then(() => response.end("done"));
            },
        });
        expect((await get("/livez", { headers: { connection: "keep-alive" } })).headers.connection).toBe("keep-alive");
        const drained = server.drain({ leaveMs: 1000, limitMs: 10_000 });
        const leaving = await get("/livez", { headers: { connection: "keep-alive" } });
        expect(leaving).toMatchObject({ status: 200, headers: { connection: "close" } });
        const slow = get("/slow");
        await began.promise;
        await clock.advance(1000);
        await expect(get("/livez")).rejects.toMatchObject({ code: expect.stringMatching(/^(WRONG_STATE|ECONN)/) });
        answer.resolve();
        expect(await slow).toMatchObject({ status: 200, body: "done" });
        await drained;
        await server.stop();
    });

    it("waits for a request that does not end only so long", async () => {
        const began = Promise.withResolvers<void>();
        const { server, get } = await start(undefined, { handle: () => began.resolve() });
        const stuck = get("/stuck").catch((error: unknown) => error);
        await began.promise;
        await server.drain({ leaveMs: 0, limitMs: 20 });
        await server.stop();
        expect(await stuck).toMatchObject({ code: "ECONNRESET" });
    });

    it("answers what came while the process was busy until the end of the drain", async () => {
        const { server } = await start();
        const client = connectTls({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false });
        let answers = "";
        client.setEncoding("utf8").on("data", (text: string) => (answers += text));
        const ask = (): boolean => client.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
        ask();
        await once(client, "data");
        const drained = server.drain({ leaveMs: 20, limitMs: 1000 });
        ask();
        const end = performance.now() + 100;
        while (performance.now() < end);
        await once(client, "close");
        expect(answers.match(/^HTTP\/1.1 200/gm)).toHaveLength(2);
        await drained;
    });

    it("keeps connections open again when it is started anew after a drain", async () => {
        const { server, get } = await start();
        await server.drain({ leaveMs: 0, limitMs: 0 });
        await server.stop();
        await server.start();
        expect((await get("/livez", { headers: { connection: "keep-alive" } })).headers.connection).toBe("keep-alive");
    });

    it("does not take a port that gets free after it was drained", async () => {
        const { server, log } = await start();
        const components = { logger: log.logger, metrics: new Metrics(), authorize: async () => true };
        const options = { name: "x", host: "127.0.0.1", port: server.port, waitsForPort: true };
        const next = new DaemonServer(components, options);
        running.push(next);
        await next.start();
        await next.drain({ leaveMs: 0, limitMs: 0 });
        await server.stop();
        // Longer than it waits between two tries.
        await new Promise((resolve) => setTimeout(resolve, 400));
        expect(() => next.port).toThrow("does not listen");
    });

    it("stops although clients keep connections open, and can say where it listens only while it does", async () => {
        const { server } = await start();
        const { port } = server;
        const idle = connect(port, "127.0.0.1");
        const closed = new Promise<void>((resolve) => idle.on("error", () => undefined).on("close", () => resolve()));
        await new Promise((resolve) => idle.on("connect", resolve));
        await server.stop();
        await closed;
        expect(() => server.port).toThrow("does not listen");
        await server.stop();
    });

    it("fails to start on a port in use, and when it is no longer wanted", async () => {
        const { server, log } = await start();
        const components = { logger: log.logger, metrics: new Metrics(), authorize: async () => true };
        const second = new DaemonServer(components, { name: "x", host: "127.0.0.1", port: server.port });
        await expect(second.start()).rejects.toMatchObject({ code: "EADDRINUSE" });
        await expect(second.start(AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
    });

    it("takes a port in use when it is free, where it shall, unless it is stopped before", async () => {
        const { server, log } = await start();
        const components = { logger: log.logger, metrics: new Metrics(), authorize: async () => true };
        const options = { name: "x", host: "127.0.0.1", port: server.port, waitsForPort: true };
        const unwanted = new DaemonServer(components, options);
        await unwanted.start();
        await unwanted.stop();
        const next = new DaemonServer(components, options);
        running.push(next);
        await next.start();
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(() => next.port).toThrow("does not listen");
        expect(log.records.filter(({ msg }) => msg.includes("port is in use"))).toHaveLength(2);
        await server.stop();
        const listens = (): number => log.messages("info").filter((text) => text === "health server listens").length;
        for (let tries = 0; tries < 40 && listens() < 2; tries += 1) {
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
        expect(next.port).toBe(options.port);
    });
});

describe("the listener for probes", () => {
    const probe = async (server: DaemonServer, path: string, method = "GET"): Promise<[number, string]> => {
        const response = await fetch(`http://127.0.0.1:${server.probePort}${path}`, { method });
        return [response.status, await response.text()];
    };

    it("answers while silent connections take all places of the open port, again and again", async () => {
        const { server } = await start(undefined, { probePort: 0, maxConnectionsPerAddress: 1_000 });
        const silent = (): Promise<Socket> =>
            new Promise((resolve) => {
                const socket = connect({ host: "127.0.0.1", port: server.port }, () => resolve(socket));
                socket.on("error", () => undefined);
            });
        const sockets: Socket[] = [];
        for (let round = 0; round < 3; round += 1) {
            sockets.push(...(await Promise.all(Array.from({ length: 100 }, silent))));
            expect(await probe(server, "/livez")).toEqual([200, "ok\n"]);
            expect(await probe(server, "/readyz")).toEqual([200, "ok\n"]);
        }
        for (const socket of sockets) socket.destroy();
    });

    it("serves the checks and nothing else", async () => {
        const { server } = await start(undefined, { probePort: 0, handle: (_, response) => void response.end("app") });
        server.addCheck("ovs", "ready", () => "no connection to OVS");
        expect(await probe(server, "/readyz")).toEqual([503, expect.stringContaining("no connection to OVS")]);
        expect((await probe(server, "/metrics"))[0]).toBe(404);
        expect((await probe(server, "/validate"))[0]).toBe(404);
        expect((await probe(server, "/livez", "POST"))[0]).toBe(405);
    });

    describe("at a Unix socket", () => {
        const folder = mkdtempSync(join(tmpdir(), "antrea-probe-"));
        const path = join(folder, "probe.sock");
        const ask = (url: string): Promise<[number, string]> =>
            new Promise((resolve, reject) => {
                httpRequest({ socketPath: path, path: url }, (response) => {
                    let body = "";
                    response.on("data", (chunk: Buffer) => (body += chunk.toString()));
                    response.on("end", () => resolve([response.statusCode ?? 0, body]));
                })
                    .on("error", reject)
                    .end();
            });
        afterAll(() => rmSync(folder, { recursive: true }));

        it("answers for its own process while another one has the port and is healthy", async () => {
            const { server, log } = await start();
            const components = { logger: log.logger, metrics: new Metrics(), authorize: async () => true };
            const options = { name: "x", host: "127.0.0.1", port: server.port, waitsForPort: true, probeSocket: path };
            const next = new DaemonServer(components, options);
            let problem: string | undefined = "Nodes are not listed yet";
            next.addCheck("nodes", "ready", () => problem);
            await next.start();
            running.push(next);
            expect(await ask("/livez")).toEqual([200, "ok\n"]);
            expect(await ask("/readyz")).toEqual([503, expect.stringContaining(problem)]);
            problem = undefined;
            expect(await ask("/readyz")).toEqual([200, "ok\n"]);
        });

        it("replaces the socket of a process that was killed", async () => {
            writeFileSync(path, "");
            await start(undefined, { probeSocket: path });
            expect(await ask("/livez")).toEqual([200, "ok\n"]);
        });

        it("is gone when the server did not start", async () => {
            const { server, log } = await start();
            const components = { logger: log.logger, metrics: new Metrics(), authorize: async () => true };
            const options = { name: "x", host: "127.0.0.1", port: server.port, probeSocket: path };
            await expect(new DaemonServer(components, options).start()).rejects.toMatchObject({ code: "EADDRINUSE" });
            await expect(ask("/livez")).rejects.toMatchObject({ code: "ENOENT" });
        });
    });

    it("ends with the server", async () => {
        const { server } = await start(undefined, { probePort: 0 });
        const port = server.probePort;
        await server.stop();
        await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow("fetch failed");
        expect(() => server.probePort).toThrow("does not listen for probes");
    });

    it.each([
        [undefined, undefined],
        ["", undefined],
        ["10353", 10_353],
    ])("has the port %s of the environment", (text, port) => {
        expect(probePortFrom({ PROBE_PORT: text })).toBe(port);
    });

    it.each(["0", "65536", "http", "-1", "1e3"])("refuses %s as a port", (text) => {
        expect(() => probePortFrom({ PROBE_PORT: text })).toThrow("it must be a port from 1 to 65535");
    });
});

describe("the open port", () => {
    it("closes connections over the limit of one address, and takes others when they end", async () => {
        const { server, get } = await start(undefined, { maxConnectionsPerAddress: 3 });
        const sockets = await Promise.all(
            Array.from(
                { length: 3 },
                () =>
                    new Promise<Socket>((resolve) => {
                        const socket = connect({ host: "127.0.0.1", port: server.port }, () => resolve(socket));
                    }),
            ),
        );
        await expect(get("/livez")).rejects.toThrow(/socket|ECONNRESET/);
        await new Promise((resolve) => {
            sockets[0]?.once("close", resolve);
            sockets[0]?.destroy();
        });
        await new Promise((resolve) => setTimeout(resolve, 50));
        expect((await get("/livez")).status).toBe(200);
        for (const socket of sockets) socket.destroy();
    });

    it("has no metrics when they are switched off, whoever asks", async () => {
        const { get } = await start(undefined, { withoutMetrics: true });
        expect(await get("/metrics", bearer)).toMatchObject({
            status: 404,
            body: expect.stringContaining("switched off"),
        });
        expect((await get("/livez")).status).toBe(200);
    });
});
