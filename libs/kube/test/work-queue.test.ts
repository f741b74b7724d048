import { describe, expect, it } from "@jest/globals";
import { sleep } from "@antrea/async";
import { ManualClock, settle } from "@antrea/async/testing";
import { Metrics, TerminalError, type JobHealth } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { KubeError } from "../src/errors.ts";
import { WorkQueue, type Reconcile, type WorkQueueOptions } from "../src/work-queue.ts";

function make(reconcile: Reconcile, options: Partial<WorkQueueOptions> = {}) {
    const clock = new ManualClock();
    const stop = new AbortController();
    const log = new MemoryLog();
    const metrics = new Metrics({ processMetrics: false });
    const queue = new WorkQueue(
        { logger: log.logger, clock, metrics },
        { name: "test", initialBackoffMs: 100, maxBackoffMs: 1_000, ...options },
        reconcile,
    );
    /** How often work ended with this result. */
    const runsWith = async (result: string): Promise<number> => {
        const found = new RegExp(`^antrea_workqueue_runs_total\\{name="test",result="${result}"\\} (\\d+)$`, "m");
        return Number(found.exec(await metrics.text())?.[1] ?? 0);
    };
    return { queue, clock, stop, runsWith, log };
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
        await settle();
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
        await settle();
        expect(running.size).toBe(5);
    });

    it("repeats failures with growing delays per key, at once when the key is added", async () => {
        let tries = 0;
        const { queue, clock, stop, runsWith } = make(async () => {
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
        expect([await runsWith("retry"), await runsWith("success"), await runsWith("terminal")]).toEqual([tries, 0, 0]);
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

    it("does not repeat what failed for good, and checks again when asked to", async () => {
        const runs: string[] = [];
        const { queue, clock, stop, runsWith } = make(async (key) => {
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
        expect([await runsWith("terminal"), await runsWith("success"), await runsWith("retry")]).toEqual([1, 3, 0]);
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
        const closed = queue.close();
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

    it("measures depth, adds, waits, work and results by its name; a later queue takes the name over", async () => {
        const clock = new ManualClock();
        const metrics = new Metrics({ processMetrics: false });
        const work: Reconcile = async (key) => {
            await sleep(1_500, undefined, clock);
            if (key === "bad") throw new TerminalError("no");
        };
        const components = { logger: new MemoryLog().logger, clock, metrics };
        await using queue = new WorkQueue(components, { name: "test" }, work);
        for (const key of ["a", "b", "b", "bad"]) queue.add(key);
        expect(await metrics.text()).toMatch(/^workqueue_depth\{name="test"\} 3$/m);
        queue.start(new AbortController().signal);
        await settle();
        queue.add("a");
        expect(await metrics.text()).toMatch(/^workqueue_depth\{name="test"\} 2$/m);
        await clock.advance(6_000);
        await settle();
        const text = await metrics.text();
        expect(text).toMatch(/^workqueue_depth\{name="test"\} 0$/m);
        expect(text).toMatch(/^workqueue_adds_total\{name="test"\} 4$/m);
        expect(text).toMatch(/^workqueue_queue_duration_seconds_count\{name="test"\} 4$/m);
        expect(text).toMatch(/^workqueue_queue_duration_seconds_sum\{name="test"\} 7.5$/m);
        expect(text).toMatch(/^workqueue_work_duration_seconds_count\{name="test"\} 4$/m);
        expect(text).toMatch(/^workqueue_work_duration_seconds_sum\{name="test"\} 6$/m);
        expect(text).toMatch(/^antrea_workqueue_runs_total\{name="test",result="success"\} 3$/m);
        expect(text).toMatch(/^antrea_workqueue_runs_total\{name="test",result="terminal"\} 1$/m);
        await using other = new WorkQueue(components, { name: "other" }, work);
        await using later = new WorkQueue(components, { name: "test" }, work);
        other.add("a");
        later.add("a");
        later.add("b");
        expect(await metrics.text()).toMatch(/^workqueue_depth\{name="test"\} 2$/m);
        expect(await metrics.text()).toMatch(/^workqueue_depth\{name="other"\} 1$/m);
    });

    it("has the status of a job: last success, keys that failed, and when the next one is due", async () => {
        const clock = new ManualClock();
        const shown: (() => JobHealth)[] = [];
        const refused = new Set(["a", "b"]);
        const queue = new WorkQueue(
            { logger: new MemoryLog().logger, clock, jobs: { show: (_name, health) => void shown.push(health) } },
            { name: "test", initialBackoffMs: 60_000 },
            async (key) => {
                await sleep(10, new AbortController().signal, clock);
                if (refused.has(key)) throw new TypeError("no");
            },
        );
        const health = (): JobHealth | undefined => shown[0]?.();
        expect(health()).toMatchObject({ name: "test", state: "waiting", endedAtMs: undefined, failures: 0 });
        queue.start(new AbortController().signal);
        queue.add("a");
        await settle();
        expect(health()).toMatchObject({ state: "running", nextAtMs: undefined });
        await clock.advance(10);
        const failedMs = clock.now();
        expect(health()).toMatchObject({
            state: "waiting",
            failures: 1,
            endedAtMs: failedMs,
            failedObjects: undefined,
        });
        expect(health()?.error).toBeInstanceOf(TypeError);
        expect(health()?.nextAtMs).toBeGreaterThan(failedMs);
        queue.add("b");
        queue.add("c");
        await clock.advance(20);
        expect(health()).toMatchObject({
            failures: 0,
            error: undefined,
            succeededAtMs: clock.now(),
            endedAtMs: clock.now(),
            failedObjects: { count: 2, error: { message: "no" } },
        });
        refused.clear();
        queue.add("a");
        queue.add("b");
        await clock.advance(20);
        expect(health()).toMatchObject({ failedObjects: undefined, nextAtMs: undefined });
        await queue.close();
        expect(health()).toMatchObject({ state: "stopped" });
    });

    it("works without metrics", async () => {
        const done: string[] = [];
        const logger = new MemoryLog().logger;
        await using queue = new WorkQueue({ logger }, { name: "test" }, async (key) => void done.push(key));
        queue.add("a");
        queue.start(new AbortController().signal);
        await settle();
        expect(done).toEqual(["a"]);
    });
});
