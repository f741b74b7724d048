import { expect, it } from "@jest/globals";
import { Category, Table, type PipelinePart, type TableUse } from "@antrea/flows";
import { AgentPipeline, type FeaturePipeline } from "../../../src/platform/ovs/pipeline.ts";

const signal = new AbortController().signal;
const output: TableUse = { table: "Output", stage: "output", miss: "drop" };
const vlan: TableUse = { table: "Vlan", stage: "tagging", miss: "next" };

function feature(tables: readonly TableUse[], ...parts: readonly Omit<PipelinePart, "tables">[]): FeaturePipeline {
    return { tables, parts: () => Promise.resolve(parts.map((part) => ({ tables, ...part }))) };
}

const base = feature([output], { flows: () => [] });

it("is put together from what the features hand over, with an owner for each category", async () => {
    const pipeline = new AgentPipeline(base);
    pipeline.use([
        feature([vlan], {
            category: Category.service,
            flows: (next) => [
                { table: Table.Vlan, priority: 9, match: {}, actions: [], gotoTable: next.after("Vlan") },
            ],
        }),
    ]);
    expect(pipeline.into("tagging")).toBe(Table.Vlan);
    const flows = await pipeline.flows(signal);
    expect(flows.map(({ owner, flows: set }) => [owner, set.category, set.flows.length])).toEqual([
        ["pipeline", Category.default, 2],
        ["pipeline/3", Category.service, 1],
    ]);
    expect(flows.flatMap(({ flows: set }) => set.flows).map(({ gotoTable }) => gotoTable)).toEqual([
        undefined,
        Table.Output,
        Table.Output,
    ]);
});

it("knows no next table before the features have declared which tables they use", () => {
    const pipeline = new AgentPipeline(base);
    expect(() => pipeline.after("Vlan")).toThrow(expect.objectContaining({ code: "NOT_READY" }));
});

it("fails with the feature whose ports cannot be put in place", async () => {
    const pipeline = new AgentPipeline(base);
    const broken = new TypeError("no port");
    pipeline.use([{ tables: [], parts: () => Promise.reject(broken) }]);
    await expect(pipeline.flows(signal)).rejects.toBe(broken);
});

it("brings its flows into OVS in the order of the calls, and does not wait for an earlier call after an abort", async () => {
    const pipeline = new AgentPipeline(base);
    const first = Promise.withResolvers<readonly PipelinePart[]>();
    const answers = [first.promise, Promise.resolve([])];
    pipeline.use([{ tables: [], parts: () => answers.shift() ?? Promise.resolve([]) }]);
    const sizes: number[] = [];
    const flowTable = {
        apply: (changes: readonly unknown[]): Promise<void> => Promise.resolve(void sizes.push(changes.length)),
    };
    const older = pipeline.applyTo(flowTable, signal);
    const newer = pipeline.applyTo(flowTable, signal);
    await expect(pipeline.applyTo(flowTable, AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
    expect(sizes).toEqual([]);
    first.resolve([{ tables: [], category: Category.service, flows: () => [] }]);
    await Promise.all([older, newer]);
    expect(sizes).toEqual([2, 1]);
});

it("is complete when every feature that depends on the API server has its answer", () => {
    const pipeline = new AgentPipeline(base);
    pipeline.use([feature([vlan])]);
    expect(pipeline.isComplete).toBeUndefined();
    const known = [false, true];
    pipeline.use(known.map((_, at) => ({ ...feature([]), isComplete: () => known[at] ?? false })));
    expect(pipeline.isComplete).toBe(false);
    known[0] = true;
    expect(pipeline.isComplete).toBe(true);
});
