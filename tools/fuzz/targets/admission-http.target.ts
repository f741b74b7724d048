import { createServer } from "node:http";
import { Duplex, type Duplex as DuplexStream } from "node:stream";
import { Metrics } from "@antrea/runtime";
import { reviewApp, reviewMetrics } from "@antrea/webhook/review";
import { routesOf } from "@antrea/webhook/routes";
import { json, silentLogger } from "../fixture.ts";
import { BrokenProperty, type Target } from "../target.ts";
import { knownCluster, reviews } from "../webhook-cluster.ts";

/**
 * AdmissionReviews over HTTP, with any JSON or none, for every path of the webhook: it answers, and never with an
 * internal error. The first byte selects the path.
 */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    // Express allocates much for each request.
    bytesPerByte: 8_192,
    seeds: () => [
        ...reviews.map((review) => `0${json(review)}`),
        ...reviews.map((review) => `1${json(review)}`),
        "2{}",
        "3[1]",
        "0{",
        "1\u0000",
    ],
    tokens: [
        "CREATE",
        "UPDATE",
        "DELETE",
        "CONNECT",
        '"object":',
        '"oldObject":',
        "ipam.antrea.io/ippools",
        '"__proto__":',
    ],
    run: async (input) => {
        const page = pages[(input[0] ?? 0) % pages.length] ?? "/";
        const status = await post(page, input.subarray(1));
        if (status >= 500 && status !== 503) throw new BrokenProperty(`${page} was answered with ${status}`);
    },
    isRefusal: () => false,
};

const pages = [
    "/validate/ippool?timeout=5s",
    "/validate/workload?timeout=x",
    "/validate/",
    "/validate/workload?timeout[]=1s",
];
const server = createServer(
    reviewApp(
        { logger: silentLogger, metrics: reviewMetrics(new Metrics({ processMetrics: false })) },
        routesOf(knownCluster()),
    ),
);

function post(path: string, body: Uint8Array): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    let answer = "";
    const socket: DuplexStream = new Duplex({
        read: ignore,
        write: (chunk: Buffer, _encoding, done) => {
            answer += chunk.toString("latin1");
            done();
        },
        final: (done) => {
            done();
            const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
            if (status === undefined) reject(new BrokenProperty(`no answer: ${JSON.stringify(answer.slice(0, 200))}`));
            else resolve(Number(status));
            socket.destroy();
        },
    });
    const head = `POST ${path} HTTP/1.1\r\nhost: w\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    server.emit("connection", socket);
    socket.push(Buffer.from(head));
    if (body.length > 0) socket.push(Buffer.from(body));
    return promise;
}

function ignore(): void {
    // No action needed.
}
