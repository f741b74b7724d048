import { createConnection } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import {
    byUuid,
    insert,
    map,
    mutate,
    named,
    numberOf,
    optionalNumberOf,
    referencesOf,
    remove,
    select,
    set,
    textMapOf,
    textOf,
    update,
    wait,
    type Operation,
} from "../../src/codec/index.ts";
import { OvsdbSession, type OvsdbSessionOptions, type RowChange } from "../../src/session/index.ts";
import { insertedUuid, OvsdbServer } from "../../src/testing/index.ts";
import { recordingLogger, ScriptedConnection } from "./scripted-server.ts";

const monitor = {
    Open_vSwitch: ["bridges", "external_ids", "next_cfg"],
    Bridge: ["name", "ports", "external_ids", "fail_mode"],
    Port: ["name", "interfaces", "external_ids", "tag"],
    Interface: ["name", "type", "ofport", "ofport_request", "error"],
};

describe("a session with ovsdb-server", () => {
    let server: OvsdbServer;
    const sessions: OvsdbSession[] = [];

    beforeEach(async () => {
        server = await OvsdbServer.start();
    });

    afterEach(async () => {
        await Promise.all(sessions.splice(0).map((session) => session.close()));
        await server[Symbol.asyncDispose]();
    });

    function open(options: Partial<OvsdbSessionOptions> = {}): OvsdbSession {
        const session = new OvsdbSession(
            { logger: recordingLogger() },
            { socketPath: server.socketPath, monitor, ...options },
        );
        sessions.push(session);
        session.start(new AbortController().signal);
        return session;
    }

    async function opened(options: Partial<OvsdbSessionOptions> = {}): Promise<OvsdbSession> {
        const session = open(options);
        await session.ready(AbortSignal.timeout(60_000));
        return session;
    }

    /** The root row, and br-int without ports. */
    async function withBridge(session: OvsdbSession): Promise<string> {
        const results = await session.transact([
            insert("Open_vSwitch", {}),
            insert("Bridge", { name: "br-int", external_ids: map({ a: "1" }) }, "bridge"),
            mutate("Open_vSwitch", [], [["bridges", "insert", named("bridge")]]),
        ]);
        return insertedUuid(results, 1);
    }

    const addPort = (name: string, ofport: number): readonly Operation[] => [
        insert("Interface", { name, type: "internal", ofport_request: ofport }, "interface"),
        insert(
            "Port",
            {
                name,
                interfaces: named("interface"),
                external_ids: map({ "antrea-type": "container", "if-dev": "eth0" }),
            },
            "port",
        ),
        mutate("Bridge", [["name", "==", "br-int"]], [["ports", "insert", named("port")]]),
    ];

    /** The expected rows of the cache, queried from the server. */
    async function expectCacheRight(session: OvsdbSession): Promise<void> {
        for (const [table, columns] of Object.entries(monitor)) {
            const [result] = await session.transact([select(table, [], ["_uuid", ...columns])]);
            const rows = result?.op === "select" ? result.rows : [];
            const expected = rows.map(({ _uuid, ...row }) => [(_uuid as { uuid: string }).uuid, row] as const);
            expect(new Map(session.rows(table))).toEqual(new Map(expected));
        }
    }

    it("creates a bridge, port and interface, and has them in its rows when the answer comes", async () => {
        const session = await opened();
        const batches: (readonly RowChange[])[] = [];
        session.onChange((changes) => batches.push(changes));
        const bridge = await withBridge(session);
        const results = await session.transact(addPort("pod-1", 32784));
        const [interfaceId, portId] = [insertedUuid(results, 0), insertedUuid(results, 1)];
        const port = session.rows("Port").get(portId) ?? {};
        expect(textOf(port, "name")).toBe("pod-1");
        expect(referencesOf(port, "interfaces")).toEqual([interfaceId]);
        expect(textMapOf(port, "external_ids")).toEqual(
            new Map([
                ["antrea-type", "container"],
                ["if-dev", "eth0"],
            ]),
        );
        const row = session.rows("Interface").get(interfaceId) ?? {};
        expect(optionalNumberOf(row, "ofport_request")).toBe(32784);
        expect(optionalNumberOf(row, "ofport")).toBeUndefined();
        expect(referencesOf(session.rows("Bridge").get(bridge) ?? {}, "ports")).toEqual([portId]);
        // One batch for each commit.
        expect(batches.map((batch) => batch.map(({ table }) => table).sort())).toEqual([
            ["Bridge", "Open_vSwitch"],
            ["Bridge", "Interface", "Port"],
        ]);
        await expectCacheRight(session);
    });

    it("mutates keys of a map and leaves the others alone, also those another session writes", async () => {
        const [mine, theirs] = [await opened(), await opened()];
        const bridge = await withBridge(mine);
        const ids = (session: OvsdbSession): unknown =>
            Object.fromEntries(textMapOf(session.rows("Bridge").get(bridge) ?? {}, "external_ids"));
        await theirs.transact([mutate("Bridge", [byUuid(bridge)], [["external_ids", "insert", map({ other: "x" })]])]);
        await mine.transact([
            mutate(
                "Bridge",
                [byUuid(bridge)],
                [
                    ["external_ids", "delete", set("a", "not there")],
                    ["external_ids", "insert", map({ roundNum: "1" })],
                ],
            ),
        ]);
        expect(ids(mine)).toEqual({ other: "x", roundNum: "1" });
        const change = mutate(
            "Bridge",
            [byUuid(bridge)],
            [
                ["external_ids", "delete", set("roundNum")],
                ["external_ids", "insert", map({ roundNum: "2" })],
            ],
        );
        await mine.transact([change]);
        expect(ids(mine)).toEqual({ other: "x", roundNum: "2" });
        await theirs.until(
            () =>
                mine.rows("Bridge").size === 1
                    ? JSON.stringify(ids(theirs)) === JSON.stringify(ids(mine)) || undefined
                    : undefined,
            { timeoutMs: 60_000 },
        );
    });

    it("sets, replaces and clears an optional column", async () => {
        const session = await opened();
        const bridge = await withBridge(session);
        for (const mode of [["secure"], ["standalone"], [], ["secure"]]) {
            await session.transact([update("Bridge", [byUuid(bridge)], { fail_mode: mode })]);
            expect(session.rows("Bridge").get(bridge)?.["fail_mode"]).toEqual(mode);
        }
    });

    it("deletes a port with its interface in one transaction, and again without error", async () => {
        const session = await opened();
        const bridge = await withBridge(session);
        const port = insertedUuid(await session.transact(addPort("pod-1", 32784)), 1);
        const deletion = [
            mutate("Bridge", [byUuid(bridge)], [["ports", "delete", { uuid: port }]]),
            remove("Port", [byUuid(port)]),
        ];
        expect(await session.transact(deletion)).toEqual([
            { op: "mutate", count: 1 },
            { op: "delete", count: 1 },
        ]);
        expect([session.rows("Port").size, session.rows("Interface").size]).toEqual([0, 0]);
        expect(await session.transact(deletion)).toEqual([
            { op: "mutate", count: 1 },
            { op: "delete", count: 0 },
        ]);
    });

    it.each<[string, readonly Operation[], object]>([
        [
            "a value that is not allowed",
            [update("Bridge", [], {}), update("Bridge", [], { fail_mode: "bad" })],
            {
                code: "CONSTRAINT_VIOLATION",
                operationIndex: 1,
                message: expect.stringContaining("operation 1 (update of Bridge)"),
            },
        ],
        [
            "a number out of range",
            [insert("Interface", { name: "i", ofport_request: 70_000 })],
            { code: "CONSTRAINT_VIOLATION", operationIndex: 0 },
        ],
        [
            "a name that exists",
            [...addPort("pod-1", 1), ...addPort("pod-1", 2).slice(0, 1)],
            { code: "DUPLICATE_UUID_NAME", operationIndex: 3 },
        ],
        [
            "a bridge's name twice",
            [
                insert("Bridge", { name: "br-int" }, "b"),
                mutate("Open_vSwitch", [], [["bridges", "insert", named("b")]]),
            ],
            {
                code: "CONSTRAINT_VIOLATION",
                operationIndex: undefined,
                message: expect.stringContaining("at its commit"),
            },
        ],
        ["a column that is not there", [insert("Bridge", { nope: 1 })], { code: "UNKNOWN_COLUMN", operationIndex: 0 }],
        ["a table that is not there", [insert("Nope", {})], { code: "SYNTAX_ERROR", operationIndex: 0 }],
        [
            "a wait that does not hold",
            [wait("Bridge", { where: [], columns: ["name"], until: "==", rows: [], timeoutMs: 0 })],
            { code: "WAIT_TIMED_OUT", operationIndex: 0 },
        ],
    ])("refuses %s, names the operation and changes nothing", async (_name, operations, error) => {
        const session = await opened();
        await withBridge(session);
        await expect(session.transact(operations)).rejects.toEqual(expect.objectContaining(error));
        expect(session.rows("Port").size).toBe(0);
        await expectCacheRight(session);
    });

    it("runs 200 pipelined transactions in the order of the calls", async () => {
        const session = await opened();
        await withBridge(session);
        const seen: number[] = [];
        session.onChange((changes) => {
            for (const { table, after } of changes)
                if (table === "Open_vSwitch" && after) seen.push(numberOf(after, "next_cfg"));
        });
        const count = Array.from({ length: 200 }, (_, index) => index);
        const sent = count.map((index) =>
            session.transact([
                ...addPort(`pod-${index}`, 1000 + index),
                update("Open_vSwitch", [], { next_cfg: index + 1 }),
            ]),
        );
        await Promise.all(sent);
        expect(session.rows("Port").size).toBe(200);
        expect(seen).toEqual(count.map((index) => index + 1));
        await expectCacheRight(session);
    });

    it("has the right rows after the server was killed during transactions and changed while away", async () => {
        const session = await opened({ maxBackoffMs: 100 });
        await withBridge(session);
        await session.transact(addPort("stays", 1));
        await session.transact(addPort("goes", 2));
        await session.transact(addPort("changes", 3));
        const events: string[] = [];
        const replica = new Map(session.rows("Port"));
        session.onDisconnect(() => events.push("disconnect"));
        session.onConnect(() => events.push("connect"));
        session.onChange((changes) => {
            events.push("change");
            for (const { table, uuid, before, after } of changes) {
                if (table !== "Port") continue;
                expect(replica.get(uuid)).toBe(before);
                if (after === undefined) replica.delete(uuid);
                else replica.set(uuid, after);
            }
        });
        const stays = [...session.rows("Port")].find(([, row]) => row["name"] === "stays");
        // A stopped server cannot answer before it is killed.
        server.signal("SIGSTOP");
        const pending = ["pending-1", "pending-2"].map((name) => session.transact(addPort(name, 9)));
        await server.kill();
        for (const outcome of await Promise.allSettled(pending)) {
            expect(outcome).toEqual({
                status: "rejected",
                reason: expect.objectContaining({ code: "OUTCOME_UNKNOWN", retryable: true }),
            });
        }
        await expect(session.transact([])).rejects.toEqual(
            expect.objectContaining({ code: "DISCONNECTED", retryable: true }),
        );
        expect(session.rows("Port").size).toBe(3);
        expect(events).toEqual(["disconnect"]);

        // Another session changes the database before this one is back: the other's socket path is not this one's.
        const path = server.socketPath;
        await server.restart();
        const other = await opened({ socketPath: path });
        await other.transact([
            mutate(
                "Bridge",
                [],
                [
                    [
                        "ports",
                        "delete",
                        set(
                            ...[...other.rows("Port")]
                                .filter(([, row]) => row["name"] === "goes")
                                .map(([uuid]) => ({ uuid })),
                        ),
                    ],
                ],
            ),
            update("Port", [["name", "==", "changes"]], { tag: 7 }),
            ...addPort("comes", 4),
        ]);
        await session.until(
            () => [...session.rows("Port").values()].some((row) => row["name"] === "comes") || undefined,
            { timeoutMs: 60_000 },
        );
        await session.ready();
        expect([...session.rows("Port").values()].map((row) => row["name"]).sort()).toEqual([
            "changes",
            "comes",
            "stays",
        ]);
        expect(replica).toEqual(new Map(session.rows("Port")));
        // What did not change is the same row, not an equal one.
        expect(session.rows("Port").get(stays?.[0] ?? "")).toBe(stays?.[1]);
        expect(events).toContain("connect");
        await expectCacheRight(session);
    });

    it("goes on from its last transaction where the server remembers it", async () => {
        await using cluster = await OvsdbServer.start({ clustered: true });
        const logger = recordingLogger();
        await using session = new OvsdbSession(
            { logger },
            { socketPath: cluster.socketPath, monitor, minBackoffMs: 300 },
        );
        session.start(new AbortController().signal);
        await session.ready(AbortSignal.timeout(60_000));
        await withBridge(session);
        // The server keeps only transactions that it stores, so it must store one.
        for (let port = 1; port <= 20; port++) await session.transact(addPort(`pod-${port}`, port));
        const away = new Promise<void>((resolve) => void session.onDisconnect(resolve));
        await cluster.dropConnections();
        await away;
        await cluster.transact("Open_vSwitch", {
            op: "update",
            table: "Bridge",
            where: [],
            row: { fail_mode: "secure" },
        });
        await session.until(
            () =>
                [...session.rows("Bridge").values()].some((row) => row["fail_mode"]?.toString() === "secure") ||
                undefined,
            { timeoutMs: 60_000 },
        );
        expect(
            logger.lines.filter(({ message }) => message === "connected to the database").map(({ fields }) => fields),
        ).toEqual([
            { database: "Open_vSwitch", changedRows: 0, resumed: false },
            { database: "Open_vSwitch", changedRows: 1, resumed: true },
        ]);
        await expectCacheRight(session);
    });

    it("reports a database that was lost as deletions", async () => {
        const session = await opened({ maxBackoffMs: 100 });
        await withBridge(session);
        await session.transact(addPort("pod-1", 1));
        const deleted: string[] = [];
        session.onChange((changes) => {
            for (const { table, after } of changes) if (after === undefined) deleted.push(table);
        });
        await server.kill();
        await server.createDatabase();
        await server.restart();
        await session.until(() => session.rows("Port").size === 0 || undefined, { timeoutMs: 60_000 });
        expect(deleted.sort()).toEqual(["Bridge", "Interface", "Open_vSwitch", "Port"]);
    });

    it("waits for a server that is not there yet", async () => {
        await server.kill();
        const session = open();
        await expect(session.ready(AbortSignal.timeout(100))).rejects.toEqual(
            expect.objectContaining({ code: "ABORTED", fault: "aborted" }),
        );
        expect(session.problem).toContain("cannot connect to the database");
        await server.restart();
        await session.ready(AbortSignal.timeout(60_000));
        expect(session.problem).toBeUndefined();
    });

    it("notices a server that reports nothing any more", async () => {
        const session = await opened({ echoIntervalMs: 50, answerTimeoutMs: 100, maxBackoffMs: 100 });
        const gone = new Promise<void>((resolve) => void session.onDisconnect(resolve));
        server.signal("SIGSTOP");
        await gone;
        server.signal("SIGCONT");
        await session.ready(AbortSignal.timeout(60_000));
    });

    it("keeps a quiet connection alive by echo", async () => {
        const session = await opened({ echoIntervalMs: 20, answerTimeoutMs: 60_000 });
        let ended = 0;
        session.onDisconnect(() => ended++);
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(ended).toBe(0);
        await expectCacheRight(session);
    });

    it("names a table or column that the database lacks", async () => {
        await expect(open({ monitor: { Bridge: ["nope"] } }).ready()).rejects.toEqual(
            expect.objectContaining({
                code: "SCHEMA_MISMATCH",
                message: expect.stringContaining('table Bridge has no column "nope"'),
            }),
        );
    });

    describe("with a lock", () => {
        const lock = "antrea_agent";

        it("lets only its owner write", async () => {
            const first = await opened({ lock });
            await first.lockAcquired();
            await withBridge(first);
            const second = await opened({ lock });
            expect([first.lockState, second.lockState]).toEqual(["locked", "waiting"]);
            await expect(second.transact([update("Bridge", [], { fail_mode: "secure" })])).rejects.toEqual(
                expect.objectContaining({ code: "NOT_LOCK_OWNER", retryable: true, operationIndex: undefined }),
            );
            // The caller's indexes do not count the assert operation before.
            await expect(first.transact([update("Bridge", [], { fail_mode: "bad" })])).rejects.toEqual(
                expect.objectContaining({ operationIndex: 0 }),
            );
            expect(await first.transact([update("Bridge", [], {})])).toEqual([{ op: "update", count: 1 }]);
            const states: string[] = [];
            second.onLockChange((state) => states.push(state));
            await first.close();
            await second.lockAcquired(AbortSignal.timeout(60_000));
            expect(states).toEqual(["locked"]);
            expect(await second.transact([update("Bridge", [], { fail_mode: "secure" })])).toEqual([
                { op: "update", count: 1 },
            ]);
        });

        it("stops writing when it is stolen, and goes on when it comes back", async () => {
            const session = await opened({ lock });
            await withBridge(session);
            const thief = new ScriptedConnection(createConnection({ path: server.socketPath }));
            thief.send({ id: 1, method: "steal", params: [lock] });
            await session.until(() => session.lockState === "lost" || undefined, { timeoutMs: 60_000 });
            const change = [update("Bridge", [], { fail_mode: "secure" })];
            await expect(session.transact(change)).rejects.toEqual(expect.objectContaining({ code: "NOT_LOCK_OWNER" }));
            thief.drop();
            await session.lockAcquired(AbortSignal.timeout(60_000));
            expect(await session.transact(change)).toEqual([{ op: "update", count: 1 }]);
        });

        it("has one owner again after the server came back", async () => {
            const two = [await opened({ lock, maxBackoffMs: 100 }), await opened({ lock, maxBackoffMs: 100 })];
            const away = Promise.all(
                two.map((session) => new Promise<void>((resolve) => void session.onDisconnect(resolve))),
            );
            await server.kill();
            await away;
            expect(two.map((session) => session.lockState)).toEqual(["lost", "waiting"]);
            await server.restart();
            await Promise.all(two.map((session) => session.ready(AbortSignal.timeout(60_000))));
            expect(two.map((session) => session.lockState).sort()).toEqual(["locked", "waiting"]);
        });
    });
});
