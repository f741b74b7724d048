import type { FlowSet } from "@antrea/flows";
import { flowKey, type FlowStats } from "@antrea/openflow";
import { inSlices } from "../../slices.ts";

/** The identities of desired flows, each set of flows computed once. */
export class FlowKeys {
    readonly #keys = new Map<FlowSet, readonly string[]>();

    of(set: FlowSet): readonly string[] {
        const known = this.#keys.get(set);
        if (known !== undefined) return known;
        const keys = set.flows.map((flow) => flowKey(flow));
        this.#keys.set(set, keys);
        return keys;
    }
}

/** Flows of OVS by their identity. */
export async function byKey(stats: readonly FlowStats[]): Promise<Map<string, FlowStats>> {
    const found = new Map<string, FlowStats>();
    await inSlices(stats, (flow) => void found.set(flowKey(flow), flow));
    return found;
}
