import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { Category, cookieOf, type FlowSet } from "@antrea/flows";
import { flowKey, OpenFlowError, type Flow } from "@antrea/openflow";
import { FlowTable } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";
import { flowLinkCompliance } from "./flow-link-compliance.ts";

describe("the fake switch", () => {
    flowLinkCompliance(() => new FakeSwitch());
});

const round = 3;
let ovs: FakeSwitch;
let table: FlowTable;

beforeEach(() => {
    ovs = new FakeSwitch();
    table = new FlowTable({ link: ovs, logger: silentLogger });
    table.useRound(round);
});

function setOf(ports: readonly number[], changes: Partial<Flow> = {}): FlowSet {
    return {
        category: Category.podConnectivity,
        flows: ports.map((in_port) => ({ table: 0, priority: 10, match: { in_port }, actions: [], ...changes })),
    };
}

const output = (port: number): Partial<Flow> => ({ actions: [{ type: "output", port }] });

function foreign(inPort: number, cookie: bigint): Flow {
    return { table: 0, priority: 10, match: { in_port: inPort }, actions: [], cookie };
}

/** All that can end without the switch, has. */
async function turns(): Promise<void> {
    for (let count = 0; count < 10; count += 1) await turn();
}

/** What the switch has: port and round of each flow. */
function present(): readonly string[] {
    return ovs.flows.map(({ match, cookie }) => `${String(match.in_port)}@${cookieOf(cookie ?? 0n).round}`).sort();
}

describe("set and remove", () => {
    it("bring the flows of an owner in and out, with round and category in their cookie", async () => {
        await table.set("a", setOf([1, 2]));
        await table.set("b", setOf([3]));
        expect(present()).toEqual(["1@3", "2@3", "3@3"]);
        expect(cookieOf(ovs.flows[0]?.cookie ?? 0n).category).toBe(Category.podConnectivity);
        expect(table.size).toBe(3);
        await table.remove("a");
        expect(present()).toEqual(["3@3"]);
        expect(table.flowsOf("a")).toEqual([]);
    });

    it("set replaces what the owner had: changed in place, stale ones gone, all in one bundle", async () => {
        await table.set("a", setOf([1, 2]));
        await table.set("a", setOf([2, 3], output(9)));
        expect(present()).toEqual(["2@3", "3@3"]);
        expect(ovs.flows.every(({ actions }) => actions.length === 1)).toBe(true);
        expect(ovs.bundles).toEqual([2, 3]);
    });

    it("two calls for one owner at once reach OVS in their order, also when the first is sent again", async () => {
        const full = new OpenFlowError("BUFFER_FULL", "environment", "OVS reads slowly");
        await table.set("a", setOf([1]));
        ovs.failures.push({ error: full, applied: false });
        await Promise.all([table.remove("a"), table.set("a", setOf([1, 2]))]);
        expect(present()).toEqual(["1@3", "2@3"]);
        ovs.failures.push({ error: full, applied: false });
        await Promise.all([table.set("a", setOf([1, 2, 3])), table.set("b", setOf([4])), table.remove("a")]);
        expect(present()).toEqual(["4@3"]);
    });

    it("one that gives up while another is under way leaves its flows wanted", async () => {
        ovs.disconnect();
        const first = table.set("a", setOf([1]));
        const stop = new AbortController();
        const second = table.set("a", setOf([2]), stop.signal);
        stop.abort();
        await expect(second).rejects.toMatchObject({ fault: "aborted" });
        await ovs.reconnect((link) => table.replay(link));
        await first;
        await table.repair();
        expect(present()).toEqual(["2@3"]);
    });

    it("removing what is not there sends nothing", async () => {
        await table.remove("nobody");
        expect(ovs.bundles).toEqual([]);
    });

    it("flows need a round", () => {
        const other = new FlowTable({ link: ovs, logger: silentLogger });
        other.stage("a", setOf([1]));
        expect(() => other.flowsOf("a")).toThrow(expect.objectContaining({ code: "NO_ROUND" }));
    });

    it("what OVS refuses is not desired afterwards", async () => {
        const bad = setOf([1], { actions: [{ type: "group", group: 1 }] });
        await expect(table.set("a", bad)).rejects.toMatchObject({ code: "REFUSED" });
        expect(table.flowsOf("a")).toEqual([]);
        await table.set("a", setOf([2]));
        await expect(table.set("a", bad)).rejects.toMatchObject({ code: "REFUSED" });
        expect(table.flowsOf("a").map(({ match }) => match)).toEqual([{ in_port: 2 }]);
        expect(present()).toEqual(["2@3"]);
    });
});

