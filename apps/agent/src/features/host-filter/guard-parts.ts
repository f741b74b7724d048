import { messageOf } from "@antrea/errors";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { Platform } from "../../platform/platform.ts";
import { reporting } from "../../platform/reporting.ts";
import { HostInputFilter } from "./input-filter/index.ts";

const resyncMs = 60_000;

/**
 * The name of the readiness condition of the host input filter, which keeps Pod frames from the Node's own network
 * stack.
 */
export const inputFilterCondition = "host-filter";

/**
 * Installs the host input filter before the first Pod is wired, on a datapath where the Node's network stack also
 * receives Pod frames: a Pod must get replies only through the switch. Does nothing on other datapaths. Resolves also
 * if the filter cannot be installed: that is logged, a job retries it every minute, and until then the condition is
 * unmet, so that no further Pod is wired and the agent is not ready.
 */
export async function guardHost({
    datapath,
    host,
    jobs,
    logger,
    readiness,
}: Pick<Platform, "datapath" | "jobs" | "logger" | "readiness"> & {
    readonly host: Pick<Platform["host"], "nft" | "rulesGeneration">;
}): Promise<void> {
    if (!datapath.copiesFrames) return;
    readiness.unmet(inputFilterCondition, "the host input filter for Pod frames is not installed yet");
    const inputFilter = new HostInputFilter(
        { generation: host.rulesGeneration, logger: logger.child("host-filter"), nft: host.nft },
        { linkGroup: podLinkGroup },
    );
    const report = (problem: string | undefined): void => {
        if (problem === undefined) readiness.met(inputFilterCondition);
        else readiness.unmet(inputFilterCondition, problem);
    };
    const what = "the host input filter for Pod frames cannot be installed";
    const ensure = (): Promise<void> => reporting({ what, report }, () => inputFilter.ensure());
    // Running Pods have traffic meanwhile; the job retries.
    await ensure().catch((error: unknown) => logger.warn(what, { reason: messageOf(error) }));
    jobs.every("host-filter/pod-frames", resyncMs, ensure);
}
