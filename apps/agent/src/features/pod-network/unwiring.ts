import { systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { isNetlinkError } from "@antrea/netlink";
import { Limit } from "./limit.ts";
import { deletePodLink, releasePodLink } from "./link.ts";
import type { OfPortNumbers } from "./of-ports.ts";
import { flowOwner, type PodDraft } from "./parts.ts";
import type { PodNetworkComponents } from "./types.ts";
import {
    attachmentKey,
    type ReleasePolicy,
    isPoolRecord,
    type PodInterface,
    type PodRecord,
    podText,
} from "../../platform/pod-interfaces/index.ts";

/** What cannot be removed in this time is left to the reconcile. */
const unwireLimitMs = 5_000;

/** Dependencies of Unwiring. */
export interface UnwiringComponents extends PodNetworkComponents {
    readonly ofPorts: OfPortNumbers;
}

/**
 * Removes interfaces, for DEL and for a failed ADD: flows, port with the record, then all resources they hold. An
 * address stays in use as long as any part of the wiring may exist. Methods are called under the container's lock; what
 * cannot be removed within 5 s is logged and left to the reconcile.
 */
export class Unwiring {
    readonly #components: UnwiringComponents;
    readonly #ofPorts: OfPortNumbers;
    readonly #clock: Clock;

    constructor(components: UnwiringComponents) {
        this.#components = components;
        this.#ofPorts = components.ofPorts;
        this.#clock = components.clock ?? systemClock;
    }

    /** See `PodNetwork.remove`. */
    async remove(known: PodInterface, allocations: ReleasePolicy): Promise<boolean> {
        const { record } = known;
        const { bridging, flowTable, hostRoutes, logger, podInterfaces, pools, ports } = this.#components;
        using limit = new Limit(this.#clock, unwireLimitMs, "unwiring");
        const fate = podInterfaces.leave(record, allocations);
        // First: OVS restores the flags it knows of a link when it closes it, so it must have seen this change before.
        await this.#releaseLink(record);
        try {
            await flowTable.remove(flowOwner(record), limit.signal);
            await bridging?.remove(attachmentKey(record), limit.signal);
            await ports.deletePort(record.hostIfName, limit.signal);
        } catch (error) {
            logger.warn("unwiring is left to the reconcile", { pod: podText(record), reason: messageOf(error) });
            return false;
        }
        try {
            await hostRoutes.remove(record, (ip) => podInterfaces.isReachedElsewhere(record, ip));
        } catch (error) {
            logger.warn("route not removed; left to the next reconcile", {
                pod: podText(record),
                reason: messageOf(error),
            });
        }
        this.#forget(known);
        if (fate === "release" && isPoolRecord(record)) await pools?.release(record);
        logger.info("Pod interface removed", { pod: podText(record), container: record.containerId });
        return true;
    }

    /**
     * Rolls back what an ADD created before it had addresses, and releases allocations. The reconcile removes a port or
     * link that remains.
     */
    async undoDraft(draft: PodDraft, ofPort: number): Promise<void> {
        const { logger, netlink, pools, ports } = this.#components;
        using limit = new Limit(this.#clock, unwireLimitMs, "unwiring");
        try {
            await ports.deletePort(draft.hostIfName, limit.signal);
            await deletePodLink(netlink, draft);
        } catch (error) {
            const reason = messageOf(error);
            logger.warn("incomplete port not removed; left to the next reconcile", { port: draft.hostIfName, reason });
        }
        // Also while the port still uses it: the number is not reused for a long time, and OVS would assign another one
        // then.
        this.#ofPorts.release(ofPort);
        await pools?.release(draft);
    }

    /** Rolls back what an ADD with addresses created; the interface is in the table until that is complete. */
    async rollBack(record: PodRecord, ofPort: number): Promise<void> {
        const { logger, netlink, podInterfaces } = this.#components;
        const known = podInterfaces.get(record) ?? { record, ofPort, addedAt: 0 };
        // Known from here on, so that the reconcile completes the removal.
        podInterfaces.put(known);
        if (known.ofPort !== ofPort) this.#ofPorts.release(ofPort);
        await this.remove(known, "release");
        try {
            await deletePodLink(netlink, record);
        } catch (error) {
            logger.warn("veth pair not removed; left to the next reconcile", {
                link: record.hostIfName,
                reason: messageOf(error),
            });
        }
    }

    /** Releases all that a removed interface held. */
    #forget({ record, ofPort }: PodInterface): void {
        const { podInterfaces, subnet } = this.#components;
        const key = attachmentKey(record);
        subnet.releaseAll(record.addresses, key);
        this.#ofPorts.forget(key, ofPort);
        podInterfaces.remove(record);
    }

    async #releaseLink(record: PodRecord): Promise<void> {
        const { logger, netlink } = this.#components;
        try {
            await releasePodLink(netlink, record);
        } catch (error) {
            // ENODEV: the namespace ended between read and change, and the link with it.
            if (isNetlinkError(error, "ENODEV")) return;
            logger.warn("link of a Pod cannot be set down", { link: record.hostIfName, reason: messageOf(error) });
        }
    }
}
