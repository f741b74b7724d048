import type { Feature } from "../../platform/feature.ts";
import type { Platform } from "../../platform/platform.ts";
import { isAddCompleted } from "../../platform/pod-interfaces/index.ts";
import { IgnoredNetworks } from "./ignored-networks.ts";

const resyncMs = 60_000;

/**
 * Reports the annotation k8s.v1.cni.cncf.io/networks, which has no effect yet, as events on Pods, by a job: each
 * minute, if Pods were added.
 */
export function secondaryNetworks({
    environment,
    events,
    jobs,
    kube,
    logger,
    podInterfaces,
}: Pick<Platform, "environment" | "events" | "jobs" | "kube" | "logger" | "podInterfaces">): Feature {
    const ignored = new IgnoredNetworks(
        { api: kube.api, events, logger: logger.child("secondary-networks") },
        { nodeName: environment.nodeName },
    );
    return {
        name: "secondary-networks",
        start: () => {
            podInterfaces.subscribe((change) => {
                if (isAddCompleted(change)) ignored.podAdded();
            });
            jobs.every("secondary-networks/ignored-networks", resyncMs, (limit) => ignored.check(limit));
        },
    };
}
