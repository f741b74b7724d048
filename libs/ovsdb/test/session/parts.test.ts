import { Duplex } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { OvsdbError } from "../../src/codec/index.ts";
import { RowCache } from "../../src/session/cache.ts";
import { connect, stopped } from "../../src/session/connect.ts";
import { Listeners } from "../../src/session/listeners.ts";
import { PendingRequests } from "../../src/session/pending-requests.ts";
import { RpcConnection, type RpcConnectionLimits } from "../../src/session/rpc-connection.ts";
import { Waiters } from "../../src/session/waiters.ts";

const gone = new OvsdbError("DISCONNECTED", "environment", "made up");
const closed = new OvsdbError("CLOSED", "aborted", "made up");

describe("PendingRequests", () => {
    function make(max = 10) {
        const cancelled: number[] = [];
        const sent: number[] = [];
        const pending = new PendingRequests(max, (id) => cancelled.push(id));
        const add = (changes: boolean, options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}) =>
            pending.add(
                "m",
                (result) => result,
                { timeoutMs: 60_000, changes, ...options },
                (id) => void sent.push(id),
            );
        return { pending, cancelled, sent, add };
    }

    it("give each answer to its request, once, and what reading it throws", async () => {
        const { pending, sent, add } = make();
        const [first, second] = [add(true), add(false)];
        pending.settle(sent[1], (method) => `result of ${method}`);
        pending.settle(sent[1], () => "too late");
        pending.settle(99, () => "nobody's");
        expect(await second).toBe("result of m");
        pending.settle(sent[0], () => {
            throw gone;
        });
        await expect(first).rejects.toBe(gone);
    });

    it.each([
        [
            true,
            gone,
            {
                code: "OUTCOME_UNKNOWN",
                fault: "environment",
                message:
                    "the connection ended before request m was answered: it may or may not have taken effect, check the rows",
                cause: gone,
            },
        ],
        [
            false,
            gone,
            {
                code: "DISCONNECTED",
                fault: "environment",
                message: "request m got no answer: the connection ended",
                cause: gone,
            },
        ],
        [false, closed, { code: "CLOSED", fault: "aborted", cause: closed }],
    ])(
        "of which one that changes something (%p) rejects so when the connection ends",
        async (changes, reason, error) => {
            const { pending, add } = make();
            const request = add(changes);
            pending.rejectAll(reason);
            await expect(request).rejects.toMatchObject(error);
        },
    );

    it.each([
        [
            true,
            {
                code: "OUTCOME_UNKNOWN",
                fault: "timeout",
                message:
                    "5 ms passed before request m was answered: it may or may not have taken effect, check the rows",
            },
        ],
        [false, { code: "TIMEOUT", fault: "timeout", message: "request m was not answered within 5 ms" }],
    ])(
        "of which one that changes something (%p) rejects so after its time, and is cancelled",
        async (changes, error) => {
            const { pending, add, cancelled, sent } = make(1);
            await expect(add(changes, { timeoutMs: 5 })).rejects.toMatchObject(error);
            expect(cancelled).toEqual(sent);
            pending.settle(sent[0], () => "too late");
            // Its place is free again.
            const next = add(false);
            pending.settle(sent[1], () => "next");
            expect(await next).toBe("next");
        },
    );

    it("of which a cancelled one states what that means, and what was never sent is not cancelled", async () => {
        const { add, cancelled, sent } = make();
        const stop = new AbortController();
        const [read, write] = [add(false, { signal: stop.signal }), add(true, { signal: stop.signal })];
        stop.abort("why");
        await expect(read).rejects.toMatchObject({
            code: "ABORTED",
            fault: "aborted",
            message: "request m was cancelled: its answer is ignored",
            cause: "why",
        });
        await expect(write).rejects.toMatchObject({ message: "request m was cancelled: it may have taken effect" });
        await expect(add(true, { signal: stop.signal })).rejects.toMatchObject({
            message: "request m was cancelled: it was not sent",
        });
        expect(cancelled).toEqual([1, 2]);
        expect(sent).toEqual([1, 2]);
    });

    it("are not more than allowed", async () => {
        const { pending, add, sent } = make(2);
        const two = [add(true), add(true)];
        await expect(add(true)).rejects.toMatchObject({
            code: "QUEUE_FULL",
            fault: "environment",
            message: "2 requests wait for the server: request m was not sent, ask again later",
        });
        expect(sent).toHaveLength(2);
        for (const id of sent) pending.settle(id, () => id);
        expect(await Promise.all(two)).toEqual([1, 2]);
    });
});

