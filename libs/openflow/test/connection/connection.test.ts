import { describe, expect, it } from "@jest/globals";
import { OpenFlowError, type FlowMod } from "../../src/codec/index.ts";
import { OpenFlowConnection } from "../../src/connection/index.ts";
import { bytes } from "../fixtures.ts";
import { errorFrame, Peer, until } from "./peer.ts";

const flow = (priority: number): FlowMod => ({ command: "add", flow: { table: 0, priority, match: {}, actions: [] } });

/** A started connection and its remote end, both closed at the end of the block. */
async function connected(
    options: Parameters<Peer["connection"]>[0] = {},
    prepare: (connection: OpenFlowConnection, peer: Peer) => void = () => undefined,
): Promise<AsyncDisposable & { readonly peer: Peer; readonly connection: OpenFlowConnection }> {
    const peer = await Peer.start();
    const connection = peer.connection(options);
    prepare(connection, peer);
    connection.start(new AbortController().signal);
    return {
        peer,
        connection,
        [Symbol.asyncDispose]: async () => {
            await connection.close();
            await peer[Symbol.asyncDispose]();
        },
    };
}

async function failure(promise: Promise<unknown>): Promise<OpenFlowError> {
    const error = await promise.then(
        () => undefined,
        (reason: unknown) => reason,
    );
    if (error instanceof OpenFlowError) return error;
    throw new Error(`no OpenFlowError but ${String(error)}`);
}

