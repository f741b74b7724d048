import { expect, it } from "@jest/globals";
import { startFeatures, stopFeatures, type Feature } from "../../src/platform/feature.ts";

const { signal } = new AbortController();
let steps: string[];

type Platform = Parameters<typeof startFeatures>[0] & Parameters<typeof stopFeatures>[0];

function platform(): Platform {
    steps = [];
    const note = (step: string) => async (): Promise<void> => void steps.push(step);
    const pipeline = { use: (used: readonly unknown[]) => void steps.push(`use ${used.length}`) };
    const node = {
        transport: { [Symbol.dispose]: () => void steps.push("transport") },
        openflow: { close: note("openflow") },
    };
    const flowStart = { install: note("install"), deleteEarlier: note("delete earlier") };
    return { pipeline, flowStart, ...node } as unknown as Platform;
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

it("no earlier flow is deleted when a feature does not start", async () => {
    const broken: Feature = { name: "broken", start: () => Promise.reject(new TypeError("no port")) };
    await expect(startFeatures(platform(), [broken, feature("b")], signal)).rejects.toThrow("no port");
    expect(steps).toEqual(["use 0", "stage b", "install"]);
});

it("features stop in reverse order, then what they share", async () => {
    await stopFeatures(platform(), [feature("a"), { name: "without stop" }, feature("b")]);
    expect(steps).toEqual(["stop b", "stop a", "transport", "openflow"]);
});

it("everything is stopped although two features fail; the first failure is reported", async () => {
    const broken = (name: string): Feature => ({ name, stop: () => Promise.reject(new TypeError(name)) });
    const features = [feature("a"), broken("second"), feature("b"), broken("first")];
    await expect(stopFeatures(platform(), features)).rejects.toThrow("first");
    expect(steps).toEqual(["stop b", "stop a", "transport", "openflow"]);
});
