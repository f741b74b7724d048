import type { Family } from "@antrea/ip";
import type { AgentConfig } from "@antrea/settings";

/** The inputs of the firewall rules. */
export interface FirewallInput {
    readonly gatewayName: string;
    /** The families of podCIDRs and tunnels. */
    readonly families: readonly Family[];
    /** Undefined if no tunnels are used. Port 0 is the default of OVS; it is ignored for GRE. */
    readonly tunnel: { readonly type: AgentConfig["tunnelType"]; readonly port: number } | undefined;
}

/** One accept rule of the table `filter`; valid in each family. */
export interface AcceptRule {
    readonly chain: "FORWARD" | "INPUT";
    /** The match of the rule, as arguments of iptables(8). */
    readonly match: readonly string[];
    /** Identifies the rule: it exists if there is a rule with this comment. */
    readonly comment: string;
}

/** Prefix of the comments of our rules, used by no other program. */
export const commentPrefix = "antrea: ";

/** The default ports of OVS (ovs-vswitchd.conf.db(5)); GRE has none, it is an IP protocol. */
const tunnelPorts = { geneve: ["udp", 6081], vxlan: ["udp", 4789], stt: ["tcp", 7471] } as const;
/** By number: not every image has the names of /etc/protocols. */
const greProtocol = "47";

/** The rules that must exist, the same for each family. Pure function. */
export function acceptRules({ gatewayName, tunnel }: Omit<FirewallInput, "families">): readonly AcceptRule[] {
    const rules: AcceptRule[] = [
        { chain: "FORWARD", match: ["-i", gatewayName], comment: `${commentPrefix}from ${gatewayName}` },
        { chain: "FORWARD", match: ["-o", gatewayName], comment: `${commentPrefix}to ${gatewayName}` },
    ];
    if (tunnel === undefined) return rules;
    if (tunnel.type === "gre") {
        return [...rules, { chain: "INPUT", match: ["-p", greProtocol], comment: `${commentPrefix}tunnel gre` }];
    }
    const [protocol, usual] = tunnelPorts[tunnel.type];
    const port = tunnel.port === 0 ? usual : tunnel.port;
    const match = ["-p", protocol, "--dport", String(port)];
    return [...rules, { chain: "INPUT", match, comment: `${commentPrefix}tunnel ${protocol} ${port}` }];
}
