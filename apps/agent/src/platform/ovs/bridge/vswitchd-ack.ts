import { mutate, numberOf } from "@antrea/ovsdb";
import type { OvsdbSession } from "@antrea/ovsdb/session";

/** The columns that a session must monitor for `vswitchdAck`, by table, as its `monitor` option takes them. */
export const configurationColumns = { Open_vSwitch: ["next_cfg", "cur_cfg"] } as const;

/** Limits of `vswitchdAck`. */
export interface VswitchdAckLimits {
    /** Of each of the two steps, transaction and wait, in milliseconds. Default: 10 s. */
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal | undefined;
}

/**
 * Increments next_cfg and waits until ovs-vswitchd has applied the database contents up to it
 * (ovs-vswitchd.conf.db(5)): the row of a deleted port is gone at once, but OVS releases its device some time later.
 * Rejects with OvsdbError: `TIMEOUT` if ovs-vswitchd does not answer, `ABORTED`, or an error of
 * `OvsdbSession.transact`; what the caller changed in the database stays.
 */
export async function vswitchdAck(
    database: Pick<OvsdbSession, "rows" | "transact" | "until">,
    { timeoutMs = 10_000, signal }: VswitchdAckLimits = {},
): Promise<void> {
    const row = (): ReadonlyMap<string, number> => {
        const [found] = database.rows("Open_vSwitch").values();
        return new Map(found && ["next_cfg", "cur_cfg"].map((column) => [column, numberOf(found, column)]));
    };
    const limits = { timeoutMs, ...(signal !== undefined && { signal }) };
    await database.transact([mutate("Open_vSwitch", [], [["next_cfg", "+=", 1]])], limits);
    // The changes of a transaction are visible before its reply arrives.
    const wanted = row().get("next_cfg") ?? Infinity;
    const done = (): true | undefined => ((row().get("cur_cfg") ?? -1) >= wanted ? true : undefined);
    await database.until(done, { ...limits, what: "ovs-vswitchd to apply the configuration of the database" });
}
