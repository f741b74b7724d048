import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { Category, cookieOf } from "@antrea/flows";
import { OpenFlowError, type Flow, type Group } from "@antrea/openflow";
import { FlowTable } from "../../../../src/platform/ovs/flow-table/index.ts";
import { groupIdOf } from "../../../../src/platform/ovs/flow-table/group-numbers.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";
import { groupOf, serviceOf, ServiceSource, type TestService } from "./test-service.ts";

const round = 3;
const refused = new OpenFlowError("REFUSED", "caller", "not now");
let ovs: FakeSwitch;
let table: FlowTable;

beforeEach(() => {
    ovs = new FakeSwitch();
    table = new FlowTable({ link: ovs, logger: silentLogger });
    table.useRound(round);
});

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

/** What OVS forwards: each flow with the buckets of its group. */
function present(): Record<string, readonly number[] | undefined> {
    const groups = new Map(ovs.groups.map((group) => [group.id, group.buckets.map(({ id }) => id)]));
    const idOf = ({ actions }: Flow): number =>
        actions.flatMap((one) => (one.type === "group" ? [one.group] : []))[0] ?? -1;
    return Object.fromEntries(ovs.flows.map((flow) => [String(flow.match.in_port), groups.get(idOf(flow))]));
}

const idsOf = (groups: readonly Group[]): readonly number[] => groups.map(({ id }) => id).sort((a, b) => a - b);

