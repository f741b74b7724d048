import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { Category, cookieOf, type FlowSet } from "@antrea/flows";
import { OpenFlowError, type Flow } from "@antrea/openflow";
import { FlowTable, type FlowSource } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";

const round = 3;
const refused = new OpenFlowError("REFUSED", "caller", "not now");
let ovs: FakeSwitch;
let table: FlowTable;

beforeEach(() => {
    ovs = new FakeSwitch();
    table = new FlowTable({ link: ovs, logger: silentLogger });
    table.useRound(round);
});

function flowOf(port: number, out?: number, inTable = 0): Flow {
    const actions: Flow["actions"] = out === undefined ? [] : [{ type: "output", port: out }];
    return { table: inTable, priority: 10, match: { in_port: port }, actions };
}

function setOf(ports: readonly number[], out?: number, category: Category = Category.podConnectivity): FlowSet {
    return { category, flows: ports.map((port) => flowOf(port, out)) };
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);
const present = (): readonly number[] => ovs.flows.map(({ match }) => Number(match.in_port)).sort((a, b) => a - b);

/** An owner that keeps numbers in place of flows. */
class Model implements FlowSource {
    readonly category = Category.networkPolicy;
    readonly ports: Set<number>;
    /** How often it was asked for flows. */
    made = 0;

    constructor(...ports: readonly number[]) {
        this.ports = new Set(ports);
    }

    get size(): number {
        return this.ports.size;
    }

    counts(): ReadonlyMap<number, number> {
        return new Map([[0, this.ports.size]]);
    }

    *flows(): Generator<Flow> {
        this.made += 1;
        for (const port of this.ports) yield flowOf(port);
    }
}

describe("what is sent of an owner", () => {
    it("is what changed, and nothing when nothing did", async () => {
        await table.set("a", setOf(range(1, 10)));
        await table.set("a", setOf([...range(1, 9), 20]));
        await table.set("a", setOf([...range(1, 9), 20]));
        await table.set("a", { category: Category.podConnectivity, flows: [flowOf(1, 5), ...setOf([20]).flows] });
        expect(ovs.bundles).toEqual([10, 2, 9]);
        expect(present()).toEqual([1, 20]);
    });

    it("is all of it when that is asked for: what another program took out of OVS is there again", async () => {
        await table.set("a", setOf([1, 2]));
        ovs.drop(flowOf(1));
        await table.set("a", setOf([1, 2]));
        expect(present()).toEqual([2]);
        await table.set("a", setOf([1, 2]), undefined, { whole: true });
        expect(present()).toEqual([1, 2]);
        expect(ovs.bundles).toEqual([2, 2]);
    });

    it("is all of it when it is not known what OVS has", async () => {
        await table.set("a", setOf([1, 2, 3]));
        const stop = new AbortController();
        ovs.disconnect();
        const lost = table.set("a", setOf([1, 2, 4]), stop.signal);
        stop.abort();
        await expect(lost).rejects.toMatchObject({ fault: "aborted" });
        await ovs.reconnect(async () => undefined);
        await table.set("a", setOf([1, 2, 5]));
        expect(ovs.bundles).toEqual([3, 5]);
        expect(present()).toEqual([1, 2, 5]);
        await table.set("a", setOf([1, 2, 5, 6]));
        expect(ovs.bundles).toEqual([3, 5, 1]);
    });

    it("is what changed after a refusal: OVS has what it had", async () => {
        await table.set("a", setOf([1, 2, 3]));
        ovs.failures.push({ error: refused, applied: false });
        await expect(table.set("a", setOf([4]))).rejects.toBe(refused);
        await table.set("a", setOf([1, 2, 3, 5]));
        expect(ovs.bundles).toEqual([3, 4, 1]);
        expect(present()).toEqual([1, 2, 3, 5]);
    });

    it("waits for OVS to be back also when nothing changed: it may have lost everything", async () => {
        await table.set("a", setOf([1]));
        ovs.disconnect();
        ovs.clear();
        let ended = false;
        const waiting = table.set("a", setOf([1])).then(() => (ended = true));
        for (let count = 0; count < 10; count += 1) await turn();
        expect(ended).toBe(false);
        await ovs.reconnect((link) => table.replay(link));
        await waiting;
        expect(present()).toEqual([1]);
    });

    it("is all of it after a call that gave up and one before it that came late", async () => {
        ovs.disconnect();
        const first = table.set("a", setOf([1], 5));
        const stop = new AbortController();
        const second = table.set("a", setOf([1], 6), stop.signal);
        stop.abort();
        await expect(second).rejects.toMatchObject({ fault: "aborted" });
        await ovs.reconnect((link) => table.replay(link));
        await first;
        await table.set("a", setOf([1], 6));
        expect(ovs.flows.map(({ actions }) => actions)).toEqual([[{ type: "output", port: 6 }]]);
    });
});

