import { describe, expect, it } from "@jest/globals";
import { AsyncError } from "@antrea/async";
import { settle } from "@antrea/async/testing";
import { Reconciler } from "../../src/reconciler/index.ts";
import { Fixture } from "./fixture.ts";

describe("a pass", () => {
    it("brings about what changed and nothing else, deletions first", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        await reconciler.pass();
        fixture.done();
        reconciler.replace(new Map(Object.entries({ a: 1, b: 2 })));
        expect(await reconciler.pass()).toMatchObject({ failed: 0, againInMs: undefined });
        expect(fixture.done()).toEqual(["update a=1 was ?", "update b=2 was ?"]);
        await reconciler.pass();
        reconciler.replace(new Map(Object.entries({ b: 3, c: 4 })));
        await reconciler.pass();
        expect(fixture.done()).toEqual(["delete a=1", "update b=3 was 2", "update c=4 was ?"]);
        expect(Object.fromEntries(actual)).toEqual({ b: 3, c: 4 });
        expect([reconciler.status("a"), reconciler.status("b")?.state]).toEqual([undefined, "done"]);
    });

    it("compares all at first, in time, and when asked to: what others removed, changed or left is put right", async () => {
        const fixture = new Fixture();
        const { reconciler, actual, clock } = fixture;
        actual.set("left", 9);
        reconciler.set("a", 1);
        reconciler.set("b", 2);
        await reconciler.pass();
        expect(Object.fromEntries(actual)).toEqual({ a: 1, b: 2 });
        actual.delete("a");
        actual.set("b", 7);
        await reconciler.pass();
        expect(actual.has("a")).toBe(false);
        fixture.done();
        await clock.advance(60_000);
        await reconciler.pass();
        expect(fixture.done()).toEqual(["prune", "update a=1 was ?", "update b=2 was ?"]);
        actual.clear();
        reconciler.askForFull();
        await reconciler.pass();
        expect(Object.fromEntries(actual)).toEqual({ a: 1, b: 2 });
    });

    it("in one go where that is offered; one that is refused keeps no other from its place", async () => {
        const fixture = new Fixture({ inBatches: true });
        const { reconciler, actual } = fixture;
        for (const key of ["a", "b", "c"]) reconciler.set(key, 1);
        await reconciler.pass();
        expect(fixture.done()).toEqual(["prune", "updateMany a,b,c"]);
        fixture.refused.set("b", "refused by the kernel");
        for (const key of ["a", "b", "c"]) reconciler.set(key, 2);
        expect(await reconciler.pass()).toMatchObject({ failed: 1, againInMs: 1000 });
        expect(fixture.done()).toEqual([
            "updateMany a,b,c",
            "update a=2 was 1",
            "update b=2 was 1",
            "update c=2 was 1",
        ]);
        expect(Object.fromEntries(actual)).toEqual({ a: 2, b: 1, c: 2 });
        fixture.refused.clear();
        reconciler.replace(new Map());
        await reconciler.pass();
        expect(fixture.done()).toEqual(["deleteMany a,b,c"]);
        expect(actual.size).toBe(0);
    });

    it("deletes one that it never set, if it is given what may be there", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        await reconciler.pass();
        actual.set("old", 5).set("other", 6);
        reconciler.delete("old", 5);
        reconciler.delete("other");
        await reconciler.pass();
        expect([...actual.keys()]).toEqual(["other"]);
    });

    it("takes for done what a comparison finds in place", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        actual.set("a", 1).set("b", 7);
        reconciler.set("a", 1);
        reconciler.set("b", 2);
        await reconciler.pass();
        expect(fixture.done()).toEqual(["prune", "update b=2 was ?"]);
        expect(reconciler.counts()).toEqual({ pending: 0, done: 2, error: 0 });
    });

    it("whose comparison fails rejects, and compares again the next time", async () => {
        const fixture = new Fixture();
        const { reconciler } = fixture;
        fixture.pause = () => Promise.reject(new Error("no answer"));
        await expect(reconciler.pass()).rejects.toThrow("no answer");
        fixture.pause = () => Promise.resolve();
        fixture.done();
        await reconciler.pass();
        expect(fixture.done()).toEqual(["prune"]);
    });

    it("that is aborted rejects, and leaves the rest pending without a failure", async () => {
        const fixture = new Fixture();
        const { reconciler } = fixture;
        await reconciler.pass();
        reconciler.set("a", 1);
        reconciler.set("b", 1);
        const abort = new AbortController();
        fixture.pause = () => {
            abort.abort();
            return Promise.reject(new AsyncError("ABORTED", "aborted", "stopped"));
        };
        await expect(reconciler.pass(abort.signal)).rejects.toThrow();
        expect(["a", "b"].map((key) => reconciler.status(key)?.state)).toEqual(["pending", "pending"]);
        fixture.pause = () => Promise.resolve();
        await reconciler.pass();
        expect(["a", "b"].map((key) => reconciler.status(key)?.state)).toEqual(["done", "done"]);
    });

    it("works on several objects at a time if it may", async () => {
        const fixture = new Fixture({ concurrency: 2 });
        const { reconciler } = fixture;
        await reconciler.pass();
        fixture.done();
        let release: () => void = () => undefined;
        const stopped = new Promise<void>((resolve) => (release = resolve));
        fixture.pause = () => stopped;
        for (const key of ["a", "b", "c"]) reconciler.set(key, 1);
        const pass = reconciler.pass();
        await settle();
        expect(fixture.done()).toEqual(["update a=1 was ?", "update b=1 was ?"]);
        release();
        await pass;
        expect(fixture.done()).toEqual(["update c=1 was ?"]);
    });
});

