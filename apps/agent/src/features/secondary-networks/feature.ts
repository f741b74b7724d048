import type { Feature } from "../../platform/feature.ts";
import type { Platform } from "../../platform/platform.ts";
import { IgnoredNetworks } from "./ignored-networks.ts";

const resyncMs = 60_000;

/** Reports network annotations, which have no effect yet. */
export function secondaryNetworks({
    environment,
    events,
    jobs,
    kube,
    logger,
    podInterfaces,
}: Pick<Platform, "environment" | "events" | "jobs" | "kube" | "logger" | "podInterfaces">): Feature {
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
    return {
        name: "secondary-networks",
        start: () => void jobs.every("secondary-networks/ignored-networks", resyncMs, (limit) => ignored.look(limit)),
    };
}
