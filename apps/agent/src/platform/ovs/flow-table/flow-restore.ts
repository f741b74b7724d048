import { messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import type { FlowTable } from "./flow-table.ts";

/** Dependencies of FlowRestore; `flowTable` is the part of FlowTable that it uses. */
export interface FlowRestoreComponents<Link> {
    readonly flowTable: { replay(link: Link): Promise<void> };
    /** Ends `flow-restore-wait` if it is set; idempotent. A rejection is logged. */
    readonly release: (signal?: AbortSignal) => Promise<void>;
    readonly logger: Logger;
}

/**
 * Restores the flows in an OVS that was restarted. If it was started with `flow-restore-wait`
 * (ovs-vswitchd.conf.db(5)), the kernel keeps its earlier flows until OVS is released: after a replay, and not before
 * all flows of this start are known, since a part of them would disconnect the other Pods. The caller calls `replay`
 * for each connection and `allKnown` once.
 */
export class FlowRestore<Link = Parameters<FlowTable["replay"]>[0]> {
    readonly #components: FlowRestoreComponents<Link>;
    #areAllKnown = false;

    constructor(components: FlowRestoreComponents<Link>) {
        this.#components = components;
    }

    /** Replays the flows on a new connection to OVS. Rejects as the replay does; OVS then continues to wait. */
    async replay(link: Link): Promise<void> {
        await this.#components.flowTable.replay(link);
        await this.retry();
    }

    /**
     * To be called when all flows of this start are in OVS: releases it, from now on also after each replay. Never
     * rejects; see `retry`.
     */
    async allKnown(signal?: AbortSignal): Promise<void> {
        this.#areAllKnown = true;
        await this.retry(signal);
    }

    /**
     * Releases OVS if it still waits and all flows are known. Never rejects: a failure is logged and retried on the
     * next call.
     */
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