describe("Waiters", () => {
    it("report why what they wait for may not have come", async () => {
        const waiters = new Waiters();
        const never = (): undefined => undefined;
        const why = (): unknown => gone;
        const late = waiters.wait(never, { what: "the port", timeoutMs: 5, why });
        await expect(late).rejects.toMatchObject({
            code: "TIMEOUT",
            fault: "timeout",
            message: "the port did not come within 5 ms",
            cause: gone,
        });
        const signal = AbortSignal.abort("reason");
        await expect(waiters.wait(never, { what: "the port", signal, why })).rejects.toMatchObject({
            code: "ABORTED",
            fault: "aborted",
            message: "waiting for the port was cancelled",
            cause: gone,
        });
        await expect(waiters.wait(never, { what: "x", signal })).rejects.toMatchObject({ cause: "reason" });
    });

    it("check again at each change until there is a value, and end with the session", async () => {
        const waiters = new Waiters();
        let value: number | undefined;
        let calls = 0;
        const probe = (): number | undefined => {
            calls += 1;
            return value;
        };
        const waiting = waiters.wait(probe, { what: "x" });
        waiters.evaluate();
        value = 7;
        waiters.evaluate();
        waiters.evaluate();
        expect(await waiting).toBe(7);
        expect(calls).toBe(3);
        value = undefined;
        const ended = waiters.wait(probe, { what: "x" });
        waiters.close(closed);
        await expect(ended).rejects.toBe(closed);
        await expect(waiters.wait(probe, { what: "x" })).rejects.toBe(closed);
        value = 8;
        expect(await waiters.wait(probe, { what: "x" })).toBe(8);
    });
});

describe("RowCache", () => {
    const monitored = new Map();
    const insert = (table: string, uuid: string, n: number) =>
        ({ table, uuid, update: { kind: "insert", row: { n } } }) as const;

    it("applies all updates or none, and names the row that does not fit", () => {
        const cache = new RowCache(["T", "U"]);
        cache.apply([insert("T", "a", 1)], monitored);
        const bad = [insert("T", "b", 2), insert("T", "a", 3)];
        expect(() => cache.apply(bad, monitored)).toThrow(
            expect.objectContaining({
                code: "BAD_MESSAGE",
                fault: "remote",
                message: "update of T row a does not fit the rows known so far: it was inserted before",
                details: { table: "T", uuid: "a" },
            }),
        );
        expect([...cache.rows("T").keys()]).toEqual(["a"]);
        const nothing = { table: "U", uuid: "a", update: { kind: "delete" } } as const;
        expect(() => cache.apply([nothing], monitored)).toThrow(
            "update of U row a does not fit the rows known so far: there is nothing to delete",
        );
        expect(() => cache.replace([nothing])).toThrow("a snapshot cannot delete it");
        expect(cache.apply([{ table: "T", uuid: "a", update: { kind: "replace", row: { n: 5 } } }], monitored)).toEqual(
            [{ table: "T", uuid: "a", before: { n: 1 }, after: { n: 5 } }],
        );
    });

    it("becomes a snapshot and reports what that changed: rows of one UUID in two tables are two", () => {
        const cache = new RowCache(["T", "U"]);
        cache.apply([insert("T", "a", 1), insert("U", "a", 1), insert("T", "b", 2)], monitored);
        expect(cache.replace([insert("T", "a", 1), insert("T", "b", 3), insert("T", "c", 4)])).toEqual([
            { table: "T", uuid: "b", before: { n: 2 }, after: { n: 3 } },
            { table: "T", uuid: "c", after: { n: 4 } },
            { table: "U", uuid: "a", before: { n: 1 } },
        ]);
        expect(Object.fromEntries(cache.rows("T"))).toEqual({ a: { n: 1 }, b: { n: 3 }, c: { n: 4 } });
        expect(cache.rows("U").size).toBe(0);
    });
});

describe("Listeners", () => {
    it("are called as often as they were added, and fail alone", () => {
        const errors: unknown[] = [];
        const listeners = new Listeners<[number]>((error) => errors.push(error));
        const seen: number[] = [];
        const listen = (n: number): void => void seen.push(n);
        const first = listeners.add(listen);
        listeners.add(() => {
            throw gone;
        });
        listeners.add(listen);
        listeners.emit(1);
        first[Symbol.dispose]();
        first[Symbol.dispose]();
        listeners.emit(2);
        expect(seen).toEqual([1, 1, 2]);
        expect(errors).toEqual([gone, gone]);
    });
});

describe("connect", () => {
    it("reports where nobody listens, and gives up with its signal", async () => {
        const refused = connect("/nowhere/db.sock", 1_000, new AbortController().signal);
        await expect(refused).rejects.toMatchObject({
            code: "DISCONNECTED",
            fault: "environment",
            message: "cannot connect to the database at /nowhere/db.sock",
            details: { socketPath: "/nowhere/db.sock" },
            cause: { code: "ENOENT" },
        });
        const stop = AbortSignal.abort("why");
        await expect(connect("/nowhere/db.sock", 1_000, stop)).rejects.toMatchObject({ ...stopped(), cause: "why" });
        const later = new AbortController();
        const waiting = connect("/nowhere/db.sock", 1_000, later.signal);
        later.abort("later");
        await expect(waiting).rejects.toMatchObject({ code: "CLOSED", fault: "aborted", cause: "later" });
    });
});