describe("a removal that failed", () => {
    const refused = new OpenFlowError("REFUSED", "caller", "not now");

    beforeEach(async () => {
        await table.set("a", setOf([1, 2]));
        ovs.failures.push({ error: refused, applied: false });
        await expect(table.remove("a")).rejects.toBe(refused);
        expect(present()).toEqual(["1@3", "2@3"]);
    });

    it("is carried out by the next one", async () => {
        await table.remove("a");
        expect(present()).toEqual([]);
    });

    it("is carried out by the next change of the owner", async () => {
        await table.set("a", setOf([2, 3]));
        expect(present()).toEqual(["2@3", "3@3"]);
    });

    it.each([
        ["repair", () => table.repair()],
        ["replay", () => table.replay(ovs.direct)],
    ])("is done with after a %s: what another owner got since stays", async (_, made) => {
        await made();
        expect(present()).toEqual([]);
        await table.set("b", setOf([1]));
        await table.remove("a");
        expect(present()).toEqual(["1@3"]);
    });
});

describe("a change that OVS refuses in part", () => {
    const details = { partial: true };
    const partial = new OpenFlowError("REFUSED", "internal", "one of them cannot be read", { details });

    it("is taken back: the owner has none of it", async () => {
        ovs.failures.push({ error: partial, applied: true });
        await expect(table.set("a", setOf([1, 2]))).rejects.toBe(partial);
        expect(present()).toEqual([]);
        expect(table.size).toBe(0);
    });

    it("gives way to what the owner had", async () => {
        await table.set("a", setOf([1, 2]));
        ovs.failures.push({ error: partial, applied: true });
        await expect(table.set("a", setOf([2, 3], output(9)))).rejects.toBe(partial);
        expect(present()).toEqual(["1@3", "2@3"]);
        expect(ovs.flows.every(({ actions }) => actions.length === 0)).toBe(true);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("gives way to what the owner set after it", async () => {
        ovs.failures.push({ error: partial, applied: true });
        const first = table.set("a", setOf([1, 2]));
        await Promise.all([expect(first).rejects.toBe(partial), table.set("a", setOf([3]))]);
        expect(present()).toEqual(["3@3"]);
    });

    it("is put right by the repair when it cannot be taken back", async () => {
        const refused = new OpenFlowError("REFUSED", "caller", "not now");
        ovs.failures.push({ error: partial, applied: true }, { error: refused, applied: false });
        await expect(table.set("a", setOf([1, 2]))).rejects.toBe(partial);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 2 });
    });
});

describe("replay", () => {
    it("brings in what was staged, removes flows of this round that are not wanted, leaves all others", async () => {
        ovs.put(foreign(8, 0n));
        ovs.put(foreign(7, 0xabcdn));
        ovs.put(foreign(6, 2n << 48n));
        ovs.put(foreign(5, BigInt(round) << 48n));
        table.stage("a", setOf([1, 2]));
        await table.replay(ovs.direct);
        expect(present()).toEqual(["1@3", "2@3", "6@2", "7@0", "8@0"]);
    });

    it("takes over a flow of an earlier round in place", async () => {
        ovs.put(foreign(1, 2n << 48n));
        table.stage("a", setOf([1]));
        await table.replay(ovs.direct);
        expect(present()).toEqual(["1@3"]);
    });

    it("sends a large table in bundles of bounded size", async () => {
        table.stage("a", setOf(Array.from({ length: 4500 }, (_, port) => port)));
        await table.replay(ovs.direct);
        expect(ovs.bundles).toEqual([2000, 2000, 500]);
        expect(ovs.flows).toHaveLength(4500);
    });

    it("sends the pipeline first, and the flows of an owner in one bundle", async () => {
        const ports = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);
        for (const [owner, from] of [
            ["pod/a", 10_000],
            ["pod/b", 20_000],
            ["pod/c", 30_000],
        ] as const)
            table.stage(owner, setOf(ports(from, 900)));
        table.stage("pipeline", { ...setOf(ports(0, 150)), category: Category.default });
        await table.replay(ovs.direct);
        expect(ovs.flows.slice(0, 150).map(({ match }) => match.in_port)).toEqual(ports(0, 150));
        expect(ovs.bundles).toEqual([1950, 900]);
        expect(ovs.flows).toHaveLength(2850);
    });

    it("sends the mark that OVS has all Services after all of them", async () => {
        const many = setOf(Array.from({ length: 2_500 }, (_, at) => 10 + at));
        table.stage("pipeline/17", { ...setOf([1]), category: Category.servicesComplete });
        table.stage("peer/a", { ...setOf([2]), category: Category.nodeConnectivity });
        table.stage("service/a", { ...many, category: Category.service });
        await table.replay(ovs.direct);
        expect(ovs.flows).toHaveLength(2_502);
        expect(ovs.flows.at(-1)?.match).toEqual({ in_port: 1 });
    });

    it("keeps what becomes wanted while it runs", async () => {
        await table.set("a", setOf([1]));
        ovs.onDump = (): void => {
            ovs.onDump = undefined;
            table.stage("b", setOf([2]));
            ovs.put({ ...foreign(2, BigInt(round) << 48n) });
        };
        await table.replay(ovs.direct);
        expect(present()).toEqual(["1@3", "2@3"]);
    });
});

