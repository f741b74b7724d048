import type { Family } from "@antrea/ip";
import type { Base } from "./compose.ts";
import { HostFirewall } from "./host-firewall/index.ts";
import type { NodeConfig } from "./node-config/index.ts";
import { runProgram } from "./run-program.ts";

const resyncMs = 60_000;

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
