import { messageOf } from "@antrea/errors";
import { nodes, type ApiClient } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import type { NodeObject } from "../../node/node-object.ts";

/** Dependencies of TransportAnnouncement; `api` and `node` are read at each `reconcile`. */
export interface AnnouncementComponents {
    readonly api: Pick<ApiClient, "patch">;
    /** This Node's object as last seen; undefined while it is not known. */
    readonly node: () => NodeObject | undefined;
    readonly logger: Logger;
}

/** Wanted annotations by name; an undefined one is to be removed. */
export type Announced = Readonly<Record<string, string | undefined>>;

/**
 * Announces the transport addresses of this Node to the others, as annotations of its Node object. Writes only in
 * `reconcile`, which the caller repeats until it resolves.
 */
export class TransportAnnouncement {
    readonly #components: AnnouncementComponents;
    readonly #nodeName: string;
    #lastLogged: string | undefined;

    constructor(components: AnnouncementComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /**
     * Writes the annotations that differ, by one merge patch; does nothing while the Node object is not known.
     * Idempotent. Rejects with KubeError (`ABORTED` on abort); each new failure is logged.
     */
    async reconcile(wanted: Announced, signal: AbortSignal): Promise<void> {
        const { api, node, logger } = this.#components;
        const current = node();
        if (current === undefined) return;
        const present = current.metadata?.annotations;
        const wrong = Object.entries(wanted).filter(([name, value]) => present?.[name] !== value);
        if (wrong.length === 0) return;
        const annotations = Object.fromEntries(wrong.map(([name, value]) => [name, value ?? null]));
        const body = { metadata: { annotations } };
        try {
            await api.patch(nodes, { name: this.#nodeName }, { type: "merge", body }, { signal });
        } catch (error) {
            if (signal.aborted) throw error;
            const text = `${JSON.stringify(annotations)} ${messageOf(error)}`;
            if (text !== this.#lastLogged)
                logger.warn("transport addresses of this Node cannot be published", { reason: messageOf(error) });
            this.#lastLogged = text;
            throw error;
        }
        this.#lastLogged = undefined;
        for (const [annotation, value] of wrong)
            logger.info("transport addresses published", { annotation, value: value ?? "(none)" });
    }
}
