import { flowBodyKey, flowKey, type Flow } from "@antrea/openflow";
import { inSlices } from "../../platform/slices.ts";

/**
 * The wanted flows that are missing in OVS or have different actions there. Reads `present`, all flows of a dump, in
 * slices, so that other work is not delayed.
 */
export async function missingFlows(wanted: readonly Flow[], present: readonly Flow[]): Promise<readonly Flow[]> {
    const missing = new Map(wanted.map((flow) => [flowKey(flow), flow]));
    const placeOf = ({ table, priority, match }: Flow): string =>
        `${table} ${priority} ${match.eth_type} ${match.in_port}`;
    // Most flows belong to other tables, packet types or ports and are skipped without encoding them.
    const places = new Set(wanted.map(placeOf));
    await inSlices(present, (flow) => {
        if (!places.has(placeOf(flow))) return;
        const key = flowKey(flow);
        const same = missing.get(key);
        if (same !== undefined && flowBodyKey(same) === flowBodyKey(flow)) missing.delete(key);
    });
    return [...missing.values()];
}
