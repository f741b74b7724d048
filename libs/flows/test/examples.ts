import { parseIp, parseMac, parsePrefix, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import {
    bridgedPeerFlows as bridgedPeerFlowsOf,
    bridgingParts,
    bridgingTables,
    Category,
    nodeParts,
    nodeTables,
    OfPort,
    Pipeline,
    podFlows as podFlowsOf,
    serviceParts,
    serviceTables,
    tunnelPart,
    tunnelPeerFlows as tunnelPeerFlowsOf,
    vlanFlows as vlanFlowsOf,
    type BridgedPeerInput,
    type FlowSet,
    type PipelineInput,
    type PodInput,
    type TunnelPeerInput,
    type VlanInput,
} from "../src/index.ts";

const of = <T extends { readonly family: Family }>(families: readonly Family[], items: readonly T[]): T[] =>
    items.filter((item) => families.includes(item.family));
const ips = (...texts: readonly string[]): IpAddress[] => texts.map(parseIp);
const prefixes = (...texts: readonly string[]): Prefix[] => texts.map((text) => parsePrefix(text));

export const gatewayMac = parseMac("0e:00:00:00:00:01");

/** A Node, maybe with tunnels. */
export interface ExampleNode extends PipelineInput {
    readonly tunnel?: { readonly ofPort: number };
}

/** The tables of a Node: in bridging mode or not. */
export const plainTables = new Pipeline(nodeTables);
export const bridgingModeTables = new Pipeline([...nodeTables, ...bridgingTables]);

/** The tables of this Node. */
export function pipelineOf({ bridging, services }: ExampleNode): Pipeline {
    if (services === undefined) return bridging === undefined ? plainTables : bridgingModeTables;
    return new Pipeline([
        ...nodeTables,
        ...(bridging === undefined ? [] : bridgingTables),
        ...serviceTables({ bridging: bridging !== undefined, ...services }),
    ]);
}

/** The flows that a Node has before its first Pod. */
export function pipelineFlows(node: ExampleNode): FlowSet {
    const { tunnel } = node;
    const sets = pipelineOf(node).flows([
        ...nodeParts(node),
        ...(tunnel === undefined ? [] : [tunnelPart({ ...node, ...tunnel })]),
        ...bridgingParts(node),
        ...serviceParts(node),
    ]);
    // The order of flows means nothing; this one is that of the golden files.
    return { category: Category.default, flows: sets.toReversed().flatMap(({ flows }) => flows) };
}

export function podFlows(pod: PodInput): FlowSet {
    return podFlowsOf(pod.bridged === undefined ? plainTables : bridgingModeTables, pod);
}

export function tunnelPeerFlows(peer: TunnelPeerInput): FlowSet {
    return tunnelPeerFlowsOf(plainTables, peer);
}

export function vlanFlows(vlan: VlanInput): FlowSet {
    return vlanFlowsOf(bridgingModeTables, vlan);
}

export function bridgedPeerFlows(peer: BridgedPeerInput): FlowSet {
    return bridgedPeerFlowsOf(bridgingModeTables, peer);
}

/** A Node with the addresses that all tests use, limited to some families. */
export function exampleNode(families: readonly Family[] = [4, 6]): PipelineInput {
    return {
        families,
        gateway: { ofPort: OfPort.gateway, mac: gatewayMac, ips: of(families, ips("10.10.0.1", "fd00:10::1")) },
        podPrefixes: of(families, prefixes("10.10.0.0/24", "fd00:10::/64")),
        forgetsConnections: true,
    };
}

/** The same Node with tunnels. */
export function exampleTunnelNode(families: readonly Family[] = [4, 6]): ExampleNode {
    return { ...exampleNode(families), tunnel: { ofPort: OfPort.tunnel } };
}

export const hostMac = parseMac("52:54:00:00:00:01");

/** The same Node in bridging mode, in the underlay networks 172.18.0.0/24 and fd00:18::/64. */
export function exampleBridgingNode(families: readonly Family[] = [4, 6]): PipelineInput {
    return {
        ...exampleNode(families),
        bridging: {
            uplink: { ofPort: OfPort.uplink },
            host: { ofPort: OfPort.host, mac: hostMac, ips: of(families, ips("172.18.0.100", "fd00:18::100")) },
            serviceCidrs: of(families, prefixes("10.96.0.0/16", "fd00:96::/112")),
        },
    };
}

/** Pod number `index` from 1: port 32784 and on, MAC and addresses that end in the number + 1. */
export function examplePod(index: number, families: readonly Family[] = [4, 6]): PodInput {
    return {
        ofPort: 32783 + index,
        mac: Uint8Array.of(0x0a, 0, 0, 0, 0, index + 1),
        ips: of(families, ips(`10.10.0.${index + 1}`, `fd00:10::${(index + 1).toString(16)}`)),
        gatewayMac,
    };
}

/** A Node that is reached by the tunnel, over IPv4 by default. */
export function examplePeer(families: readonly Family[] = [4, 6], remote = "192.0.2.11"): TunnelPeerInput {
    const podPrefixes = of(families, prefixes("10.10.1.0/24", "fd00:10:0:1::/64"));
    return { podPrefixes, remote: parseIp(remote), gatewayMac };
}

/** The same Pod on the underlay: 172.18.VLAN.X and fd00:18:0:VLAN::X in place of its addresses. */
export function exampleBridgedPod(index: number, vlan: number, families: readonly Family[] = [4, 6]): PodInput {
    const last = index + 1;
    const own = ips(`172.18.${vlan}.${last}`, `fd00:18:0:${vlan.toString(16)}::${last.toString(16)}`);
    const subnets = of(families, prefixes(`172.18.${vlan}.0/24`, `fd00:18:0:${vlan.toString(16)}::/64`));
    return { ...examplePod(index), ips: of(families, own), bridged: { vlan, hostMac, subnets } };
}

/** A VLAN with Pods of these numbers. */
export function exampleVlan(vlan: number, ...indexes: readonly number[]): VlanInput {
    const podPorts = indexes.map((index) => examplePod(index).ofPort);
    return { vlan, podPorts, uplink: { ofPort: OfPort.uplink }, host: { ofPort: OfPort.host } };
}

/** The Pods of another Node in the underlay's subnet. */
export function exampleBridgedPeer(families: readonly Family[] = [4, 6]): BridgedPeerInput {
    return { podPrefixes: examplePeer(families).podPrefixes, mac: parseMac("52:54:00:00:00:02") };
}
