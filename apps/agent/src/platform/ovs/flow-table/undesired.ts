import { flowKey, type FlowStats } from "@antrea/openflow";
import { inSlices } from "../../slices.ts";
import { canChange, wantedFlows, type Owned, type OwnedFlows } from "./owned-flows.ts";

/** Indexes flows of OVS by `flowKey` (table, priority and match), in slices that do not block the event loop. */
export async function byKey(stats: readonly FlowStats[]): Promise<Map<string, FlowStats>> {
    const found = new Map<string, FlowStats>();
    await inSlices(stats, (flow) => void found.set(flowKey(flow), flow));
    return found;
}

/**
 * The flows of `present`, which is indexed by `flowKey`, that no owner wants when it resolves; to be deleted in the
 * same turn of the event loop, as an owner may want them later.
 */
export async function undesired(
    present: ReadonlyMap<string, FlowStats>,
    owners: OwnedFlows,
): Promise<readonly FlowStats[]> {
    if (present.size === 0) return [];
    const left = new Map(present);
    const drop = ({ wanted }: Owned): void => {
        for (const flow of wantedFlows(wanted)) left.delete(flowKey(flow));
    };
    const dropped = new WeakSet<Owned>();
    await inSlices(owners.all(), (owned) => {
        if (canChange(owned.wanted)) return;
        drop(owned);
        dropped.add(owned);
    });
    // Read after the dump, and synchronously: flows that became desired meanwhile must not be deleted.
    if (left.size > 0) for (const owned of owners.all()) if (!dropped.has(owned)) drop(owned);
    return [...left.values()];
}
