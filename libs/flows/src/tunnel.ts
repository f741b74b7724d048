import { type Action, type Flow } from "@antrea/openflow";
import { macToBigint, parseMac } from "@antrea/ip";
import { classifierFlow } from "./classifier.ts";
import { Category, type FlowSet } from "./cookies.ts";
import { fieldsOf, fromPrefix, linkLocal, toPrefix } from "./fields.ts";
import { invalidInput } from "./error.ts";
import { type TunnelInput, type TunnelPeerInput } from "./inputs.ts";
import { checkPeer, checkPort } from "./check-inputs.ts";
import { l2Flow } from "./l2.ts";
import { setDestination } from "./l3.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Source, sourceIsEither } from "./registers.ts";
import { Priority, Table } from "./tables.ts";

/**
 * Destination MAC of all frames in tunnels, and the MAC address of peer gateways in the hosts' neighbour tables:
 * upstream Antrea's global virtual MAC. Receivers route packets from a tunnel whatever their destination MAC. Shared:
 * do not modify it.
 */
export const tunnelMac: Uint8Array = parseMac("aa:bb:cc:dd:ee:ff");

/**
 * Part of the pipeline for the tunnel port, independent of peers. Packets with a source address of this Node's podCIDRs
 * or a link-local one are dropped. Throws FlowsError `INVALID_INPUT` for an invalid port number, or in bridging mode.
 */
export function tunnelPart({ ofPort, families, podPrefixes, bridging }: TunnelInput): PipelinePart {
    checkPort("tunnel.ofPort", ofPort);
    if (bridging !== undefined) throw invalidInput("bridging", "set", "it cannot stand beside tunnel; leave one out");
    return {
        tables: [],
        flows: (next) => [
            classifierFlow(next, { ofPort, source: Source.tunnel }),
            ...tunnelGuard(next, { ofPort, families, podPrefixes }),
            l2Flow(next, { ofPort, mac: tunnelMac }),
        ],
    };
}

/**
 * Flows to the Pods of another Node by tunnel, one for each of its podCIDRs. Throws FlowsError `INVALID_INPUT` unless
 * `remote` is a unicast address, or for the gateway's MAC address as `checkMac`.
 */
export function tunnelPeerFlows(next: NextTable, input: TunnelPeerInput): FlowSet {
    checkPeer(input);
    return { category: Category.nodeConnectivity, flows: peerFlows(next, input) };
}

function peerFlows(next: NextTable, { podPrefixes, remote, gatewayMac }: TunnelPeerInput): Flow[] {
    const actions: Action[] = [
        { type: "set_field", field: "eth_src", value: macToBigint(gatewayMac) },
        setDestination(tunnelMac),
        { type: "set_field", field: remote.family === 4 ? "tun_dst" : "tun_ipv6_dst", value: remote.value },
    ];
    const fromPodOrGateway = sourceIsEither(Source.pod, Source.gateway);
    return podPrefixes.map((prefix) => ({
        table: Table.L3Forwarding,
        priority: Priority.lowest,
        match: { ...toPrefix(prefix), ...fromPodOrGateway },
        actions,
        gotoTable: next.into("hop"),
    }));
}

/**
 * Packets from a tunnel must be IP packets of Pods and gateways of other Nodes: a source address of this Node is
 * spoofed, and a link-local one is not valid on other links (RFC 4291 section 2.5.6).
 */
function tunnelGuard(next: NextTable, { ofPort, families, podPrefixes }: TunnelInput): Flow[] {
    const guard = { table: Table.SpoofGuard, actions: [] };
    return families.flatMap((family) => [
        ...[...podPrefixes, linkLocal]
            .filter((prefix) => prefix.family === family)
            .map((prefix) => ({
                ...guard,
                priority: Priority.high,
                match: { ...fromPrefix(prefix), in_port: ofPort },
            })),
        {
            ...guard,
            priority: Priority.normal,
            match: { ...fieldsOf(family).any, in_port: ofPort },
            gotoTable: next.after("SpoofGuard", family),
        },
    ]);
}
