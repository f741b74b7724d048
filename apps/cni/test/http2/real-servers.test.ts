import { constants, createServer, type ServerHttp2Stream } from "node:http2";
import { createServer as createNetServer } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { cniMethodPath, decodeCniCmdResponse, encodeCniCmdRequest } from "@antrea/cni";
import { prefixed } from "../../src/http2/message-body.ts";
import { UnaryCall } from "../../src/http2/unary-call.ts";
import { type Driven, drive } from "../support/drive.ts";
import { type Handler, serveCni, socketFolder } from "../support/grpc-server.ts";

const request = {
    cniArgs: {
        containerId: "abc",
        netns: "/run/netns/x",
        ifname: "eth0",
        args: "",
        path: "",
        networkConfiguration: Uint8Array.of(1, 2, 3),
    },
};

const call = (message = encodeCniCmdRequest(request)): UnaryCall =>
    new UnaryCall({ path: cniMethodPath("CmdAdd"), message });

async function callGrpc(handler: Handler, unary = call()): Promise<Driven> {
    await using server = await serveCni(handler);
    return await drive(unary, server.socketPath);
}

describe("UnaryCall against @grpc/grpc-js", () => {
    it("carries request and response", async () => {
        const seen: unknown[] = [];
        const { outcome } = await callGrpc((method, received) => {
            seen.push(method, received);
            return { cniResult: Uint8Array.of(7) };
        });
        expect(seen).toEqual(["CmdAdd", request]);
        expect(outcome.kind === "message" && decodeCniCmdResponse(outcome.message)).toEqual({
            cniResult: Uint8Array.of(7),
        });
    });

    it("understands the answer split at every byte", async () => {
        const { outcome, received } = await callGrpc(() => ({ cniResult: Uint8Array.from(Buffer.from("result")) }));
        for (let at = 0; at <= received.length; at++) {
            const again = call();
            again.start();
            again.receive(received.subarray(0, at));
            again.receive(received.subarray(at));
            expect(again.outcome).toEqual(outcome);
        }
    });

    it("carries 3 MB each way through the windows of both sides", async () => {
        const large = Uint8Array.from({ length: 3_000_000 }, (_, index) => index % 251);
        const message = encodeCniCmdRequest({ cniArgs: { ...request.cniArgs, networkConfiguration: large } });
        const { outcome } = await callGrpc(
            (_method, received) => ({ cniResult: received.cniArgs.networkConfiguration }),
            call(message),
        );
        const result = outcome.kind === "message" ? decodeCniCmdResponse(outcome.message).cniResult : new Uint8Array();
        expect(Buffer.compare(result, large)).toBe(0);
    });

    it.each(Array.from({ length: 16 }, (_, index) => index + 1))("reads status %i and its text", async (code) => {
        const details = `näin ei käy: 100 % "${"long ".repeat(100)}"`;
        const { outcome } = await callGrpc(() => ({ code, details }));
        expect(outcome).toEqual({ kind: "status", status: code, text: details });
    });

    it("reports UNIMPLEMENTED for a method that the server does not have", async () => {
        const unary = new UnaryCall({ path: "/other.Service/CmdAdd", message: new Uint8Array() });
        expect((await callGrpc(() => "never", unary)).outcome).toMatchObject({ kind: "status", status: 12 });
    });

    it("reports UNAVAILABLE when the server dies in the middle", async () => {
        await using server = await serveCni(() => {
            setImmediate(() => {
                server.kill();
            });
            return "never";
        });
        // A dying grpc-js server resets its streams (CANCEL) or just closes, whichever comes first.
        const { outcome } = await drive(call(), server.socketPath);
        expect(outcome.kind === "status" && [1, 14]).toContain(outcome.kind === "status" ? outcome.status : undefined);
    });
});

