import { getEventListeners } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { OpenFlowError } from "../../src/codec/index.ts";
import { Calls, type CallSpec } from "../../src/connection/calls.ts";
import { Gate } from "../../src/connection/gate.ts";
import { openLink } from "../../src/connection/handshake.ts";
import { defaultConnectionOptions, OpenFlowConnection, type ConnectionOptions } from "../../src/connection/index.ts";
import { type Link } from "../../src/connection/link.ts";
import { type ResolvedOptions } from "../../src/connection/types.ts";
import { bytes } from "../fixtures.ts";
import { errorFrame, Peer, silent, until } from "./peer.ts";

const listeners = ({ signal }: AbortController): number => getEventListeners(signal, "abort").length;
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

const spec: CallSpec<number> = {
    what: "the call",
    firstXid: 1,
    lastXid: 1,
    answer: () => ({ kind: "done", value: 7 }),
};

type Line = readonly [level: string, message: string, fields: Readonly<Record<string, unknown>> | undefined];

function recorder() {
    const lines: Line[] = [];
    const at =
        (level: string) =>
        (message: string, fields?: Record<string, unknown>): void =>
            void lines.push([level, message, fields]);
    return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn") } };
}

/** A connection with a logger, and its remote end, both closed at the end of the block. */
async function logged(
    prepare: (peer: Peer, connection: OpenFlowConnection) => void,
    options: Partial<ConnectionOptions> = {},
) {
    const { lines, logger } = recorder();
    const peer = await Peer.start();
    const connection = new OpenFlowConnection(
        { logger },
        { socketPath: peer.path, minBackoffMs: 5, maxBackoffMs: 20, ...options },
    );
    prepare(peer, connection);
    connection.start(new AbortController().signal);
    return {
        lines,
        peer,
        connection,
        [Symbol.asyncDispose]: async () => {
            await connection.close();
            await peer[Symbol.asyncDispose]();
        },
    };
}

async function link(peer: Peer, signal: AbortSignal, options: Partial<ResolvedOptions> = {}): Promise<Link> {
    const components = { logger: silent, onPacketIn: () => undefined };
    return openLink(components, { ...defaultConnectionOptions, socketPath: peer.path, ...options }, signal);
}

describe("what is over", () => {
    it("keeps no timer and no listener of a call: answered, refused, cancelled or never sent", async () => {
        const stop = new AbortController();
        const options = { timeoutMs: 60_000, signal: stop.signal };
        const calls = new Calls();
        const before = timers();
        const answered = calls.add(spec, options, () => undefined);
        expect([listeners(stop), timers()]).toEqual([1, before + 1]);
        calls.dispatch({ type: "barrier_reply", xid: 1 }, 8);
        expect(await answered).toBe(7);
        expect([listeners(stop), timers()]).toEqual([0, before]);
        const failed = calls.add(spec, options, () => undefined);
        calls.fail(1, new OpenFlowError("REFUSED", "caller", "made up"));
        await expect(failed).rejects.toThrow("made up");
        const unsent = calls.add(spec, options, () => {
            throw new OpenFlowError("BUFFER_FULL", "environment", "full");
        });
        await expect(unsent).rejects.toThrow("full");
        expect([listeners(stop), timers()]).toEqual([0, before]);
        const cancelled = calls.add(spec, options, () => undefined);
        stop.abort();
        await expect(cancelled).rejects.toMatchObject({ code: "ABORTED" });
        expect([calls.size, timers()]).toEqual([0, before]);
    });

    it("keeps no timer and no listener of who waited for the connection", async () => {
        const stop = new AbortController();
        const gate = new Gate<string>();
        const before = timers();
        const waiting = gate.pass({ timeoutMs: 60_000, signal: stop.signal });
        expect([listeners(stop), timers()]).toEqual([1, before + 1]);
        gate.open("a");
        await waiting;
        expect([listeners(stop), timers()]).toEqual([0, before]);
        gate.shut();
        const refused = gate.pass({ timeoutMs: 60_000, signal: stop.signal });
        gate.end(new OpenFlowError("ABORTED", "aborted", "over"));
        await expect(refused).rejects.toThrow("over");
        expect([listeners(stop), timers()]).toEqual([0, before]);
    });

    it("keeps neither of a connection that was made, nor of one that could not be", async () => {
        await using peer = await Peer.start();
        const stop = new AbortController();
        const first = await link(peer, stop.signal);
        first.destroy(new OpenFlowError("ABORTED", "aborted", "over"));
        const nowhere = link({ path: "/nowhere" } as Peer, stop.signal);
        await expect(nowhere).rejects.toMatchObject({ code: "NOT_CONNECTED", fault: "environment" });
        await expect(first.barrier()).rejects.toMatchObject({
            code: "DISCONNECTED",
            message: "the connection is over",
        });
        await until(() => peer.sockets.size === 0);
    });

    it("is a link for the first reason, and whoever waits then is informed whose doing it is", async () => {
        await using peer = await Peer.start();
        peer.script = (message) => message.type === "barrier_request";
        for (const [code, fault, expected] of [
            ["ABORTED", "aborted", "ABORTED"],
            ["DISCONNECTED", "environment", "DISCONNECTED"],
            ["NEGOTIATION", "remote", "DISCONNECTED"],
        ] as const) {
            const one = await link(peer, new AbortController().signal);
            expect(one.reason).toBeUndefined();
            const waiting = one.barrier();
            const reason = new OpenFlowError(code, fault, "made up");
            one.destroy(reason);
            one.destroy(new OpenFlowError("TIMEOUT", "timeout", "later"));
            await expect(waiting).rejects.toMatchObject({
                code: expected,
                fault: expected === "ABORTED" ? "aborted" : "environment",
                cause: reason,
                message: "the connection ended before the answer; whether it took effect is not known",
            });
            expect(await one.closed).toBe(reason);
            expect(one.reason).toBe(reason);
        }
    });
});

