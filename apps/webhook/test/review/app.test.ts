import { createServer, request, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { AntreaError } from "@antrea/errors";
import { allowed, reviewApp, reviewMetrics, type Reviewer } from "../../src/review/index.ts";
import { reviewOf } from "../support/review.ts";

interface Answer {
    readonly status: number;
    readonly body: string;
}

interface Running {
    readonly log: MemoryLog;
    readonly metrics: Metrics;
    readonly port: number;
    send(
        path: string,
        body: string | Buffer,
        o?: { method?: string; headers?: Record<string, string> },
    ): Promise<Answer>;
}

const servers: Server[] = [];
afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function start(review: Reviewer = async () => allowed): Promise<Running> {
    const log = new MemoryLog();
    const metrics = new Metrics({ processMetrics: false });
    const app = reviewApp({ logger: log.logger, metrics: reviewMetrics(metrics) }, [
        { path: "/validate/ippool", webhook: "ippools", kinds: ["IPPool"], review },
    ]);
    const server = createServer(app);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const send: Running["send"] = (path, body, { method = "POST", headers = {} } = {}) =>
        new Promise((resolve, reject) => {
            const all: Record<string, string | number> = {
                "content-type": "application/json",
                "content-length": Buffer.byteLength(body),
                ...headers,
            };
            if ("transfer-encoding" in headers) delete all["content-length"];
            request({ host: "127.0.0.1", port, path, method, headers: all, agent: false }, (response) => {
                let text = "";
                response.setEncoding("utf8");
                response.on("data", (chunk: string) => (text += chunk));
                response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
            })
                .on("error", reject)
                .end(body);
        });
    return { log, metrics, port, send };
}

const path = "/validate/ippool?timeout=5s";
const good = JSON.stringify(reviewOf());

describe("the pages of the webhooks", () => {
    it("answer with the uid that they were asked with, and count", async () => {
        const { send, metrics } = await start();
        const answer = await send(path, good);
        expect(answer.status).toBe(200);
        expect(JSON.parse(answer.body)).toMatchObject({ response: { uid: "1234", allowed: true } });
        await send(path, JSON.stringify(reviewOf({ kind: { group: "", version: "v1", kind: "Evil" } })));
        const text = await metrics.text();
        expect(text).toContain('requests_total{webhook="ippools",kind="IPPool",operation="UPDATE",allowed="true"} 1');
        expect(text).toContain('requests_total{webhook="ippools",kind="other",operation="UPDATE",allowed="true"} 1');
        expect(text).toContain('duration_seconds_count{webhook="ippools"} 2');
    });

    it("reject in the words of the rule", async () => {
        const { send, log } = await start(async () => ({
            refused: { message: "spec.ipRanges[0]: no", reason: "Invalid" },
            warnings: ["careful"],
        }));
        const answer = await send(path, good);
        expect(JSON.parse(answer.body)).toMatchObject({
            response: { allowed: false, status: { code: 422, message: "spec.ipRanges[0]: no" }, warnings: ["careful"] },
        });
        expect(log.messages("info")).toEqual(["admission rejected"]);
    });

    it("give no verdict when they cannot decide", async () => {
        const { send, metrics } = await start(() =>
            Promise.reject(new AntreaError("AWAY", "environment", "the API server is away")),
        );
        const answer = await send(path, good);
        expect(answer.status).toBe(503);
        expect(answer.body).toBe("cannot decide about this IPPool now, try again: the API server is away\n");
        expect(await metrics.text()).toContain('allowed="error"} 1');
    });

    it("abort the work when the caller hung up", async () => {
        const [began, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const { port, log } = await start(
            (_request, signal) =>
                new Promise((_resolve, reject) => {
                    signal.addEventListener("abort", () => {
                        reject(new AntreaError("ABORTED", "aborted", "nobody waits"));
                        ended.resolve();
                    });
                    began.resolve();
                }),
        );
        const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(good) };
        const caller = request({
            port,
            host: "127.0.0.1",
            path: "/validate/ippool?timeout=30s",
            method: "POST",
            headers,
        });
        caller.on("error", () => undefined).end(good);
        await began.promise;
        caller.destroy();
        await ended.promise;
        expect(log.messages("warn")).toEqual([]);
    });

    it("abort the work when its time is over", async () => {
        const { send } = await start(
            (_request, signal) =>
                new Promise((_resolve, reject) => {
                    signal.addEventListener("abort", () => reject(new AntreaError("ABORTED", "aborted", "too late")));
                }),
        );
        expect(await send("/validate/ippool?timeout=1s", good)).toMatchObject({ status: 503 });
    });

    const longBody = JSON.stringify({ ...reviewOf(), padding: "x".repeat(8 << 20) });
    it.each<[string, string, Parameters<Running["send"]>[2], number, RegExp]>([
        ["no JSON", "{", {}, 400, /JSON/],
        ["JSON that is no review", "{}", {}, 400, /no AdmissionReview/],
        ["no body", "", {}, 400, /no AdmissionReview/],
        ["YAML", good, { headers: { "content-type": "application/yaml" } }, 415, /application\/json/],
        ["a compressed body", good, { headers: { "content-encoding": "gzip" } }, 415, /encoding/],
        ["a body that is too long", longBody, {}, 413, /at most 8388608 bytes/],
        ["a length that is no number", good, { headers: { "transfer-encoding": "chunked" } }, 411, /Content-Length/],
        ["GET", "", { method: "GET" }, 405, /use POST/],
    ])("refuse %s", async (_name, body, options, status, text) => {
        const { send } = await start();
        const answer = await send(path, body, options).catch((error: NodeJS.ErrnoException) => {
            // The server may close the connection while a long body is still on its way.
            expect(error.code).toMatch(/EPIPE|ECONNRESET/);
            return { status: 413, body: "at most 8388608 bytes" };
        });
        expect(answer.status).toBe(status);
        expect(answer.body).toMatch(text);
    });

    it("know no other path", async () => {
        const { send } = await start();
        expect(await send("/validate/pods", good)).toMatchObject({ status: 404, body: "known are /validate/ippool\n" });
    });

    it("take only as many bodies at once as fit into memory", async () => {
        const held = Promise.withResolvers<void>();
        const { send } = await start(() => held.promise.then(() => allowed));
        const large = JSON.stringify({ ...reviewOf(), padding: "x".repeat(7 << 20) });
        const ten = Array.from({ length: 10 }, () => send(path, large));
        expect(await Promise.race(ten)).toEqual({ status: 503, body: "too many requests at once; try again\n" });
        held.resolve();
        const statuses = (await Promise.all(ten)).map(({ status }) => status).sort();
        expect(statuses).toEqual([...Array<number>(9).fill(200), 503]);
        expect(await send(path, large)).toMatchObject({ status: 200 });
    });
});
