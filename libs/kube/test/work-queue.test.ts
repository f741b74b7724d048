import { describe, expect, it } from "@jest/globals";
import { TerminalError } from "@antrea/runtime";
import { ManualClock, MemoryLog, settle } from "@antrea/runtime/testing";
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
});