describe("an object that fails", () => {
    it("is retried after a growing delay of its own; a change of it is tried at once", async () => {
        const fixture = new Fixture();
        const { reconciler, clock } = fixture;
        await reconciler.pass();
        fixture.refused.set("a", "no");
        reconciler.set("a", 1);
        expect(await reconciler.pass()).toMatchObject({ failed: 1, againInMs: 1000 });
        fixture.done();
        await clock.advance(999);
        reconciler.set("b", 1);
        expect(await reconciler.pass()).toMatchObject({ failed: 1, againInMs: 1 });
        expect(fixture.done()).toEqual(["update b=1 was ?"]);
        await clock.advance(1);
        expect(await reconciler.pass()).toMatchObject({ failed: 1, againInMs: 2000 });
        reconciler.set("a", 2);
        expect(await reconciler.pass()).toMatchObject({ failed: 1, againInMs: 1000 });
        fixture.refused.clear();
        await clock.advance(1000);
        expect(await reconciler.pass()).toMatchObject({ failed: 0, againInMs: undefined });
    });

    it("is retried at once when its cause may be gone, and later again if it is not", async () => {
        const fixture = new Fixture();
        const { reconciler } = fixture;
        fixture.refused.set("a", "no");
        reconciler.set("a", 1);
        await reconciler.pass();
        reconciler.retry("a");
        reconciler.retry("unknown");
        expect(await reconciler.pass()).toMatchObject({ failed: 1, againInMs: 2000 });
        fixture.refused.clear();
        reconciler.retry("a");
        expect(await reconciler.pass()).toMatchObject({ failed: 0, againInMs: undefined });
        expect(fixture.done()).toEqual(["prune", "update a=1 was ?", "update a=1 was ?", "update a=1 was ?"]);
    });

    it("has the reason, the number of tries and the time in its status", async () => {
        const fixture = new Fixture();
        const { reconciler, clock } = fixture;
        const startMs = clock.now();
        await reconciler.pass();
        reconciler.set("a", 1);
        expect(reconciler.status("a")).toEqual({ state: "pending", message: undefined, sinceMs: startMs, failures: 0 });
        await clock.advance(500);
        fixture.refused.set("a", "no");
        await reconciler.pass();
        await clock.advance(1000);
        await reconciler.pass();
        const failed = { state: "error", message: "no", sinceMs: startMs + 500, failures: 2 };
        expect(reconciler.status("a")).toEqual(failed);
        fixture.refused.clear();
        await clock.advance(2000);
        await reconciler.pass();
        expect(reconciler.status("a")).toEqual({
            state: "done",
            message: undefined,
            sinceMs: startMs + 3500,
            failures: 0,
        });
    });

    it("is logged once for each reason, in one line with others of that reason, and when it is in place", async () => {
        const fixture = new Fixture();
        const { reconciler, clock, log } = fixture;
        await reconciler.pass();
        for (const key of ["a", "b"]) {
            fixture.refused.set(key, "no");
            reconciler.set(key, 1);
        }
        for (let at = 0; at < 4; at += 1) {
            await reconciler.pass();
            await clock.advance(10_000);
        }
        const lines = (): readonly unknown[] =>
            log.records
                .filter(({ level }) => level !== "debug")
                .map(({ level, objects, count, reason }) => [level, objects, count, reason]);
        expect(lines()).toEqual([["warn", ["a", "b"], 2, "no"]]);
        fixture.refused.set("a", "never");
        fixture.refused.delete("b");
        await clock.advance(60_000);
        await reconciler.pass();
        expect(lines().slice(1)).toEqual([
            ["warn", ["a"], 1, "never"],
            ["info", ["b"], 1, undefined],
        ]);
    });

    it("is counted, like all others", async () => {
        const fixture = new Fixture();
        const { reconciler, metrics } = fixture;
        fixture.refused.set("a", "no");
        for (const key of ["a", "b", "c"]) reconciler.set(key, 1);
        await reconciler.pass();
        reconciler.delete("c");
        const text = await metrics.text();
        for (const line of [
            'antrea_reconciler_objects{reconciler="fixture",status="pending"} 1',
            'antrea_reconciler_objects{reconciler="fixture",status="done"} 1',
            'antrea_reconciler_objects{reconciler="fixture",status="error"} 1',
            'antrea_reconciler_operations_total{reconciler="fixture",operation="update",result="success"} 2',
            'antrea_reconciler_operations_total{reconciler="fixture",operation="update",result="failure"} 1',
            'antrea_reconciler_operations_total{reconciler="fixture",operation="prune",result="success"} 1',
            'antrea_reconciler_operation_duration_seconds_count{reconciler="fixture",operation="update"} 3',
        ]) {
            expect(text).toContain(line);
        }
    });

    it("is not counted any more once the reconciler is disposed, unless a later one of its name counts", async () => {
        const { reconciler, clock, log, metrics } = new Fixture();
        reconciler.set("a", 1);
        const noOperations = { update: () => Promise.resolve(), delete: () => Promise.resolve() };
        const later = new Reconciler<string, number>(
            { logger: log.logger, clock, metrics },
            { name: "fixture" },
            noOperations,
        );
        later.set("a", 1);
        later.set("b", 1);
        reconciler[Symbol.dispose]();
        expect(await metrics.text()).toContain('antrea_reconciler_objects{reconciler="fixture",status="pending"} 2');
        later[Symbol.dispose]();
        expect(await metrics.text()).not.toContain('antrea_reconciler_objects{reconciler="fixture"');
    });
});

