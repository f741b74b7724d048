import { minMtuOfIpv6, type Family } from "@antrea/ip";
import type { AgentConfig } from "@antrea/settings";
import { maxTunnelMtu } from "../../ovs/datapath/index.ts";
import type { NodeConfig } from "../../node/config/index.ts";
import type { Transport } from "./transport.ts";

/** The inputs of `podMtu` and `mtuProblem`. */
export interface MtuInput {
    readonly config: Pick<AgentConfig, "defaultMTU" | "trafficEncapMode" | "tunnelType">;
    /** MTU of the transport interface, in bytes. */
    readonly transportMtu: number;
    /** The address family of the tunnels to other Nodes. */
    readonly tunnelFamily: Family;
}

/**
 * Overhead of a tunnel over IPv4, in bytes: the outer IP header, the tunnel headers, and the inner frame header. STT
 * appears as TCP to the NIC, which segments it.
 */
const overhead = { geneve: 50, vxlan: 50, gre: 42, stt: 0 } as const;
/** How much longer the IPv6 header is than the IPv4 header, in bytes (RFC 8200 section 3). */
const ipv6Extra = 20;

/**
 * The MTU of Pods and of the gateway, in bytes: `defaultMTU` unless it is 0, else that of the transport interface, less
 * the overhead of tunnels and at most `maxTunnelMtu` unless the mode is noEncap. Pure function.
 */
export function podMtu({ config, transportMtu, tunnelFamily }: MtuInput): number {
    if (config.defaultMTU !== 0) return config.defaultMTU;
    if (config.trafficEncapMode === "noEncap") return transportMtu;
    const outer = overhead[config.tunnelType];
    const extra = tunnelFamily === 6 && outer > 0 ? ipv6Extra : 0;
    return Math.min(transportMtu - outer - extra, maxTunnelMtu);
}

/**
 * Why Pods of these families cannot have their MTU, and which key to change, as text for users; undefined if they can.
 * The kernel rejects IPv6 addresses on a link with an MTU of less than 1280 bytes. Pure function.
 */
export function mtuProblem(
    input: MtuInput & { readonly families: readonly Family[]; readonly transportName: string },
): string | undefined {
    const mtu = podMtu(input);
    if (mtu >= minMtuOfIpv6 || !input.families.includes(6)) return undefined;
    const needed = `Pods of this Node have IPv6, which needs an MTU of at least ${minMtuOfIpv6}, and theirs is ${mtu}`;
    if (input.config.defaultMTU !== 0)
        return `${needed} by defaultMTU: set it to 0 (discover it) or to ${minMtuOfIpv6} or more`;
    const overheadOfTunnel = input.transportMtu - mtu;
    const least = minMtuOfIpv6 + overheadOfTunnel;
    return `${needed}, as transport interface ${input.transportName} has ${input.transportMtu}: give the interface an MTU of at least ${least}, or choose another one by transportInterface`;
}

/**
 * Why the Pods of this Node cannot have their MTU, for the current transport interface, as text for users with the key
 * to change; undefined if they can. See `mtuProblem`.
 */
export function nodeMtuProblem(
    config: MtuInput["config"],
    { podPrefixes }: Pick<NodeConfig, "podPrefixes">,
    { state, tunnelFamily }: Pick<Transport, "state" | "tunnelFamily">,
): string | undefined {
    const families = podPrefixes.map(({ family }) => family);
    return mtuProblem({ config, families, tunnelFamily, transportMtu: state.mtu, transportName: state.name });
}