describe("RpcConnection", () => {
    const limits: RpcConnectionLimits = {
        echoIntervalMs: 60_000,
        answerTimeoutMs: 60_000,
        maxMessageBytes: 1_000,
        maxQueuedBytes: 200,
        maxPendingRequests: 10,
    };

    /** A stream that records its writes and accepts no more of them while it is stopped. */
    function make(onNotification: (method: string, params: readonly unknown[]) => void = () => undefined) {
        const writes: string[] = [];
        let stopped = false;
        const stream = new Duplex({
            read: () => undefined,
            writev: (chunks, done) => {
                writes.push(chunks.map(({ chunk }) => String(chunk)).join(""));
                if (!stopped) done();
            },
        });
        const ends: OvsdbError[] = [];
        const connection = new RpcConnection(stream, limits, { onNotification, onEnd: (reason) => ends.push(reason) });
        return { connection, stream, writes, ends, stop: () => (stopped = true) };
    }
    const send = (stream: Duplex, ...messages: unknown[]): void =>
        void stream.push(messages.map((message) => JSON.stringify(message)).join(""));
    const options = { timeoutMs: 60_000, changes: false };
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

    it("writes in one piece what one turn asks, and hands out answers and notifications in their order", async () => {
        const order: string[] = [];
        const { connection, stream, writes } = make((method, params) =>
            order.push(`${method} ${JSON.stringify(params)}`),
        );
        const [a, b] = ["a", "b"].map((method) =>
            connection.request(method, [1], (result) => order.push(`${method} ${JSON.stringify(result)}`), options),
        );
        await turn();
        expect(writes).toHaveLength(1);
        expect(writes[0]).toContain('"method":"a"');
        expect(writes[0]).toContain('"method":"b"');
        send(
            stream,
            { id: 1, result: "x", error: null },
            { id: null, method: "n", params: [2] },
            { id: 2, result: "y", error: null },
        );
        await Promise.all([a, b]);
        expect(order).toEqual(['a "x"', "n [2]", 'b "y"']);
        connection.end(closed);
    });

    it.each<[string, (made: ReturnType<typeof make>) => void, object]>([
        [
            "the server ends it",
            ({ stream }) => void stream.push(null),
            { code: "DISCONNECTED", message: "no connection to the database: the server closed the connection" },
        ],
        [
            "the stream fails",
            ({ stream }) => void stream.destroy(gone),
            { code: "DISCONNECTED", message: "no connection to the database: the connection failed", cause: gone },
        ],
        [
            "the stream is closed",
            ({ stream }) => void stream.destroy(),
            { message: "no connection to the database: the connection was closed" },
        ],
        ["it is ended", ({ connection }) => connection.end(closed), closed],
    ])("reports once why it ended, and asks nothing any more: %s", async (_name, end, reason) => {
        const made = make();
        const pending = made.connection.request("m", [], () => 1, options);
        const rejected = expect(pending).rejects.toMatchObject({
            message: "request m got no answer: the connection ended",
        });
        made.stream.resume();
        end(made);
        expect(await made.connection.ended).toMatchObject(reason);
        await rejected;
        made.connection.end(gone);
        expect(made.ends).toHaveLength(1);
        expect(made.stream.destroyed).toBe(true);
        const before = made.writes.length;
        await expect(made.connection.request("m", [], () => 1, options)).rejects.toMatchObject({ cause: reason });
        await turn();
        expect(made.writes.length).toBe(before);
    });

    it("ends when a message cannot be handled, and reads nothing behind it", async () => {
        const seen: string[] = [];
        const { connection, stream } = make((method) => {
            seen.push(method);
            throw new RangeError("oh");
        });
        send(stream, { id: null, method: "first", params: [] }, { id: null, method: "second", params: [] });
        expect(await connection.ended).toMatchObject({
            code: "BAD_MESSAGE",
            fault: "internal",
            message: "a message could not be handled",
            cause: new RangeError("oh"),
        });
        expect(seen).toEqual(["first"]);
    });

    it("ends a server that asks and does not read the answers", async () => {
        const { connection, stream, stop } = make();
        stop();
        for (let time = 0; time < 20; time += 1) send(stream, { id: time, method: "echo", params: ["x".repeat(50)] });
        expect(await connection.ended).toMatchObject({
            code: "QUEUE_FULL",
            fault: "remote",
            message: "the server asks without reading the answers",
        });
    });

    it("reports how much waits, or how long a request is, when it is not sent", async () => {
        const { connection, stop } = make();
        const ask = (text: string): Promise<unknown> => connection.request("m", [text], () => 1, options);
        await expect(ask("x".repeat(200))).rejects.toMatchObject({
            code: "BAD_ARGUMENT",
            fault: "caller",
            message: expect.stringMatching(/^request m has 2\d\d bytes, more than the limit of 200: split it$/),
            details: { queuedBytes: 0, maxBytes: 200 },
        });
        stop();
        ask("x".repeat(100)).catch(() => undefined);
        await turn();
        await expect(ask("x".repeat(100))).rejects.toMatchObject({
            code: "QUEUE_FULL",
            fault: "environment",
            message: expect.stringMatching(
                /^1\d\d bytes wait for the server: request m was not sent, ask again later$/,
            ),
        });
        connection.end(closed);
    });
});
