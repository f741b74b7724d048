import { messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import type { FlowTable } from "./flow-table.ts";

export interface FlowRestoreComponents<Link> {
    readonly flowTable: { replay(link: Link): Promise<void> };
    /** Lets OVS forward by its flows, if it waits for them; does nothing else. */
    readonly release: (signal?: AbortSignal) => Promise<void>;
    readonly logger: Logger;
}

/**
 * Brings the flows back into an OVS that has started. Where it was started so that it waits (`flow-restore-wait`,
 * ovs-vswitchd.conf.db(5)), the kernel goes on with what it knew until OVS is released: after a replay, and not before all
 * flows of this start are known, as half of them would cut the Pods of the other half.
 */
export class FlowRestore<Link = Parameters<FlowTable["replay"]>[0]> {
    readonly #components: FlowRestoreComponents<Link>;
    #areAllKnown = false;

    constructor(components: FlowRestoreComponents<Link>) {
        this.#components = components;
    }

    /** For each new connection to OVS. Rejects as the replay does, and OVS then waits on. */
    async replay(link: Link): Promise<void> {
        await this.#components.flowTable.replay(link);
        await this.retry();
    }

    /** All flows of this start are in OVS. */
    async allKnown(signal?: AbortSignal): Promise<void> {
        this.#areAllKnown = true;
        await this.retry(signal);
    }

    /** Releases OVS if it still waits and all is known. A failure is logged: there is a next time. */
    async retry(signal?: AbortSignal): Promise<void> {
        if (!this.#areAllKnown) return;
        try {
            await this.#components.release(signal);
        } catch (error) {
            this.#components.logger.warn("cannot end the flow restore of OVS: the database cannot be written", {
                reason: messageOf(error),
            });
        }
    }
}