describe("rounds of earlier starts", () => {
    it("their flows go, those of this round and of others stay", async () => {
        for (const [port, of] of [
            [11, 1n],
            [12, 2n],
            [13, 9n],
        ] as const)
            ovs.put(foreign(port, (of << 48n) | 1n));
        ovs.put(foreign(14, 1n));
        await table.set("a", setOf([1]));
        expect(await table.deleteRounds([1, 2, round])).toBe(2);
        expect(present()).toEqual(["13@9", "14@0", "1@3"]);
    });

    it("rounds that nobody knows of any more are those of flows with cookies like ours", async () => {
        for (const [port, cookie] of [
            [11, 2n << 48n],
            [12, (9n << 48n) | (1n << 40n)],
            [13, (9n << 48n) | 1n],
            [14, (7n << 48n) | (9n << 40n)],
            [15, 1n],
        ] as const)
            ovs.put(foreign(port, cookie));
        await table.set("a", setOf([1]));
        expect(await table.deleteRounds([])).toBe(3);
        expect(present()).toEqual(["14@7", "15@0", "1@3"]);
    });

    it("those that are excepted stay until they are not", async () => {
        for (const port of [11, 12, 13]) ovs.put(foreign(port, 2n << 48n));
        await table.set("a", setOf([13]));
        const except = ({ match }: Flow): boolean => match.in_port === 11;
        expect(await table.deleteRounds([2], { except })).toBe(1);
        expect(present()).toEqual(["11@2", "13@3"]);
        expect(await table.deleteRounds([2])).toBe(1);
        expect(present()).toEqual(["13@3"]);
    });

    it("a flow that is taken over between check and deletion stays", async () => {
        ovs.put(foreign(1, 2n << 48n));
        table.stage("a", setOf([1]));
        const [wanted] = table.flowsOf("a");
        ovs.onDumped = (): void => {
            ovs.onDumped = undefined;
            if (wanted !== undefined) ovs.put(wanted);
        };
        await table.deleteRounds([2]);
        expect(present()).toEqual(["1@3"]);
    });
});

describe("repair", () => {
    it("does nothing when all is well", async () => {
        await table.set("a", setOf([1, 2]));
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(ovs.bundles).toEqual([2]);
    });

    it("brings back what is missing, takes over what carries another cookie, deletes what nobody wants", async () => {
        await table.set("a", setOf([1, 2, 3]));
        const [first, second] = ovs.flows;
        if (first === undefined || second === undefined) throw new Error("no flows");
        ovs.drop(first);
        ovs.put({ ...second, cookie: 0n });
        ovs.put(foreign(9, BigInt(round) << 48n));
        ovs.put(foreign(10, 0n));
        expect(await table.repair()).toEqual({ missing: 2, superfluous: 1 });
        expect(present()).toEqual(["10@0", "1@3", "2@3", "3@3"]);
    });

    it("puts actions right that somebody changed", async () => {
        await table.set("a", setOf([1], output(5)));
        const [flow] = ovs.flows;
        if (flow === undefined) throw new Error("no flow");
        ovs.put({ ...flow, actions: [] });
        expect(await table.repair()).toEqual({ missing: 1, superfluous: 0 });
        expect(ovs.flows[0]?.actions).toEqual([{ type: "output", port: 5 }]);
    });
});

describe("what changes while the repair compares", () => {
    const onceDumped = (change: () => unknown): void => {
        ovs.onDumped = (): void => {
            ovs.onDumped = undefined;
            change();
        };
    };

    it("is not brought back when its owner went", async () => {
        await table.set("a", setOf([1]));
        const [flow] = ovs.flows;
        if (flow === undefined) throw new Error("no flow");
        ovs.drop(flow);
        onceDumped(() => table.remove("a"));
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        await turns();
        expect(present()).toEqual([]);
    });

    it("is not deleted when somebody wants it now", async () => {
        await table.set("a", setOf([1]));
        ovs.put(foreign(2, BigInt(round) << 48n));
        onceDumped(() => table.set("b", setOf([2])));
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(present()).toEqual(["1@3", "2@3"]);
    });

    it("is left as its owner made it", async () => {
        await table.set("a", setOf([1], output(5)));
        onceDumped(() => table.set("a", setOf([1], output(6))));
        await table.repair();
        await turns();
        expect(ovs.flows.map(({ actions }) => actions)).toEqual([[{ type: "output", port: 6 }]]);
    });
});

