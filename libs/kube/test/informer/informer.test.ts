import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { ManualClock, settle } from "@antrea/async/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { nodes } from "../../src/api/resources.ts";
import { type Node } from "../../src/api/types.ts";
import { KubeError } from "../../src/errors.ts";
import { Informer } from "../../src/informer/informer.ts";
import { type InformerComponents } from "../../src/informer/types.ts";
import { event, node, Script } from "./script.ts";
import { eventually } from "../../src/testing/eventually.ts";

describe("Informer", () => {
    const log = new MemoryLog("debug", "informer");
    let stop: AbortController;
    let changes: string[];

    beforeEach(() => {
        stop = new AbortController();
        changes = [];
        aheadMs = 0;
    });
    afterEach(() => stop.abort());

    /** By how much the clock of the informer is ahead of the machine's. */
    let aheadMs: number;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };

    function start(script: Script, options: { readonly idleTimeoutMs?: number; readonly maxLineBytes?: number } = {}) {
        const informer = new Informer(
            { api: script.api, logger: log.logger, clock },
            { resource: nodes, initialBackoffMs: 1, maxBackoffMs: 5, ...options },
        );
        informer.onChange((type, key, object, old) => {
            changes.push(`${type} ${key} ${old?.metadata?.resourceVersion ?? "-"}>${object.metadata?.resourceVersion}`);
        });
        informer.start(stop.signal);
        return informer;
    }

    it("lists, follows changes and resumes from the last version, bookmarks included", async () => {
        const script = new Script(
            [[node("a", "1"), node("b", "2")]],
            [
                event("MODIFIED", node("a", "101")) + event("ADDED", node("c", "102")),
                event("DELETED", node("b", "103")) + event("BOOKMARK", { metadata: { resourceVersion: "150" } }),
                "silent",
            ],
        );
        const informer = start(script);
        await informer.synced();
        await eventually(() => script.watchedFrom.length === 3);
        expect(script.watchedFrom).toEqual(["100", "102", "150"]);
        expect(script.lists).toBe(1);
        expect(changes).toEqual(["added a ->1", "added b ->2", "updated a 1>101", "added c ->102", "deleted b 2>103"]);
        expect(informer.list().map((each) => each.metadata?.name)).toEqual(["a", "c"]);
    });

    const expired = { kind: "Status", code: 410, reason: "Expired" };
    const future = {
        kind: "Status",
        code: 504,
        reason: "Timeout",
        details: { causes: [{ reason: "ResourceVersionTooLarge" }] },
    };
    it.each([
        ["an expired version", event("ERROR", expired)],
        ["a server that lost its past", event("ERROR", future)],
        ["garbage", '{"type":\n'],
        ["a line that is too long", `"${"x".repeat(2_000)}"`],
    ])("after %s it lists again and reports the difference", async (_name, watch) => {
        const script = new Script(
            [
                [node("a", "1"), node("b", "2"), node("same", "3")],
                [node("b", "5", "uid-new"), node("c", "6"), node("same", "3")],
            ],
            [watch, "silent"],
        );
        start(script, { maxLineBytes: 1_000 });
        await eventually(() => script.watchedFrom.length === 2);
        expect(script.watchedFrom).toEqual(["100", "200"]);
        expect(changes.slice(3)).toEqual(["deleted a 1>1", "deleted b 2>2", "added b ->5", "added c ->6"]);
    });

    /** An informer whose watches the test writes itself, on a clock of the test, and the changes that it reports. */
    function writtenByHand(...first: readonly Node[]) {
        const clock = new ManualClock();
        const watches: Readable[] = [];
        const server = { listed: first };
        const api: InformerComponents["api"] = {
            list: (() => Promise.resolve({ items: server.listed, resourceVersion: "100" })) as never,
            watch: (_resource, { signal }) => {
                const stream = new Readable({ read: () => undefined });
                signal.addEventListener("abort", () => stream.destroy(new Error("aborted")));
                watches.push(stream);
                return Promise.resolve(stream as never);
            },
        };
        const informer = new Informer({ api, logger: log.logger, clock }, { resource: nodes });
        const sources: string[] = [];
        informer.onChange(
            (type, key, _object, _old, { by, after }) => void sources.push(`${type} ${key} ${by} ${after}`),
        );
        return { clock, watches, server, informer, sources };
    }

    it("reports since when a change may be: as long as nothing was heard, be it by a list or by a watch that went on", async () => {
        const { clock, watches, server, informer, sources } = writtenByHand(
            node("a", "1"),
            node("b", "2"),
            node("c", "3"),
        );
        const lists: string[] = [];
        informer.onList((began) => void lists.push(`${began} after ${sources.length} changes`));
        const at = async (ms: number): Promise<void> => clock.advance(ms - clock.monotonic());
        const send = async (text: string): Promise<void> => {
            const before = sources.length;
            watches.at(-1)?.push(text);
            if (!text.includes("BOOKMARK")) await eventually(() => sources.length > before);
            await settle();
        };
        const bookmark = event("BOOKMARK", { metadata: { resourceVersion: "150" } });
        await at(1_000);
        informer.start(stop.signal);
        await eventually(() => watches.length === 1);
        await at(20_000);
        await send(event("MODIFIED", node("a", "101")));
        // Not heard of for 280 s; then all at once, by a watch that goes on from where it was.
        watches[0]?.push(null);
        await settle();
        await at(300_000);
        await eventually(() => watches.length === 2);
        await send(event("MODIFIED", node("a", "102")));
        await send(event("DELETED", node("b", "103")));
        for (let ms = 310_000; ms <= 340_000; ms += 10_000) {
            await at(ms);
            await send(bookmark);
        }
        await at(350_000);
        await send(event("MODIFIED", node("a", "151")));
        server.listed = [node("a", "151")];
        await at(360_000);
        await informer.refresh();
        expect(sources.slice(3)).toEqual([
            "updated a watch 20000",
            "updated a watch 20000",
            "deleted b watch 20000",
            "updated a watch 350000",
            "deleted c list 350000",
        ]);
        expect(lists).toEqual(["1000 after 3 changes", "360000 after 8 changes"]);
        await informer.close();
    });

    it.each([
        ["at once", ""],
        ["after a line that was held up", event("BOOKMARK", { metadata: { resourceVersion: "150" } })],
    ])(
        "takes no answer that the version is forgotten, %s, for being up to date: what a list then shows may be as old as the silence (found by the simulation)",
        async (_name, before) => {
            const { clock, watches, server, informer, sources } = writtenByHand(node("a", "1"), node("b", "2"));
            informer.start(stop.signal);
            await eventually(() => watches.length === 1);
            await clock.advance(20_000);
            watches[0]?.push(event("MODIFIED", node("a", "101")));
            await eventually(() => sources.length === 3);
            watches[0]?.push(null);
            await settle();
            await clock.advance(280_000);
            await eventually(() => watches.length === 2);
            server.listed = [node("a", "101")];
            watches[1]?.push(before);
            await settle();
            watches[1]?.push(event("ERROR", expired));
            await settle();
            await clock.advance(1_000);
            await eventually(() => sources.length === 4);
            expect(sources.at(-1)).toBe("deleted b list 20000");
            await informer.close();
        },
    );

    it.each([
        ["a refused connection", new KubeError("CONNECTION_FAILED", "refused")],
        ["an overloaded server", new KubeError("TOO_MANY_REQUESTS", "later")],
    ])("after %s it goes on from the last version", async (_name, error) => {
        const script = new Script([[node("a", "1")]], [error, error, event("ADDED", node("b", "101")), "silent"]);
        start(script);
        await eventually(() => script.watchedFrom.length === 4);
        expect(script.watchedFrom).toEqual(["100", "100", "100", "101"]);
        expect(script.lists).toBe(1);
    });

    it("notices a connection on which nothing comes any more", async () => {
        const script = new Script([[node("a", "1")]], ["silent"]);
        const informer = start(script, { idleTimeoutMs: 20 });
        await eventually(() => script.watchedFrom.length >= 2);
        // Resumed, not from the version of another list.
        expect(script.watchedFrom.slice(0, 2)).toEqual(["100", "100"]);
        await informer.close();
        expect(informer.state.kind).toBe("stopped");
    });

    it("lists anew when a watch that it resumed never sends anything: the server may have lost the versions since", async () => {
        // The last one had come to a version that the server does not have after a restore of etcd.
        const later = event("MODIFIED", node("b", "900"));
        const script = new Script([[node("a", "1"), node("b", "2")]], [later, "silent"]);
        const informer = start(script, { idleTimeoutMs: 50 });
        await eventually(() => script.lists >= 2);
        expect(script.watchedFrom.slice(0, 2)).toEqual(["100", "900"]);
        expect(informer.get("b")?.metadata?.resourceVersion).toBe("2");
    });

    it("goes on from the last version after a resumed watch that reported something before it fell silent", async () => {
        const bookmark = event("BOOKMARK", { metadata: { resourceVersion: "150" } });
        const script = new Script([[node("a", "1")]], [event("MODIFIED", node("a", "101")), { open: bookmark }]);
        start(script, { idleTimeoutMs: 50 });
        await eventually(() => script.watchedFrom.length >= 3);
        expect(script.watchedFrom.slice(0, 3)).toEqual(["100", "101", "150"]);
        expect(script.lists).toBe(1);
    });

    it("lists at most once in 10 min for a watch of what stays as it is: the server may have nothing to say of it", async () => {
        const script = new Script([[node("a", "1")]], ["silent"]);
        start(script, { idleTimeoutMs: 10 });
        await eventually(() => script.lists === 2);
        await eventually(() => script.watchedFrom.length > 10);
        expect(script.lists).toBe(2);
        aheadMs = 590_000;
        const { length } = script.watchedFrom;
        await eventually(() => script.watchedFrom.length > length + 5);
        expect(script.lists).toBe(2);
        aheadMs = 610_000;
        await eventually(() => script.lists === 3);
        expect(changes).toEqual(["added a ->1"]);
    });

    const bookmark = event("BOOKMARK", { metadata: { resourceVersion: "900" } });
    it.each([
        ["the list was another than what was known", [[node("a", "1")], [node("a", "2")], [node("a", "3")]], []],
        ["the list had less than what was known", [[node("a", "1"), node("b", "1")], [node("a", "1")], []], []],
        ["a watch reported something since", [[node("a", "1")]], ["silent", "silent", "silent", { open: bookmark }]],
        ["a watch was broken since", [[node("a", "1")]], ["silent", "silent", "silent", ""]],
        [
            "the connection of a watch that had sent nothing was reset since",
            [[node("a", "1")]],
            ["silent", "silent", "silent", { broken: new TypeError("ECONNRESET") }],
        ],
        [
            "the server was away since, as it is while etcd is restored",
            [[node("a", "1")]],
            ["silent", "silent", "silent", new KubeError("CONNECTION_FAILED", "refused")],
        ],
    ] as const)("lists again for a silent watch without that wait when %s", async (_name, lists, watches) => {
        const script = new Script([...lists], [...watches, "silent"]);
        start(script, { idleTimeoutMs: 10 });
        await eventually(() => script.lists === 3);
    });

    it("takes no other list for one that shows no change", async () => {
        const gone = event("ERROR", expired);
        const script = new Script([[node("a", "1")]], ["silent", "silent", gone, "silent"]);
        start(script, { idleTimeoutMs: 10 });
        // The second for the silent watch, the third for the version that is forgotten, the fourth for a silent watch again.
        await eventually(() => script.lists === 4);
    });

    it("gives each watch a time of its own, 80 to 120 s, so that not all agents of a cluster list at once", async () => {
        const timers = jest.spyOn(globalThis, "setTimeout");
        const closed = event("BOOKMARK", { metadata: { resourceVersion: "900" } });
        const script = new Script([[node("a", "1")]], [closed]);
        start(script);
        await eventually(() => script.watchedFrom.length > 10);
        const limits = new Set(timers.mock.calls.map(([, ms = 0]) => ms).filter((ms) => ms > 10_000));
        timers.mockRestore();
        expect(limits.size).toBeGreaterThan(5);
        expect(Math.min(...limits)).toBeGreaterThanOrEqual(80_000);
        expect(Math.max(...limits)).toBeLessThan(120_000);
    });

    it("waits at least as long as the server asks", async () => {
        const busy = new KubeError("TOO_MANY_REQUESTS", "later", { retryAfterMs: 120 });
        const script = new Script([[node("a", "1")]], [busy, "silent"]);
        const informer = start(script);
        await informer.synced();
        const began = performance.now();
        await eventually(() => script.watchedFrom.length === 2);
        expect(performance.now() - began).toBeGreaterThan(100);
    });

    it("outlives listeners that throw, and reports to late listeners what is there", async () => {
        const script = new Script([[node("a", "1")]], [event("ADDED", node("b", "101")), "silent"]);
        const informer = start(script);
        informer.onChange(() => {
            throw new Error("defect of a listener");
        });
        await eventually(() => informer.get("b") !== undefined);
        const late: string[] = [];
        using _late = informer.onChange((type, key) => late.push(`${type} ${key}`));
        expect(late).toEqual(["added a", "added b"]);
        expect(log.messages("error")).toContain("a change listener failed");
    });

    it("has its list, whatever a listener to lists throws, and calls the others", async () => {
        const script = new Script([[node("a", "1")]], ["silent"]);
        const own = new MemoryLog("debug", "informer");
        const informer = new Informer({ api: script.api, logger: own.logger }, { resource: nodes });
        const lists: number[] = [];
        informer.onList(() => {
            throw new Error("defect of a listener");
        });
        informer.onList((began) => void lists.push(began));
        informer.start(stop.signal);
        await informer.synced(AbortSignal.timeout(60_000));
        await informer.refresh(AbortSignal.timeout(60_000));
        expect([lists.length, script.lists]).toEqual([2, 2]);
        expect(own.messages("error")).toEqual(["a list listener failed", "a list listener failed"]);
    });

    it("lists anew when it is asked to, once for all who ask meanwhile, and reports the difference", async () => {
        const script = new Script([[node("a", "1")], [node("a", "7"), node("b", "8")]], ["silent"]);
        const informer = start(script);
        await eventually(() => script.watchedFrom.length === 1);
        await Promise.all([informer.refresh(), informer.refresh(stop.signal)]);
        expect(script.lists).toBe(2);
        expect(changes).toEqual(["added a ->1", "updated a 1>7", "added b ->8"]);
        await eventually(() => script.watchedFrom.length === 2);
        expect(script.watchedFrom).toEqual(["100", "200"]);
    });

    it("counts only a list that begins after it was asked for, and repeats one that fails", async () => {
        const away = new KubeError("CONNECTION_FAILED", "away");
        const script = new Script([[node("a", "1")], [node("a", "2")], away, [node("a", "3")]], ["silent"]);
        const { api } = script;
        const gates: (() => void)[] = [];
        const list = (async (...args: Parameters<typeof api.list>) => {
            const answer = await api.list(...args);
            await new Promise<void>((resolve) => gates.push(resolve));
            return answer;
        }) as typeof api.list;
        const informer = new Informer(
            { api: { ...api, list }, logger: log.logger },
            { resource: nodes, initialBackoffMs: 1, maxBackoffMs: 5 },
        );
        informer.start(stop.signal);
        await eventually(() => gates.length === 1);
        gates[0]?.();
        await informer.synced();
        const first = informer.refresh();
        await eventually(() => gates.length === 2);
        let isDone = false;
        const second = informer.refresh().then(() => (isDone = true));
        gates[1]?.();
        await first;
        expect(informer.get("a")?.metadata?.resourceVersion).toBe("2");
        await eventually(() => gates.length === 3);
        expect(isDone).toBe(false);
        gates[2]?.();
        await second;
        expect(informer.get("a")?.metadata?.resourceVersion).toBe("3");
    });

    it("rejects who waits for a new list when it is stopped", async () => {
        const informer = start(new Script([[node("a", "1")], new KubeError("FORBIDDEN", "no")], ["silent"]));
        await informer.synced();
        const refreshed = informer.refresh();
        refreshed.catch(() => undefined);
        await expect(informer.refresh(AbortSignal.timeout(5))).rejects.toMatchObject({ code: "ABORTED" });
        await informer.close();
        await expect(refreshed).rejects.toMatchObject({ code: "ABORTED" });
        await expect(informer.refresh()).rejects.toMatchObject({ code: "ABORTED" });
    });

    it("rejects waiters when it is stopped before the first list", async () => {
        const informer = start(new Script([new KubeError("FORBIDDEN", "no")], []));
        const synced = informer.synced();
        const given = informer.synced(AbortSignal.timeout(5));
        await expect(given).rejects.toMatchObject({ code: "ABORTED" });
        await informer.close();
        await expect(synced).rejects.toMatchObject({ code: "ABORTED" });
    });
});
