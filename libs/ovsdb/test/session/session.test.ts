import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { comment, update, type OvsdbError } from "../../src/codec/index.ts";
import { OvsdbSession, type OvsdbSessionOptions, type RowChange } from "../../src/session/index.ts";
import { recordingLogger, ScriptedServer, type ScriptedConnection } from "./scripted-server.ts";

const schema = {
    name: "db",
    version: "1.0.0",
    tables: { T: { columns: { n: { type: "integer" }, s: { type: { key: "string", min: 0, max: "unlimited" } } } } },
};
const zero = "00000000-0000-0000-0000-000000000000";
const id = (digit: number): string => zero.replaceAll("0", String(digit));
const insertRow = (n: number): unknown => ({ insert: { n } });
const row = (n: number, ...s: string[]): unknown => ({ n, s });

describe("a session", () => {
    let server: ScriptedServer;
    const sessions: OvsdbSession[] = [];

    beforeEach(async () => {
        server = await ScriptedServer.start();
    });

    afterEach(async () => {
        await Promise.all(sessions.splice(0).map((session) => session.close()));
        await server[Symbol.asyncDispose]();
    });

    function open(options: Partial<OvsdbSessionOptions> = {}, logger = recordingLogger()): OvsdbSession {
        const session = new OvsdbSession(
            { logger },
            {
                socketPath: server.socketPath,
                database: "db",
                monitor: { T: ["n", "s"] },
                minBackoffMs: 5,
                maxBackoffMs: 10,
                ...options,
            },
        );
        sessions.push(session);
        session.start(new AbortController().signal);
        return session;
    }

    /** Serves the start of a connection up to its snapshot; returns the parameters of the monitor request. */
    async function serve(
        rows: unknown = {},
        found = false,
        transactionId = zero,
    ): Promise<[ScriptedConnection, readonly unknown[]]> {
        const connection = await server.accept();
        await connection.answer("get_schema", schema);
        const params = await connection.answer("monitor_cond_since", [found, transactionId, { T: rows }]);
        return [connection, params];
    }

    async function ready(
        options: Partial<OvsdbSessionOptions> = {},
        rows: unknown = {},
    ): Promise<[OvsdbSession, ScriptedConnection]> {
        const session = open(options);
        const [connection] = await serve(rows);
        await session.ready();
        return [session, connection];
    }

    const update3 = (transactionId: string, rows: unknown): unknown => ({
        id: null,
        method: "update3",
        params: ["rows", transactionId, { T: rows }],
    });
    const rowsOf = (session: OvsdbSession): unknown => Object.fromEntries(session.rows("T"));

    it("applies an update that comes in the same bytes as the snapshot", async () => {
        const session = open();
        const batches: (readonly RowChange[])[] = [];
        session.onChange((changes) => batches.push(changes));
        const connection = await server.accept();
        await connection.answer("get_schema", schema);
        const { id: request } = await connection.next("monitor_cond_since");
        connection.send(
            { id: request, result: [false, zero, { T: { [id(1)]: insertRow(1) } }], error: null },
            update3(zero, { [id(1)]: { modify: { n: 2, s: "x" } } }),
        );
        await session.until(() => session.rows("T").get(id(1))?.["n"] === 2 || undefined, { timeoutMs: 60_000 });
        expect(rowsOf(session)).toEqual({ [id(1)]: row(2, "x") });
        expect(batches).toEqual([
            [{ table: "T", uuid: id(1), after: row(1) }],
            [{ table: "T", uuid: id(1), before: row(1), after: row(2, "x") }],
        ]);
        expect(batches.flat().every(({ after }) => Object.isFrozen(after))).toBe(true);
    });

    it("goes on from its last transaction, or compares when the server has forgotten it", async () => {
        const session = open();
        const [first, asked] = await serve({ [id(1)]: insertRow(1), [id(2)]: insertRow(2) }, false, id(7));
        expect(asked).toEqual(["db", "rows", { T: [{ columns: ["n", "s"] }] }, zero]);
        await session.ready();
        const batches: (readonly RowChange[])[] = [];
        session.onChange((changes) => batches.push(changes));
        first.send(update3(id(8), { [id(1)]: { modify: { n: 3 } } }));
        await session.until(() => batches.length === 1 || undefined, { timeoutMs: 60_000 });
        first.drop();
        const [second, again] = await serve({ [id(1)]: { delete: null } }, true, id(9));
        expect(again[3]).toBe(id(8));
        await session.until(() => batches.length === 2 || undefined, { timeoutMs: 60_000 });
        second.drop();
        const [, third] = await serve({ [id(2)]: insertRow(2), [id(3)]: insertRow(3) }, false, id(5));
        expect(third[3]).toBe(id(9));
        await session.until(() => batches.length === 3 || undefined, { timeoutMs: 60_000 });
        expect(batches).toEqual([
            [{ table: "T", uuid: id(1), before: row(1), after: row(3) }],
            [{ table: "T", uuid: id(1), before: row(3) }],
            [{ table: "T", uuid: id(3), after: row(3) }],
        ]);
    });

    it.each([
        ["monitor_cond", "update2", { initial: { n: 1 } }, { modify: { n: 2 } }],
        ["monitor", "update", { new: { n: 1, s: ["set", []] } }, { old: { n: 1 }, new: { n: 2, s: ["set", []] } }],
    ])("uses %s with a server that has nothing newer", async (method, notification, before, after) => {
        const session = open();
        const connection = await server.accept();
        await connection.answer("get_schema", schema);
        await connection.refuse("monitor_cond_since", "unknown method");
        if (method === "monitor") await connection.refuse("monitor_cond", "unknown method");
        await connection.answer(method, { T: { [id(1)]: before } });
        await session.ready();
        connection.send({ id: null, method: notification, params: ["rows", { T: { [id(1)]: after } }] });
        await session.until(() => session.rows("T").get(id(1))?.["n"] === 2 || undefined, { timeoutMs: 60_000 });
        expect(rowsOf(session)).toEqual({ [id(1)]: row(2) });
    });

    it.each<[string, unknown, string]>([
        ["bytes that are not JSON", "}", "BAD_JSON"],
        ["a message that is none", {}, "BAD_MESSAGE"],
        ["a message over the limit", { method: "x".repeat(3_000), params: [] }, "MESSAGE_TOO_LONG"],
        ["a change of a row that is not there", update3(id(9), { [id(5)]: { modify: { n: 1 } } }), "BAD_MESSAGE"],
        ["a row that was there before", update3(id(9), { [id(1)]: insertRow(1) }), "BAD_MESSAGE"],
        ["a value of the wrong type", update3(id(9), { [id(1)]: { modify: { n: "1" } } }), "BAD_VALUE"],
        [
            "a table that is not monitored",
            { method: "update3", params: ["rows", id(9), { U: {} }], id: null },
            "BAD_MESSAGE",
        ],
    ])("drops a server that sends %s and starts from a whole snapshot", async (_name, message, code) => {
        const logger = recordingLogger();
        const session = open({ maxMessageBytes: 2_000 }, logger);
        const [connection] = await serve({ [id(1)]: insertRow(1) }, false, id(7));
        await session.ready();
        connection.send(message);
        await connection.closed;
        const [, params] = await serve({ [id(1)]: insertRow(4) }, false, id(8));
        expect(params[3]).toBe(zero);
        await session.until(() => session.rows("T").get(id(1))?.["n"] === 4 || undefined, { timeoutMs: 60_000 });
        expect(
            logger.lines.filter(({ level }) => level === "warn").map(({ fields }) => (fields as { code: string }).code),
        ).toEqual([code]);
    });

    it("answers an echo, and refuses what it does not know", async () => {
        const [, connection] = await ready();
        connection.send(
            { id: "e", method: "echo", params: [1, "x"] },
            { id: 9, method: "nope", params: [] },
            { id: null, method: "nope", params: [] },
        );
        expect(await connection.next()).toEqual({ kind: "response", id: "e", result: [1, "x"], error: null });
        expect(await connection.next()).toEqual({ kind: "response", id: 9, result: null, error: "unknown method" });
    });

    it("asks for an echo in silence, and gives up a server that does not answer", async () => {
        const session = open({ echoIntervalMs: 20, answerTimeoutMs: 60 });
        const [connection] = await serve();
        await session.ready();
        const reasons: (string | undefined)[] = [];
        session.onDisconnect(() => reasons.push(session.problem));
        await connection.answer("echo", []);
        await connection.next("echo");
        await connection.closed;
        expect(reasons).toEqual([expect.stringMatching(/sent nothing for \d+ ms and did not answer an echo/)]);
    });

    it("gives up a server that accepts and then does not start", async () => {
        open({ answerTimeoutMs: 30 });
        const connection = await server.accept();
        await connection.next("get_schema");
        await connection.closed;
        await server.accept();
    });

    describe("transactions", () => {
        const refused = (error: object): unknown => expect.objectContaining(error);

        it("reject as unknown when the connection ends before the answer, and are not sent again", async () => {
            const [session, connection] = await ready();
            const pending = session.transact([comment("x")]);
            await connection.next("transact");
            connection.drop();
            await expect(pending).rejects.toEqual(
                refused({ code: "OUTCOME_UNKNOWN", fault: "environment", retryable: true }),
            );
            // The state has changed when the caller is notified.
            await expect(session.transact([comment("x")])).rejects.toEqual(
                refused({ code: "DISCONNECTED", retryable: true }),
            );
            const [again] = await serve();
            await session.ready();
            again.send({ id: "e", method: "echo", params: [] });
            expect(await again.next()).toEqual(expect.objectContaining({ kind: "response", id: "e" }));
        });

        it("reject as unknown when the time is over, inform the server, and ignore a late answer", async () => {
            const [session, connection] = await ready();
            const pending = session.transact([comment("x")], { timeoutMs: 10 });
            const rejected = expect(pending).rejects.toEqual(refused({ code: "OUTCOME_UNKNOWN", fault: "timeout" }));
            const { id: request } = await connection.next("transact");
            await rejected;
            expect(await connection.next()).toEqual({ kind: "notification", method: "cancel", params: [request] });
            connection.send({ id: request, result: [{}], error: null });
            const next = session.transact([update("T", [], { n: 1 })]);
            await connection.answer("transact", [{ count: 1 }]);
            expect(await next).toEqual([{ op: "update", count: 1 }]);
        });

        it("reject as aborted by their signal, before and after they are sent", async () => {
            const [session, connection] = await ready();
            await expect(session.transact([], { signal: AbortSignal.abort() })).rejects.toEqual(
                refused({ code: "ABORTED", fault: "aborted" }),
            );
            const controller = new AbortController();
            const pending = session.transact([comment("x")], { signal: controller.signal });
            const { id: request } = await connection.next("transact");
            controller.abort();
            await expect(pending).rejects.toEqual(
                refused({ code: "ABORTED", message: "request transact was cancelled: it may have taken effect" }),
            );
            expect(await connection.next()).toEqual({ kind: "notification", method: "cancel", params: [request] });
        });

        it("reject when the limits of the queue are reached, without being sent", async () => {
            const [session, connection] = await ready({ maxPendingRequests: 2, maxQueuedBytes: 1_000 });
            await expect(session.transact([comment("x".repeat(1_000))])).rejects.toEqual(
                refused({ code: "BAD_ARGUMENT", message: expect.stringContaining("split it") }),
            );
            const first = session.transact([comment("1".repeat(700))]);
            await expect(session.transact([comment("2".repeat(700))])).rejects.toEqual(
                refused({ code: "QUEUE_FULL", retryable: true }),
            );
            await connection.answer("transact", [{}]);
            await first;
            const two = [session.transact([comment("3")]), session.transact([comment("4")])];
            await expect(session.transact([comment("5")])).rejects.toEqual(refused({ code: "QUEUE_FULL" }));
            for (const comments of ["3", "4"])
                expect((await connection.answer("transact", [{}]))[1]).toEqual({ op: "comment", comment: comments });
            await Promise.all(two);
        });

        it.each<[string, unknown, string]>([
            ["the wrong shape", { count: 1 }, "BAD_MESSAGE"],
            ["too few results", [], "BAD_MESSAGE"],
        ])("reject an answer of %s", async (_name, result, code) => {
            const [session, connection] = await ready();
            const pending = session.transact([update("T", [], { n: 1 })]);
            await connection.answer("transact", result);
            await expect(pending).rejects.toEqual(refused({ code, fault: "remote" }));
        });

        it("that cannot be written are refused before anything is sent", async () => {
            const [session] = await ready();
            await expect(session.transact([comment("x"), comment("\0")])).rejects.toEqual(
                refused({ code: "BAD_ARGUMENT", operationIndex: 1 }),
            );
        });
    });

    describe("with a lock", () => {
        const lock = "antrea_agent";
        const notify = (method: string): unknown => ({ id: null, method, params: [lock] });

        async function serveLocked(locked: boolean): Promise<ScriptedConnection> {
            const connection = await server.accept();
            const requests = [await connection.next(), await connection.next()];
            for (const request of requests) {
                const isLock = request.kind === "request" && request.method === "lock";
                connection.send({ id: request.id, result: isLock ? { locked } : schema, error: null });
            }
            await connection.answer("monitor_cond_since", [false, zero, {}]);
            return connection;
        }

        it("follows theft and return, and asks again after a reconnect", async () => {
            const session = open({ lock });
            const states: string[] = [];
            session.onLockChange((state) => states.push(state));
            const first = await serveLocked(true);
            await session.lockAcquired();
            first.send(notify("stolen"));
            await session.until(() => session.lockState === "lost" || undefined, { timeoutMs: 60_000 });
            first.send(notify("locked"), { id: null, method: "locked", params: ["another"] });
            await session.lockAcquired(AbortSignal.timeout(60_000));
            first.drop();
            await serveLocked(false).then(async (second) => {
                await session.ready();
                second.send(notify("locked"));
            });
            await session.lockAcquired(AbortSignal.timeout(60_000));
            expect(states).toEqual(["locked", "lost", "locked", "lost", "waiting", "locked"]);
        });

        it("asserts it first in each transaction", async () => {
            const session = open({ lock });
            const connection = await serveLocked(true);
            await session.ready();
            const pending = session.transact([update("T", [], { n: 1 })]);
            const params = await connection.answer("transact", [{}, { count: 2 }]);
            expect(params).toEqual([
                "db",
                { op: "assert", lock },
                { op: "update", table: "T", where: [], row: { n: 1 } },
            ]);
            expect(await pending).toEqual([{ op: "update", count: 2 }]);
        });

        it("refuses a name that OVSDB does not take", () => {
            expect(() => open({ lock: "antrea-agent" })).toThrow(
                'option lock must be a name of letters, digits and _ that does not begin with a digit, not "antrea-agent"',
            );
        });
    });

    describe("waiting", () => {
        it("gives a probe's value, its error, the time's end, the signal's, and the session's", async () => {
            const [session, connection] = await ready();
            expect(await session.until(() => "now", { timeoutMs: 1 })).toBe("now");
            const probe = (): number | undefined => {
                const n = session.rows("T").get(id(1))?.["n"];
                if (n === -1) throw new RangeError("the row reports -1");
                return n === 2 ? 2 : undefined;
            };
            const value = session.until(probe, { timeoutMs: 60_000 });
            connection.send(update3(zero, { [id(1)]: insertRow(1) }), update3(zero, { [id(1)]: { modify: { n: 2 } } }));
            expect(await value).toBe(2);
            connection.send(update3(zero, { [id(1)]: { modify: { n: 0 } } }));
            await session.until(() => session.rows("T").get(id(1))?.["n"] === 0 || undefined, { timeoutMs: 60_000 });
            const thrown = session.until(probe, { timeoutMs: 60_000 });
            connection.send(update3(zero, { [id(1)]: { modify: { n: -1 } } }));
            await expect(thrown).rejects.toThrow("the row reports -1");
            const never = (): undefined => undefined;
            await expect(session.until(never, { timeoutMs: 1, what: "the port" })).rejects.toEqual(
                expect.objectContaining({ code: "TIMEOUT", message: "the port did not come within 1 ms" }),
            );
            await expect(session.until(never, { timeoutMs: 60_000, signal: AbortSignal.timeout(1) })).rejects.toEqual(
                expect.objectContaining({ code: "ABORTED", fault: "aborted" }),
            );
            const closed = session.until(never, { timeoutMs: 60_000 }).catch((error: OvsdbError) => error.code);
            const pending = session.transact([comment("x")]).catch((error: OvsdbError) => error.code);
            await session.close();
            expect(await Promise.all([closed, pending])).toEqual(["CLOSED", "OUTCOME_UNKNOWN"]);
        });

        it("ends when the signal of start aborts", async () => {
            const session = new OvsdbSession(
                { logger: recordingLogger() },
                { socketPath: `${server.socketPath}-none`, monitor: {} },
            );
            const controller = new AbortController();
            session.start(controller.signal);
            const waiting = [session.ready(), session.until(() => undefined, { timeoutMs: 60_000 })];
            controller.abort();
            for (const outcome of await Promise.allSettled(waiting)) {
                expect(outcome).toEqual({
                    status: "rejected",
                    reason: expect.objectContaining({ code: "CLOSED", fault: "aborted" }),
                });
            }
            await session.close();
            await expect(session.transact([])).rejects.toEqual(expect.objectContaining({ code: "CLOSED" }));
            expect(() => session.start(new AbortController().signal)).toThrow("a session is started once");
        });
    });

    it("goes on when a listener throws, and stops calling one that was disposed", async () => {
        const logger = recordingLogger();
        const session = open({}, logger);
        const seen: string[] = [];
        session.onChange(() => {
            throw new RangeError("oh");
        });
        const listening = session.onChange(() => seen.push("called"));
        const [connection] = await serve({ [id(1)]: insertRow(1) });
        await session.ready();
        listening[Symbol.dispose]();
        connection.send(update3(zero, { [id(1)]: { delete: null } }));
        await session.until(() => session.rows("T").size === 0 || undefined, { timeoutMs: 60_000 });
        expect(seen).toEqual(["called"]);
        expect(logger.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields)).toEqual([
            { error: "oh" },
            { error: "oh" },
        ]);
    });

    it("names a table that is not monitored", async () => {
        const [session] = await ready();
        expect(() => session.rows("U")).toThrow('table "U" is not monitored');
    });
});
