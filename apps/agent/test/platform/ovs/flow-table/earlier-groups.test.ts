import { beforeEach, describe, expect, it } from "@jest/globals";
import { cookieOf } from "@antrea/flows";
import type { Flow } from "@antrea/openflow";
import { EarlierFlows, FlowTable, type EarlierState } from "../../../../src/platform/ovs/flow-table/index.ts";
import { groupIdOf } from "../../../../src/platform/ovs/flow-table/group-numbers.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";
import { serviceOf, type TestService } from "./test-service.ts";

const limit = new AbortController().signal;
const many = Array.from({ length: 300 }, (_, at) => at + 1);
let ovs: FakeSwitch;

beforeEach(() => {
    ovs = new FakeSwitch();
});

/** A start of the agent with these Services. */
function start(round: number, earlier: readonly number[], services: Record<string, TestService>): FlowTable {
    const table = new FlowTable({ link: ovs, logger: silentLogger });
    table.useRound(round, earlier);
    for (const [owner, service] of Object.entries(services)) table.stage(owner, serviceOf(service));
    return table;
}

const portsOf = (flows: readonly Flow[], round: number): readonly unknown[] =>
    flows.filter(({ cookie }) => cookieOf(cookie ?? 0n).round === round).map(({ match }) => match.in_port);
const rounds = (): readonly number[] => [...new Set(ovs.groups.map(({ id }) => Math.floor(id / 2 ** 20)))].sort();

describe("groups of an earlier agent", () => {
    beforeEach(async () => {
        await start(2, [], { a: { 1: [10], 2: [20] }, gone: { 3: [30] } }).replay(ovs.direct);
    });

    it("stay with its Services until these are known, then go after the flows", async () => {
        const table = start(3, [2], { a: { 1: [10, 11] } });
        await table.replay(ovs.direct);
        let isKnown = false;
        const earlier = new EarlierFlows(
            {
                flowTable: table,
                learned: () => Promise.resolve(isKnown),
                forgotten: () => Promise.resolve(),
            },
            { rounds: [2] },
        );
        await earlier.deleteOwn(limit);
        await earlier.deleteLearned(limit);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(portsOf(ovs.flows, 2)).toEqual([2, 3]);
        expect(ovs.groups).toHaveLength(4);
        isKnown = true;
        await table.set("b", serviceOf({ 2: [20] }));
        await earlier.deleteLearned(limit);
        expect(portsOf(ovs.flows, 3)).toEqual([1, 2]);
        expect([ovs.flows.length, ovs.groups.length, rounds()]).toEqual([2, 2, [3]]);
        // One earlier start whose flows were complete: all its groups are known by its flows.
        expect(ovs.groupLists).toBe(0);
    });

    it.each([[[2]], [[]]])("are read before the first replay replaces a flow, rounds %j", async (earlier) => {
        const table = start(3, earlier, { a: { 1: [11] } });
        const read: EarlierState[] = [];
        table.onEarlier({
            needsGroups: ({ match }) => match.in_port !== 2,
            read: (state) => void read.push(state),
        });
        await table.replay(ovs.direct);
        await table.replay(ovs.direct);
        expect(read.map(({ flows }) => flows.map(({ match }) => match.in_port))).toEqual([[1, 2, 3]]);
        const [state] = read;
        expect(state?.groups.map(({ id, buckets }) => [id, buckets[0]?.id])).toEqual([
            [groupIdOf(2, 1), 10],
            [groupIdOf(2, 3), 30],
        ]);
        await table.deleteRounds(earlier);
        expect([ovs.flows.length, rounds()]).toEqual([1, [3]]);
    });

    it("that no flow uses, since a start was killed as it replaced flows, are found in a list of all", async () => {
        await start(3, [2], { a: { 1: [10] }, b: { 2: [20] }, c: { 3: [30] } }).replay(ovs.direct);
        ovs.change({ command: "add_or_modify", group: { id: 77, type: "select", buckets: [] } });
        const table = start(4, [2, 3], { a: { 1: [10] } });
        await table.replay(ovs.direct);
        await table.deleteRounds([2, 3]);
        expect(ovs.groupLists).toBe(1);
        expect(ovs.groups.map(({ id }) => id)).toEqual([77, groupIdOf(4, 1)]);
    });

    it("are not listed again when a list has ended the connection", async () => {
        await start(3, [2], { a: { 1: [10] } }).replay(ovs.direct);
        const table = start(4, [2, 3], { a: { 1: [10] } });
        await table.replay(ovs.direct);
        ovs.isListTooLong = true;
        await expect(table.deleteRounds([2, 3])).rejects.toMatchObject({ code: "DISCONNECTED" });
        await table.deleteRounds([2, 3]);
        expect(ovs.groupLists).toBe(1);
        // Group 1 of round 2 is not known, as no flow used it.
        expect(ovs.groups.map(({ id }) => id)).toEqual([groupIdOf(2, 1), groupIdOf(4, 1)]);
    });
});

it("groups that OVS cannot describe are not read, and go all the same", async () => {
    await start(2, [], { a: { 1: many } }).replay(ovs.direct);
    const table = start(3, [2], {});
    table.onEarlier({
        needsGroups: () => true,
        read: ({ flows, groups }) => expect([flows.length, groups.length]).toEqual([1, 0]),
    });
    await table.replay(ovs.direct);
    expect(ovs.groupDumps).toBe(0);
    expect(await table.deleteRounds([2])).toBe(1);
    expect([ovs.flows, ovs.groups]).toEqual([[], []]);
});

it("flows that OVS learned are no earlier flows", async () => {
    ovs.put({ table: 9, priority: 1, match: { in_port: 1 }, actions: [], cookie: 3n << 40n });
    const table = start(3, [], {});
    table.onEarlier({ needsGroups: () => true, read: ({ flows }) => expect(flows).toEqual([]) });
    await table.replay(ovs.direct);
    expect(await table.deleteRounds([])).toBe(0);
    expect(ovs.flows).toHaveLength(1);
});

it("rounds far apart use one range of ids: groups of this start are never taken for earlier ones", async () => {
    await start(1, [], { a: { 1: [10] } }).replay(ovs.direct);
    const table = start(4_096, [1], { a: { 1: [10] } });
    await table.replay(ovs.direct);
    await table.deleteRounds([1]);
    expect([ovs.flows.length, ovs.groups.length]).toEqual([1, 1]);
});
