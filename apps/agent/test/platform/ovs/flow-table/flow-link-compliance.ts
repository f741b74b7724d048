import { beforeEach, describe, expect, it } from "@jest/globals";
import { roundMask } from "@antrea/flows";
import {
    flowKey,
    groupBodyKey,
    Port,
    type Flow,
    type FlowMod,
    type Group,
    type GroupBucket,
    type GroupMod,
} from "@antrea/openflow";
import type { FlowLink } from "../../../../src/platform/ovs/flow-table/index.ts";

const roundOne = 1n << 48n;
const roundTwo = 2n << 48n;

function flow(inPort: number, cookie: bigint, changes: Partial<Flow> = {}): Flow {
    return { table: 0, priority: 10, match: { in_port: inPort }, actions: [], cookie, ...changes };
}

function group(id: number, ...buckets: readonly number[]): Group {
    const bucket = (one: number): GroupBucket => ({ id: one, actions: [{ type: "output", port: one }] });
    return { id, type: "select", selection: { method: "dp_hash" }, buckets: buckets.map(bucket) };
}

const put = (wanted: Group): GroupMod => ({ command: "add_or_modify", group: wanted });
const toGroup = (inPort: number, id: number): FlowMod => ({
    command: "add",
    flow: flow(inPort, roundOne, { actions: [{ type: "group", group: id }] }),
});
/** Its port does not exist, so that it is never chosen. */
const dead: GroupBucket = { id: 0, actions: [], watchPort: 65000 };

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

        const bucketsOf = async (id: number): Promise<readonly number[] | undefined> =>
            (await link.dumpGroups(id))[0]?.buckets.map((bucket) => bucket.id);

        it("has groups that change in place, before the flows of the same bundle that use them", async () => {
            await link.bundle([put(group(7, 1, 2)), toGroup(1, 7)]);
            await link.bundle([put(group(7, 3)), put(group(8, 4))]);
            expect([await bucketsOf(7), await bucketsOf(8), await bucketsOf(9)]).toEqual([[3], [4], undefined]);
            expect((await link.groupCounters()).map(({ id }) => id).sort()).toEqual([7, 8]);
            expect(await dump(roundOne)).toHaveLength(1);
        });

        it.each<[string, Group]>([
            ["dp_hash, weights and a dead bucket", { ...group(7, 1, 2), buckets: [...group(7, 1, 2).buckets, dead] }],
            [
                "hash over the client address",
                {
                    ...group(7, 1),
                    selection: { method: "hash", param: 77n, fields: [{ field: "ipv4_src" }] },
                },
            ],
            ["the default choice", { id: 7, type: "select", buckets: group(7, 1, 2).buckets }],
            [
                "translation",
                {
                    id: 7,
                    type: "select",
                    selection: { method: "dp_hash" },
                    buckets: [
                        {
                            id: 0xffffff00,
                            weight: 12,
                            actions: [
                                {
                                    type: "ct",
                                    commit: true,
                                    table: 3,
                                    zone: 65520,
                                    nat: { kind: "dst", min: { family: 4, value: 0x0a0a0005n }, portMin: 80 },
                                    exec: [{ type: "set_field", field: "ct_mark", value: 16, mask: 16 }],
                                },
                            ],
                        },
                    ],
                },
            ],
        ])("gives a group back as it was written: %s", async (_, wanted) => {
            await link.bundle([put(wanted)]);
            const [present] = await link.dumpGroups(7);
            expect(present && groupBodyKey(present)).toBe(groupBodyKey(wanted));
        });

        it("inserts and removes single buckets, and refuses those that exist or do not", async () => {
            await link.bundle([put(group(7, 1, 2, 3))]);
            const { type } = group(7);
            await link.bundle([
                { command: "remove_bucket", group: { id: 7 }, bucket: 2 },
                { command: "insert_bucket", group: { id: 7, type, buckets: group(7, 5, 6).buckets }, place: 1 },
                { command: "insert_bucket", group: { id: 7, type, buckets: group(7, 9).buckets }, place: "first" },
            ]);
            expect(await bucketsOf(7)).toEqual([9, 1, 5, 6, 3]);
            const refusals: readonly GroupMod[] = [
                { command: "remove_bucket", group: { id: 7 }, bucket: 2 },
                { command: "insert_bucket", group: { id: 7, type, buckets: group(7, 5).buckets }, place: "first" },
                { command: "insert_bucket", group: { id: 8, type, buckets: group(8, 5).buckets }, place: "first" },
            ];
            for (const mod of refusals) {
                const refused = link.bundle([toGroup(1, 7), mod]);
                await expect(refused).rejects.toMatchObject({ code: "REFUSED", fault: "caller" });
            }
            expect(await bucketsOf(7)).toEqual([9, 1, 5, 6, 3]);
            expect(await dump(roundOne)).toEqual([]);
        });

        it("deletes a group with the flows that use it, not with those that no longer do", async () => {
            await link.bundle([put(group(7, 1)), put(group(8, 1)), toGroup(1, 7), toGroup(2, 7), toGroup(3, 8)]);
            await link.bundle([
                toGroup(2, 8),
                { command: "delete", group: { id: 7 } },
                { command: "delete", group: { id: 9 } },
            ]);
            expect(await dump(roundOne)).toEqual([flowKey(flow(2, 0n)), flowKey(flow(3, 0n))]);
            expect(await bucketsOf(7)).toBeUndefined();
        });

        it("takes all changes of groups back when it refuses a later one", async () => {
            await link.bundle([put(group(7, 1)), put(group(8, 1)), toGroup(1, 7), toGroup(2, 8)]);
            const refused = link.bundle([
                put(group(7, 2)),
                put(group(9, 1)),
                toGroup(1, 9),
                { command: "delete_strict", flow: flow(2, 0n) },
                { command: "delete", group: { id: 8 } },
                toGroup(4, 77),
            ]);
            await expect(refused).rejects.toMatchObject({ code: "REFUSED", fault: "caller" });
            expect([await bucketsOf(7), await bucketsOf(8), await bucketsOf(9)]).toEqual([[1], [1], undefined]);
            const flows = await link.dumpFlows({ cookie: roundOne, cookieMask: roundMask });
            expect(flows.map(({ actions }) => actions)).toEqual([
                [{ type: "group", group: 7 }],
                [{ type: "group", group: 8 }],
            ]);
        });
    });
}
