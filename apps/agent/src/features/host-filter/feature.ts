import { messageOf } from "@antrea/errors";
import type { Family } from "@antrea/ip";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { NodeConfig } from "../../platform/node/config/index.ts";
import type { Platform } from "../../platform/platform.ts";
import { reporting } from "../../platform/reporting.ts";
import { HostFirewall } from "./firewall/index.ts";
import { HostGuard } from "./guard/index.ts";

const resyncMs = 60_000;

/** The name of the condition that what Pods send is kept from the Node's own stack. */
export const guardCondition = "host-guard";

/**
 * Before the first Pod is wired, where the Node's stack sees what Pods send: it must get no answer that is not from the
 * switch. While that cannot be kept up no further Pod is wired, and the agent is not ready.
 */
export async function guardHost({
    datapath,
    host,
    jobs,
    logger,
    readiness,
}: Pick<Platform, "datapath" | "jobs" | "logger" | "readiness"> & {
    readonly host: Pick<Platform["host"], "nft">;
}): Promise<void> {
    if (!datapath.copiesFrames) return;
    const guard = new HostGuard({ logger: logger.child("host-filter"), nft: host.nft }, { linkGroup: podLinkGroup });
    const report = (problem: string | undefined): void => {
        if (problem === undefined) readiness.met(guardCondition);
        else readiness.unmet(guardCondition, problem);
    };
    const what = "the host filter for Pod frames cannot be installed";
    const ensure = (): Promise<void> => reporting({ what, report }, () => guard.ensure());
    // The Pods that run have their traffic meanwhile; the job tries again.
    await ensure().catch((error: unknown) => logger.warn(what, { reason: messageOf(error) }));
    jobs.every("host-filter/pod-frames", resyncMs, ensure);
}

/** Keeps what the Node's firewall must let through: the traffic of Pods, and tunnels. */
export function addFirewallJob(
    { config, host, jobs, logger, mode }: Pick<Platform, "config" | "host" | "jobs" | "logger" | "mode">,
    { podPrefixes }: NodeConfig,
    underlay: () => Family,
): void {
    const firewall = new HostFirewall({ run: host.run, logger: logger.child("host-filter") });
    const { hostGateway: gatewayName, tunnelType: type, tunnelPort: port } = config;
    const tunnel = mode === "noEncap" ? undefined : { type, port };
    jobs.every("host-filter/firewall", resyncMs, () => {
        const families = podPrefixes.map(({ family }) => family);
        if (tunnel !== undefined) families.push(underlay());
        return firewall.ensure({ gatewayName, families, tunnel });
    });
}
