import type { FlowSet } from "@antrea/flows";

/**
 * What a feature that owns flows uses of FlowTable: its desired flows, by the name of their owner, such as one Pod, Node
 * or VLAN. `set` and `remove` resolve when OVS has the change, after a reconnect if necessary, and reject with
 * OpenFlowError, on abort with `ABORTED`.
 */
export interface FlowOwner {
    /** Sets the flows of the owner before the first replay, which sends them. */
    stage(owner: string, flows: FlowSet): void;
    /**
     * Replaces all flows of the owner; only the changed ones are sent.
     *
     * @param options `whole`: sends all flows, not only the changed ones
     */
    set(owner: string, flows: FlowSet, signal?: AbortSignal, options?: { readonly whole?: boolean }): Promise<void>;
    /** Removes all flows of the owner. */
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}
