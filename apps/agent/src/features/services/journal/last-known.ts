import type { Clock } from "@antrea/async";
import type { Logger } from "@antrea/runtime";
import type { FlowLink } from "../../../platform/ovs/flow-table/index.ts";
import { completeFlow } from "../complete-flow.ts";
import type { HostServiceCidrs } from "../host-stack.ts";
import type { ServiceWatch } from "../service-watch.ts";
import type { ServiceJournal } from "./service-journal.ts";

/** Dependencies of LastKnownServices. */
export interface LastKnownServicesComponents {
    readonly openflow: { onReady(listener: (link: Pick<FlowLink, "countFlows">) => Promise<void>): Disposable };
    readonly watch: Pick<ServiceWatch, "isCompleteWithin" | "restore">;
    readonly journal: Pick<ServiceJournal, "read">;
    /** Gets the Service CIDRs of the journal before its Services are served; undefined: nobody needs them. */
    readonly cidrs: Pick<HostServiceCidrs, "restore"> | undefined;
    readonly clock: Pick<Clock, "monotonic">;
    readonly logger: Logger;
}

/** Longer than an API server takes that can be reached, and has not too much to do. */
const answerMs = 3_000;

/**
 * Serves Services as they were last known while neither OVS has all of them, as when no start of the agent got that far
 * since ovs-vswitchd was started, nor the API server answers after a start.
 */
export class LastKnownServices {
    readonly #components: LastKnownServicesComponents;
    #areAllInOvs = false;
    #since = 0;

    constructor(components: LastKnownServicesComponents) {
        this.#components = components;
    }

    /**
     * To be called when the watch is started, before the flow table is replayed for the first time. Until it is disposed of,
     * it learns at each connection to OVS whether that has all Services of an earlier start.
     */
    stage(): Disposable {
        const { clock, openflow } = this.#components;
        this.#since = clock.monotonic();
        return openflow.onReady(async (link) => {
            this.#areAllInOvs = (await link.countFlows(completeFlow)).flows > 0;
        });
    }

    /**
     * Resolves with no keys when the lists are complete, or, when OVS does not have all Services, with the keys of those that
     * were last known and are to be served now, if there are any. Rejects only if the signal aborts.
     */
    async restore(signal: AbortSignal): Promise<readonly string[]> {
        const { clock, watch } = this.#components;
        let waitMs = this.#since + answerMs - clock.monotonic();
        while (!(await watch.isCompleteWithin(waitMs, signal))) {
            if (!this.#areAllInOvs) return this.#restoreKnown();
            // OVS may restart meanwhile
            waitMs = answerMs;
        }
        return [];
    }

    async #restoreKnown(): Promise<readonly string[]> {
        const { cidrs, journal, logger, watch } = this.#components;
        const { services, serviceCidrs } = await journal.read();
        if (serviceCidrs !== undefined) cidrs?.restore(serviceCidrs);
        if (services.length === 0) return [];
        const keys = await watch.restore(services);
        logger.warn("API server does not answer; Services are served as they were last known", {
            services: keys.length,
        });
        return keys;
    }
}
