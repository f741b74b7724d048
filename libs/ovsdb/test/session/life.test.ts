import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { comment, OvsdbError } from "../../src/codec/index.ts";
import { connect } from "../../src/session/connect.ts";
import { EchoProbe } from "../../src/session/echo-probe.ts";
import { OvsdbSession, type OvsdbSessionOptions } from "../../src/session/index.ts";
import { PendingRequests } from "../../src/session/pending-requests.ts";
import { Waiters } from "../../src/session/waiters.ts";
import { recordingLogger, ScriptedServer, type ScriptedConnection } from "./scripted-server.ts";

const listeners = ({ signal }: AbortController): number => getEventListeners(signal, "abort").length;
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
const gone = new OvsdbError("DISCONNECTED", "environment", "gone");
const schema = (version = "1.0.0"): unknown => {
    return { name: "db", version, tables: { T: { columns: { n: { type: "integer" } } } } };
};
const zero = "00000000-0000-0000-0000-000000000000";
const id = (digit: number): string => zero.replaceAll("0", String(digit));

describe("what is over", () => {
    it("keeps no timer and no listener of a request: answered, ended or cancelled", async () => {
        const stop = new AbortController();
        const cancelled: number[] = [];
        const pending = new PendingRequests(10, (one) => void cancelled.push(one));
        const options = { timeoutMs: 60_000, signal: stop.signal, changes: true };
        const before = timers();
        const answered = pending.add(
            "m",
            (result) => result,
            options,
            () => undefined,
        );
        expect([listeners(stop), timers()]).toEqual([1, before + 1]);
        pending.settle(1, () => "x");
        expect(await answered).toBe("x");
        expect([listeners(stop), timers()]).toEqual([0, before]);
        const ended = pending.add(
            "m",
            () => 1,
            options,
            () => undefined,
        );
        pending.rejectAll(gone);
        await expect(ended).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN", fault: "environment", cause: gone });
        expect([listeners(stop), timers()]).toEqual([0, before]);
        const last = pending.add(
            "m",
            () => 1,
            options,
            () => undefined,
        );
        stop.abort("why");
        await expect(last).rejects.toMatchObject({ code: "ABORTED", cause: "why" });
        expect([cancelled, timers()]).toEqual([[3], before]);
    });

    it("keeps no timer and no listener of who waited for a change", async () => {
        const stop = new AbortController();
        const waiters = new Waiters();
        const before = timers();
        let value: number | undefined;
        const options = { what: "x", signal: stop.signal, timeoutMs: 60_000 };
        const waiting = waiters.wait(() => value, options);
        expect([listeners(stop), timers()]).toEqual([1, before + 1]);
        value = 7;
        waiters.evaluate();
        expect(await waiting).toBe(7);
        expect([listeners(stop), timers()]).toEqual([0, before]);
        const failing = waiters.wait(() => {
            if (value === 8) throw new RangeError("oh");
            return undefined;
        }, options);
        value = 8;
        waiters.evaluate();
        await expect(failing).rejects.toThrow("oh");
        expect([listeners(stop), timers()]).toEqual([0, before]);
    });

    it("keeps none of a socket that was opened, and no socket of who gave up", async () => {
        await using server = await ScriptedServer.start();
        const stop = new AbortController();
        const before = timers();
        const socket = await connect(server.socketPath, 60_000, stop.signal);
        expect(listeners(stop)).toBe(0);
        expect(timers()).toBeLessThanOrEqual(before);
        socket.destroy();
        await (
            await server.accept()
        ).closed;
        const waiting = connect(server.socketPath, 60_000, stop.signal);
        stop.abort("why");
        await expect(waiting).rejects.toMatchObject({
            code: "CLOSED",
            fault: "aborted",
            message: "the session with the database was closed",
            cause: "why",
        });
        expect(timers()).toBeLessThanOrEqual(before);
    });
});