describe("a connection that cannot be made", () => {
    it("is given up at once when nobody wants it any more, before, while and after the socket is there", async () => {
        await using peer = await Peer.start();
        const reason = new Error("why");
        await expect(link(peer, AbortSignal.abort(reason))).rejects.toMatchObject({
            code: "ABORTED",
            fault: "aborted",
            message: "connecting: cancelled",
            cause: reason,
        });
        const stop = new AbortController();
        const connecting = link(peer, stop.signal);
        stop.abort(reason);
        await expect(connecting).rejects.toMatchObject({ code: "ABORTED", message: "connecting: cancelled" });
        peer.script = () => true;
        const late = new AbortController();
        const negotiating = link(peer, late.signal);
        await until(() => peer.types().includes("features_request"));
        late.abort(reason);
        await expect(negotiating).rejects.toMatchObject({ code: "ABORTED", message: "features request: cancelled" });
        await until(() => peer.sockets.size === 0);
    });

    it("has its time, of which the switch may use all or nothing", async () => {
        await using peer = await Peer.start();
        peer.hello = false;
        // Nothing else ends it before the test does.
        const limits = { handshakeTimeoutMs: 30, requestTimeoutMs: 600_000 };
        await expect(link(peer, new AbortController().signal, limits)).rejects.toMatchObject({
            code: "TIMEOUT",
            fault: "timeout",
            message: "handshake: no answer to the hello within 30 ms",
            cause: expect.objectContaining({ code: "TIMEOUT" }),
        });
        await until(() => peer.sockets.size === 0);
        // What hello has used the features request does not have.
        peer.script = (message, socket) => {
            if (message.type === "hello") setTimeout(() => socket.write(bytes("0600000800000001")), 100);
            return true;
        };
        await expect(link(peer, new AbortController().signal, { handshakeTimeoutMs: 1000 })).rejects.toMatchObject({
            code: "TIMEOUT",
            message: "handshake: no answer to the features request within 1000 ms",
            cause: expect.objectContaining({
                message: expect.stringMatching(/^features request: no answer within \d{1,3} ms/),
            }),
        });
    });

    it("reports what the switch offers, refuses, or sends in place of an answer", async () => {
        const errorOf = async (prepare: (peer: Peer) => void): Promise<OpenFlowError> => {
            await using peer = await Peer.start();
            prepare(peer);
            const error: unknown = await link(peer, new AbortController().signal).catch((reason: unknown) => reason);
            await until(() => peer.sockets.size === 0);
            return error as OpenFlowError;
        };
        const old = await errorOf((peer) => {
            peer.hello = false;
            peer.script = (message, socket) =>
                message.type === "hello" && socket.write(bytes("06000010" + "00000001" + "00010008" + "0000003e"));
        });
        expect(old).toMatchObject({
            code: "NEGOTIATION",
            fault: "environment",
            message:
                "the switch does not speak OpenFlow 1.5 (it offers wire versions 1, 2, 3, 4, 5); add OpenFlow15 to the bridge's protocols",
        });
        const refusedHello = await errorOf((peer) => {
            peer.hello = false;
            peer.script = (message, socket) => message.type === "hello" && socket.write(errorFrame(message.xid, 0, 0));
        });
        expect(refusedHello).toMatchObject({
            code: "NEGOTIATION",
            message: expect.stringContaining("(OFPHFC_INCOMPATIBLE)"),
        });
        const refusedFeatures = await errorOf((peer) => {
            peer.script = (message, socket) =>
                message.type === "features_request" && socket.write(errorFrame(message.xid, 1, 5));
        });
        expect(refusedFeatures).toMatchObject({
            code: "REFUSED",
            fault: "caller",
            details: { errorType: 1, errorCode: 5, errorName: "OFPBRC_EPERM" },
            message: "features request: the switch refused it with OFPBRC_EPERM",
        });
        const gone = await errorOf((peer) => {
            peer.script = (message, socket) => message.type === "features_request" && socket.destroy() !== undefined;
        });
        expect(gone).toMatchObject({
            code: "DISCONNECTED",
            fault: "environment",
            message: expect.stringMatching(/closed the connection|socket failed/),
        });
        const later = await errorOf((peer) => {
            peer.script = (message, socket) =>
                message.type === "features_request" && socket.write(bytes("0501000c0000000100000000"));
        });
        expect(later).toMatchObject({
            code: "NEGOTIATION",
            fault: "remote",
            message: "the switch does not speak OpenFlow 1.5",
        });
    });

    it("does not start a second time", async () => {
        await using test = await logged(() => undefined);
        expect(() => test.connection.start(new AbortController().signal)).toThrow(
            expect.objectContaining({
                code: "NOT_CONNECTED",
                fault: "internal",
                message: "the OpenFlow connection was started a second time",
            }),
        );
        const unstarted = test.peer.connection();
        expect(unstarted.state).toEqual({ kind: "closed" });
        expect(() => unstarted.packetOut({ inPort: 1, data: new Uint8Array(14), actions: [] })).toThrow(
            expect.objectContaining({ code: "NOT_CONNECTED", fault: "environment" }),
        );
        await unstarted.close();
    });
});

