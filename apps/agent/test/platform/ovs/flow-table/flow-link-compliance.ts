import { beforeEach, describe, expect, it } from "@jest/globals";
import { roundMask } from "@antrea/flows";
import { flowKey, Port, type Flow } from "@antrea/openflow";
import type { FlowLink } from "../../../../src/platform/ovs/flow-table/index.ts";

const roundOne = 1n << 48n;
const roundTwo = 2n << 48n;

function flow(inPort: number, cookie: bigint, changes: Partial<Flow> = {}): Flow {
    return { table: 0, priority: 10, match: { in_port: inPort }, actions: [], cookie, ...changes };
}

/** What the flow table relies on in a link to a switch; `setUp` gives a link to one without flows. */
export function flowLinkCompliance(setUp: () => FlowLink | Promise<FlowLink>): void {
    describe("a link to a switch", () => {
        let link: FlowLink;

        beforeEach(async () => {
            link = await setUp();
        });

        const dump = async (cookie: bigint): Promise<readonly string[]> =>
            (await link.dumpFlows({ cookie, cookieMask: roundMask })).map((one) => flowKey(one)).sort();

        it("gives the flows of one round", async () => {
            await link.bundle([
                { command: "add", flow: flow(1, roundOne) },
                { command: "add", flow: flow(2, roundTwo | 5n) },
                { command: "add", flow: flow(3, 7n) },
            ]);
            expect(await dump(roundOne)).toEqual([flowKey(flow(1, 0n))]);
            expect(await dump(roundTwo)).toEqual([flowKey(flow(2, 0n))]);
        });

        it("gives and counts the flows of one table, of those of one round", async () => {
            await link.bundle([
                { command: "add", flow: flow(1, roundOne | 5n) },
                { command: "add", flow: flow(2, roundOne | 6n, { table: 1 }) },
                { command: "add", flow: flow(3, roundTwo, { table: 1 }) },
            ]);
            const filter = { cookie: roundOne, cookieMask: roundMask };
            expect((await link.countFlows(filter)).flows).toBe(2);
            expect((await link.countFlows({ ...filter, table: 1 })).flows).toBe(1);
            expect((await link.countFlows({ ...filter, table: 2 })).flows).toBe(0);
            expect((await link.countFlows({ cookie: roundOne | 6n, cookieMask: roundMask | 0xfn })).flows).toBe(1);
            const found = await link.dumpFlows({ ...filter, table: 1 });
            expect(found.map((one) => flowKey(one))).toEqual([flowKey(flow(2, 0n, { table: 1 }))]);
        });

        it("has nothing to do with a bundle of nothing", async () => {
            await link.bundle([]);
            expect((await link.countFlows({ cookie: 0n, cookieMask: 0n })).flows).toBe(0);
        });

        it("replaces the flow of the same table, priority and match in place, with its cookie", async () => {
            const output: Flow["actions"] = [{ type: "output", port: Port.LOCAL }];
            await link.bundle([{ command: "add", flow: flow(1, roundOne) }]);
            await link.bundle([{ command: "add", flow: flow(1, roundTwo, { actions: output }) }]);
            expect(await dump(roundOne)).toEqual([]);
            const [present] = await link.dumpFlows({ cookie: roundTwo, cookieMask: roundMask });
            expect(present).toMatchObject({ actions: output, cookie: roundTwo });
        });

        it("another priority or another match is another flow", async () => {
            await link.bundle([
                { command: "add", flow: flow(1, roundOne) },
                { command: "add", flow: flow(1, roundOne, { priority: 11 }) },
                { command: "add", flow: flow(1, roundOne, { match: { in_port: 1, eth_type: 0x0800 } }) },
                { command: "delete_strict", flow: flow(1, 0n) },
            ]);
            expect(await dump(roundOne)).toHaveLength(2);
        });

        it("deletes strictly, and only what carries the cookie", async () => {
            await link.bundle([
                { command: "add", flow: flow(1, roundOne | 3n) },
                { command: "add", flow: flow(2, roundTwo) },
            ]);
            await link.bundle([
                { command: "delete_strict", flow: flow(1, roundOne), cookieMask: roundMask },
                { command: "delete_strict", flow: flow(2, roundOne), cookieMask: roundMask },
                { command: "delete_strict", flow: flow(3, roundOne), cookieMask: roundMask },
            ]);
            expect(await dump(roundOne)).toEqual([]);
            expect(await dump(roundTwo)).toEqual([flowKey(flow(2, 0n))]);
        });

        it("applies a bundle whole or not at all", async () => {
            const refused = link.bundle([
                { command: "add", flow: flow(1, roundOne) },
                { command: "add", flow: flow(2, roundOne, { actions: [{ type: "group", group: 77 }] }) },
            ]);
            await expect(refused).rejects.toMatchObject({ code: "REFUSED", fault: "caller" });
            expect(await dump(roundOne)).toEqual([]);
        });
    });
}