describe("an owner with groups", () => {
    it("has them in OVS under ids of the round, with all its changes in one bundle", async () => {
        await table.set("a", serviceOf({ 1: [10, 11], 2: [12] }));
        await table.set("b", serviceOf({ 3: [10] }));
        expect(present()).toEqual({ 1: [10, 11], 2: [12], 3: [10] });
        expect(idsOf(ovs.groups)).toEqual([1, 2, 3].map((number) => groupIdOf(round, number)));
        await table.set("a", serviceOf({ 2: [12, 13], 4: [14] }));
        expect(present()).toEqual({ 2: [12, 13], 3: [10], 4: [14] });
        // A flow and a group of port 1 go, those of port 4 come; a bucket of port 2 does.
        expect(ovs.bundles).toEqual([4, 2, 5]);
        await table.remove("a");
        expect(present()).toEqual({ 3: [10] });
        expect(idsOf(ovs.groups)).toEqual([groupIdOf(round, 3)]);
    });

    it("keeps the id of a group for as long as it has it", async () => {
        await table.set("a", serviceOf({ 1: [10], 2: [11] }));
        const [first, second] = idsOf(ovs.groups);
        await table.set("a", serviceOf({ 2: [11] }));
        await table.set("a", serviceOf({ 1: [12], 2: [13] }));
        expect(idsOf(ovs.groups)).toEqual([second, groupIdOf(round, 3)]);
        expect(idsOf(ovs.groups)).not.toContain(first);
    });

    it("has one bucket sent for the change of one endpoint among many, in its place", async () => {
        await table.set("a", serviceOf({ 1: range(1, 1_000) }));
        await table.set("a", serviceOf({ 1: [...range(1, 499), 2_000, ...range(501, 500)] }));
        expect(ovs.bundles).toEqual([2, 2]);
        expect(present()[1]).toEqual([...range(1, 499), 2_000, ...range(501, 500)]);
        await table.set("a", serviceOf({ 1: [5_000, ...range(1, 499), ...range(501, 499), 6_000, 6_001] }));
        expect(ovs.bundles).toEqual([2, 2, 4]);
        expect(present()[1]).toEqual([5_000, ...range(1, 499), ...range(501, 499), 6_000, 6_001]);
    });

    it("gets another group when it becomes too large for OVS to describe it, and when it shrinks again", async () => {
        const [few, many] = [serviceOf({ 1: range(1, 256) }), serviceOf({ 1: range(1, 257) })];
        await table.set("a", few);
        await table.set("a", many);
        expect(idsOf(ovs.groups)).toEqual([groupIdOf(round, 2 ** 19 + 1)]);
        await table.set("a", few);
        expect(idsOf(ovs.groups)).toEqual([groupIdOf(round, 2)]);
        expect(present()[1]).toHaveLength(256);
    });

    it("whose flow names a group that it has not is refused", async () => {
        const { flows } = serviceOf({ 7: [1] });
        await expect(table.set("a", { ...serviceOf({ 8: [1] }), flows })).rejects.toMatchObject({ code: "REFUSED" });
        expect([ovs.flows, ovs.groups]).toEqual([[], []]);
    });

    it("has after a refused bundle what it had before, in OVS and in the table", async () => {
        await table.set("a", serviceOf({ 1: [10], 2: [11] }));
        ovs.failures.push({ error: refused, applied: false }, { error: refused, applied: false });
        await expect(table.set("a", serviceOf({ 1: [12], 3: [13] }))).rejects.toBe(refused);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(present()).toEqual({ 1: [10], 2: [11] });
        await table.set("a", serviceOf({ 3: [13] }));
        expect(present()).toEqual({ 3: [13] });
        expect(ovs.groups).toHaveLength(1);
    });

    it("loses groups that a change, which OVS refused in part, has brought", async () => {
        const partial = new OpenFlowError("REFUSED", "internal", "cannot be read", { details: { partial: true } });
        await table.set("a", serviceOf({ 1: [10] }));
        ovs.failures.push({ error: partial, applied: true });
        await expect(table.set("a", serviceOf({ 2: [11] }))).rejects.toBe(partial);
        expect(present()).toEqual({ 1: [10] });
        expect(ovs.groups).toHaveLength(1);
    });

    it("has what the last of two changes in a transaction sets", async () => {
        await table.set("a", serviceOf({ 1: [10] }));
        await table.apply([
            { owner: "a", flows: undefined },
            { owner: "b", flows: serviceOf({ 2: [20] }) },
            { owner: "a", flows: serviceOf({ 1: [10] }) },
        ]);
        expect(present()).toEqual({ 1: [10], 2: [20] });
    });

    it("has no group removed before no flow uses it, whatever the bundle", async () => {
        await table.apply(range(0, 20).map((at) => ({ owner: `s${at}`, flows: serviceOf({ [at]: [at] }) })));
        await table.apply(
            range(0, 20).map((at) => ({
                owner: `s${at}`,
                flows: at % 2 === 0 ? undefined : serviceOf({ [at + 40]: [1] }),
            })),
        );
        expect(Object.keys(present())).toHaveLength(10);
        expect(ovs.groups).toHaveLength(10);
    });
});

