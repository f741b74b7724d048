import { getEventListeners } from "node:events";
import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { sleep } from "@antrea/async";
import { ManualClock, settle } from "@antrea/async/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { nodes } from "../../src/api/resources.ts";
import { type Node } from "../../src/api/types.ts";
import { KubeError } from "../../src/errors.ts";
import { Informer } from "../../src/informer/informer.ts";
import { type InformerComponents } from "../../src/informer/types.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { event, node, Script } from "./script.ts";

describe("Informer", () => {
    const log = new MemoryLog("debug", "informer");
    let stop: AbortController;
    beforeEach(() => {
        stop = new AbortController();
    });
    afterEach(() => stop.abort());

    function start(script: Script): Informer<Node> {
        const informer = new Informer(
            { api: script.api, logger: log.logger },
            { resource: nodes, initialBackoffMs: 1, maxBackoffMs: 5 },
        );
        informer.start(stop.signal);
        return informer;
    }

    it("reports what it does: idle, listing, watching, waiting with the error since when, stopped", async () => {
        const clock = new ManualClock();
        const error = new KubeError("UNAVAILABLE", "down");
        const gate = Promise.withResolvers<void>();
        const script = new Script([[]], ["silent"]);
        let fails = false;
        const api: InformerComponents["api"] = {
            list: (async () => {
                await gate.promise;
                if (fails) throw error;
                return { items: [], resourceVersion: "1" };
            }) as never,
            watch: script.api.watch,
        };
        const informer = new Informer({ api, logger: log.logger, clock }, { resource: nodes });
        expect([informer.state, informer.hasSynced]).toEqual([{ kind: "idle" }, false]);
        informer.start(stop.signal);
        expect([informer.state, informer.hasSynced]).toEqual([{ kind: "listing" }, false]);
        gate.resolve();
        await informer.synced();
        expect(informer.hasSynced).toBe(true);
        await settle();
        expect(informer.state).toEqual({ kind: "watching" });
        fails = true;
        const refreshed = informer.refresh();
        await settle();
        expect(informer.state).toEqual({ kind: "waiting", lastError: error, sinceMs: clock.now() });
        fails = false;
        await clock.advance(1_000);
        await refreshed;
        await informer.close();
        expect(informer.state).toEqual({ kind: "stopped" });
        expect(clock.pending).toBe(0);
    });

    it("watches only once the server has answered: until then it lists, or waits with the last error", async () => {
        const clock = new ManualClock();
        const error = new KubeError("UNAUTHORIZED", "no");
        const script = new Script([[]], ["silent"]);
        const asked: PromiseWithResolvers<void>[] = [];
        const api: InformerComponents["api"] = {
            list: script.api.list,
            watch: async (resource, o) => {
                const answer = Promise.withResolvers<void>();
                asked.push(answer);
                await answer.promise;
                return script.api.watch(resource, o);
            },
        };
        const informer = new Informer({ api, logger: log.logger, clock }, { resource: nodes });
        informer.start(stop.signal);
        await eventually(() => asked.length === 1);
        expect(informer.state).toEqual({ kind: "listing" });
        asked[0]?.reject(error);
        await settle();
        await clock.advance(1_000);
        await eventually(() => asked.length === 2);
        expect(informer.state).toMatchObject({ kind: "waiting", lastError: error });
        asked[1]?.resolve();
        await settle();
        expect(informer.state).toEqual({ kind: "watching" });
        await informer.close();
    });

    it("asks for the same objects in list and watch, and has the server end a watch after 5 to 10 minutes", async () => {
        const asked: unknown[] = [];
        const script = new Script([[]], ["silent"]);
        const api: InformerComponents["api"] = {
            list: ((resource: unknown, { signal: _, transform: __, ...query }: Record<string, unknown>) => {
                asked.push([resource, query]);
                return Promise.resolve({ items: [], resourceVersion: "7" });
            }) as never,
            watch: (resource, options) => {
                const { signal: _, timeoutSeconds, ...query } = options;
                asked.push([resource, query]);
                expect(timeoutSeconds).toBeGreaterThanOrEqual(300);
                expect(timeoutSeconds).toBeLessThan(600);
                expect(timeoutSeconds % 1).toBe(0);
                return script.api.watch(resource, options);
            },
        };
        const query = { namespace: "n", fieldSelector: "f", labelSelector: "l" };
        const informer = new Informer({ api, logger: log.logger }, { resource: nodes, pageSize: 9, ...query });
        informer.start(stop.signal);
        await eventually(() => asked.length === 2);
        expect(asked).toEqual([
            [nodes, { ...query, pageSize: 9 }],
            [nodes, { ...query, resourceVersion: "7" }],
        ]);
        await informer.close();
    });

    it.each([
        ["EXPIRED", 2],
        ["BAD_ANSWER", 2],
        ["TOO_LARGE", 2],
        ["BAD_REQUEST", 2],
        ["INVALID", 2],
        ["NOT_FOUND", 2],
        ["SERVER_TIMEOUT", 1],
        ["FORBIDDEN", 1],
        ["UNAVAILABLE", 1],
        ["CONNECTION_FAILED", 1],
    ] as const)("after a watch that failed with %s there were %i lists", async (code, lists) => {
        const script = new Script([[node("a", "1")]], [new KubeError(code, "made up"), "silent"]);
        start(script);
        await eventually(() => script.watchedFrom.length === 2);
        expect(script.lists).toBe(lists);
    });

    it("waits longer after each failure, and shortly again after a connection that was good for ten seconds", async () => {
        const clock = new ManualClock();
        const lists: number[] = [];
        const watches: number[] = [];
        let ends = 0;
        const api: InformerComponents["api"] = {
            list: (() => {
                lists.push(clock.monotonic());
                return Promise.resolve({ items: [], resourceVersion: "7" });
            }) as never,
            watch: async () => {
                watches.push(clock.monotonic());
                if (ends > 0) await sleep(ends, undefined, clock);
                throw new KubeError("CONNECTION_FAILED", "broken");
            },
        };
        const informer = new Informer(
            { api, logger: log.logger, clock },
            { resource: nodes, initialBackoffMs: 100, maxBackoffMs: 100_000 },
        );
        informer.start(stop.signal);
        await clock.advance(5_000);
        const gaps = watches.map((at, index) => at - (watches[index - 1] ?? 0)).slice(1);
        // Doubled each time, spread by a fifth at most.
        gaps.slice(1).forEach((gap, index) => expect(gap).toBeGreaterThan((gaps[index] ?? 0) * 1.2));
        expect(lists).toEqual([0]);
        ends = 10_001;
        const { length } = watches;
        while (watches.length < length + 2) await clock.advance(100);
        const good = (watches.at(-1) ?? 0) - (watches.at(-2) ?? 0);
        expect(good).toBeLessThan(10_001 + 200);
        const closed = informer.close();
        await clock.advance(20_000);
        await closed;
    });

    it("does not ask a server in a tight loop that ends each watch at once", async () => {
        const clock = new ManualClock();
        let watches = 0;
        const api: InformerComponents["api"] = {
            list: (() => Promise.resolve({ items: [], resourceVersion: "7" })) as never,
            watch: () => {
                watches += 1;
                return Promise.resolve(Readable.from([]) as never);
            },
        };
        const informer = new Informer({ api, logger: log.logger, clock }, { resource: nodes });
        informer.start(stop.signal);
        for (let second = 0; second < 60; second += 1) {
            await clock.advance(1_000);
            await settle();
        }
        expect(watches).toBeGreaterThan(3);
        expect(watches).toBeLessThan(15);
        await informer.close();
    });

    it("logs the first failure in passing, the next as a warning, with what the API server reported", async () => {
        const own = new MemoryLog("debug", "informer");
        const script = new Script([[]], [new KubeError("UNAVAILABLE", "down"), "silent"]);
        let watches = 0;
        const api: InformerComponents["api"] = {
            list: script.api.list,
            watch: (resource, options) => {
                watches += 1;
                return watches === 1 ? Promise.reject(new Error("made up")) : script.api.watch(resource, options);
            },
        };
        const informer = new Informer(
            { api, logger: own.logger },
            { resource: nodes, initialBackoffMs: 1, maxBackoffMs: 5 },
        );
        informer.start(stop.signal);
        await eventually(() => script.watchedFrom.length === 2);
        const failed = { msg: "list and watch failed, trying again", resource: "nodes", delayMs: expect.any(Number) };
        expect(own.records).toEqual([
            expect.objectContaining({ ...failed, level: "info", code: "CONNECTION_FAILED" }),
            expect.objectContaining({ ...failed, level: "warn", code: "UNAVAILABLE" }),
        ]);
        await informer.close();
    });

    it("keeps of an object what its reader wants, by default all but the managed fields", async () => {
        const managed: Node = { metadata: { ...node("a", "1").metadata, managedFields: [{ manager: "x" }] } };
        const gone: Node = { metadata: { ...node("a", "103").metadata, managedFields: [{ manager: "x" }] } };
        const seen: unknown[] = [];
        const informer = new Informer(
            { api: new Script([[managed]], [event("DELETED", gone), "silent"]).api, logger: log.logger },
            { resource: nodes },
        );
        informer.onChange((_type, _key, object) => void seen.push(object));
        informer.start(stop.signal);
        await eventually(() => seen.length === 2);
        expect(seen).toEqual([node("a", "1"), node("a", "103")]);
        await informer.close();
        const named = new Informer(
            { api: new Script([[{ ...managed, kind: "x" }]], ["silent"]).api, logger: log.logger },
            { resource: nodes, transform: ({ metadata = {} }) => ({ metadata }) },
        );
        named.start(stop.signal);
        await named.synced();
        expect(named.get("a")).toEqual(managed);
        await named.close();
    });

    it("keeps the last known state of an object that its reader cannot reduce, and follows all others", async () => {
        const script = new Script(
            [
                [node("a", "1"), node("b", "bad")],
                [node("a", "bad"), node("b", "5"), node("c", "bad"), node("d", "bad", "uid-new")],
            ],
            [
                event("MODIFIED", node("a", "bad")) +
                    event("ADDED", node("c", "102")) +
                    event("ADDED", node("d", "103")) +
                    event("ADDED", node("e", "104")) +
                    event("MODIFIED", node("e", "bad", "uid-new")) +
                    event("DELETED", node("c", "bad")) +
                    event("ERROR", { kind: "Status", code: 410, reason: "Expired" }),
                "silent",
            ],
        );
        const own = new MemoryLog("debug", "informer");
        const transform = (object: Node): Node => {
            if (object.metadata?.resourceVersion === "bad") throw new TypeError("no text");
            return object;
        };
        const informer = new Informer(
            { api: script.api, logger: own.logger },
            { resource: nodes, transform, initialBackoffMs: 1 },
        );
        const changes: string[] = [];
        informer.onChange((type, key, object) => {
            changes.push(`${type} ${key} ${object.metadata?.resourceVersion}`);
        });
        informer.start(stop.signal);
        await eventually(() => script.watchedFrom.length === 2);
        expect(changes).toEqual([
            "added a 1",
            "added c 102",
            "added d 103",
            "added e 104",
            "deleted e 104",
            "deleted c 102",
            "deleted d 103",
            "added b 5",
        ]);
        expect(informer.list().map((each) => each.metadata?.name)).toEqual(["a", "b"]);
        const unread = own.records.filter(({ level }) => level === "error");
        expect(unread.map(({ key }) => key)).toEqual(["b", "a", "e", "c", "a", "c", "d"]);
        expect(unread[0]).toMatchObject({
            msg: "an object cannot be read; it stays as it was known last",
            resource: "nodes",
        });
        await informer.close();
    });

    it("hears a connection as long as lines come, be they empty", async () => {
        const stream = new Readable({ read: () => undefined });
        const script = new Script([[node("a", "1")]], ["silent"]);
        const api: InformerComponents["api"] = {
            list: script.api.list,
            watch: (_resource, { signal }) => {
                script.watchedFrom.push("");
                signal.addEventListener("abort", () => stream.destroy(new Error("aborted")));
                return Promise.resolve(stream as never);
            },
        };
        const informer = new Informer({ api, logger: log.logger }, { resource: nodes, idleTimeoutMs: 200 });
        informer.start(stop.signal);
        await informer.synced();
        for (let time = 0; time < 30; time += 1) {
            stream.push(" \n");
            await new Promise((resolve) => setTimeout(resolve, 10));
        }
        expect(informer.state.kind).toBe("watching");
        await eventually(() => informer.state.kind === "waiting");
        expect(informer.state).toMatchObject({
            lastError: {
                code: "TIMEOUT",
                message: "watch of nodes: nothing came for 200 ms, the connection is dead",
                cause: { message: "aborted" },
            },
        });
        await informer.close();
    });

    it("hears no more of who ended its listening", async () => {
        const informer = start(new Script([[node("a", "1")], [node("a", "2")]], ["silent"]));
        await informer.synced();
        const changes: string[] = [];
        const lists: number[] = [];
        const listening = [
            informer.onChange((type) => void changes.push(type)),
            informer.onList((began) => void lists.push(began)),
        ];
        for (const each of listening) each[Symbol.dispose]();
        await informer.refresh();
        expect(informer.get("a")).toEqual(node("a", "2"));
        expect([changes, lists]).toEqual([["added"], []]);
    });

    it("names what was waited for when the wait is given up", async () => {
        const informer = start(new Script([new KubeError("FORBIDDEN", "no")], []));
        await expect(informer.synced(AbortSignal.abort())).rejects.toThrow("waiting for nodes was aborted");
        const waiting = informer.synced();
        await informer.close();
        await expect(waiting).rejects.toThrow("the informer of nodes was stopped");
        await expect(informer.refresh()).rejects.toThrow("the informer of nodes was stopped");
    });

    it("leaves nothing behind on the signal of a wait", async () => {
        const informer = start(new Script([[], [], []], ["silent"]));
        const waits = new AbortController();
        await informer.synced(waits.signal);
        await informer.refresh(waits.signal);
        expect(getEventListeners(waits.signal, "abort")).toEqual([]);
        await informer.close();
    });

    it("rejects who waits when it is closed without a start, and does nothing when it is started then", async () => {
        const script = new Script([[]], ["silent"]);
        const informer = new Informer({ api: script.api, logger: log.logger }, { resource: nodes });
        const waiting = [informer.synced(), informer.refresh()];
        const ended = Promise.all(
            waiting.map((each) => expect(each).rejects.toThrow("the informer of nodes was stopped")),
        );
        await informer.close();
        await ended;
        expect(informer.state).toEqual({ kind: "stopped" });
        await expect(informer.synced()).rejects.toMatchObject({ code: "ABORTED" });
        informer.start(stop.signal);
        await informer.close();
        expect([informer.state, script.lists]).toEqual([{ kind: "stopped" }, 0]);
    });

    it("logs an expired version in passing, however often it comes", async () => {
        const own = new MemoryLog("debug", "informer");
        const expired = new KubeError("EXPIRED", "too old");
        const script = new Script([[]], [expired, expired, expired, "silent"]);
        const informer = new Informer(
            { api: script.api, logger: own.logger },
            { resource: nodes, initialBackoffMs: 1, maxBackoffMs: 5 },
        );
        informer.start(stop.signal);
        await eventually(() => script.watchedFrom.length === 4);
        expect(own.records.map(({ level, code }) => [level, code])).toEqual(Array(3).fill(["info", "EXPIRED"]));
        await informer.close();
    });

    it("knows nothing before its first list, and then what was there when that began", async () => {
        const clock = new ManualClock();
        await clock.advance(1_000);
        const own = new Informer(
            {
                api: new Script([[node("a", "1")]], ["silent"]).api,
                logger: new MemoryLog("debug", "informer").logger,
                clock,
            },
            { resource: nodes },
        );
        expect(own.upToDateAt).toBe(-Infinity);
        const began = clock.monotonic();
        own.start(stop.signal);
        await own.synced();
        await clock.advance(60_000);
        expect(own.upToDateAt).toBe(began);
        await own.close();
    });

    it("reports to who comes late what was there before: by a list, at a time that is not known", async () => {
        const own = new MemoryLog("debug", "informer");
        const informer = new Informer(
            { api: new Script([[node("a", "1")]], ["silent"]).api, logger: own.logger },
            { resource: nodes },
        );
        informer.start(stop.signal);
        await informer.synced();
        const seen: unknown[] = [];
        informer.onChange((...change) => void seen.push(change));
        expect(seen).toEqual([["added", "a", node("a", "1"), undefined, { by: "list", after: -Infinity }]]);
        informer.onChange(() => {
            throw new Error("defect of a listener");
        });
        expect(own.records).toEqual([
            expect.objectContaining({ msg: "a change listener failed", type: "added", key: "a" }),
        ]);
        await informer.close();
    });
});
