import { beforeEach, expect, it } from "@jest/globals";
import { Category } from "@antrea/flows";
import type { Platform } from "../../../src/platform/platform.ts";
import { FlowStart } from "../../../src/platform/ovs/flow-start.ts";
import { silentLogger } from "../../support/logger.ts";

const { signal } = new AbortController();
const flows = [{ owner: "pipeline", flows: { category: Category.default, flows: [] } }];
let steps: string[];
let isComplete: boolean | undefined;
let connects: boolean;
let flowStart: FlowStart;

beforeEach(() => {
    steps = [];
    isComplete = undefined;
    connects = true;
    const note = (step: string) => async (): Promise<void> => void steps.push(step);
    let onReady = (): unknown => undefined;
    const platform = {
        logger: silentLogger,
        readiness: { met: (condition: string) => void steps.push(`met ${condition}`) },
        bridge: {
            beginRound: () => Promise.resolve({ current: 7, earlier: [5, 6] }),
            endFlowRestore: note("release"),
            setExternalId: (key: string, value: string) => Promise.resolve(void steps.push(`${key} ${value}`)),
        },
        flowTable: {
            stage: (owner: string) => void steps.push(`stage ${owner}`),
            useRound: (round: number, earlier: readonly number[]) =>
                void steps.push(`round ${round} after ${earlier.join()}`),
            replay: note("replay"),
            apply: note("apply"),
            deleteRounds: (rounds: readonly number[], o: { readonly except?: unknown; readonly signal?: unknown }) => {
                // Who stops the start does not wait for OVS.
                expect(o.signal).toBe(signal);
                steps.push(`delete ${rounds.join()}${o.except === undefined ? "" : " partly"}`);
                return Promise.resolve();
            },
        },
        openflow: {
            onReady: (listener: () => unknown) => (onReady = listener),
            start: () => void (connects && onReady()),
        },
    };
    flowStart = new FlowStart({
        ...(platform as unknown as Platform),
        pipeline: {
            applyTo: (flowTable, limit) => flowTable.apply(flows, limit),
            flows: () => Promise.resolve(flows),
            get isComplete() {
                return isComplete;
            },
        },
    });
});

it("OVS has the flows of this start before the earlier ones are deleted, and is released then", async () => {
    await flowStart.install(signal);
    expect(steps).toEqual(["stage pipeline", "round 7 after 5,6", "replay", "met openflow"]);
    await flowStart.deleteEarlier(signal);
    expect(steps.slice(4)).toEqual(["release", "delete 5,6 partly"]);
});

it("earlier flows to other Nodes and Services are deleted once, when those to all Nodes are replaced", async () => {
    await flowStart.install(signal);
    steps.length = 0;
    await flowStart.deleteLearned(signal);
    await flowStart.deleteLearned(signal);
    expect(steps).toEqual(["delete 5,6", "antrea-rounds 7"]);
});

it("they stay while a feature waits for the API server, and are replaced first when it has answered", async () => {
    await flowStart.install(signal);
    steps.length = 0;
    isComplete = false;
    await flowStart.deleteLearned(signal);
    expect(steps).toEqual([]);
    isComplete = true;
    await flowStart.deleteLearned(signal);
    expect(steps).toEqual(["apply", "delete 5,6", "antrea-rounds 7"]);
});

it("the install rejects when it is abandoned before OVS connects", async () => {
    connects = false;
    const abandon = new AbortController();
    const installed = flowStart.install(abandon.signal);
    await new Promise(setImmediate);
    abandon.abort(new TypeError("the start is abandoned"));
    await expect(installed).rejects.toThrow("the start is abandoned");
    expect(steps).toEqual(["stage pipeline", "round 7 after 5,6"]);
});