describe("a group that another program deleted or changed", () => {
    const own = (): Group => ovs.groups[0] ?? groupOf(0, []);

    it("is there again after a repair, with the flows that went with it", async () => {
        await table.set("a", serviceOf({ 1: [10], 2: [11] }));
        ovs.change({ command: "delete", group: { id: own().id } });
        expect(present()).toEqual({ 2: [11] });
        expect(await table.repair()).toEqual({ missing: 2, superfluous: 0 });
        expect(present()).toEqual({ 1: [10], 2: [11] });
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("is put right by a repair", async () => {
        await table.set("a", serviceOf({ 1: [10, 11] }));
        ovs.change({ command: "remove_bucket", group: { id: own().id }, bucket: 10 });
        expect(await table.repair()).toEqual({ missing: 1, superfluous: 0 });
        expect(present()).toEqual({ 1: [10, 11] });
    });

    it("does not keep OVS from a change of its owner", async () => {
        await table.set("a", serviceOf({ 1: range(1, 100), 2: [1] }));
        ovs.change({ command: "remove_bucket", group: { id: own().id }, bucket: 100 });
        await table.set("a", serviceOf({ 1: range(1, 99), 2: [1] }));
        expect(present()).toEqual({ 1: range(1, 99), 2: [1] });
        ovs.change({ command: "delete", group: { id: own().id } });
        await table.set("a", serviceOf({ 1: range(1, 98), 2: [1] }));
        expect(present()).toEqual({ 1: range(1, 98), 2: [1] });
    });

    it("is left to the change of its owner that is made meanwhile", async () => {
        await table.set("a", serviceOf({ 1: [10] }));
        ovs.change({ command: "delete", group: { id: own().id } });
        let change: Promise<void> | undefined;
        ovs.onDumped = (): void => {
            ovs.onDumped = undefined;
            change = table.set("a", serviceOf({ 5: [50] }));
        };
        await table.repair();
        await change;
        expect(present()).toEqual({ 5: [50] });
        expect(ovs.groups).toHaveLength(1);
    });
});

describe("groups when OVS goes away", () => {
    const lost = new OpenFlowError("DISCONNECTED", "environment", "the connection ended");
    const slow = new OpenFlowError("TIMEOUT", "timeout", "no answer in time");
    const replay = (): Promise<void> => ovs.reconnect((link) => table.replay(link));

    it("are there again after the replay, and the groups of changes without an answer are not", async () => {
        await table.set("a", serviceOf({ 1: [10] }));
        await table.set("b", serviceOf({ 2: [20] }));
        ovs.failures.push({ error: lost, applied: true });
        const changed = table.set("a", serviceOf({ 3: [30] }));
        await turn();
        await turn();
        ovs.disconnect();
        const removed = table.remove("b");
        const back = table.set("a", serviceOf({ 4: [40] }));
        await replay();
        await Promise.all([changed, removed, back]);
        expect(present()).toEqual({ 4: [40] });
        expect(ovs.groups).toHaveLength(1);
        ovs.clear();
        await table.replay(ovs.direct);
        expect(present()).toEqual({ 4: [40] });
    });

    it("survive a reconnect: no bundle of the replay deletes one that is wanted", async () => {
        await table.set("a", serviceOf({ 1: [10], 2: [11] }));
        ovs.bundles.length = 0;
        await table.replay(ovs.direct);
        expect(ovs.bundles).toEqual([4]);
    });

    it("a change of buckets is sent again when its answer is lost, although OVS has it", async () => {
        await table.set("a", serviceOf({ 1: range(1, 100) }));
        ovs.failures.push({ error: slow, applied: true });
        await table.set("a", serviceOf({ 1: range(2, 100) }));
        expect(present()[1]).toEqual(range(2, 100));
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("a group of a change that was given up goes with the next repair", async () => {
        const given = new OpenFlowError("ABORTED", "aborted", "given up");
        await table.set("a", serviceOf({ 1: [10] }));
        ovs.failures.push({ error: given, applied: true });
        await expect(table.remove("a")).rejects.toBe(given);
        ovs.failures.push({ error: given, applied: false });
        await expect(table.set("b", serviceOf({ 2: [10] }))).rejects.toBe(given);
        ovs.failures.push({ error: given, applied: false });
        await expect(table.remove("b")).rejects.toBe(given);
        await table.repair();
        expect([ovs.flows, ovs.groups]).toEqual([[], []]);
    });
});

describe("many Services", () => {
    /** 2,000 Services with four flows and two groups of three endpoints. */
    const services = range(0, 2_000).map((at): TestService => ({
        [at * 4]: [1, 2, 3],
        [at * 4 + 1]: [4, 5, 6],
        [at * 4 + 2]: [],
        [at * 4 + 3]: [],
    }));

    beforeEach(async () => {
        services.forEach((service, at) => table.stage(`service/${at}`, new ServiceSource(service)));
        await table.replay(ovs.direct);
        [ovs.dumps.length, ovs.groupDumps] = [0, 0];
    });

    it("come in bundles of bounded size, of sources that are not asked for a count", () => {
        expect(table.size).toBe(8_000);
        expect([ovs.flows.length, ovs.groups.length]).toEqual([8_000, 4_000]);
        // A Service counts four flows, two groups and six buckets.
        expect(Math.max(...ovs.bundles)).toBeLessThanOrEqual((2_000 / 12) * 6);
        const made = ServiceSource.made;
        expect(table.size).toBe(8_000);
        expect(ServiceSource.made).toBe(made);
    });

    it("are compared by a sixteenth while the counts are right", async () => {
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(ovs.dumps).toHaveLength(1);
        expect(ovs.dumps[0]?.flows).toBeLessThan(1_000);
        expect(ovs.groupDumps).toBeLessThan(500);
        expect(ovs.groupLists).toBe(0);
    });

    it("get a group that was deleted back with the next repair, as its flow is missing", async () => {
        const [group] = ovs.groups;
        ovs.change({ command: "delete", group: { id: group?.id ?? 0 } });
        const { missing } = await table.repair();
        expect(missing).toBeGreaterThan(0);
        expect(ovs.groups).toContainEqual(group);
        expect(ovs.flows).toHaveLength(8_000);
    });

    it("get a group that was changed back within sixteen repairs", async () => {
        const [group] = ovs.groups;
        ovs.change({ command: "remove_bucket", group: { id: group?.id ?? 0 }, bucket: 2 });
        let missing = 0;
        for (let call = 0; call < 16; call += 1) missing += (await table.repair()).missing;
        expect(missing).toBe(1);
        expect(ovs.groups).toContainEqual(group);
    });

    it("get all of it back in bundles of bounded size", async () => {
        ovs.clear();
        ovs.bundles.length = 0;
        expect((await table.repair()).missing).toBeGreaterThanOrEqual(8_000);
        expect([ovs.flows.length, ovs.groups.length]).toEqual([8_000, 4_000]);
        expect(Math.max(...ovs.bundles)).toBeLessThanOrEqual(2_000);
    });

    it("change by what differs between two sources, with no other written", async () => {
        ovs.bundles.length = 0;
        const made = ServiceSource.made;
        await table.apply([{ owner: "service/7", flows: new ServiceSource({ ...services[7], 28: [1, 9] }) }]);
        expect(ovs.bundles).toEqual([1]);
        expect(ServiceSource.made - made).toBeLessThanOrEqual(2);
        expect(present()[28]).toEqual([1, 9]);
    });
});

it("flows that OVS learned for a Service are not counted as superfluous, and deleted by nobody", async () => {
    const learned = (port: number, cookie: bigint): Flow => ({
        table: 9,
        priority: 1,
        match: { in_port: port },
        actions: [],
        cookie,
    });
    const flows = [learned(1, 3n << 40n), learned(2, (3n << 40n) | 0xffff_ffffn)];
    for (const flow of flows) ovs.put(flow);
    await table.set("a", serviceOf({ 1: [10] }));
    await table.replay(ovs.direct);
    expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    for (const rounds of [[], [1, 2], [0]]) await table.deleteRounds(rounds.filter((one) => one > 0));
    await table.remove("a");
    expect(ovs.flows).toEqual(flows);
    expect(ovs.flows.map(({ cookie }) => cookieOf(cookie ?? 0n).category)).toEqual([
        Category.service,
        Category.service,
    ]);
});

it("an owner that cannot make its flows changes nothing", async () => {
    await table.set("a", serviceOf({ 1: [10] }));
    const broken = new ServiceSource({ 2: [20] });
    broken.flows = () => {
        throw new TypeError("no port");
    };
    const changes = [
        { owner: "b", flows: serviceOf({ 3: [30] }) },
        { owner: "a", flows: broken },
    ];
    await expect(table.apply(changes)).rejects.toThrow("no port");
    await table.replay(ovs.direct);
    expect(present()).toEqual({ 1: [10] });
    expect(ovs.groups).toHaveLength(1);
});
