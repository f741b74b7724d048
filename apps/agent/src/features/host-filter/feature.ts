import type { Feature } from "../../platform/feature.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { HostFirewall } from "./firewall/index.ts";

const resyncMs = 60_000;

/**
 * Maintains the Node's firewall rules for the traffic of Pods and, except in mode noEncap, of tunnels: a job checks
 * them every minute. They stay when the agent stops.
 */
export function hostFilter({
    config,
    host,
    jobs,
    logger,
    mode,
    node,
    transport,
}: Pick<NodePlatform, "config" | "host" | "jobs" | "logger" | "mode" | "node" | "transport">): Feature {
    const firewall = new HostFirewall({
        run: host.run,
        generation: host.rulesGeneration,
        logger: logger.child("host-filter"),
    });
    const { hostGateway: gatewayName, tunnelType: type, tunnelPort: port } = config;
    const tunnel = mode === "noEncap" ? undefined : { type, port };
    const ensure = (): Promise<void> => {
        const families = node.podPrefixes.map(({ family }) => family);
        if (tunnel !== undefined) families.push(transport.tunnelFamily);
        return firewall.ensure({ gatewayName, families, tunnel });
    };
    return { name: "host-filter", start: () => void jobs.every("host-filter/firewall", resyncMs, ensure) };
}
