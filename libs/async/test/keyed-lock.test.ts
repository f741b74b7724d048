import { describe, expect, it } from "@jest/globals";
import { KeyedLock } from "../src/keyed-lock.ts";
import { settle } from "../src/testing/index.ts";

describe("KeyedLock", () => {
    it("is serial for a key in the order of the calls, failed work included, and parallel across keys", async () => {
        const lock = new KeyedLock();
        const events: string[] = [];
        const gates = { a1: Promise.withResolvers<void>(), a2: Promise.withResolvers<void>() };
        const a1 = lock.run("a", async () => {
            events.push("a1");
            await gates.a1.promise;
            throw new TypeError("a1 failed");
        });
        const a2 = lock.run("a", async () => {
            events.push("a2");
            await gates.a2.promise;
        });
        const a3 = lock.run("a", () => events.push("a3"));
        await lock.run("b", () => events.push("b"));
        await settle();
        expect(events).toEqual(["a1", "b"]);
        expect(lock.size).toBe(1);
        gates.a1.resolve();
        await expect(a1).rejects.toThrow("a1 failed");
        await settle();
        expect(events).toEqual(["a1", "b", "a2"]);
        gates.a2.resolve();
        await Promise.all([a2, a3]);
        await settle();
        expect(events).toEqual(["a1", "b", "a2", "a3"]);
        expect(lock.size).toBe(0);
    });

    it("lets a waiter give up without letting the next one overtake", async () => {
        const lock = new KeyedLock();
        const first = Promise.withResolvers<void>();
        const ending = new AbortController();
        const events: string[] = [];
        const held = lock.run("a", () => first.promise);
        const waiting = lock.run("a", () => events.push("never"), ending.signal);
        const next = lock.run("a", () => events.push("next"));
        ending.abort();
        await expect(waiting).rejects.toMatchObject({ code: "ABORTED", message: "waiting for a was cancelled" });
        await settle();
        expect(events).toEqual([]);
        first.resolve();
        await Promise.all([held, next]);
        await settle();
        expect(events).toEqual(["next"]);
        expect(lock.size).toBe(0);
        await expect(lock.run("a", () => 1, ending.signal)).rejects.toMatchObject({ code: "ABORTED" });
    });

    it("runs a work of several keys after the earlier ones of each, and before the later ones", async () => {
        const lock = new KeyedLock();
        const gates = { a: Promise.withResolvers<void>(), b: Promise.withResolvers<void>() };
        const events: string[] = [];
        const work = (name: string, gate?: Promise<void>) => async (): Promise<void> => {
            events.push(name);
            await gate;
        };
        const all = [
            lock.run("a", work("a", gates.a.promise)),
            lock.run("b", work("b", gates.b.promise)),
            lock.runAll(["b", "a"], work("both")),
            lock.runAll(["a", "b"], work("both again")),
            lock.run("b", work("b later")),
            lock.run("c", work("c")),
        ];
        await settle();
        gates.b.resolve();
        await settle();
        expect(events).toEqual(["a", "b", "c"]);
        gates.a.resolve();
        await Promise.all(all);
        expect(events).toEqual(["a", "b", "c", "both", "both again", "b later"]);
        await settle();
        expect(lock.size).toBe(0);
    });
});