describe("the log of a connection", () => {
    it("has each connection, its end and why", async () => {
        await using test = await logged(() => undefined);
        await test.connection.barrier();
        test.peer.disconnect();
        await until(() => test.lines.length >= 2);
        await test.connection.barrier();
        const ready: Line = ["info", "OpenFlow connection ready", { datapathId: "000000000000002a" }];
        const lost = ["warn", "OpenFlow connection lost", { error: "the switch closed the connection" }];
        expect(test.lines.slice(0, 3)).toEqual([ready, lost, ready]);
    });

    it("has a replay that failed, and is silent of one that ends with the connection", async () => {
        let calls = 0;
        await using test = await logged((_, connection) => {
            connection.onReady(() => {
                calls += 1;
                if (calls === 1) throw new OpenFlowError("REFUSED", "caller", "made up");
            });
        });
        await test.connection.barrier();
        expect(test.lines.map(([level, message]) => [level, message])).toEqual([
            ["warn", "replay failed; reconnecting"],
            ["info", "OpenFlow connection ready"],
        ]);
        expect(test.lines[0]?.[2]).toEqual({ error: expect.stringContaining("made up") });
        await using other = await logged((_, connection) => {
            connection.onReady(() => new Promise(() => undefined));
        });
        await until(() => other.connection.state.kind === "replaying");
        await other.connection.close();
        expect(other.lines).toEqual([]);
    });

    it("has a packet-in listener that failed, and messages that cannot be read or refuse what nobody waits for", async () => {
        const packet = new Uint8Array(40);
        packet.set(bytes("0604002800000000000023200000001e0000000600aa0000000300050700000000050005010000"));
        await using test = await logged((_, connection) => {
            connection.onPacketIn(() => {
                throw new Error("made up");
            });
        });
        await test.connection.barrier();
        const [socket] = test.peer.sockets;
        socket?.write(packet);
        socket?.write(bytes("060b000c000000ffffffffff"));
        socket?.write(errorFrame(999, 1, 5));
        await until(() => test.lines.length === 4);
        expect(test.lines.slice(1)).toEqual([
            ["warn", "a packet-in listener failed", { error: expect.stringContaining("made up") }],
            ["warn", "message of the switch cannot be decoded", { type: 11, xid: 255, error: expect.any(String) }],
            ["warn", "message rejected by the switch", { error: "OFPBRC_EPERM", xid: 999 }],
        ]);
        await test.connection.barrier();
    });

    it("has bytes that are no OpenFlow as the end of the connection, with the reason", async () => {
        await using test = await logged(() => undefined);
        await test.connection.barrier();
        test.peer.script = (message) => message.type === "barrier_request";
        const waiting = test.connection.barrier().catch((error: unknown) => error);
        await until(() => test.peer.types().filter((type) => type === "barrier_request").length === 2);
        for (const socket of test.peer.sockets) socket.write(bytes("0600000000000000"));
        expect(await waiting).toMatchObject({
            code: "DISCONNECTED",
            cause: { message: "the switch sent what is no OpenFlow", code: "DISCONNECTED" },
        });
        await until(() => test.lines.some(([, message]) => message === "OpenFlow connection lost"));
    });
});