describe("apply", () => {
    it("brings one object about at once, whether its retry is due or not, and rejects with its failure", async () => {
        const fixture = new Fixture();
        const { reconciler, actual, log } = fixture;
        await reconciler.pass();
        reconciler.set("a", 1);
        reconciler.set("b", 1);
        fixture.refused.set("a", "no");
        await expect(reconciler.apply("a")).rejects.toThrow("no");
        expect(reconciler.status("a")).toMatchObject({ state: "error", message: "no" });
        fixture.refused.clear();
        await reconciler.apply("a");
        expect([...actual.keys()]).toEqual(["a"]);
        await reconciler.apply("a");
        await reconciler.apply("unknown");
        expect(fixture.done()).toEqual(["prune", "update a=1 was ?", "update a=1 was ?"]);
        // Its caller reports what failed.
        expect(log.messages()).toEqual([]);
    });

    it("of a refreshed object updates it again", async () => {
        const fixture = new Fixture();
        const { reconciler } = fixture;
        reconciler.set("a", 1);
        await reconciler.apply("a");
        reconciler.refresh("a");
        await reconciler.apply("a");
        expect(fixture.done()).toEqual(["update a=1 was ?", "update a=1 was ?"]);
    });

    it("of an object refreshed during its update updates it again, with its value in place unknown", async () => {
        const fixture = new Fixture();
        const { reconciler } = fixture;
        const held = Promise.withResolvers<void>();
        fixture.pause = () => held.promise;
        reconciler.set("a", 1);
        const first = reconciler.apply("a");
        await settle();
        reconciler.refresh("a");
        held.resolve();
        await first;
        expect(reconciler.status("a")?.state).toBe("pending");
        await reconciler.apply("a");
        expect(reconciler.status("a")?.state).toBe("done");
        expect(fixture.done()).toEqual(["update a=1 was ?", "update a=1 was ?"]);
    });

    it("of an older value that fails does not delay the newer one", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        const held = Promise.withResolvers<void>();
        fixture.pause = () => held.promise;
        fixture.refused.set("a", "refused by the kernel");
        reconciler.set("a", 1);
        const first = reconciler.apply("a");
        await settle();
        reconciler.set("a", 2);
        held.resolve();
        await Promise.allSettled([first]);
        fixture.refused.clear();
        await reconciler.pass();
        expect(actual.get("a")).toBe(2);
    });

    it("of an object adopted during the update to an older value puts the newer one in place again", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        const held = Promise.withResolvers<void>();
        fixture.pause = () => held.promise;
        reconciler.set("a", 1);
        const first = reconciler.apply("a");
        await settle();
        actual.set("a", 2);
        reconciler.adopt("a", 2);
        held.resolve();
        await first;
        await reconciler.pass();
        expect(actual.get("a")).toBe(2);
        expect(reconciler.status("a")?.state).toBe("done");
    });

    it("waits for the work on its object, not for that on others, and gives up waiting when it is aborted", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        const held = Promise.withResolvers<void>();
        fixture.pause = () => held.promise;
        reconciler.set("a", 1);
        const first = reconciler.apply("a");
        await settle();
        fixture.pause = () => Promise.resolve();
        reconciler.set("a", 2);
        const second = reconciler.apply("a");
        const third = reconciler.apply("a", AbortSignal.abort());
        await expect(third).rejects.toMatchObject({ code: "ABORTED" });
        reconciler.set("b", 1);
        await reconciler.apply("b");
        expect(Object.fromEntries(actual)).toEqual({ b: 1 });
        held.resolve();
        await Promise.all([first, second]);
        expect(Object.fromEntries(actual)).toEqual({ a: 2, b: 1 });
        expect(fixture.done()).toEqual(["update a=1 was ?", "update b=1 was ?", "update a=2 was 1"]);
    });

    it("waits for a comparison under way, which would take what it makes for a leftover", async () => {
        const fixture = new Fixture();
        const { reconciler, actual } = fixture;
        const held = Promise.withResolvers<void>();
        fixture.pause = () => held.promise;
        const pass = reconciler.pass();
        await settle();
        reconciler.set("a", 1);
        const applied = reconciler.apply("a");
        await settle();
        expect(fixture.done()).toEqual(["prune"]);
        held.resolve();
        await Promise.all([pass, applied]);
        expect(Object.fromEntries(actual)).toEqual({ a: 1 });
    });
});
