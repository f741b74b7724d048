import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { Category, type FlowSet } from "@antrea/flows";
import { OpenFlowError, type Flow } from "@antrea/openflow";
import { FlowTable, type FlowLink } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";
import { serviceOf } from "./test-service.ts";

let ovs: FakeSwitch;
let table: FlowTable;

beforeEach(() => {
    ovs = new FakeSwitch();
    table = new FlowTable({ link: ovs, logger: silentLogger });
    table.useRound(3);
});

function setOf(
    ports: readonly number[],
    { category = Category.podConnectivity, actions = [] }: Partial<FlowSet & Flow> = {},
): FlowSet {
    return { category, flows: ports.map((in_port) => ({ table: 0, priority: 10, match: { in_port }, actions })) };
}

/** The switch refuses these: it has no such group. */
const toGroup: Partial<Flow> = { actions: [{ type: "group", group: 1 }] };

const portsOf = (flows: readonly Flow[]): unknown[] => flows.map(({ match }) => match.in_port).sort();

async function turns(count = 10): Promise<void> {
    for (let left = count; left > 0; left -= 1) await turn();
}

describe("an owner whose flows OVS refuses", () => {
    it("has after two refused changes what it had before both", async () => {
        await table.set("a", setOf([1]));
        const calls = [table.set("a", setOf([2], toGroup)), table.set("a", setOf([3], toGroup))];
        const results = await Promise.allSettled(calls);
        expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
        expect(portsOf(table.flowsOf("a"))).toEqual([1]);
        await table.replay(ovs.direct);
        expect(portsOf(ovs.flows)).toEqual([1]);
    });

    it("has after a refused transaction with two changes of it what it had before", async () => {
        await table.set("a", setOf([1]));
        const changes = [setOf([2]), setOf([3], toGroup)].map((flows) => ({ owner: "a", flows }));
        await expect(table.apply(changes)).rejects.toMatchObject({ code: "REFUSED" });
        expect(portsOf(table.flowsOf("a"))).toEqual([1]);
        expect(portsOf(ovs.flows)).toEqual([1]);
    });

    it("has nothing of a refused change although an earlier one, refused in part, is reverted meanwhile", async () => {
        const partial = new OpenFlowError("REFUSED", "internal", "cannot be read", { details: { partial: true } });
        const refused = new OpenFlowError("REFUSED", "caller", "not now");
        ovs.failures.push({ error: partial, applied: true }, { error: refused, applied: false });
        const results = await Promise.allSettled([table.set("a", setOf([1])), table.set("a", setOf([2]))]);
        expect(results).toEqual([partial, refused].map((reason) => ({ status: "rejected", reason })));
        expect(table.flowsOf("a")).toEqual([]);
        expect(ovs.flows).toEqual([]);
    });

    it("does not keep a replay from the flows of others; its own call is refused", async () => {
        await table.set("a", setOf([1]));
        ovs.disconnect();
        ovs.clear();
        const refused = expect(table.set("b", setOf([2], toGroup))).rejects.toMatchObject({ code: "REFUSED" });
        await turns();
        await ovs.reconnect((link) => table.replay(link));
        await refused;
        expect(portsOf(ovs.flows)).toEqual([1]);
        expect(table.flowsOf("b")).toEqual([]);
    });

    it("is refused too when its call was in progress as the connection was lost", async () => {
        await table.set("a", setOf([1]));
        ovs.failures.push({ error: new OpenFlowError("DISCONNECTED", "environment", "lost"), applied: false });
        const refused = expect(table.set("b", setOf([2], toGroup))).rejects.toMatchObject({ code: "REFUSED" });
        await turns();
        await table.replay(ovs.direct);
        await refused;
        expect(portsOf(ovs.flows)).toEqual([1]);
        expect(table.flowsOf("b")).toEqual([]);
    });

    it("does not keep a repair from the flows of others", async () => {
        table.stage("a", setOf([1]));
        table.stage("b", setOf([2], toGroup));
        table.stage("c", setOf([3]));
        await table.repair();
        expect(portsOf(ovs.flows)).toEqual([1, 3]);
    });

    it("that changes before a repair sends its flows alone does not get back what it had", async () => {
        table.stage("a", serviceOf({ 1: [10] }));
        table.stage("b", serviceOf({ 2: [20] }));
        ovs.failures.push({ error: new OpenFlowError("REFUSED", "caller", "not now"), applied: false });
        const repair = table.repair();
        // Both were refused, and those of "a" are on their way.
        while (ovs.bundles.length < 2) await turn();
        await Promise.all([table.set("b", serviceOf({})), repair]);
        expect(portsOf(ovs.flows)).toEqual([1]);
        expect(ovs.groups).toHaveLength(1);
    });

    it.each([
        ["the pipeline", Category.default],
        ["policies", Category.networkPolicy],
    ])("ends the replay if they are those of %s: without them OVS forwards what it must not", async (_, category) => {
        table.stage("base", setOf([2], { ...toGroup, category }));
        table.stage("a", setOf([1]));
        await expect(table.replay(ovs.direct)).rejects.toMatchObject({ code: "REFUSED" });
        expect(portsOf(ovs.flows)).toEqual([]);
    });
});

