import type { Feature } from "../../platform/feature.ts";
import type { Platform } from "../../platform/platform.ts";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";
import { DelegatedIpam, type DelegatedPools } from "./delegated-ipam.ts";

const resyncMs = 60_000;

/** What the feature needs of the IPPools. */
export interface DelegatedNeeds {
    readonly pools: DelegatedPools;
    /** Whether the container has an interface on the Pod network that is not being removed. */
    readonly hasContainer: (containerId: string) => boolean;
    /** Whether this agent makes the interface. */
    readonly isOwn: (attachment: Attachment) => boolean;
    /**
     * Restores allocations of running containers that are gone, and frees those of ended ones. Resolves with the time
     * (ms) after which it is to be called again; undefined if nothing is waited for.
     */
    readonly check: (signal: AbortSignal) => Promise<number | undefined>;
    /** Registers a listener, for good, that is called when an allocation of this Node is gone. */
    readonly onGone: (listener: () => void) => void;
}

/** The feature, and what answers the CNI calls. */
export interface DelegatedIpamFeature extends Feature {
    readonly ipam: DelegatedIpam;
}

/**
 * Gives addresses of IPPools to the interfaces of other plugins, and keeps their allocations: adds the job
 * `delegated-ipam/allocations`, each minute, and when an allocation or an interface is gone.
 */
export function delegatedIpam(
    platform: Pick<Platform, "jobs" | "logger" | "podInterfaces">,
    needs: DelegatedNeeds,
): DelegatedIpamFeature {
    const { pools, hasContainer, isOwn, check, onGone } = needs;
    return {
        name: "delegated-ipam",
        ipam: new DelegatedIpam({ pools, hasContainer, isOwn, logger: platform.logger.child("delegated-ipam") }),
        start: () => {
            const job = platform.jobs.every("delegated-ipam/allocations", resyncMs, async (signal) => {
                const againInMs = await check(signal);
                return againInMs === undefined ? undefined : { againInMs };
            });
            onGone(() => job.trigger());
            platform.podInterfaces.subscribe(({ type }) => {
                if (type === "removed") job.trigger();
            });
        },
    };
}
