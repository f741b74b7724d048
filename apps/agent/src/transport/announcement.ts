import { transportAnnotation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { nodes, type ApiClient } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import type { NodeObject } from "../node-object.ts";

export interface AnnouncementComponents {
    readonly api: Pick<ApiClient, "patch">;
    /** This Node's object as last seen. */
    readonly node: () => NodeObject | undefined;
    readonly logger: Logger;
}

/** Tells the other Nodes by which addresses this one is reached, when these are not its InternalIPs. */
export class TransportAnnouncement {
    readonly #components: AnnouncementComponents;
    readonly #nodeName: string;
    #told: string | undefined;

    constructor(components: AnnouncementComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** Writes the annotation if it should be another; none when `addresses` is undefined. */
    async reconcile(addresses: readonly IpAddress[] | undefined, signal: AbortSignal): Promise<void> {
        const { api, node, logger } = this.#components;
        const current = node();
        if (current === undefined) return;
        const wanted =
            addresses === undefined || addresses.length === 0 ? undefined : addresses.map(formatIp).join(",");
        const value = current.metadata?.annotations?.[transportAnnotation];
        if (value === wanted) return;
        const body = { metadata: { annotations: { [transportAnnotation]: wanted ?? null } } };
        try {
            await api.patch(nodes, { name: this.#nodeName }, { type: "merge", body }, { signal });
        } catch (error) {
            const text = `${wanted} ${messageOf(error)}`;
            if (text !== this.#told) {
                logger.warn("the transport addresses of this Node cannot be announced", { reason: messageOf(error) });
            }
            this.#told = text;
            throw error;
        }
        this.#told = undefined;
        logger.info("transport addresses announced", { annotation: transportAnnotation, value: wanted ?? "(none)" });
    }
}
