import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family, type Prefix } from "@antrea/ip";
import { midStream } from "./conntrack.ts";
import { ctStateIs, fieldsOf, linkLocal, toIp, toPrefix, unicastFrame } from "./fields.ts";
import { type Gateway, type PeerNodeInput, type PipelineInput, type PodInput } from "./inputs.ts";
import { CtMark, partsAre, Reg, Source } from "./registers.ts";
import { Priority, Table, type TableId } from "./tables.ts";

const fromPod = partsAre([Reg.source, Source.pod]);
const fromGateway = partsAre([Reg.source, Source.gateway]);

/**
 * Where packets go that are not for a Pod of this Node: to the gateway, if a Pod sent them. The address in the frame is
 * set each time, so a Pod's stale or false neighbour entry does no harm. Nothing that the gateway sent goes back to it.
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
                Priority.lowest,
                { ...fieldsOf(family).any, ...fromPod, ...unicastFrame },
                [toGateway],
                Table.L2Forwarding,
            ),
        ),
        ...families.map(decTtl),
    ];
}

/**
 * A Pod's address leads to the Pod: bridged, or routed by the switch when another Pod takes it for an address behind
 * its router (it lies outside the sender's subnet).
 */
export function podL3Flows(pod: PodInput): Flow[] {
    const toPod = setDestination(pod.mac);
    const gatewayMac = macToBigint(pod.gatewayMac);
    return pod.ips.flatMap((ip) => [
        l3(Priority.normal, toIp(ip), [toPod], Table.L2Forwarding),
        l3(
            Priority.high,
            { ...toIp(ip), ...fromPod, eth_dst: gatewayMac },
            [{ type: "set_field", field: "eth_src", value: gatewayMac }, toPod],
            Table.L3DecTtl,
        ),
    ]);
}

/** The Pods of another Node are behind the gateway: the host's routes know the Node. */
export function peerL3Flows(peer: PeerNodeInput): Flow[] {
    const toGateway = setDestination(peer.gatewayMac);
    return peer.podPrefixes.map((prefix) =>
        l3(Priority.low, { ...toPrefix(prefix), ...fromPod }, [toGateway], Table.L2Forwarding),
    );
}

// A Service's packet comes from the gateway with the endpoint's address, which the host put there. The answer has to
// pass the host to get the Service's address back, even if it is for a Pod beside the endpoint.
function hostPath(family: Family, toGateway: Action): Flow[] {
    const { any } = fieldsOf(family);
    const reply = ctStateIs({ rpl: true, trk: true });
    const matches: Match[] = [
        { ...any, ...fromPod, ...reply, ...partsAre([CtMark.source, Source.gateway]) },
        { ...any, ...fromPod, ...ctStateIs({ trk: true }), ...partsAre([CtMark.viaHost, 1]) },
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

// Only for what the switch itself routes. Towards the gateway the host's stack counts, and bridging is no hop.
function decTtl(family: Family): Flow {
    return {
        table: Table.L3DecTtl,
        priority: Priority.normal,
        match: fieldsOf(family).any,
        actions: [{ type: "dec_ttl" }],
        gotoTable: Table.L2Forwarding,
    };
}

function setDestination(mac: Uint8Array): Action {
    return { type: "set_field", field: "eth_dst", value: macToBigint(mac) };
}

function l3(priority: number, match: Match, actions: readonly Action[], gotoTable?: TableId): Flow {
    const flow = { table: Table.L3Forwarding, priority, match, actions };
    return gotoTable === undefined ? flow : { ...flow, gotoTable };
}
