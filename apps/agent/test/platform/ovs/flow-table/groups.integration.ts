import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { FlowTable, type EarlierState, type FlowsAndGroups } from "../../../../src/platform/ovs/flow-table/index.ts";
import { groupIdOf } from "../../../../src/platform/ovs/flow-table/group-numbers.ts";
import { silentLogger } from "../../../support/logger.ts";
import { serviceOf, ServiceSource } from "./test-service.ts";

const bridge = PrivateOvs.deviceName("brg");
const round = 3;
let ovs: PrivateOvs;
let connection: OpenFlowConnection;
let table: FlowTable;
/** After how many milliseconds without an answer a connection ends. */
let echoMs = 10_000;

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

async function connect(): Promise<void> {
    connection = new OpenFlowConnection(
        { logger: silentLogger },
        {
            socketPath: ovs.mgmtSocket(bridge),
            requestTimeoutMs: 2_000,
            echoIntervalMs: echoMs / 2,
            echoTimeoutMs: echoMs / 2,
        },
    );
    connection.onReady((link) => table.replay(link));
    connection.start(new AbortController().signal);
    await connection.barrier({ timeoutMs: 20_000 });
}

/** A start of the agent, with these Services staged. */
async function start(
    current: number,
    earlier: readonly number[] | undefined,
    services: Record<string, FlowsAndGroups>,
    onEarlier: (state: EarlierState) => void = () => undefined,
): Promise<void> {
    await connection?.close();
    table = new FlowTable({
        link: {
            bundle: (mods, options) => connection.bundle(mods, options),
            dumpFlows: (filter, options) => connection.dumpFlows(filter, options),
            countFlows: (filter) => connection.countFlows(filter),
            dumpGroups: (id, options) => connection.dumpGroups(id, options),
            groupCounters: (id, options) => connection.groupCounters(id, options),
        },
        logger: silentLogger,
    });
    table.useRound(current, earlier);
    table.onEarlier({ needsGroups: () => true, read: onEarlier });
    for (const [owner, service] of Object.entries(services)) table.stage(owner, service);
    await connect();
}

beforeAll(async () => {
    ovs = await PrivateOvs.start({ network: "own" });
    await ovs.addBridge(bridge);
});

afterAll(async () => {
    await connection?.close();
    await ovs?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
    await ovs.ofctl("del-flows", bridge);
    await ovs.ofctl("del-groups", bridge);
    await start(round, undefined, {});
});

/** What OVS forwards for Services, of groups that it can describe: each flow with the buckets of its group. */
async function present(): Promise<Record<string, readonly number[] | undefined>> {
    const found: Record<string, readonly number[] | undefined> = {};
    for (const { match, actions } of await connection.dumpFlows({ table: 11 })) {
        const id = actions.flatMap((one) => (one.type === "group" ? [one.group] : []))[0];
        const [group] = id === undefined ? [] : await connection.dumpGroups(id);
        found[String(match.in_port)] = group?.buckets.map((bucket) => bucket.id);
    }
    return found;
}

const groupIds = async (): Promise<readonly number[]> =>
    (await connection.groupCounters()).map(({ id }) => id).sort((a, b) => a - b);

