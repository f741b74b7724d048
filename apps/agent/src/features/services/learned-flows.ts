import { messageOf } from "@antrea/errors";
import { learnedCookie, Table } from "@antrea/flows";
import type { BundleMod } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";
import type { ServedService } from "@antrea/services";

/** Dependencies of LearnedFlows. */
export interface LearnedFlowsComponents {
    readonly openflow: { bundle(mods: readonly BundleMod[], o?: { readonly signal?: AbortSignal }): Promise<void> };
    readonly logger: Logger;
}

const allBits = (1n << 64n) - 1n;

/**
 * Deletes flows in which OVS has learned the endpoints of clients, when their Service has no such affinity any more. What
 * stays, as after a failure or while the agent is away, leads nowhere and ends when it is idle.
 */
export class LearnedFlows {
    readonly #components: LearnedFlowsComponents;

    constructor(components: LearnedFlowsComponents) {
        this.#components = components;
    }

    /** To be called when OVS has the change of a Service. A failure is logged. */
    async changed(
        before: ServedService | undefined,
        after: ServedService | undefined,
        signal: AbortSignal,
    ): Promise<void> {
        const stale = cookiesOf(before);
        if (before?.affinitySeconds === after?.affinitySeconds) for (const one of cookiesOf(after)) stale.delete(one);
        if (stale.size === 0) return;
        const mods = Array.from(stale, (cookie): BundleMod => ({
            command: "delete",
            flow: { table: Table.SessionAffinity, match: {}, cookie },
            cookieMask: allBits,
        }));
        try {
            await this.#components.openflow.bundle(mods, { signal });
        } catch (error) {
            const service = before?.key;
            this.#components.logger.debug("learned flows of a Service stay", { service, reason: messageOf(error) });
        }
    }
}

function cookiesOf(service: ServedService | undefined): Set<bigint> {
    if (service?.affinitySeconds === undefined) return new Set();
    const { uid, ports } = service;
    return new Set(ports.map(({ name, family }) => learnedCookie(uid, name, family)));
}