describe("EchoProbe", () => {
    const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

    it("asks once in silence, and gives up who does not answer", async () => {
        let asked = 0;
        const failed = Promise.withResolvers<OvsdbError>();
        const probe = new EchoProbe(
            { echoIntervalMs: 20, answerTimeoutMs: 30 },
            { send: () => (asked += 1), fail: failed.resolve },
        );
        const began = performance.now();
        const error = await failed.promise;
        expect(performance.now() - began).toBeGreaterThanOrEqual(45);
        expect(error).toMatchObject({
            code: "DISCONNECTED",
            fault: "timeout",
            details: { silentMs: expect.any(Number) },
            message: expect.stringMatching(/^the database sent nothing for \d+ ms and did not answer an echo$/),
        });
        expect(asked).toBe(1);
        probe.stop();
    });

    it("asks nothing of who talks", async () => {
        let calls = 0;
        const actions = { send: () => (calls += 1), fail: () => (calls += 1) };
        const probe = new EchoProbe({ echoIntervalMs: 500, answerTimeoutMs: 5 }, actions);
        for (const end = performance.now() + 800; performance.now() < end;) {
            probe.heard();
            await new Promise((resolve) => setImmediate(resolve));
        }
        probe.stop();
        expect(calls).toBe(0);
    });

    it("asks again and again of who sends nothing but its answers", async () => {
        let [asked, failed] = [0, 0];
        const answer = (): void => {
            asked += 1;
            probe.heard();
        };
        const probe = new EchoProbe(
            { echoIntervalMs: 5, answerTimeoutMs: 5 },
            { send: answer, fail: () => (failed += 1) },
        );
        while (asked < 3) await pause(2);
        probe.stop();
        expect(failed).toBe(0);
    });

    it("reports nothing after it was stopped, also when the time was over at that moment", async () => {
        let calls = 0;
        const actions = { send: () => (calls += 1), fail: () => (calls += 1) };
        const before = timers();
        const probe = new EchoProbe({ echoIntervalMs: 5, answerTimeoutMs: 5 }, actions);
        // Due at the same time as the probe's timer and after it, so it runs before the probe checks.
        const over = pause(5);
        for (const end = performance.now() + 20; performance.now() < end;);
        await over;
        probe.stop();
        await pause(20);
        expect(calls).toBe(0);
        expect(timers()).toBeLessThanOrEqual(before);
    });
});