describe("groups of the flow table on Open vSwitch", () => {
    it("change with their flows in one bundle, or not at all when it is refused in the middle", async () => {
        await table.set("a", serviceOf({ 1: [10, 11], 2: [12] }));
        await table.apply([
            { owner: "a", flows: serviceOf({ 2: [12, 13], 3: [] }) },
            { owner: "b", flows: new ServiceSource({ 4: [14] }) },
        ]);
        const before = { 2: [12, 13], 3: undefined, 4: [14] };
        expect(await present()).toEqual(before);
        const bad = serviceOf({ 9: [1] });
        const refused = table.apply([
            { owner: "a", flows: serviceOf({ 2: [15], 5: [16] }) },
            { owner: "c", flows: { ...bad, groups: [] } },
            { owner: "b", flows: undefined },
        ]);
        await expect(refused).rejects.toMatchObject({ code: "REFUSED" });
        expect(await present()).toEqual(before);
        expect(await groupIds()).toHaveLength(2);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        await table.remove("a");
        await table.remove("b");
        expect([await present(), await groupIds()]).toEqual([{}, []]);
    });

    it("are there again after kill -9 of ovs-vswitchd, in the middle of changes too", async () => {
        await table.set("a", serviceOf({ 1: [10], 2: range(1, 30) }));
        await ovs.killVswitchd();
        const changes = [table.set("b", serviceOf({ 3: [30] })), table.set("a", serviceOf({ 2: range(2, 30) }))];
        await ovs.startVswitchd();
        await Promise.all(changes);
        expect(await present()).toEqual({ 2: range(2, 30), 3: [30] });
        expect(await groupIds()).toHaveLength(2);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("survive a reconnect, and changes whose answer was lost with the connection are made once", async () => {
        echoMs = 400;
        await start(round, undefined, { a: serviceOf({ 1: [10], 2: range(1, 30) }) });
        echoMs = 10_000;
        const [first] = await groupIds();
        ovs.signalVswitchd("SIGSTOP");
        const changes = [
            table.set("a", serviceOf({ 1: [10], 2: range(2, 30), 3: [30] })),
            table.set("b", serviceOf({ 4: [40] })),
            table.remove("b"),
        ];
        while (connection.state.kind === "ready") await sleep(50);
        ovs.signalVswitchd("SIGCONT");
        await Promise.all(changes);
        expect(await groupIds()).toContain(first);
        expect(await groupIds()).toHaveLength(3);
        expect(await present()).toEqual({ 1: [10], 2: range(2, 30), 3: [30] });
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("have the right buckets after a bundle without an answer", async () => {
        await table.set("a", serviceOf({ 1: range(1, 300), 2: [1] }));
        ovs.signalVswitchd("SIGSTOP");
        const change = table.set("a", serviceOf({ 1: range(2, 300), 3: [1] }));
        await sleep(2_500);
        ovs.signalVswitchd("SIGCONT");
        await change;
        expect(await present()).toEqual({ 1: range(2, 300), 3: [1] });
        expect(await groupIds()).toHaveLength(2);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("are mended by the next repair when another program deletes or changes them", async () => {
        await table.set("a", serviceOf({ 1: [10, 11], 2: [20] }));
        const [first, second] = await groupIds();
        await ovs.ofctl("del-groups", bridge, `group_id=${first}`);
        expect(Object.keys(await present())).toHaveLength(1);
        expect(await table.repair()).toEqual({ missing: 2, superfluous: 0 });
        await ovs.ofctl("mod-group", bridge, `group_id=${second},type=select,bucket=bucket_id=1,actions=drop`);
        expect(await table.repair()).toEqual({ missing: 1, superfluous: 0 });
        expect(await present()).toEqual({ 1: [10, 11], 2: [20] });
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
    });

    it("can have more buckets than OVS describes: changed, compared and replayed, over one connection", async () => {
        const state = connection.state;
        await table.set("a", serviceOf({ 1: range(1, 5_000), 2: [1] }));
        await table.set("a", serviceOf({ 1: range(2, 5_000), 2: [1] }));
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        await table.replay(connection);
        expect(connection.state).toBe(state);
        const text = await ovs.ofctl("dump-aggregate", bridge);
        expect(text).toContain("flow_count=2");
        await table.remove("a");
        expect(await groupIds()).toEqual([]);
    });
});

describe("a restarted agent", () => {
    it("reads what is there, replaces flows in place, and deletes the rest, flows before groups", async () => {
        await start(2, [], { a: serviceOf({ 1: [10], 2: range(1, 600) }), gone: serviceOf({ 3: [30] }) });
        const learned = "table=9,cookie=0x30000000001,priority=1,actions=drop";
        await ovs.ofctl("add-flow", bridge, learned);
        let earlier: EarlierState | undefined;
        await start(3, [2], { a: serviceOf({ 1: [11] }) }, (state) => void (earlier = state));
        expect(earlier?.flows.map(({ match }) => match.in_port).sort()).toEqual([1, 2, 3]);
        expect(earlier?.groups.map(({ buckets }) => buckets[0]?.id).sort()).toEqual([10, 30]);
        expect(await groupIds()).toHaveLength(4);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        expect(await table.deleteRounds([2])).toBe(2);
        expect(await groupIds()).toEqual([groupIdOf(3, 1)]);
        expect(await present()).toEqual({ 1: [11] });
        expect((await connection.dumpFlows({ table: 9 })).map(({ cookie }) => cookie)).toEqual([0x300_0000_0001n]);
    });
});
