import type { Family } from "@antrea/ip";
import type { AgentConfig } from "@antrea/settings";
import { maxTunnelMtu } from "../../ovs/datapath/index.ts";
import type { NodeConfig } from "../../node/config/index.ts";
import type { Transport } from "./transport.ts";

export interface MtuInput {
    readonly config: Pick<AgentConfig, "defaultMTU" | "trafficEncapMode" | "tunnelType">;
    /** MTU of the transport interface, bytes. */
    readonly transportMtu: number;
    /** The family that tunnels to other Nodes are carried by. */
    readonly underlay: Family;
}

/**
 * What a tunnel adds to a Pod's packet over IPv4, in bytes: the outer IP header, what follows it, and the frame header of
 * the packet inside. STT looks like TCP to the NIC, which cuts it into segments.
 */
const overhead = { geneve: 50, vxlan: 50, gre: 42, stt: 0 } as const;
/** The header of IPv6 is longer than that of IPv4 (RFC 8200 section 3). */
const ipv6Extra = 20;

/** The MTU of Pods and of the gateway, bytes. Pure. */
export function podMtu({ config, transportMtu, underlay }: MtuInput): number {
    if (config.defaultMTU !== 0) return config.defaultMTU;
    if (config.trafficEncapMode === "noEncap") return transportMtu;
    const outer = overhead[config.tunnelType];
    const extra = underlay === 6 && outer > 0 ? ipv6Extra : 0;
    return Math.min(transportMtu - outer - extra, maxTunnelMtu);
}

/** The least MTU with which the kernel has IPv6 on a link (RFC 8200 section 5), bytes. */
const leastIpv6Mtu = 1280;

/**
 * Why Pods of these families cannot have their MTU, and which key to change; undefined when they can. The kernel refuses
 * addresses of IPv6 on a link of less than 1280 bytes. Pure.
 */
export function mtuProblem(
    input: MtuInput & { readonly families: readonly Family[]; readonly transportName: string },
): string | undefined {
    const mtu = podMtu(input);
    if (mtu >= leastIpv6Mtu || !input.families.includes(6)) return undefined;
    const needed = `Pods of this Node have IPv6, which needs an MTU of at least ${leastIpv6Mtu}, and theirs is ${mtu}`;
    if (input.config.defaultMTU !== 0)
        return `${needed} by defaultMTU: set it to 0 (discover it) or to ${leastIpv6Mtu} or more`;
    const overheadOfTunnel = input.transportMtu - mtu;
    const least = leastIpv6Mtu + overheadOfTunnel;
    return `${needed}, as transport interface ${input.transportName} has ${input.transportMtu}: give the interface an MTU of at least ${least}, or choose another one by transportInterface`;
}

/** Why the Pods of this Node cannot have their MTU, as the transport interface is now. */
export function nodeMtuProblem(
    config: MtuInput["config"],
    { podPrefixes }: Pick<NodeConfig, "podPrefixes">,
    { state, underlay }: Pick<Transport, "state" | "underlay">,
): string | undefined {
    const families = podPrefixes.map(({ family }) => family);
    return mtuProblem({ config, families, underlay, transportMtu: state.mtu, transportName: state.name });
}
