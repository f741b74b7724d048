import { describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { Lifecycle, type LifecyclePart } from "../src/lifecycle.ts";
import { MemoryLog } from "../src/testing/index.ts";

/** A part that writes down what happens to it; `start` and `stop` set how long they take, or that they fail. */
function part(
    events: string[],
    name: string,
    behaviour: { start?: () => Promise<void>; stop?: () => Promise<void> } = {},
): LifecyclePart {
    return {
        name,
        start: async (signal) => {
            events.push(`start ${name}`);
            signal.addEventListener("abort", () => events.push(`abort ${name}`), { once: true });
            await behaviour.start?.();
        },
        stop: async () => {
            events.push(`stop ${name}`);
            await behaviour.stop?.();
        },
    };
}

function setUp(options = {}): { lifecycle: Lifecycle; events: string[]; clock: ManualClock; log: MemoryLog } {
    const clock = new ManualClock();
    const log = new MemoryLog();
    return { lifecycle: new Lifecycle({ logger: log.logger, clock }, options), events: [], clock, log };
}

const fail = (message: string) => () => Promise.reject(new TypeError(message));
const never = (): Promise<void> => new Promise(() => undefined);

describe("Lifecycle", () => {
    it("starts in order, one after the other, and stops in reverse; each signal ends before its stop", async () => {
        const { lifecycle, events } = setUp();
        const slow = Promise.withResolvers<void>();
        lifecycle.append(part(events, "a", { start: () => slow.promise }));
        lifecycle.append({ name: "nothing" });
        lifecycle.append(part(events, "b"));
        const started = lifecycle.start();
        await settle();
        expect(events).toEqual(["start a"]);
        expect(lifecycle.state).toBe("starting");
        slow.resolve();
        await started;
        expect(lifecycle.state).toBe("started");
        await Promise.all([lifecycle.stop(), lifecycle.stop()]);
        expect(lifecycle.state).toBe("stopped");
        expect(events).toEqual(["start a", "start b", "abort b", "stop b", "abort a", "stop a"]);
    });

    it("runs what must end first before it stops any part, in reverse, and stops all even if that fails or hangs", async () => {
        const { lifecycle, events, clock, log } = setUp({ stopTimeoutMs: 100 });
        const preStop = (name: string, then: () => Promise<void>) => (): Promise<void> => {
            events.push(`preStop ${name}`);
            return then();
        };
        lifecycle.append({ ...part(events, "a"), preStop: preStop("a", async () => undefined) });
        lifecycle.append({ ...part(events, "b"), preStop: preStop("b", fail("busy")) });
        lifecycle.append({ name: "hangs", preStop: preStop("hangs", never) });
        lifecycle.append(part(events, "c"));
        await lifecycle.start();
        events.splice(0);
        const stopped = lifecycle.stop();
        const rejected = expect(stopped).rejects.toThrow(/^did not stop: hangs \(.*preStop of hangs.*\), b \(busy\)$/);
        await clock.advance(100);
        await rejected;
        expect(events).toEqual([
            "preStop hangs",
            "preStop b",
            "preStop a",
            "abort c",
            "stop c",
            "abort b",
            "stop b",
            "abort a",
            "stop a",
        ]);
        expect(log.records.filter(({ msg }) => msg === "ready to stop")).toMatchObject([{ part: "a" }]);
    });

    it("does not prepare the stop of a part that did not start", async () => {
        const { lifecycle, events } = setUp();
        lifecycle.append({ ...part(events, "a"), preStop: () => void events.push("preStop a") });
        lifecycle.append({ ...part(events, "b", { start: fail("no") }), preStop: () => void events.push("preStop b") });
        await expect(lifecycle.start()).rejects.toMatchObject({ code: "START_FAILED" });
        expect(events.filter((event) => event.startsWith("preStop"))).toEqual(["preStop a"]);
    });

    it("logs how long each took", async () => {
        const { lifecycle, events, clock, log } = setUp();
        let release: () => void = () => undefined;
        const wait = (): Promise<void> => new Promise((resolve) => (release = resolve));
        lifecycle.append(part(events, "a", { start: wait, stop: wait }));
        const started = lifecycle.start();
        await clock.advance(1500);
        release();
        await started;
        const stopped = lifecycle.stop();
        await clock.advance(250);
        release();
        await stopped;
        expect(log.records).toMatchObject([
            { level: "info", msg: "started", part: "a", seconds: 1.5 },
            { level: "info", msg: "stopped", part: "a", seconds: 0.25 },
        ]);
        expect(clock.pending).toBe(0);
    });

    it("stops what had started when a start fails, but not the one that failed", async () => {
        const { lifecycle, events } = setUp();
        for (const name of ["a", "b"]) lifecycle.append(part(events, name));
        lifecycle.append(part(events, "c", { start: fail("no socket") }));
        lifecycle.append(part(events, "d"));
        await expect(lifecycle.start()).rejects.toMatchObject({
            code: "START_FAILED",
            message: "c did not start",
            cause: { message: "no socket" },
        });
        expect(events).toEqual(["start a", "start b", "start c", "abort c", "abort b", "stop b", "abort a", "stop a"]);
        expect(lifecycle.state).toBe("stopped");
    });

    it("gives the error of the start when the stop after it fails too", async () => {
        const { lifecycle, events, log } = setUp();
        lifecycle.append(part(events, "a", { stop: fail("stuck") }));
        lifecycle.append(part(events, "b", { start: fail("no socket") }));
        await expect(lifecycle.start()).rejects.toThrow("b did not start");
        expect(log.messages("error")).toEqual(["did not stop"]);
        await expect(lifecycle.stop()).rejects.toMatchObject({ code: "STOP_FAILED" });
    });

    it("gives a start up at its limit", async () => {
        const { lifecycle, events, clock } = setUp({ startTimeoutMs: 1000 });
        lifecycle.append(part(events, "a"));
        lifecycle.append({ ...part(events, "b", { start: never }), startTimeoutMs: 200 });
        const failed = expect(lifecycle.start()).rejects.toMatchObject({
            code: "START_FAILED",
            cause: { code: "TIMEOUT", message: "the start of b did not end within 200 ms" },
        });
        await clock.advance(200);
        await failed;
        expect(events).toEqual(["start a", "start b", "abort b", "abort a", "stop a"]);
    });

    it.each(["the signal", "stop"])("gives a start up on %s", async (how) => {
        const { lifecycle, events, clock } = setUp();
        const ending = new AbortController();
        lifecycle.append(part(events, "a"));
        lifecycle.append(part(events, "b", { start: never }));
        lifecycle.append(part(events, "c"));
        const failed = expect(lifecycle.start(ending.signal)).rejects.toMatchObject({
            code: "ABORTED",
            fault: "aborted",
        });
        await settle();
        if (how === "stop") await lifecycle.stop();
        else ending.abort();
        await failed;
        expect(events).toEqual(["start a", "start b", "abort b", "abort a", "stop a"]);
        expect(clock.pending).toBe(0);
    });

    it("reports to each stop whether it follows a start that failed, which one that was given up did not", async () => {
        const reasons: unknown[] = [];
        const lifecycleOf = (last: LifecyclePart): Lifecycle => {
            const { lifecycle } = setUp();
            lifecycle.append({ name: "a", stop: (o) => void reasons.push(o?.startFailed) });
            lifecycle.append(last);
            return lifecycle;
        };
        await expect(lifecycleOf({ name: "b", start: fail("no socket") }).start()).rejects.toThrow("did not start");
        const ending = new AbortController();
        const byTheSignal = expect(lifecycleOf({ name: "b", start: never }).start(ending.signal)).rejects.toThrow();
        await settle();
        ending.abort();
        await byTheSignal;
        const stopped = lifecycleOf({ name: "b", start: never });
        const byStop = expect(stopped.start()).rejects.toThrow("cancelled");
        await settle();
        await stopped.stop();
        await byStop;
        const running = lifecycleOf({ name: "b" });
        await running.start();
        await running.stop();
        expect(reasons).toEqual([true, false, false, false]);
    });

    it("stop during the stop after an aborted start waits for it", async () => {
        const { lifecycle, events } = setUp();
        const slow = Promise.withResolvers<void>();
        lifecycle.append(part(events, "a", { stop: () => slow.promise.then(() => void events.push("stopped a")) }));
        lifecycle.append(part(events, "b", { start: never }));
        const ending = new AbortController();
        const failed = expect(lifecycle.start(ending.signal)).rejects.toMatchObject({ code: "ABORTED" });
        await settle();
        ending.abort();
        await settle();
        const stopped = lifecycle.stop().then(() => events.at(-1));
        await settle();
        expect(lifecycle.state).toBe("stopping");
        slow.resolve();
        expect(await stopped).toBe("stopped a");
        await failed;
    });

    it("stops all even if some fail or hang, and gathers the errors", async () => {
        const { lifecycle, events, clock, log } = setUp({ stopTimeoutMs: 1000 });
        lifecycle.append(part(events, "a", { stop: fail("busy") }));
        lifecycle.append({ ...part(events, "b", { stop: never }), stopTimeoutMs: 300 });
        lifecycle.append(part(events, "c"));
        await lifecycle.start();
        events.length = 0;
        const failed = expect(lifecycle.stop()).rejects.toMatchObject({
            code: "STOP_FAILED",
            message: "did not stop: b (the stop of b did not end within 300 ms), a (busy)",
            details: { failures: [{ part: "b" }, { part: "a", error: { message: "busy" } }] },
        });
        await clock.advance(300);
        await failed;
        expect(events).toEqual(["abort c", "stop c", "abort b", "stop b", "abort a", "stop a"]);
        expect(log.messages("error")).toEqual(["did not stop", "did not stop"]);
    });

    it("refuses what has no meaning", async () => {
        const { lifecycle, events } = setUp();
        lifecycle.append(part(events, "a"));
        expect(() => lifecycle.append(part(events, "a"))).toThrow("two parts are called a");
        await lifecycle.start();
        expect(() => lifecycle.append(part(events, "b"))).toThrow("b was appended after the start");
        await expect(lifecycle.start()).rejects.toMatchObject({ code: "WRONG_STATE" });
        await lifecycle.stop();
    });
});
