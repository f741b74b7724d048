import type { Family } from "@antrea/ip";
import type { AgentConfig } from "@antrea/settings";

export interface FirewallInput {
    readonly gatewayName: string;
    readonly families: readonly Family[];
    /** Undefined where no tunnels are used. */
    readonly tunnel: { readonly type: AgentConfig["tunnelType"]; readonly port: number } | undefined;
}

/** One rule of the table `filter`; all of ours accept. */
export interface AcceptRule {
    readonly chain: "FORWARD" | "INPUT";
    /** What the rule matches, as arguments of iptables(8). */
    readonly match: readonly string[];
    /** Names the rule: one with this comment is there, or it is made. */
    readonly comment: string;
}

/** Begins the comment of each rule of ours, and of nobody else's. */
export const commentPrefix = "antrea: ";

/** The ports that OVS takes when it is given none (ovs-vswitchd.conf.db(5)); GRE has none and is a protocol of IP. */
const tunnelPorts = { geneve: ["udp", 6081], vxlan: ["udp", 4789], stt: ["tcp", 7471] } as const;
/** By its number: not every image has the names of /etc/protocols. */
const greProtocol = "47";

/** The rules that must be there, of each family. Pure. */
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