async function callHttp2(
    answer: (stream: ServerHttp2Stream) => void,
    options: Parameters<typeof createServer>[0] = {},
): Promise<Driven> {
    const { socketPath, remove } = socketFolder();
    const server = createServer(options);
    server.on("stream", (stream) => {
        stream.on("error", () => undefined);
        answer(stream);
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    try {
        return await drive(call(), socketPath);
    } finally {
        server.close();
        remove();
    }
}

function respond(stream: ServerHttp2Stream, headers: Record<string, string>, trailers: Record<string, string>): void {
    stream.on("wantTrailers", () => {
        stream.sendTrailers(trailers);
    });
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
    stream.end(Buffer.from(prefixed(Uint8Array.of(1, 2, 3))));
}

describe("UnaryCall against node:http2", () => {
    const message = { kind: "message", message: Uint8Array.of(1, 2, 3) };

    it("reads every character that a header can carry, Huffman coded", async () => {
        // One call a character, among so many short ones that Huffman coding pays. "%" is an escape of gRPC.
        const values = Array.from({ length: 256 }, (_, code) => code)
            .filter((code) => code >= 32 && code !== 127 && code !== 37)
            .map((code) => `${"a".repeat(40)}${String.fromCharCode(code)}${"a".repeat(40)}`);
        const { socketPath, remove } = socketFolder();
        let value = "";
        const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
            respond(stream, {}, { "grpc-status": "5", "grpc-message": value });
        });
        await new Promise<void>((resolve) => server.listen(socketPath, resolve));
        for (value of values) {
            const { outcome, received } = await drive(call(), socketPath);
            const text = new TextDecoder().decode(Buffer.from(value, "latin1"));
            expect(outcome).toEqual({ kind: "status", status: 5, text });
            expect(Buffer.from(received).includes(value, 0, "latin1")).toBe(false);
        }
        server.close();
        remove();
    });

    it("reads header blocks that need CONTINUATION", async () => {
        const { outcome } = await callHttp2(
            (stream) => {
                respond(stream, { "x-large": "~".repeat(30_000) }, { "grpc-status": "0" });
            },
            { maxSendHeaderBlockLength: 100_000 },
        );
        expect(outcome).toEqual(message);
    });

    it("reads padded frames", async () => {
        const { outcome, received } = await callHttp2(
            (stream) => {
                respond(stream, { "x-a": "b" }, { "grpc-status": "0" });
            },
            { paddingStrategy: constants.PADDING_STRATEGY_MAX },
        );
        expect(outcome).toEqual(message);
        expect(received.length).toBeGreaterThan(300);
    });

    it("answers a ping of the server", async () => {
        const acknowledged = Promise.withResolvers<boolean>();
        const { outcome } = await callHttp2((stream) => {
            stream.session?.ping((error: Error | null) => {
                acknowledged.resolve(error === null);
                respond(stream, {}, { "grpc-status": "0" });
            });
        });
        expect(await acknowledged.promise).toBe(true);
        expect(outcome).toEqual(message);
    });

    it.each([
        ["NGHTTP2_REFUSED_STREAM", 14],
        ["NGHTTP2_CANCEL", 1],
        ["NGHTTP2_INTERNAL_ERROR", 13],
        ["NGHTTP2_ENHANCE_YOUR_CALM", 8],
        ["NGHTTP2_INADEQUATE_SECURITY", 7],
    ] as const)("maps a reset with %s to status %i", async (name, status) => {
        const { outcome } = await callHttp2((stream) => {
            stream.close(constants[name]);
        });
        expect(outcome).toMatchObject({ kind: "status", status });
    });

    it.each([
        [401, 16],
        [403, 7],
        [404, 12],
        [429, 14],
        [503, 14],
        [418, 2],
    ])("maps HTTP status %i to status %i", async (http, status) => {
        const { outcome } = await callHttp2((stream) => {
            stream.respond({ ":status": http }, { endStream: true });
        });
        expect(outcome).toMatchObject({ kind: "status", status });
    });

    it("reports UNAVAILABLE when the connection is closed instead of an answer", async () => {
        const { outcome } = await callHttp2((stream) => {
            stream.session?.destroy();
        });
        expect(outcome).toMatchObject({ kind: "status", status: 14 });
    });

    it("still takes its answer from a server that goes away gracefully", async () => {
        const { outcome } = await callHttp2((stream) => {
            stream.session?.goaway();
            respond(stream, {}, { "grpc-status": "0" });
        });
        expect(outcome).toEqual(message);
    });
});

describe("UnaryCall against something else", () => {
    it("refuses a server that speaks HTTP/1", async () => {
        const { socketPath, remove } = socketFolder();
        const server = createNetServer((socket) => {
            socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
            socket.on("error", () => undefined);
        });
        await new Promise<void>((resolve) => server.listen(socketPath, resolve));
        await expect(drive(call(), socketPath)).rejects.toMatchObject({ code: "FRAME_SIZE_ERROR" });
        server.close();
        remove();
    });
});
