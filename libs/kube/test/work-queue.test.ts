import { describe, expect, it } from "@jest/globals";
import { sleep } from "@antrea/async";
import { ManualClock, settle } from "@antrea/async/testing";
import { TerminalError } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { KubeError } from "../src/errors.ts";
import { WorkQueue, type Reconcile, type WorkQueueOptions } from "../src/work-queue.ts";

function make(reconcile: Reconcile, options: Partial<WorkQueueOptions> = {}) {
    const clock = new ManualClock();
    const stop = new AbortController();
    const results: string[] = [];
    const log = new MemoryLog();
    const queue = new WorkQueue(
        { logger: log.logger, clock, metrics: { done: (result) => results.push(result) } },
        { name: "test", initialBackoffMs: 100, maxBackoffMs: 1_000, ...options },
        reconcile,
    );
    return { queue, clock, stop, results, log };
}

describe("WorkQueue", () => {
    it("works on a key once for many adds, once more for adds meanwhile, and never twice at a time", async () => {
        const gate = Promise.withResolvers<void>();
        let running = 0;
        const runs: string[] = [];
        const { queue, stop } = make(async (key) => {
            running += 1;
            expect(running).toBe(1);
            runs.push(key);
            await gate.promise;
            running -= 1;
        });
        queue.add("a");
        queue.add("a");
        queue.start(stop.signal);
        await settle();
        queue.add("a");
        queue.add("a");
        gate.resolve();
        await queue.idle();
        expect(runs).toEqual(["a", "a"]);
    });

    it("keeps to its concurrency", async () => {
        const gate = Promise.withResolvers<void>();
        const running = new Set<string>();
        const { queue, stop } = make(
            async (key) => {
                running.add(key);
                await gate.promise;
            },
            { concurrency: 3 },
        );
        for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
        queue.start(stop.signal);
        await settle();
        expect([...running]).toEqual(["a", "b", "c"]);
        gate.resolve();
        await queue.idle();
        expect(running.size).toBe(5);
    });

    it("repeats failures with growing delays per key, at once when the key is added", async () => {
        let tries = 0;
        const { queue, clock, stop, results } = make(async () => {
            tries += 1;
            await Promise.reject(new KubeError("UNAVAILABLE", "down"));
        });
        queue.start(stop.signal);
        queue.add("a");
        await clock.advance(121);
        expect(tries).toBe(2);
        await clock.advance(121);
        expect(tries).toBe(2);
        queue.add("a");
        await clock.advance(0);
        expect(tries).toBe(3);
        await clock.advance(10_000);
        expect(tries).toBeGreaterThan(8);
        expect(new Set(results)).toEqual(new Set(["retry"]));
        stop.abort();
        expect(clock.pending).toBe(0);
    });

    it("obeys the delay that the API server asks for", async () => {
        let tries = 0;
        const { queue, clock, stop } = make(async () => {
            tries += 1;
            await Promise.reject(new KubeError("TOO_MANY_REQUESTS", "later", { retryAfterMs: 5_000 }));
        });
        queue.start(stop.signal);
        queue.add("a");
        await clock.advance(4_999);
        expect(tries).toBe(1);
        await clock.advance(1);
        expect(tries).toBe(2);
        stop.abort();
    });

    it("does not repeat what failed for good, and looks again when asked to", async () => {
        const runs: string[] = [];
        const { queue, clock, stop, results } = make(async (key) => {
            runs.push(key);
            if (key === "bad") throw new TerminalError("never");
            await Promise.resolve();
            return { requeueAfterMs: 500 };
        });
        queue.start(stop.signal);
        queue.add("bad");
        queue.add("good");
        await clock.advance(1_100);
        expect(runs).toEqual(["bad", "good", "good", "good"]);
        expect(results[0]).toBe("terminal");
        await queue.close();
        await clock.advance(5_000);
        expect(runs).toHaveLength(4);
    });

    it("close aborts the work's signal and waits for its end", async () => {
        let ended = false;
        const { queue, stop } = make(async (_key, signal) => {
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            ended = true;
        });
        queue.start(stop.signal);
        queue.add("a");
        await settle();
        await queue.close();
        expect(ended).toBe(true);
    });

    it("close gives up what waits, and takes no more", async () => {
        const gate = Promise.withResolvers<void>();
        const runs: string[] = [];
        const { queue, stop, clock } = make(async (key) => {
            runs.push(key);
            await gate.promise;
        });
        queue.start(stop.signal);
        queue.add("a");
        await settle();
        queue.add("b");
        queue.addAfter("c", 100);
        expect(queue.size).toBe(3);
        const idle = queue.idle();
        const closed = queue.close();
        await idle;
        queue.add("d");
        queue.addAfter("e", 100);
        gate.resolve();
        await closed;
        await clock.advance(1_000);
        expect(runs).toEqual(["a"]);
        expect(queue.size).toBe(0);
        expect(clock.pending).toBe(0);
    });

    it("ends with the signal it was started with, the first", async () => {
        const runs: string[] = [];
        const { queue, stop, clock } = make((key) => {
            runs.push(key);
            return Promise.resolve();
        });
        queue.start(stop.signal);
        queue.start(AbortSignal.abort());
        queue.addAfter("a", 100);
        await clock.advance(100);
        expect(runs).toEqual(["a"]);
        queue.addAfter("b", 100);
        stop.abort();
        queue.add("c");
        await clock.advance(1_000);
        expect(runs).toEqual(["a"]);
        await queue.idle();
    });

    it("of several times for a key the earliest counts, and an add comes before all of them", async () => {
        const runs: number[] = [];
        const { queue, stop, clock } = make(() => {
            runs.push(clock.monotonic());
            return Promise.resolve();
        });
        queue.start(stop.signal);
        queue.addAfter("a", 300);
        queue.addAfter("a", 100);
        queue.addAfter("a", 200);
        expect(queue.size).toBe(1);
        await clock.advance(1_000);
        expect(runs).toEqual([100]);
        queue.addAfter("a", 100);
        queue.add("a");
        await clock.advance(1_000);
        expect(runs).toEqual([100, 1_000]);
        stop.abort();
    });

    it("begins a key that was forgotten, or went well meanwhile, with the shortest delay again", async () => {
        const runs: number[] = [];
        let fails = true;
        const { queue, stop, clock } = make(async () => {
            runs.push(clock.monotonic());
            if (fails) await Promise.reject(new Error("made up"));
        });
        queue.start(stop.signal);
        const gapAfter = async (prepare: () => void): Promise<number> => {
            prepare();
            queue.add("a");
            await clock.advance(0);
            const began = runs.at(-1) ?? 0;
            const { length } = runs;
            while (runs.length === length) await clock.advance(1);
            return (runs.at(-1) ?? 0) - began;
        };
        for (let time = 0; time < 5; time += 1) await gapAfter(() => undefined);
        expect(await gapAfter(() => undefined)).toBeGreaterThan(500);
        expect(await gapAfter(() => queue.forget("a"))).toBeLessThanOrEqual(121);
        for (let time = 0; time < 5; time += 1) await gapAfter(() => undefined);
        fails = false;
        queue.add("a");
        await clock.advance(0);
        expect(await gapAfter(() => (fails = true))).toBeLessThanOrEqual(121);
        stop.abort();
    });

    it("logs what failed and when it is tried again, but no work that was aborted", async () => {
        let error: Error = new KubeError("ABORTED", "made up");
        const { queue, stop, clock, log } = make(() => Promise.reject(error));
        queue.start(stop.signal);
        queue.add("a");
        await clock.advance(0);
        expect(log.records).toEqual([]);
        error = new KubeError("UNAVAILABLE", "down");
        queue.add("a");
        await clock.advance(0);
        expect(log.records).toEqual([
            expect.objectContaining({ level: "warn", queue: "test", key: "a", delayMs: expect.any(Number) }),
        ]);
        error = new TerminalError("never");
        queue.add("a");
        await clock.advance(60_000);
        expect(log.records.slice(1)).toEqual([expect.objectContaining({ level: "error", queue: "test", key: "a" })]);
        stop.abort();
    });

    it("says how many keys wait and how long the work took; nobody need listen", async () => {
        const clock = new ManualClock();
        const depths: number[] = [];
        const done: unknown[] = [];
        const work: Reconcile = async () => sleep(1_500, undefined, clock);
        const metrics = {
            depth: (keys: number) => void depths.push(keys),
            done: (...one: unknown[]) => void done.push(one),
        };
        for (const each of [metrics, {}, undefined]) {
            const components = {
                logger: new MemoryLog().logger,
                clock,
                ...(each === undefined ? {} : { metrics: each }),
            };
            await using queue = new WorkQueue(components, { name: "test" }, work);
            queue.add("a");
            queue.add("b");
            queue.start(new AbortController().signal);
            await clock.advance(3_000);
            await queue.idle();
        }
        expect(depths.slice(0, 3)).toEqual([1, 2, 1]);
        expect(depths.at(-1)).toBe(0);
        expect(done).toEqual([
            ["success", 1.5],
            ["success", 1.5],
        ]);
    });
});
