import { isAborted, messageOf } from "@antrea/errors";
import type { Family } from "@antrea/ip";
import type { Base } from "./compose.ts";
import { HostFirewall } from "./host-firewall/index.ts";
import { HostGuard } from "./host-guard/index.ts";
import type { RunNft } from "./nft.ts";
import { podLinkGroup } from "./pod-network/index.ts";
import type { NodeConfig } from "./node-config/index.ts";
import { runProgram } from "./run-program.ts";

const resyncMs = 60_000;

/** The name of the condition that what Pods send is kept from the Node's own stack. */
export const guardCondition = "host-guard";

/** Runs the work, and reports why it fails, or that it does not. What is aborted says nothing. Rejects as the work does. */
export async function reporting(
    { what, report }: { readonly what: string; readonly report: (problem: string | undefined) => void },
    work: () => Promise<void>,
): Promise<void> {
    try {
        await work();
    } catch (error) {
        if (!isAborted(error)) report(`${what}: ${messageOf(error)}`);
        throw error;
    }
    report(undefined);
}

/**
 * Before the first Pod is wired, where the Node's stack sees what Pods send: it must get no answer that is not from the
 * switch. While that cannot be kept up no further Pod is wired, and the agent is not ready.
 */
export async function guardHost(
    { datapath, jobs, logger, readiness }: Pick<Base, "datapath" | "jobs" | "logger" | "readiness">,
    nft: RunNft,
): Promise<void> {
    if (!datapath.copiesFrames) return;
    const guard = new HostGuard({ logger: logger.child("host-guard"), nft }, { linkGroup: podLinkGroup });
    const report = (problem: string | undefined): void => {
        if (problem === undefined) readiness.met(guardCondition);
        else readiness.unmet(guardCondition, problem);
    };
    const what = "what Pods send cannot be kept from the Node's stack";
    const ensure = (): Promise<void> => reporting({ what, report }, () => guard.ensure());
    // The Pods that run have their traffic meanwhile; the job tries again.
    await ensure().catch((error: unknown) => logger.warn(what, { reason: messageOf(error) }));
    jobs.every("host-guard", resyncMs, ensure);
}

/** Keeps what the Node's firewall must let through: the traffic of Pods, and tunnels. */
export function addFirewallJob(
    { config, jobs, logger, mode }: Base,
    { podPrefixes }: NodeConfig,
    underlay: () => Family,
): void {
    const firewall = new HostFirewall({ run: runProgram, logger: logger.child("host-firewall") });
    const { hostGateway: gatewayName, tunnelType: type, tunnelPort: port } = config;
    const tunnel = mode === "noEncap" ? undefined : { type, port };
    jobs.every("host-firewall", resyncMs, () => {
        const families = podPrefixes.map(({ family }) => family);
        if (tunnel !== undefined) families.push(underlay());
        return firewall.ensure({ gatewayName, families, tunnel });
    });
}