describe("OpenFlowConnection", () => {
    it("negotiates, reports what it is connected to, and answers echo requests", async () => {
        await using test = await connected();
        await test.connection.barrier();
        expect(test.connection.state).toEqual({ kind: "ready", datapathId: 42n });
        for (const socket of test.peer.sockets) socket.write(bytes("0602000a00000009abcd"));
        await until(() => test.peer.types().includes("echo_reply"));
        expect(test.peer.received.at(-1)).toEqual({ type: "echo_reply", xid: 9, data: bytes("abcd") });
        await test.connection.close();
        expect(test.connection.state).toEqual({ kind: "closed" });
        expect(await failure(test.connection.barrier())).toMatchObject({ code: "ABORTED", fault: "aborted" });
    });

    it("keeps others back until every replay is done, in order", async () => {
        const order: string[] = [];
        const gate = Promise.withResolvers<void>();
        await using test = await connected({}, (connection) => {
            connection.onReady(async (link) => {
                await link.bundle([flow(1)]);
                await gate.promise;
                order.push("first replay");
            });
            connection.onReady(async (link) => {
                await link.barrier();
                order.push("second replay");
            });
        });
        const other = test.connection.bundle([flow(2)]).then(() => order.push("other"));
        await until(() => test.peer.types().includes("bundle_add"));
        expect(test.connection.state.kind).toBe("replaying");
        expect(() => test.connection.packetOut({ inPort: 1, data: new Uint8Array(14), actions: [] })).toThrow(
            /not connected/,
        );
        gate.resolve();
        await other;
        expect(order).toEqual(["first replay", "second replay", "other"]);
    });

    it("connects anew when a replay fails", async () => {
        let calls = 0;
        await using test = await connected({}, (connection) => {
            connection.onReady(() => {
                calls += 1;
                if (calls === 1) throw new OpenFlowError("REFUSED", "caller", "made up");
            });
        });
        await test.connection.barrier();
        expect(calls).toBe(2);
    });

    it("is connecting between two connections: after a replay that failed and after a lost link", async () => {
        let replays = 0;
        await using test = await connected({ minBackoffMs: 100 }, (connection) => {
            connection.onReady(() => {
                replays += 1;
                if (replays === 1) throw new OpenFlowError("REFUSED", "caller", "made up");
            });
        });
        await until(() => replays === 1);
        await new Promise((resolve) => setImmediate(resolve));
        expect(test.connection.state).toEqual({ kind: "connecting" });
        await until(() => test.connection.state.kind === "ready");
        test.peer.script = () => true;
        const waiting = failure(test.connection.barrier());
        test.peer.disconnect();
        expect(await waiting).toMatchObject({ code: "DISCONNECTED" });
        await new Promise((resolve) => setImmediate(resolve));
        expect(test.connection.state).toEqual({ kind: "connecting" });
    });

    it("writes a bundle in one piece and many without waiting", async () => {
        const pieces: string[][] = [];
        await using test = await connected();
        await test.connection.barrier();
        test.peer.script = (message) => {
            pieces.push([message.type]);
            // Answers only after all messages have arrived.
            return true;
        };
        const all = Promise.allSettled([1, 2, 3].map((n) => test.connection.bundle([flow(n), flow(n + 10)])));
        await until(() => pieces.length === 12);
        const one = ["bundle_control", "bundle_add", "bundle_add", "bundle_control"];
        expect(pieces.flat()).toEqual([...one, ...one, ...one]);
        const ids = test.peer.received.flatMap((message) => (message.type === "bundle_add" ? [message.bundleId] : []));
        expect(ids).toEqual([1, 1, 2, 2, 3, 3]);
        await test.connection.close();
        for (const result of await all)
            expect(result).toMatchObject({ status: "rejected", reason: { code: "ABORTED" } });
    });

    it("names the flow that the switch refuses", async () => {
        await using test = await connected();
        await test.connection.barrier();
        test.peer.script = (message, socket) => {
            if (message.type === "bundle_control" && message.control.control === 4) {
                socket.write(errorFrame(message.xid - 1, 5, 1));
                socket.write(errorFrame(message.xid, 17, 13));
                return true;
            }
            return false;
        };
        const [good, bad] = [test.connection.bundle([]), failure(test.connection.bundle([flow(7), flow(8)]))];
        await good;
        expect(await bad).toMatchObject({
            code: "REFUSED",
            retryable: false,
            message: expect.stringContaining(
                "change 1, add table=0,priority=8,actions=drop: the switch refused it with OFPFMFC_TABLE_FULL",
            ),
            details: { index: 1, errorType: 5, errorCode: 1 },
        });
    });

    it("reports when a refused flow did not keep the others from being committed", async () => {
        await using test = await connected();
        await test.connection.barrier();
        test.peer.script = (message, socket) => {
            if (message.type === "bundle_add") socket.write(errorFrame(message.xid, 4, 9));
            return false;
        };
        expect(await failure(test.connection.bundle([flow(7)]))).toMatchObject({
            code: "REFUSED",
            details: { partial: true },
        });
    });

    it("refuses before sending what cannot be sent", async () => {
        await using test = await connected();
        await test.connection.barrier();
        const error = await failure(
            test.connection.bundle([
                flow(1),
                { command: "add", flow: { table: 0, priority: 1, match: { tcp_dst: 1 }, actions: [] } },
            ]),
        );
        expect(error).toMatchObject({ code: "BAD_FIELD", details: { index: 1 }, retryable: false });
        expect(test.peer.types()).not.toContain("bundle_add");
    });

    it("rejects what waits when the connection breaks, as worth a retry, and comes back", async () => {
        await using test = await connected();
        await test.connection.barrier();
        test.peer.script = (message) => message.type === "bundle_control";
        const waiting = failure(test.connection.bundle([flow(1)]));
        await until(() => test.peer.types().includes("bundle_add"));
        test.peer.disconnect();
        expect(await waiting).toMatchObject({ code: "DISCONNECTED", retryable: true });
        test.peer.script = () => false;
        await test.connection.bundle([flow(1)]);
        expect(test.peer.connectedAt).toHaveLength(2);
    });

    it("gives up a silent switch after the echo deadline", async () => {
        await using test = await connected({ echoIntervalMs: 20, echoTimeoutMs: 40 });
        await test.connection.barrier();
        test.peer.script = () => true;
        const waiting = failure(test.connection.barrier());
        expect((await waiting).cause).toMatchObject({ message: expect.stringContaining("no sign of life for 40 ms") });
    });

    it("reads what waits before it counts the deadline, also when the program stood still", async () => {
        await using test = await connected({ echoIntervalMs: 30, echoTimeoutMs: 60 });
        await test.connection.barrier();
        let silent = true;
        test.peer.script = () => silent;
        await until(() => test.peer.types().includes("echo_request"));
        for (const socket of test.peer.sockets) socket.write(bytes("0602000a00000009abcd"));
        // As after a SIGSTOP: the deadline has passed, and the answer waits in the socket.
        const began = performance.now();
        while (performance.now() - began < 150);
        silent = false;
        await test.connection.barrier();
        expect(test.peer.connectedAt).toHaveLength(1);
    });

    it("keeps a switch that answers its echo requests", async () => {
        await using test = await connected({ echoIntervalMs: 5, echoTimeoutMs: 10_000 });
        await test.connection.barrier();
        await until(() => test.peer.types().filter((type) => type === "echo_request").length > 20);
        expect(test.peer.connectedAt).toHaveLength(1);
    });

    it("times out, cancels and refuses each call on its own", async () => {
        await using test = await connected();
        await test.connection.barrier();
        test.peer.script = () => true;
        expect(await failure(test.connection.barrier({ timeoutMs: 10 }))).toMatchObject({
            code: "TIMEOUT",
            retryable: true,
        });
        expect(await failure(test.connection.barrier({ signal: AbortSignal.abort() }))).toMatchObject({
            fault: "aborted",
        });
        const later = new AbortController();
        const cancelled = failure(test.connection.dumpFlows({}, { signal: later.signal }));
        later.abort();
        expect(await cancelled).toMatchObject({ code: "ABORTED" });
        test.peer.script = (message, socket) => socket.write(errorFrame(message.xid, 1, 5));
        expect(await failure(test.connection.barrier())).toMatchObject({ details: { errorName: "OFPBRC_EPERM" } });
    });

    it("bounds what waits to be written", async () => {
        await using test = await connected({ maxBufferBytes: 200_000 });
        await test.connection.barrier();
        for (const socket of test.peer.sockets) socket.pause();
        const many = Array.from({ length: 1000 }, (_, index) => flow(index));
        const calls = Array.from({ length: 20 }, () => failure(test.connection.bundle(many)));
        expect(await Promise.race(calls)).toMatchObject({ code: "BUFFER_FULL", retryable: true });
        expect(await failure(test.connection.bundle([...many, ...many, ...many]))).toMatchObject({ code: "TOO_BIG" });
        await test.connection.close();
        await Promise.all(calls);
    });

    it("bounds an answer in many parts", async () => {
        await using test = await connected({ maxReplyBytes: 10_000 });
        await test.connection.barrier();
        test.peer.script = (message, socket) => {
            const xid = message.xid.toString(16).padStart(8, "0");
            const part = bytes(`06130010${xid}0001000100000000`);
            return Array.from({ length: 700 }, () => socket.write(part)).length > 0;
        };
        expect(await failure(test.connection.dumpFlows())).toMatchObject({ code: "TOO_BIG" });
    });

    it("lives on after a message that cannot be read, and fails the call it answers", async () => {
        await using test = await connected();
        await test.connection.barrier();
        test.peer.script = (message, socket) => {
            if (message.type !== "unknown") return false;
            const xid = message.xid.toString(16).padStart(8, "0");
            return socket.write(bytes(`06130018${xid}0001000000000000${"ff".repeat(8)}`));
        };
        for (const socket of test.peer.sockets) socket.write(bytes("060b000c00000000ffffffff"));
        expect(await failure(test.connection.dumpFlows())).toMatchObject({ code: "SHORT", fault: "remote" });
        await test.connection.barrier();
        expect(test.peer.connectedAt).toHaveLength(1);
    });

    it("ends a connection whose bytes are no OpenFlow", async () => {
        await using test = await connected();
        await test.connection.barrier();
        for (const socket of test.peer.sockets) socket.write(bytes("0600000000000000"));
        await until(() => test.peer.connectedAt.length === 2);
        await test.connection.barrier();
    });

    it.each<[string, string]>([
        ["OpenFlow 1.0 to 1.3 only", "0600001000000001000100080000003e"],
        ["OpenFlow 1.3 without a bitmap", "0400000800000001"],
        ["an error of another version", "0501000c0000000100000000"],
    ])("does not work with %s", async (_, text) => {
        const warnings: unknown[] = [];
        await using peer = await Peer.start();
        peer.hello = false;
        peer.script = (message, socket) => message.type === "hello" && socket.write(bytes(text));
        const logger = {
            debug: () => undefined,
            info: () => undefined,
            warn: (_m: string, f?: object) => void warnings.push(f),
        };
        const connection = new OpenFlowConnection({ logger }, { socketPath: peer.path, minBackoffMs: 5 });
        connection.start(new AbortController().signal);
        expect(await failure(connection.barrier({ timeoutMs: 50 }))).toMatchObject({ code: "NOT_CONNECTED" });
        await until(() => warnings.length > 0);
        await connection.close();
        expect(warnings[0]).toEqual({ error: expect.stringContaining("does not speak OpenFlow 1.5") });
    });

    it("tries at once, then with growing pauses up to the cap", async () => {
        await using peer = await Peer.start();
        peer.script = (_message, socket) => socket.destroy() !== undefined;
        const connection = peer.connection({ minBackoffMs: 10, maxBackoffMs: 40 });
        const began = performance.now();
        connection.start(new AbortController().signal);
        await until(() => peer.connectedAt.length === 6);
        await connection.close();
        const gaps = peer.connectedAt.map((at, index) => at - (peer.connectedAt[index - 1] ?? began));
        [0, 9, 19, 39, 39, 39].forEach((least, index) => expect(gaps[index]).toBeGreaterThanOrEqual(least));
    });

    it("hands out packet-ins and survives a listener that throws", async () => {
        const frame = bytes("0604002800000000000023200000001e0000000600aa0000000300050700000000050005010000");
        const packet = new Uint8Array(40);
        packet.set(frame);
        const seen: number[] = [];
        await using test = await connected({}, (connection) => {
            connection.onPacketIn(() => {
                throw new Error("made up");
            });
            connection.onPacketIn(({ table }) => seen.push(table));
        });
        await test.connection.barrier();
        for (const socket of test.peer.sockets) socket.write(packet);
        await until(() => seen.length === 1);
        expect(seen).toEqual([7]);
    });
});
