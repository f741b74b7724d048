import { describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { TerminalError } from "../src/errors.ts";
import { Jobs } from "../src/jobs.ts";
import { Metrics } from "../src/metrics.ts";
import { MemoryLog } from "../src/testing/index.ts";

function setUp(): { jobs: Jobs; clock: ManualClock; log: MemoryLog; metrics: Metrics } {
    const [clock, log, metrics] = [new ManualClock(), new MemoryLog(), new Metrics({ processMetrics: false })];
    return { jobs: new Jobs({ logger: log.logger, clock, metrics }), clock, log, metrics };
}

const backoff = { initialMs: 100, jitter: 0 };

describe("Jobs", () => {
    it("every runs at once and then by its interval, until the stop, which waits for the run under way", async () => {
        const { jobs, clock } = setUp();
        const runs: number[] = [];
        let release: () => void = () => undefined;
        jobs.every("sweep", 1000, (signal) => {
            runs.push(clock.monotonic());
            if (runs.length < 3) return;
            return new Promise((resolve) => {
                signal.addEventListener("abort", () => (release = resolve), { once: true });
            });
        });
        jobs.every("late", 1000, () => void runs.push(-clock.monotonic()), { delayed: true });
        await clock.advance(5000);
        expect(runs).toEqual([]);
        jobs.start();
        await clock.advance(1999);
        expect(runs).toEqual([5000, -6000, 6000]);
        await clock.advance(1);
        let stopped = false;
        const stopping = jobs.stop().then(() => (stopped = true));
        await settle();
        expect(stopped).toBe(false);
        release();
        await stopping;
        await clock.advance(10_000);
        expect(runs).toEqual([5000, -6000, 6000, -7000]);
        expect(jobs.health().map(({ state }) => state)).toEqual(["stopped", "stopped"]);
        expect(clock.pending).toBe(0);
    });

    it("retries with growing delays after failures, and counts them", async () => {
        const { jobs, clock, log, metrics } = setUp();
        const runs: number[] = [];
        const job = jobs.every(
            "resync",
            1000,
            () => {
                runs.push(clock.monotonic());
                if (runs.length <= 5) throw new TypeError(`failure ${runs.length}`);
            },
            { backoff },
        );
        jobs.start();
        await clock.advance(300);
        expect(job.health()).toMatchObject({ state: "waiting", failures: 3, error: { message: "failure 3" } });
        expect(job.health()).toMatchObject({
            succeededAtMs: undefined,
            endedAtMs: expect.any(Number),
            nextAtMs: expect.any(Number),
        });
        await clock.advance(4000);
        // 100, 200, 400, 800, then the interval is the longest delay, then the interval itself.
        expect(runs).toEqual([0, 100, 300, 700, 1500, 2500, 3500]);
        expect(job.health()).toMatchObject({ failures: 0, error: undefined, succeededAtMs: clock.now() - 800 });
        expect(job.health()).toMatchObject({ endedAtMs: clock.now() - 800, nextAtMs: clock.now() + 200 });
        expect(log.messages("warn")).toHaveLength(5);
        const text = await metrics.text();
        expect(text).toMatch(/^antrea_job_runs_total\{job="resync",result="failure"\} 5$/m);
        expect(text).toMatch(/^antrea_job_runs_total\{job="resync",result="success"\} 2$/m);
        expect(text).toMatch(/^antrea_job_duration_seconds_count\{job="resync"\} 7$/m);
        await jobs.stop();
    });

    it("measures a job that was renamed under its earlier name too", async () => {
        const log = new MemoryLog();
        const metrics = new Metrics({ processMetrics: false });
        const formerNames = { "routes/peers": "peers" };
        const jobs = new Jobs({ logger: log.logger, clock: new ManualClock(), metrics, formerNames });
        jobs.once("routes/peers", () => undefined);
        jobs.once("routes/other", () => undefined);
        jobs.start();
        await settle();
        const text = await metrics.text();
        expect(text.match(/^antrea_job_runs_total\{.*$/gm)).toEqual([
            'antrea_job_runs_total{job="routes/peers",result="success"} 1',
            'antrea_job_runs_total{job="peers",result="success"} 1',
            'antrea_job_runs_total{job="routes/other",result="success"} 1',
        ]);
        expect(text).toMatch(/^antrea_job_duration_seconds_count\{job="peers"\} 1$/m);
        expect(jobs.health().map(({ name }) => name)).toEqual(["routes/peers", "routes/other"]);
        await jobs.stop();
    });

    it("shares its metrics with other Jobs of the process, e.g. those of a later term of leadership", async () => {
        const { jobs, metrics, log, clock } = setUp();
        const later = new Jobs({ logger: log.logger, clock, metrics });
        for (const each of [jobs, later]) {
            each.once("list", () => undefined);
            each.start();
        }
        await settle();
        expect(await metrics.text()).toMatch(/^antrea_job_runs_total\{job="list",result="success"\} 2$/m);
        await Promise.all([jobs.stop(), later.stop()]);
    });

    it("a good run may ask for the next one sooner than the interval, not later", async () => {
        const { jobs, clock } = setUp();
        const runs: number[] = [];
        const asked = [50, undefined, 5000];
        jobs.every("routes", 1000, () => {
            runs.push(clock.monotonic());
            return { againInMs: asked[runs.length - 1] };
        });
        jobs.every("limited", 1000, () => ({ againInMs: runs.push(-clock.monotonic()) && undefined }), {
            timeoutMs: 10,
            delayed: true,
        });
        jobs.start();
        await clock.advance(2500);
        expect(runs).toEqual([0, 50, -1000, 1050, -2000, 2050]);
        await jobs.stop();
    });

    it("once runs until it succeeds, or is asked not to try again", async () => {
        const { jobs, clock, log } = setUp();
        let tries = 0;
        jobs.start();
        const good = jobs.once(
            "adopt",
            () => {
                tries += 1;
                if (tries < 3) throw new TypeError("not yet");
            },
            { backoff },
        );
        const bad = jobs.once("check", () => {
            throw new TerminalError("the table is of another version");
        });
        await clock.advance(10_000);
        expect(tries).toBe(3);
        expect(good.health().state).toBe("done");
        expect(bad.health()).toMatchObject({ state: "given-up", failures: 1, nextAtMs: undefined });
        expect(log.messages("error")).toEqual(["job given up"]);
        await jobs.stop();
    });

    it("triggers run it now, and once more after a run under way", async () => {
        const { jobs, clock } = setUp();
        const runs: number[] = [];
        let block: Promise<void> | undefined;
        const job = jobs.every("sync", 60_000, async () => {
            runs.push(clock.monotonic());
            await block;
        });
        jobs.start();
        await clock.advance(10);
        const gate = Promise.withResolvers<void>();
        block = gate.promise;
        job.trigger();
        job.trigger();
        await clock.advance(10);
        expect(runs).toEqual([0, 10]);
        for (let i = 0; i < 5; i += 1) job.trigger();
        await clock.advance(10);
        block = undefined;
        gate.resolve();
        await clock.advance(59_999);
        expect(runs).toEqual([0, 10, 30]);
        await jobs.stop();
    });

    it("ends a run at its limit, as a failure", async () => {
        const { jobs, clock } = setUp();
        const aborted: boolean[] = [];
        const job = jobs.once(
            "probe",
            (signal) => new Promise(() => signal.addEventListener("abort", () => aborted.push(true))),
            { timeoutMs: 500 },
        );
        jobs.start();
        await clock.advance(500);
        expect(aborted).toEqual([true]);
        expect(job.health()).toMatchObject({ failures: 1, error: { code: "TIMEOUT" } });
        await jobs.stop();
    });

    it("ends with its signal, without a warning", async () => {
        const { jobs, clock, log } = setUp();
        const ending = new AbortController();
        jobs.once(
            "wait",
            (signal) =>
                new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
        );
        jobs.start(ending.signal);
        await clock.advance(1);
        ending.abort();
        await jobs.stop();
        expect(log.records).toEqual([]);
        expect(jobs.health()).toMatchObject([{ state: "stopped", failures: 0 }]);
        expect(() => jobs.start()).toThrow("the jobs are started twice");
    });

    it("a run that succeeds although it is being stopped stays done", async () => {
        const { jobs, clock } = setUp();
        jobs.once("write", async (signal) => {
            await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        });
        jobs.start();
        await clock.advance(1);
        await jobs.stop();
        expect(jobs.health()).toMatchObject([{ state: "done", failures: 0 }]);
    });

    it("refuses a name twice", () => {
        const { jobs } = setUp();
        jobs.once("a", () => undefined);
        expect(() => jobs.every("a", 1, () => undefined)).toThrow("two jobs are called a");
    });
});