describe("a session", () => {
    let server: ScriptedServer;
    let logger: ReturnType<typeof recordingLogger>;
    const sessions: OvsdbSession[] = [];

    beforeEach(async () => {
        server = await ScriptedServer.start();
        logger = recordingLogger();
    });
    afterEach(async () => {
        await Promise.all(sessions.splice(0).map((session) => session.close()));
        await server[Symbol.asyncDispose]();
    });

    function make(options: Partial<OvsdbSessionOptions> = {}): OvsdbSession {
        const session = new OvsdbSession(
            { logger },
            {
                socketPath: server.socketPath,
                database: "db",
                monitor: { T: ["n"] },
                minBackoffMs: 5,
                maxBackoffMs: 10,
                ...options,
            },
        );
        sessions.push(session);
        return session;
    }

    function open(options: Partial<OvsdbSessionOptions> = {}): OvsdbSession {
        const session = make(options);
        session.start(new AbortController().signal);
        return session;
    }

    /** Serves a connection up to its snapshot; returns the transaction from which the session resumes. */
    async function serve(
        transactionId = zero,
        found = false,
        version = "1.0.0",
    ): Promise<[ScriptedConnection, unknown]> {
        const connection = await server.accept();
        await connection.answer("get_schema", schema(version));
        const params = await connection.answer("monitor_cond_since", [found, transactionId, { T: {} }]);
        return [connection, params[3]];
    }

    it("reports what is wrong for health checks, and nothing when all is well", async () => {
        const session = make({ socketPath: `${server.socketPath}-none` });
        expect(session.problem).toBe("the session with the database is idle");
        expect(session.lockState).toBe("none");
        session.start(new AbortController().signal);
        expect(session.problem).toBe("the session with the database is connecting");
        await session.until(() => (session.problem?.includes("connecting") === true ? undefined : true), {
            timeoutMs: 60_000,
        });
        expect(session.problem).toMatch(/^cannot connect to the database at .*-none/);
        await session.close();
        expect(session.problem).toBe("the session with the database is closed");
        const well = open();
        const [connection] = await serve();
        await well.ready();
        expect(well.problem).toBeUndefined();
        connection.drop();
        await well.until(() => (well.problem === undefined ? undefined : true), { timeoutMs: 60_000 });
        expect(well.problem).toMatch(/^no connection to the database: the (server closed the|connection)/);
        await serve();
        await well.ready();
        expect(well.problem).toBeUndefined();
    });

    it("is notified of each connection and of its end, and of none that never was ready", async () => {
        const session = open();
        const notified: string[] = [];
        using _a = session.onConnect(() => notified.push(`connected ${session.problem}`));
        // None of the rows changed, so no change is reported.
        using _b = session.onChange(() => notified.push("changed"));
        const listening = session.onDisconnect(() => notified.push("disconnected"));
        const early = await server.accept();
        await early.answer("get_schema", schema());
        early.drop();
        const [connection] = await serve();
        await session.ready();
        expect(notified).toEqual(["connected undefined"]);
        connection.drop();
        const [second] = await serve();
        await session.ready();
        expect(notified).toEqual(["connected undefined", "disconnected", "connected undefined"]);
        listening[Symbol.dispose]();
        second.drop();
        await serve();
        await session.until(() => (notified.length === 4 ? true : undefined), { timeoutMs: 60_000 });
    });

    it("has left the state ready when listeners are notified of the end: of the lock first, then of the connection", async () => {
        const session = open({ lock: "the_lock" });
        const connection = await server.accept();
        await connection.answer("get_schema", schema());
        await connection.answer("lock", { locked: true });
        await connection.answer("monitor_cond_since", [false, zero, { T: {} }]);
        await session.ready();
        const notified: unknown[] = [];
        const note = (what: string) => () => void notified.push([what, session.problem !== undefined]);
        using _a = session.onLockChange(note("lock"));
        using _b = session.onDisconnect(note("disconnected"));
        connection.drop();
        await session.until(() => (notified.length === 2 ? true : undefined), { timeoutMs: 60_000 });
        expect(notified).toEqual([
            ["lock", true],
            ["disconnected", true],
        ]);
        expect(session.lockState).toBe("lost");
    });

    it("ignores updates that arrive before the rows, and is connecting until the rows are there", async () => {
        const session = open();
        const connection = await server.accept();
        await connection.answer("get_schema", schema());
        const { id: request } = await connection.next("monitor_cond_since");
        const insert = { [id(1)]: { insert: { n: 1 } } };
        connection.send({ id: null, method: "update3", params: ["rows", zero, { T: insert }] });
        const isIgnored = (): boolean => logger.lines.some(({ message }) => message.startsWith("ignored"));
        while (!isIgnored()) await new Promise((resolve) => setTimeout(resolve, 2));
        expect(session.problem).toBe("the session with the database is connecting");
        const initial = { [id(2)]: { initial: { n: 2 } } };
        connection.send({ id: request, result: [false, id(1), { T: initial }], error: null });
        await session.ready();
        expect([...session.rows("T").keys()]).toEqual([id(2)]);
    });

    it("logs each trouble once, and that it is over", async () => {
        const session = open({ socketPath: `${server.socketPath}-none` });
        const tries = (): number =>
            logger.lines.filter(({ message }) => message === "no connection to the database").length;
        while (tries() < 4) await new Promise((resolve) => setTimeout(resolve, 2));
        await session.close();
        const levels = logger.lines.map(({ level }) => level);
        expect(levels.slice(0, 4)).toEqual(["warn", "debug", "debug", "debug"]);
        expect(logger.lines[0]).toMatchObject({
            fields: { code: "DISCONNECTED", reason: expect.stringContaining("cannot connect to the database at") },
        });
        logger = recordingLogger();
        const well = open();
        const [connection] = await serve();
        await well.ready();
        expect(logger.lines).toEqual([
            {
                level: "info",
                message: "connected to the database",
                fields: { database: "db", changedRows: 0, resumed: false },
            },
        ]);
        connection.send({ id: null, method: "unknown", params: [] }, { id: null, method: "locked", params: ["x"] });
        connection.drop();
        await serve();
        await well.ready();
        await well.close();
        expect(logger.lines.slice(1).map(({ level, message }) => `${level} ${message}`)).toEqual([
            "debug ignored a notification of the database",
            "debug ignored a notification of the database",
            "warn no connection to the database",
            "info connected to the database",
        ]);
        expect(logger.lines[1]?.fields).toEqual({ method: "unknown" });
    });

    it("goes on from its last transaction after a lost connection, once, and only while the schema is the same", async () => {
        const session = open();
        const [first, from] = await serve(id(1));
        expect(from).toBe(zero);
        await session.ready();
        first.drop();
        // Used once: the attempt after a failed one requests a whole snapshot.
        const second = await server.accept();
        await second.answer("get_schema", schema());
        expect((await second.next("monitor_cond_since")).params?.[3]).toBe(id(1));
        second.drop();
        const [third, again] = await serve(id(3));
        expect(again).toBe(zero);
        await session.ready();
        third.drop();
        const [fourth, changed] = await serve(id(4), false, "2.0.0");
        expect(changed).toBe(zero);
        await session.ready();
        // The session does not resume from rows that do not fit.
        fourth.send({ id: null, method: "update3", params: ["rows", id(5), { T: { [id(1)]: { delete: null } } }] });
        const [fifth, anew] = await serve(zero);
        expect(anew).toBe(zero);
        await session.ready();
        // A server without history has no transaction to resume from.
        fifth.drop();
        expect((await serve())[1]).toBe(zero);
    });

    it.each([
        [
            "monitor_cond",
            "update2",
            { [id(1)]: { initial: { n: 1 } } },
            { [id(1)]: { modify: { n: 2 } } },
            { delete: null },
        ],
        [
            "monitor",
            "update",
            { [id(1)]: { new: { n: 1 } } },
            { [id(1)]: { old: { n: 1 }, new: { n: 2 } } },
            { old: { n: 2 } },
        ],
    ])(
        "follows a server that knows only %s, by its updates and by no others",
        async (method, update, initial, change, remove) => {
            const session = open();
            const connection = await server.accept();
            await connection.answer("get_schema", schema());
            const refuse = { error: "unknown method", details: null };
            await connection.refuse("monitor_cond_since", refuse);
            if (method === "monitor") await connection.refuse("monitor_cond", refuse);
            const params = await connection.answer(method, { T: initial });
            expect(params).toEqual(["db", "rows", { T: [{ columns: ["n"] }] }]);
            await session.ready();
            expect(session.rows("T").get(id(1))).toEqual({ n: 1 });
            const other = update === "update" ? "update2" : "update";
            connection.send(
                { id: null, method: other, params: ["rows", { T: change }] },
                { id: null, method: update, params: ["others", { T: change }] },
                { id: null, method: "update3", params: ["rows", zero, { T: change }] },
            );
            connection.send({ id: null, method: update, params: ["rows", { T: change }] });
            await session.until(() => (session.rows("T").get(id(1))?.["n"] === 2 ? true : undefined), {
                timeoutMs: 60_000,
            });
            const ignored = logger.lines.filter(({ message }) => message.startsWith("ignored"));
            expect(ignored.map(({ fields }) => fields)).toEqual([
                { method: other },
                { method: update },
                { method: "update3" },
            ]);
            // The connection still works.
            connection.send({ id: null, method: update, params: ["rows", { T: { [id(1)]: remove } }] });
            await session.until(() => (session.rows("T").size === 0 ? true : undefined), { timeoutMs: 60_000 });
            expect(session.problem).toBeUndefined();
            connection.drop();
            const next = await server.accept();
            await next.answer("get_schema", schema());
            expect((await next.next("monitor_cond_since")).params?.[3]).toBe(zero);
        },
    );

    it("takes no other refusal of a monitor for a server that is old", async () => {
        const session = open();
        const first = await server.accept();
        await first.answer("get_schema", schema());
        await first.refuse("monitor_cond_since", { error: "resources exhausted", details: "made up" });
        await first.closed;
        await serve();
        await session.ready();
        expect(logger.lines[0]).toMatchObject({
            level: "warn",
            fields: { reason: expect.stringContaining("made up") },
        });
    });

    it("that the database does not fit is reported at once to whoever waits for it", async () => {
        const session = open();
        const waiting = session.ready();
        const connection = await server.accept();
        await connection.answer("get_schema", { name: "db", version: "1.0.0", tables: {} });
        await expect(waiting).rejects.toMatchObject({ code: "SCHEMA_MISMATCH" });
        await connection.closed;
        await expect(session.ready()).rejects.toMatchObject({ code: "SCHEMA_MISMATCH" });
        await serve();
        await session.until(() => (session.problem === undefined ? true : undefined), { timeoutMs: 60_000 });
        await session.ready();
    });

    it("is started once, and not after it was closed; without a lock there is none to wait for", async () => {
        const session = open();
        const twice = { code: "BAD_ARGUMENT", fault: "caller", message: "a session is started once: make a new one" };
        expect(() => session.start(new AbortController().signal)).toThrow(expect.objectContaining(twice));
        await expect(session.lockAcquired()).rejects.toMatchObject({
            code: "BAD_ARGUMENT",
            fault: "caller",
            message: "the session has no lock: set its option lock",
        });
        const closed = make();
        const waiting = closed.ready();
        await closed.close();
        await expect(waiting).rejects.toMatchObject({ code: "CLOSED", fault: "aborted" });
        expect(() => closed.start(new AbortController().signal)).toThrow(expect.objectContaining(twice));
    });

    it("leaves nothing on the signal that it was started with, and heeds one that was aborted before", async () => {
        const stop = new AbortController();
        const session = make();
        session.start(stop.signal);
        const [connection] = await serve();
        await session.ready();
        expect(listeners(stop)).toBe(1);
        await session.close();
        await connection.closed;
        expect(listeners(stop)).toBe(0);
        const late = make();
        late.start(AbortSignal.abort("why"));
        await expect(late.ready()).rejects.toMatchObject({ code: "CLOSED" });
        await late.close();
        expect(late.problem).toBe("the session with the database is closed");
    });

    it("reports why a transaction was not sent while there is no connection", async () => {
        const session = open({ socketPath: `${server.socketPath}-none` });
        await session.until(() => (session.problem?.startsWith("cannot") === true ? true : undefined), {
            timeoutMs: 60_000,
        });
        await expect(session.transact([comment("x")])).rejects.toMatchObject({
            code: "DISCONNECTED",
            fault: "environment",
            message: "there is no connection to the database: nothing was sent, wait for ready() and ask again",
            cause: { code: "DISCONNECTED", message: expect.stringContaining("cannot connect") },
        });
        const cancelled = session.ready(AbortSignal.timeout(5));
        await expect(cancelled).rejects.toMatchObject({
            code: "ABORTED",
            message: "waiting for the database was cancelled",
            cause: { code: "DISCONNECTED" },
        });
        await expect(session.until(() => undefined, { timeoutMs: 5 })).rejects.toMatchObject({
            code: "TIMEOUT",
            cause: { code: "DISCONNECTED" },
            message: "the awaited change of the database did not come within 5 ms",
        });
    });

    it("logs what becomes of its lock: a loss is a warning", async () => {
        const session = open({ lock: "the_lock" });
        const connection = await server.accept();
        await connection.answer("get_schema", schema());
        expect(await connection.answer("lock", { locked: true })).toEqual(["the_lock"]);
        await connection.answer("monitor_cond_since", [false, zero, { T: {} }]);
        await session.lockAcquired();
        const stolen = { id: null, method: "stolen", params: ["the_lock"] };
        connection.send(stolen, stolen);
        await session.until(() => (session.lockState === "lost" ? true : undefined), { timeoutMs: 60_000 });
        await expect(session.lockAcquired(AbortSignal.timeout(5))).rejects.toMatchObject({
            code: "ABORTED",
            message: "waiting for lock the_lock was cancelled",
        });
        expect(logger.lines.filter(({ message }) => message === "the database lock changed")).toEqual([
            expect.objectContaining({ level: "info", fields: { lock: "the_lock", state: "locked" } }),
            expect.objectContaining({ level: "warn", fields: { lock: "the_lock", state: "lost" } }),
        ]);
    });
});
