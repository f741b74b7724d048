import { expect, it } from "@jest/globals";
import { startFeatures, stopFeatures, type Feature } from "../../src/platform/feature.ts";

const { signal } = new AbortController();
let steps: string[];

function platform(): Parameters<typeof startFeatures>[0] {
    steps = [];
    const note = (step: string) => async (): Promise<void> => void steps.push(step);
    const pipeline = { use: (used: readonly unknown[]) => void steps.push(`use ${used.length}`) };
    const flowStart = { install: note("install"), deleteEarlier: note("delete earlier") };
    return { pipeline, flowStart } as unknown as Parameters<typeof startFeatures>[0];
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

it("features stop in reverse order", async () => {
    platform();
    await stopFeatures([feature("a"), { name: "without stop" }, feature("b")]);
    expect(steps).toEqual(["stop b", "stop a"]);
});