describe("the limits of a connection", () => {
    it("are for what is sent: more than the buffer is never sent, what does not fit now may later", async () => {
        await using peer = await Peer.start();
        const one = await link(peer, new AbortController().signal, { maxBufferBytes: 100_000 });
        expect(() => one.send(new Uint8Array(100_001))).toThrow(
            expect.objectContaining({
                code: "TOO_BIG",
                fault: "caller",
                message: "a request of 100001 bytes passes maxBufferBytes (100000); split it",
            }),
        );
        for (const socket of peer.sockets) socket.pause();
        const full = (): unknown => {
            for (let at = 0; at < 1_000; at += 1) {
                try {
                    one.send(bytes("0602000800000009").slice());
                    one.send(new Uint8Array(99_992));
                } catch (error) {
                    return error;
                }
            }
            return undefined;
        };
        const error = full() as OpenFlowError;
        expect(error.details["waiting"]).toBeLessThanOrEqual(100_000);
        expect(error).toMatchObject({
            code: "BUFFER_FULL",
            fault: "environment",
            retryable: true,
            details: { waiting: expect.any(Number), maxBufferBytes: 100_000 },
            message: expect.stringMatching(/^\d+ bytes wait for the switch to read; \d+ more pass maxBufferBytes$/),
        });
        one.destroy(new OpenFlowError("ABORTED", "aborted", "over"));
    });

    it("are for the time of a call, the wait for the connection included", async () => {
        await using peer = await Peer.start();
        peer.script = (message) => message.type === "barrier_request" || message.type === "features_request";
        // The connection is never ready: the handshake takes longer than the test.
        const connection = peer.connection({ requestTimeoutMs: 40, handshakeTimeoutMs: 600_000 });
        connection.start(new AbortController().signal);
        await expect(connection.barrier()).rejects.toMatchObject({ code: "NOT_CONNECTED" });
        await expect(connection.ports({ timeoutMs: 10 })).rejects.toThrow("within 10 ms");
        await expect(connection.dumpFlows({}, { timeoutMs: 10 })).rejects.toThrow("within 10 ms");
        await expect(connection.bundle([], { timeoutMs: 10 })).rejects.toThrow("within 10 ms");
        await connection.close();
    });

    it("are none for an empty bundle, of which nothing is sent", async () => {
        await using test = await logged(() => undefined);
        await test.connection.barrier();
        const before = test.peer.received.length;
        await test.connection.bundle([]);
        await test.connection.barrier();
        expect(test.peer.types().slice(before)).toEqual(["barrier_request"]);
    });
});
