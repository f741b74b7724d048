import type { Platform } from "../../platform/platform.ts";
import { IgnoredNetworks } from "./ignored-networks.ts";

const resyncMs = 60_000;

/** Adds the job that reports network annotations, which have no effect yet. */
export function addIgnoredNetworksJob({
    environment,
    events,
    jobs,
    kube,
    logger,
    podInterfaces,
}: Pick<Platform, "environment" | "events" | "jobs" | "kube" | "logger" | "podInterfaces">): void {
    const ignored = new IgnoredNetworks(
        {
            api: kube.api,
            events,
            logger: logger.child("secondary-networks"),
            // Not finite while an interface is being added.
            lastAdd: () =>
                Math.max(
                    0,
                    ...podInterfaces
                        .list()
                        .map(({ addedAt }) => addedAt)
                        .filter(Number.isFinite),
                ),
        },
        { nodeName: environment.nodeName },
    );
    jobs.every("secondary-networks/ignored-networks", resyncMs, (limit) => ignored.look(limit));
}
