import { systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { isNetlinkError } from "@antrea/netlink";
import type { KnownInterfaces } from "./known-interfaces.ts";
import { Limit } from "./limit.ts";
import { deletePodLink, releasePodLink } from "./link.ts";
import { flowOwner, type PodDraft } from "./parts.ts";
import type { PodNetworkComponents } from "./types.ts";
import {
    attachmentKey,
    type Claims,
    isPoolRecord,
    type PodInterface,
    type PodRecord,
    podText,
} from "../../platform/pod-interfaces/index.ts";

/** What cannot be removed in this time goes with the reconcile. */
const unwireLimitMs = 5_000;

export interface UnwiringComponents extends PodNetworkComponents {
    readonly known: KnownInterfaces;
}

/**
 * Takes interfaces out again, for a DEL and for an ADD that failed: flows, port with the record, then all that they hold.
 * An address stays taken for as long as anything of the wiring may stand.
 */
export class Unwiring {
    readonly #components: UnwiringComponents;
    readonly #known: KnownInterfaces;
    readonly #clock: Clock;

    constructor(components: UnwiringComponents) {
        this.#components = components;
        this.#known = components.known;
        this.#clock = components.clock ?? systemClock;
    }

    /** See `PodNetwork.remove`. */
    async remove(known: PodInterface, claims: Claims): Promise<boolean> {
        const { record } = known;
        const { bridging, flowTable, hostRoutes, logger, podInterfaces, pools, ports } = this.#components;
        using limit = new Limit(this.#clock, unwireLimitMs, "unwiring");
        const fate = podInterfaces.leave(record, claims);
        // First: OVS, which gives a link that it closes the flags back that it knows, must know of this before.
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
            await hostRoutes.remove(record, (ip) => podInterfaces.isConnected(ip));
        } catch (error) {
            logger.warn("route not removed; left to the next reconcile", {
                pod: podText(record),
                reason: messageOf(error),
            });
        }
        this.#known.forget(known);
        if (fate === "release" && isPoolRecord(record)) await pools?.release(record);
        logger.info("Pod interface removed", { pod: podText(record), container: record.containerId });
        return true;
    }

    /** Takes back what an ADD made before it had addresses. What it cannot, port and link, the reconcile removes. */
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
        // Also while the port still has it: nobody is given it again for long, and OVS would give another one then.
        this.#known.ofPorts.release(ofPort);
        await pools?.release(draft);
    }

    /** Takes back what an ADD made that had its addresses. */
    async rollBack(record: PodRecord, ofPort: number): Promise<void> {
        const { logger, netlink, podInterfaces } = this.#components;
        const known = podInterfaces.get(record) ?? { record, ofPort, addedAt: 0 };
        // Known from here on, so that the reconcile goes on where this cannot.
        podInterfaces.put(known);
        if (known.ofPort !== ofPort) this.#known.ofPorts.release(ofPort);
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

    async #releaseLink(record: PodRecord): Promise<void> {
        const { logger, netlink } = this.#components;
        try {
            await releasePodLink(netlink, record);
        } catch (error) {
            // ENODEV: the namespace ended between look and change, and the link with it.
            if (isNetlinkError(error, "ENODEV")) return;
            logger.warn("link of a Pod cannot be set down", { link: record.hostIfName, reason: messageOf(error) });
        }
    }
}