describe("a transaction over several owners", () => {
    it("is one bundle", async () => {
        await table.set("a", setOf([1, 2]));
        await table.set("b", setOf([3]));
        await table.apply([
            { owner: "a", flows: setOf([1, 4]) },
            { owner: "b", flows: undefined },
            { owner: "c", flows: setOf([5]) },
        ]);
        expect(ovs.bundles).toEqual([2, 1, 4]);
        expect(present()).toEqual([1, 4, 5]);
        expect(table.size).toBe(3);
    });

    it("is there whole or not at all, in OVS and in the table", async () => {
        await table.set("a", setOf([1]));
        await table.set("b", setOf([2]));
        ovs.failures.push({ error: refused, applied: false });
        const changes = [
            { owner: "a", flows: setOf([3]) },
            { owner: "b", flows: undefined },
            { owner: "c", flows: setOf([4]) },
        ];
        await expect(table.apply(changes)).rejects.toBe(refused);
        expect(present()).toEqual([1, 2]);
        expect(["a", "b", "c"].map((owner) => table.flowsOf(owner).map(({ match }) => match.in_port))).toEqual([
            [1],
            [2],
            [],
        ]);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        await table.apply(changes);
        expect(present()).toEqual([3, 4]);
    });

    it("is taken back in all owners when OVS took a part of it", async () => {
        const partial = new OpenFlowError("REFUSED", "internal", "cannot be read", { details: { partial: true } });
        await table.set("a", setOf([1]));
        ovs.failures.push({ error: partial, applied: true });
        const changes = [
            { owner: "a", flows: setOf([2]) },
            { owner: "b", flows: setOf([3]) },
        ];
        await expect(table.apply(changes)).rejects.toBe(partial);
        expect(present()).toEqual([1]);
    });

    it("keeps a flow that passes from one owner to another", async () => {
        await table.set("a", setOf([1, 2]));
        await table.apply([
            { owner: "b", flows: setOf([2], 7) },
            { owner: "a", flows: setOf([1]) },
        ]);
        expect(present()).toEqual([1, 2]);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("and what its owners change after it reach OVS in this order", async () => {
        const full = new OpenFlowError("BUFFER_FULL", "environment", "OVS reads slowly");
        ovs.failures.push({ error: full, applied: false });
        await Promise.all([
            table.set("a", setOf([1])),
            table.apply([
                { owner: "a", flows: setOf([2]) },
                { owner: "b", flows: setOf([3]) },
            ]),
            table.set("b", setOf([4])),
        ]);
        expect(present()).toEqual([2, 4]);
    });
});

describe("a source", () => {
    it("makes its flows when a replay asks, and hands over changes otherwise", async () => {
        const model = new Model(1, 2, 3);
        table.stage("policies", model);
        await table.replay(ovs.direct);
        const made = model.made;
        model.ports.delete(1);
        model.ports.add(4);
        await table.apply([
            { owner: "policies", added: [flowOf(4)], removed: [flowOf(1)] },
            { owner: "pod", flows: setOf([9]) },
        ]);
        expect(model.made).toBe(made);
        expect(ovs.bundles).toEqual([3, 3]);
        expect(present()).toEqual([2, 3, 4, 9]);
        expect(new Set(ovs.flows.map(({ cookie }) => cookieOf(cookie ?? 0n).category))).toEqual(
            new Set([Category.networkPolicy, Category.podConnectivity]),
        );
        ovs.clear();
        await table.replay(ovs.direct);
        expect(present()).toEqual([2, 3, 4, 9]);
        await table.remove("policies");
        expect(present()).toEqual([9]);
    });

    it("is asked when it is not known what OVS has of it", async () => {
        const model = new Model(1, 2);
        table.stage("policies", model);
        await table.replay(ovs.direct);
        const stop = new AbortController();
        ovs.disconnect();
        model.ports.add(3);
        const lost = table.apply([{ owner: "policies", added: [flowOf(3)], removed: [] }], stop.signal);
        stop.abort();
        await expect(lost).rejects.toMatchObject({ fault: "aborted" });
        await ovs.reconnect(async () => undefined);
        model.ports.delete(3);
        model.ports.add(4);
        await table.apply([{ owner: "policies", added: [flowOf(4)], removed: [flowOf(3)] }]);
        expect(present()).toEqual([1, 2, 4]);
    });

    it("is compared by the repair like any other owner, and a change meanwhile is left to the change", async () => {
        const model = new Model(1, 2);
        table.stage("policies", model);
        await table.replay(ovs.direct);
        ovs.drop(flowOf(1));
        ovs.put({ ...flowOf(8), cookie: BigInt(round) << 48n });
        expect(await table.repair()).toEqual({ missing: 1, superfluous: 1 });
        ovs.drop(flowOf(1));
        let changed: Promise<void> | undefined;
        ovs.onDumped = (): void => {
            ovs.onDumped = undefined;
            model.ports.delete(1);
            changed = table.apply([{ owner: "policies", added: [], removed: [flowOf(1)] }]);
        };
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        await changed;
        expect(present()).toEqual([2]);
    });
});

it("a replay brings the pipeline first, then policies, then Pods, then the rest", async () => {
    table.stage("peer", setOf([40], 1, Category.nodeConnectivity));
    table.stage("pod", setOf([30], 1, Category.podConnectivity));
    table.stage("policies", new Model(...range(100, 5_000)));
    table.stage("pipeline", setOf([10], 1, Category.default));
    await table.replay(ovs.direct);
    expect(ovs.bundles).toEqual([1, 5_000, 2]);
    expect(ovs.flows.map(({ match }) => match.in_port)).toEqual([10, ...range(100, 5_000), 30, 40]);
});

describe("the repair of many flows", () => {
    /** 100 owners of 50 flows, each in one of ten tables. */
    beforeEach(async () => {
        for (let owner = 0; owner < 100; owner += 1) {
            const flows = range(owner * 50, 50).map((port) => flowOf(port, 1, owner % 10));
            table.stage(`pod/${owner}`, { category: Category.podConnectivity, flows });
        }
        await table.replay(ovs.direct);
        ovs.dumps.length = 0;
    });

    const some = (): Flow => ovs.flows[2_025] as Flow;

    it("reads a sixteenth while the counts are right", async () => {
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(ovs.dumps).toHaveLength(1);
        expect(ovs.dumps[0]?.flows).toBeLessThan(1_000);
    });

    it("reads the table that has another count", async () => {
        const lost = some();
        ovs.drop(lost);
        ovs.put({ ...flowOf(60_000, 1, 7), cookie: lost.cookie ?? 0n });
        ovs.put({ ...flowOf(60_001, 1, 7), cookie: lost.cookie ?? 0n });
        expect(await table.repair()).toEqual({ missing: 1, superfluous: 2 });
        expect(ovs.dumps.map(({ table: read }) => read)).toEqual(expect.arrayContaining([lost.table, 7]));
        expect(ovs.flows).toHaveLength(5_000);
    });

    it("finds a flow that somebody changed within sixteen calls, and no flow of others", async () => {
        const right = some();
        ovs.put({ ...right, actions: [] });
        ovs.put({ ...flowOf(60_000), cookie: 5n });
        let missing = 0;
        for (let call = 0; call < 16; call += 1) missing += (await table.repair()).missing;
        expect(missing).toBe(1);
        expect(ovs.flows).toContainEqual(right);
        expect(ovs.flows).toHaveLength(5_001);
    });

    it("finds flows in a table that should have none", async () => {
        ovs.put({ ...flowOf(60_000, 1, 99), cookie: BigInt(round) << 48n });
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 1 });
    });

    it("reads all of it after a change whose end is not known", async () => {
        ovs.failures.push({ error: new OpenFlowError("ABORTED", "aborted", "given up"), applied: true });
        await expect(table.set("pod/3", setOf([70_000]))).rejects.toMatchObject({ fault: "aborted" });
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(ovs.dumps.map(({ flows }) => flows)).toEqual([4_951]);
    });
});
