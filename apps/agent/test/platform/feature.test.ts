import { describe, expect, it } from "@jest/globals";
import { MemoryLog } from "@antrea/runtime/testing";
import { startFeatures, stopFeatures, type Feature } from "../../src/platform/feature.ts";

const { signal } = new AbortController();
let steps: string[];
let log: MemoryLog;

type Platform = Parameters<typeof startFeatures>[0] & Parameters<typeof stopFeatures>[0];

function platform(): Platform {
    steps = [];
    log = new MemoryLog();
    const note = (step: string) => async (): Promise<void> => void steps.push(step);
    const pipeline = { use: (used: readonly unknown[]) => void steps.push(`use ${used.length}`) };
    const node = {
        transport: { [Symbol.dispose]: () => void steps.push("transport") },
        openflow: { close: note("openflow") },
    };
    const flowStart = { install: note("install"), deleteEarlier: note("delete earlier") };
    return { pipeline, flowStart, logger: log.logger, ...node } as unknown as Platform;
}

/** Takes a turn of the event loop for each step, so that steps that are not awaited would be out of order. */
function feature(name: string): Feature {
    const note = (step: string) => async (): Promise<void> => {
        await new Promise(setImmediate);
        steps.push(`${step} ${name}`);
    };
    return { name, stage: note("stage"), start: note("start"), stop: note("stop") };
}

it("each step is done for all features before the next one: tables, staged flows, OVS, jobs, earlier flows", async () => {
    const pipeline = { tables: [], parts: () => Promise.resolve([]) };
    await startFeatures(platform(), [feature("a"), { name: "tables only", pipeline }, feature("b")], signal);
    expect(steps).toEqual(["use 1", "stage a", "stage b", "install", "start a", "start b", "delete earlier"]);
});

describe("when a feature does not start", () => {
    const failing = (step: "stage" | "start" | "stop"): Feature => ({
        ...feature("broken"),
        [step]: () => Promise.reject(new TypeError(`no ${step}`)),
    });

    it("no earlier flow is deleted, and what was begun is stopped", async () => {
        const idle: Feature = { name: "idle", stop: feature("idle").stop! };
        const stops: unknown[] = [];
        const asked: Feature = { name: "asked", start: () => undefined, stop: (o) => void stops.push(o) };
        const features = [asked, feature("a"), failing("start"), idle, feature("b")];
        await expect(startFeatures(platform(), features, signal)).rejects.toThrow("no start");
        const before = ["use 0", "stage a", "stage broken", "stage b", "install", "start a"];
        expect(steps).toEqual([...before, "stop b", "stop broken", "stop a", "transport", "openflow"]);
        expect(stops).toEqual([{ startFailed: true }]);
    });

    it("one that was not staged yet is not stopped", async () => {
        const features = [feature("a"), failing("stage"), feature("b")];
        await expect(startFeatures(platform(), features, signal)).rejects.toThrow("no stage");
        expect(steps).toEqual(["use 0", "stage a", "stop broken", "stop a", "transport", "openflow"]);
    });

    it("its error is reported, one that does not stop then is only logged", async () => {
        const of = platform();
        await expect(startFeatures(of, [failing("stop"), failing("start")], signal)).rejects.toThrow("no start");
        expect(steps.slice(-2)).toEqual(["transport", "openflow"]);
        expect(log.records).toMatchObject([{ level: "error", msg: "did not stop", feature: "broken" }]);
    });

    it.each(["stage", "start"] as const)(
        "work that others do until the signal aborts ends, from %s on",
        async (step) => {
            const ended = Promise.withResolvers<void>();
            const working: Feature = {
                name: "working",
                [step]: (until: AbortSignal) => until.addEventListener("abort", () => ended.resolve(), { once: true }),
                stop: () => ended.promise,
            };
            const features = [working, failing("start")];
            await expect(startFeatures(platform(), features, signal)).rejects.toThrow("no start");
            expect(steps.slice(-3)).toEqual(["stop broken", "transport", "openflow"]);
        },
    );
});

it("the signal that features get aborts with that of the agent, long after the start", async () => {
    const agent = new AbortController();
    const signals: AbortSignal[] = [];
    const keeping: Feature = { name: "keeping", start: (until) => void signals.push(until) };
    await startFeatures(platform(), [keeping], agent.signal);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    agent.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});

it("features stop in reverse order, then what they share", async () => {
    await stopFeatures(platform(), [feature("a"), { name: "without stop" }, feature("b")]);
    expect(steps).toEqual(["stop b", "stop a", "transport", "openflow"]);
});

it("everything is stopped although some fail; each failure is logged, the first one reported", async () => {
    const broken = (name: string): Feature => ({ name, stop: () => Promise.reject(new TypeError(`no ${name}`)) });
    const features = [feature("a"), broken("second"), feature("b"), broken("first")];
    const of = platform();
    Object.assign(of.openflow, { close: () => Promise.reject(new TypeError("no openflow")) });
    await expect(stopFeatures(of, features)).rejects.toThrow("no first");
    expect(steps).toEqual(["stop b", "stop a", "transport"]);
    const failure = { level: "error", msg: "did not stop" };
    expect(log.records).toMatchObject(["first", "second", "openflow"].map((name) => ({ ...failure, feature: name })));
});
