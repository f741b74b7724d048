import { formatIp, formatPrefix, type Family, type IpAddress, type Prefix } from "@antrea/ip";

/** The inputs of the masquerading rules. */
export interface MasqueradeInput {
    /** The podCIDRs of this Node, whose traffic is masqueraded. */
    readonly podPrefixes: readonly Prefix[];
    /** The podCIDRs of all Nodes: traffic to them keeps its source. */
    readonly clusterPrefixes: readonly Prefix[];
    /** The gateway's link, through which traffic of Pods arrives. */
    readonly gatewayName: string;
    /** `noSNAT`: disables masquerading of podCIDR traffic. */
    readonly noSnat: boolean;
    /** Source ports are chosen at random (nft(8): `fully-random`). */
    readonly randomFully: boolean;
    /**
     * Pods of this Node may have pool addresses that the external network cannot route back: their traffic to all
     * external destinations is masqueraded, regardless of `noSnat`.
     */
    readonly poolPods: boolean;
    /**
     * The addresses of the gateway if Pods of other Nodes are reached by tunnels, else empty. What the Node itself
     * sends into a tunnel must have the gateway's source address: replies to another of its addresses would not return
     * through the tunnel.
     */
    readonly tunnelSources: readonly IpAddress[];
    /** Used in bridging mode, regardless of `noSnat`. */
    readonly bridging?: BridgingInput | undefined;
}

/** The inputs of bridging mode, each with rules of its own; empty lists add none. */
export interface BridgingInput {
    /** The virtual source addresses of Service traffic from bridged Pods, to which other hosts have no route. */
    readonly serviceSources: readonly IpAddress[];
    /**
     * The addresses of this Node's Pods in VLANs. Traffic that the Node translates to them (hostPort, a NodePort that
     * preserves the client address) must have the Node's source address, otherwise the reply would bypass the Node on
     * its path to the client.
     */
    readonly taggedPods: readonly IpAddress[];
}

/**
 * Name of the nftables table of masquerading, in the family `inet` (nft(8)). It contains all chains and sets of the
 * feature, so that these are replaced or removed as a whole.
 */
export const tableName = "antrea";

/**
 * The whole table as one nft(8) script, which the kernel applies as one transaction: traffic from Pods of this Node to
 * anything that is not a Pod leaves with the Node's address. The spoof guard enforces a Pod's source address, so one
 * outside all podCIDRs is from a pool. If nothing is to be masqueraded, the script only deletes the table. Pure
 * function.
 */
export function ruleset(input: MasqueradeInput): string {
    // "add" before "delete": deleting a table that does not exist would fail the transaction.
    const lines = [`add table inet ${tableName}`, `delete table inet ${tableName}`];
    const { bridging } = input;
    if (input.noSnat && !input.poolPods && input.tunnelSources.length === 0 && bridging === undefined)
        return `${lines.join("\n")}\n`;
    lines.push(`table inet ${tableName} {`);
    for (const family of [4, 6] as const) lines.push(...clusterSet(family, input.clusterPrefixes));
    lines.push("  chain postrouting {", "    type nat hook postrouting priority srcnat; policy accept;");
    if (bridging !== undefined) lines.push(...bridgingRules(bridging));
    const masquerade = `oifname != "${input.gatewayName}" masquerade${input.randomFully ? " fully-random" : ""}`;
    for (const prefix of input.podPrefixes) {
        const { family } = prefix;
        const ip = family === 4 ? "ip" : "ip6";
        for (const source of input.tunnelSources) {
            if (source.family !== family) continue;
            const remote = `${ip} daddr @${setName(family)} ${ip} daddr != ${formatPrefix(prefix)}`;
            if (input.poolPods) {
                lines.push(
                    `    iifname "${input.gatewayName}" oifname "${input.gatewayName}" ${ip} saddr != @${setName(family)} ${remote} masquerade`,
                );
            }
            lines.push(
                `    oifname "${input.gatewayName}" ${remote} ${ip} saddr != ${formatIp(source)} fib saddr type local masquerade`,
            );
        }
        if (input.poolPods) {
            lines.push(
                `    iifname "${input.gatewayName}" ${ip} saddr != @${setName(family)} ${exceptions(family)}${masquerade}`,
            );
        }
        if (input.noSnat) continue;
        lines.push(
            `    ${ip} saddr ${formatPrefix(prefix)} ${ip} daddr != @${setName(family)} ${exceptions(family)}${masquerade}`,
        );
    }
    lines.push("  }", "}");
    return `${lines.join("\n")}\n`;
}

function bridgingRules({ serviceSources, taggedPods }: BridgingInput): string[] {
    const field = ({ family }: IpAddress): string => (family === 4 ? "ip" : "ip6");
    return [
        ...serviceSources.map((ip) => `    ${field(ip)} saddr ${formatIp(ip)} masquerade`),
        ...taggedPods.map(
            (ip) =>
                `    ct status dnat ${field(ip)} daddr ${formatIp(ip)} ${field(ip)} saddr != @${setName(ip.family)} masquerade`,
        ),
    ];
}

// Multicast and link-local traffic does not leave the link; its source must not be changed.
function exceptions(family: Family): string {
    return family === 4 ? "ip daddr != 224.0.0.0/4 " : "ip6 daddr != { fe80::/10, ff00::/8 } ";
}

function setName(family: Family): string {
    return `pods${family}`;
}

function clusterSet(family: Family, prefixes: readonly Prefix[]): string[] {
    const elements = [...new Set(prefixes.filter((prefix) => prefix.family === family).map(formatPrefix))].sort();
    return [
        `  set ${setName(family)} {`,
        `    type ipv${family}_addr; flags interval; auto-merge;`,
        ...(elements.length === 0 ? [] : [`    elements = { ${elements.join(", ")} }`]),
        "  }",
    ];
}
