import type { Platform } from "../../platform/platform.ts";
import { IgnoredNetworks } from "./ignored-networks.ts";

const resyncMs = 60_000;

/**
 * Reports annotations of networks, which have no effect yet.
 *
 * @param addTimes when the interfaces of this Node were added, as `performance.now` counts; not finite while they are
 */
export function addIgnoredNetworksJob(
    { environment, events, jobs, kube, logger }: Platform,
    addTimes: () => readonly number[],
): void {
    const ignored = new IgnoredNetworks(
        {
            api: kube.api,
            events,
            logger: logger.child("secondary-networks"),
            lastAdd: () => Math.max(0, ...addTimes().filter(Number.isFinite)),
        },
        { nodeName: environment.nodeName },
    );
    jobs.every("secondary-networks/ignored-networks", resyncMs, (limit) => ignored.look(limit));
}
