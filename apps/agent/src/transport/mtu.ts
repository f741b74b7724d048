import type { Family } from "@antrea/ip";
import type { AgentConfig } from "@antrea/settings";
import { maxTunnelMtu } from "../datapath/index.ts";

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
