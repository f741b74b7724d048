import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { Category, cookieOf, roundMask, type FlowSet } from "@antrea/flows";
import type { Flow } from "@antrea/openflow";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { PrivateOvs } from "@antrea/openflow/testing";
import { FlowTable } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";

const bridge = PrivateOvs.deviceName("brt");
const round = 3;
let ovs: PrivateOvs;
let connection: OpenFlowConnection;
let table: FlowTable;

beforeAll(async () => {
    ovs = await PrivateOvs.start({ network: "own" });
    await ovs.addBridge(bridge);
    connection = new OpenFlowConnection({ logger: silentLogger }, { socketPath: ovs.mgmtSocket(bridge) });
    connection.start(new AbortController().signal);
    await connection.barrier();
});

afterAll(async () => {
    await connection?.close();
    await ovs?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
    await ovs.ofctl("del-flows", bridge);
    table = new FlowTable({ link: connection, logger: silentLogger });
    table.useRound(round);
});

function setOf(ports: readonly number[], changes: Partial<Flow> = {}): FlowSet {
    const flows = ports.map((in_port) => ({ table: 0, priority: 10, match: { in_port }, actions: [], ...changes }));
    return { category: Category.podConnectivity, flows };
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

async function present(): Promise<readonly Flow[]> {
    return connection.dumpFlows({ cookie: BigInt(round) << 48n, cookieMask: roundMask });
}

const ports = async (): Promise<readonly unknown[]> =>
    (await present()).map(({ match }) => match.in_port).sort((a, b) => Number(a) - Number(b));

describe("the flow table on Open vSwitch", () => {
    it("changes several owners in one bundle, or none of them", async () => {
        await table.set("a", setOf([1, 2]));
        await table.apply([
            { owner: "a", flows: setOf([2, 3]) },
            { owner: "b", flows: setOf([4]) },
        ]);
        expect(await ports()).toEqual([2, 3, 4]);
        const refused = table.apply([
            { owner: "a", flows: setOf([5]) },
            { owner: "b", flows: setOf([6], { actions: [{ type: "group", group: 77 }] }) },
        ]);
        await expect(refused).rejects.toMatchObject({ code: "REFUSED" });
        expect(await ports()).toEqual([2, 3, 4]);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        const ids = (await present()).map(({ cookie }) => cookieOf(cookie ?? 0n).objectId);
        expect(new Set(ids).size).toBe(2);
        expect(ids).not.toContain(0);
    });

    it("with many flows finds by their counts what is missing and what is too much", async () => {
        for (const owner of range(0, 100)) {
            table.stage(`pod/${owner}`, setOf(range(1 + owner * 50, 50), { table: owner % 10 }));
        }
        await table.replay(connection);
        expect(await table.repair()).toEqual({ missing: 0, superfluous: 0 });
        await ovs.ofctl("--strict", "del-flows", bridge, "table=3,priority=10,in_port=151");
        await ovs.ofctl("add-flow", bridge, `table=4,cookie=${BigInt(round) << 48n},priority=9,actions=drop`);
        await ovs.ofctl("add-flow", bridge, "table=4,priority=8,actions=drop");
        expect(await table.repair()).toEqual({ missing: 1, superfluous: 1 });
        expect(await present()).toHaveLength(5_000);
        expect((await connection.countFlows()).flows).toBe(5_001);
    });
});
