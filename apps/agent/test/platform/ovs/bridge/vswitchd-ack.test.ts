import { expect, it } from "@jest/globals";
import { vswitchdAck } from "../../../../src/platform/ovs/bridge/index.ts";

const { signal } = new AbortController();

it.each([
    ["10 s", undefined, { timeoutMs: 10_000 }],
    ["10 s, or until the signal ends", { signal }, { timeoutMs: 10_000, signal }],
    ["as long as the caller asks", { timeoutMs: 3_000 }, { timeoutMs: 3_000 }],
])("OVS has %s to carry out what the database has", async (_, limits, expected) => {
    const row = new Map([["row", { next_cfg: 7, cur_cfg: 6 }]]);
    const asked: unknown[] = [];
    const database = {
        rows: () => row,
        transact: async (_operations: unknown, o: unknown) => (asked.push(o), []),
        until: async <T>(condition: () => T | undefined, o: unknown): Promise<T> => {
            asked.push(o);
            expect(condition()).toBeUndefined();
            row.set("row", { next_cfg: 7, cur_cfg: 7 });
            return condition() as T;
        },
    };
    await vswitchdAck(database, limits);
    expect(asked).toEqual([expected, { ...expected, what: expect.stringContaining("ovs-vswitchd") as unknown }]);
});