describe("a flow that a later call of another owner has taken over", () => {
    it("stays when the first owner is removed", async () => {
        await table.set("a", setOf([1, 2]));
        await table.set("b", setOf([1]));
        await table.remove("a");
        expect(portsOf(ovs.flows)).toEqual([1]);
    });

    it("stays when a removal that failed is made again", async () => {
        await table.set("a", setOf([1]));
        ovs.failures.push({ error: new OpenFlowError("REFUSED", "caller", "not now"), applied: false });
        await expect(table.remove("a")).rejects.toMatchObject({ code: "REFUSED" });
        await table.set("b", setOf([1]));
        await table.remove("a");
        expect(portsOf(ovs.flows)).toEqual([1]);
    });
});

it("a call that found no connection for as long as a replay runs is sent after it", async () => {
    let timeOut = (): void => undefined;
    let isOpen = false;
    const link: FlowLink = {
        ...ovs.direct,
        bundle: (mods) => {
            if (isOpen) return ovs.direct.bundle(mods);
            return new Promise((_, reject) => {
                timeOut = () => reject(new OpenFlowError("NOT_CONNECTED", "environment", "nothing was sent"));
            });
        },
    };
    table = new FlowTable({ link, logger: silentLogger });
    table.useRound(3);
    table.stage("a", setOf([1]));
    const slow: FlowLink = {
        ...ovs.direct,
        dumpFlows: async (filter) => {
            await turns(40);
            return ovs.direct.dumpFlows(filter);
        },
    };
    const replay = table.replay(slow);
    await turns(3);
    const call = table.set("b", setOf([2]));
    await turns(3);
    timeOut();
    await replay;
    isOpen = true;
    timeOut();
    await call;
    expect(portsOf(ovs.flows)).toEqual([1, 2]);
});

it("what a repair would send when OVS is back is not sent: the replay had all, and its owner may have changed since", async () => {
    await table.set("a", serviceOf({ 1: [1] }));
    for (const flow of ovs.flows) ovs.drop(flow);
    // The connection is lost when all was compared, before anything was sent.
    const dump = ovs.dumpGroups.bind(ovs);
    ovs.dumpGroups = async (...args) => {
        const found = await dump(...args);
        ovs.disconnect();
        return found;
    };
    const repair = table.repair();
    await turns();
    const change = table.set("a", setOf([], { category: Category.service }), AbortSignal.abort());
    await expect(change).rejects.toMatchObject({ code: "ABORTED" });
    await ovs.reconnect((link) => table.replay(link));
    const repaired = await repair;
    expect([ovs.flows, ovs.groups]).toEqual([[], []]);
    expect(repaired).toEqual({ missing: 0, superfluous: 0 });
});
