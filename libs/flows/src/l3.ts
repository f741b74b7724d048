import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family, type Prefix } from "@antrea/ip";
import { midStream } from "./conntrack.ts";
import { ctStateIs, fieldsOf, fromIp, linkLocal, toIp, toPrefix, unicastFrame } from "./fields.ts";
import { type Gateway, type PipelineInput, type PodInput, type TunnelPeerInput } from "./inputs.ts";
import { CtMark, partsAre, Reg, Source, sourceIsEither } from "./registers.ts";
import { Priority, Table, type TableId } from "./tables.ts";
import { tunnelMac } from "./tunnel.ts";

const fromPod = partsAre([Reg.source, Source.pod]);
const fromGateway = partsAre([Reg.source, Source.gateway]);
const fromTunnel = partsAre([Reg.source, Source.tunnel]);
const fromPodOrTunnel = sourceIsEither(Source.pod, Source.tunnel);
const fromPodOrGateway = sourceIsEither(Source.pod, Source.gateway);

/**
 * Where packets go that are not for a Pod of this Node: to the gateway, if a Pod sent them. The address in the frame is
 * set each time, so a Pod's stale or false neighbour entry does no harm. Nothing that the gateway sent goes back to it,
 * and what comes by a tunnel is for Pods of this Node and the gateway only: no Node is a way to others.
 */
export function l3BaseFlows({ families, gateway, podPrefixes }: PipelineInput): Flow[] {
    const toGateway = setDestination(gateway.mac);
    return [
        ...families.flatMap((family) => hostPath(family, toGateway)),
        ...gateway.ips
            .filter((ip) => families.includes(ip.family))
            .map((ip) => l3(Priority.normal, toIp(ip), [toGateway], Table.L2Forwarding)),
        ...(families.includes(6) ? linkLocalFlows(gateway) : []),
        ...podPrefixes.filter((prefix) => families.includes(prefix.family)).map(unknownPod),
        ...families.map((family) =>
            l3(
                Priority.last,
                { ...fieldsOf(family).any, ...fromPod, ...unicastFrame },
                [toGateway],
                Table.L2Forwarding,
            ),
        ),
        ...families.flatMap((family) => decTtl(family, toGateway)),
    ];
}

/**
 * A Pod's address leads to the Pod: bridged, or routed by the switch when it came by a tunnel, or when another Pod takes
 * it for an address behind its router (it lies outside the sender's subnet).
 */
export function podL3Flows(pod: PodInput): Flow[] {
    const toPod = setDestination(pod.mac);
    const gatewayMac = macToBigint(pod.gatewayMac);
    const routed = [{ type: "set_field", field: "eth_src", value: gatewayMac }, toPod] as const;
    return pod.ips.flatMap((ip) => [
        l3(Priority.normal, toIp(ip), [toPod], Table.L2Forwarding),
        l3(Priority.high, { ...toIp(ip), ...fromPod, eth_dst: gatewayMac }, routed, Table.L3DecTtl),
        l3(Priority.high, { ...toIp(ip), ...fromTunnel }, routed, Table.L3DecTtl),
    ]);
}

/**
 * What a Pod of a foreign subnet sends off the Node passes the host, which gives it an address of the Node: the others do
 * not know the way back to the Pod's.
 */
export function foreignPodFlows(pod: PodInput): Flow[] {
    const toGateway = setDestination(pod.gatewayMac);
    return pod.ips.map((ip) =>
        l3(Priority.lower, { ...fromIp(ip), ...fromPod, ...unicastFrame }, [toGateway], Table.L2Forwarding),
    );
}

/** A podCIDR of another Node leads into the tunnel to it. */
export function tunnelPeerL3Flows({ podPrefixes, remote, gatewayMac }: TunnelPeerInput): Flow[] {
    const actions: Action[] = [
        { type: "set_field", field: "eth_src", value: macToBigint(gatewayMac) },
        setDestination(tunnelMac),
        { type: "set_field", field: remote.family === 4 ? "tun_dst" : "tun_ipv6_dst", value: remote.value },
    ];
    return podPrefixes.map((prefix) =>
        l3(Priority.lowest, { ...toPrefix(prefix), ...fromPodOrGateway }, actions, Table.L3DecTtl),
    );
}

// A Service's packet comes from the gateway with the endpoint's address, which the host put there. The answer has to
// pass the host to get the Service's address back, even if it is for a Pod beside the endpoint, or comes by a tunnel.
function hostPath(family: Family, toGateway: Action): Flow[] {
    const { any } = fieldsOf(family);
    const reply = ctStateIs({ rpl: true, trk: true });
    const matches: Match[] = [
        { ...any, ...fromPodOrTunnel, ...reply, ...partsAre([CtMark.source, Source.gateway]) },
        { ...any, ...fromPodOrTunnel, ...ctStateIs({ trk: true }), ...partsAre([CtMark.viaHost, 1]) },
        midStream(family),
    ];
    return matches.map((match) => l3(Priority.top, match, [toGateway], Table.L2Forwarding));
}

// Link-local addresses are for talk between a Pod and the host; between Pods nothing vouches for them.
function linkLocalFlows(gateway: Gateway): Flow[] {
    const any = toPrefix(linkLocal);
    return [
        l3(Priority.normal, { ...any, ...fromGateway }, [], Table.L2Forwarding),
        l3(Priority.normal, { ...any, ...fromPod, eth_dst: macToBigint(gateway.mac) }, [], Table.L2Forwarding),
        l3(Priority.low, any, []),
    ];
}

// Not to the gateway: the host would send it back here.
function unknownPod(prefix: Prefix): Flow {
    return l3(Priority.low, toPrefix(prefix), []);
}

// Only for what the switch itself routes. Towards the gateway the host's stack counts, and bridging is no hop. A packet
// at the end of its time goes to the host, which tells the sender (RFC 792, RFC 4443 section 3.3). The host has counted
// already what comes from it.
function decTtl(family: Family, toGateway: Action): Flow[] {
    const flow = { table: Table.L3DecTtl, match: fieldsOf(family).any, gotoTable: Table.L2Forwarding };
    return [
        ...[0, 1].map((ip_ttl) => ({
            ...flow,
            priority: Priority.high,
            match: { ...flow.match, ip_ttl },
            actions: [toGateway],
        })),
        { ...flow, priority: Priority.top, match: { ...flow.match, ...fromGateway }, actions: [] },
        { ...flow, priority: Priority.normal, actions: [{ type: "dec_ttl" }] },
    ];
}

function setDestination(mac: Uint8Array): Action {
    return { type: "set_field", field: "eth_dst", value: macToBigint(mac) };
}

function l3(priority: number, match: Match, actions: readonly Action[], gotoTable?: TableId): Flow {
    const flow = { table: Table.L3Forwarding, priority, match, actions };
    return gotoTable === undefined ? flow : { ...flow, gotoTable };
}