describe("when OVS goes away", () => {
    const lost = new OpenFlowError("DISCONNECTED", "environment", "the connection ended");
    const slow = new OpenFlowError("TIMEOUT", "timeout", "no answer in time");
    const replay = (): Promise<void> => ovs.reconnect((link) => table.replay(link));

    it("calls wait, and what they want is there after the replay, nothing else", async () => {
        await table.set("old", setOf([1]));
        ovs.disconnect();
        ovs.clear();
        const waiting = Promise.all([table.set("new", setOf([2])), table.remove("old")]);
        await replay();
        await waiting;
        expect(present()).toEqual(["2@3"]);
    });

    it.each([
        ["not done", false],
        ["done", true],
    ])("in the middle of a bundle that was %s, set waits for the replay", async (_, applied) => {
        ovs.failures.push({ error: lost, applied });
        let ended = false;
        const waiting = table.set("a", setOf([1])).then(() => (ended = true));
        await turns();
        expect(ended).toBe(false);
        await replay();
        await waiting;
        expect(present()).toEqual(["1@3"]);
    });

    it("a replay that began before the call does not count: it may not have carried the flows", async () => {
        let called: Promise<void> | undefined;
        let ended = false;
        table.stage("old", setOf([1]));
        ovs.onDump = (): void => {
            ovs.onDump = undefined;
            // The replay has sent its flows already; the call that comes now loses its connection.
            ovs.failures.push({ error: lost, applied: false });
            called = table.set("new", setOf([2])).then(() => void (ended = true));
        };
        await table.replay(ovs.direct);
        await turns();
        expect(present()).toEqual(["1@3"]);
        expect(ended).toBe(false);
        await replay();
        await called;
        expect(present()).toEqual(["1@3", "2@3"]);
    });

    it("a replay that fails wakes nobody", async () => {
        ovs.failures.push({ error: lost, applied: false }, { error: lost, applied: false });
        let ended = false;
        const waiting = table.set("a", setOf([1])).then(() => (ended = true));
        await turns();
        await expect(table.replay(ovs.direct)).rejects.toBe(lost);
        expect(ended).toBe(false);
        await replay();
        await waiting;
        expect(present()).toEqual(["1@3"]);
    });

    it("OVS that is only slow gets the flows again, without a new connection", async () => {
        ovs.failures.push({ error: slow, applied: false }, { error: slow, applied: true });
        await table.set("a", setOf([1]));
        expect(present()).toEqual(["1@3"]);
    });

    it("a set that is cancelled rejects as such, and its flows stay wanted until the owner removes them", async () => {
        ovs.disconnect();
        const stop = new AbortController();
        const waiting = table.set("a", setOf([1]), stop.signal);
        stop.abort();
        await expect(waiting).rejects.toMatchObject({ fault: "aborted" });
        expect(table.size).toBe(1);
        const removing = table.remove("a");
        await replay();
        await removing;
        expect(present()).toEqual([]);
    });

    it("one that is cancelled while it waits for the replay, too", async () => {
        ovs.failures.push({ error: lost, applied: true });
        const stop = new AbortController();
        const waiting = table.set("a", setOf([1]), stop.signal);
        await turns();
        stop.abort();
        await expect(waiting).rejects.toMatchObject({ code: "ABORTED", fault: "aborted" });
    });

    it("a remove that is cancelled is made good by the replay", async () => {
        await table.set("a", setOf([1]));
        ovs.disconnect();
        const stop = new AbortController();
        const waiting = table.remove("a", stop.signal);
        stop.abort();
        await expect(waiting).rejects.toMatchObject({ fault: "aborted" });
        await replay();
        expect(present()).toEqual([]);
    });
});

it("flows of two owners with one identity: the last one set is there, and the removal of the other keeps it", async () => {
    await table.set("a", setOf([1], output(5)));
    await table.set("b", setOf([1], output(6)));
    expect(ovs.flows.map((flow) => [flowKey(flow), flow.actions])).toHaveLength(1);
    await table.remove("a");
    expect(ovs.flows[0]?.actions).toEqual([{ type: "output", port: 6 }]);
    expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    await table.remove("b");
    expect(ovs.flows).toEqual([]);
});
