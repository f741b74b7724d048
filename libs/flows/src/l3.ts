import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family, type Prefix } from "@antrea/ip";
import { ctStateIs, fieldsOf, fromIp, linkLocal, toIp, toPrefix, unicastFrame } from "./fields.ts";
import { type BridgedPod, type Gateway, type PipelineInput, type PodInput } from "./inputs.ts";
import { choosePort } from "./output.ts";
import { CtMark, load, notBridged, OutputKind, partsAre, Reg, Source, sourceIsEither } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table, type TableId } from "./tables.ts";

const fromPod = partsAre([Reg.source, Source.pod]);
const fromGateway = partsAre([Reg.source, Source.gateway]);
const fromTunnel = partsAre([Reg.source, Source.tunnel]);
const fromPodOrTunnel = sourceIsEither(Source.pod, Source.tunnel);
const fromUnderlay = sourceIsEither(Source.uplink, Source.host);

export const l3Tables = [
    { table: "L3Forwarding", stage: "routing", miss: "drop" },
    { table: "L3DecTtl", stage: "hop", miss: "next" },
] as const;

/**
 * Where packets go that are not for a Pod of this Node: to the gateway, if a Pod sent them. The address in the frame is
 * set each time, so a Pod's stale or false neighbour entry does no harm. Nothing that the gateway sent goes back to it,
 * and what comes by a tunnel is for Pods of this Node and the gateway only: no Node is a way to others.
 */
export function l3Part(input: PipelineInput): PipelinePart {
    return { tables: l3Tables, flows: (next) => l3BaseFlows(next, input) };
}

function l3BaseFlows(next: NextTable, { families, gateway, podPrefixes, bridging }: PipelineInput): Flow[] {
    const toGateway = setDestination(gateway.mac);
    const isBridging = bridging !== undefined;
    return [
        ...families.flatMap((family) => hostPath(next, family, toGateway, isBridging)),
        ...gateway.ips
            .filter((ip) => families.includes(ip.family))
            .map((ip) => l3(Priority.normal, toIp(ip), [toGateway], next.into("switching"))),
        ...(families.includes(6) ? linkLocalFlows(next, gateway) : []),
        ...podPrefixes.filter((prefix) => families.includes(prefix.family)).map(unknownPod),
        ...families.map((family) =>
            l3(
                Priority.last,
                { ...fieldsOf(family).any, ...fromPod, ...unicastFrame },
                [toGateway],
                next.into("switching"),
            ),
        ),
        ...families.flatMap((family) => decTtl(next, family, toGateway, isBridging)),
        ...(isBridging ? families.flatMap((family) => bridgingBase(next, family)) : []),
    ];
}

/**
 * A Pod's address leads to the Pod: bridged, or routed by the switch when it came by a tunnel, or when another Pod takes
 * it for an address behind its router (it lies outside the sender's subnet).
 */
export function podL3Flows(next: NextTable, pod: PodInput): Flow[] {
    const toPod = setDestination(pod.mac);
    const gatewayMac = macToBigint(pod.gatewayMac);
    const routed = [{ type: "set_field", field: "eth_src", value: gatewayMac }, toPod] as const;
    return pod.ips.flatMap((ip) => [
        l3(Priority.normal, toIp(ip), [toPod], next.into("switching")),
        l3(Priority.high, { ...toIp(ip), ...fromPod, eth_dst: gatewayMac }, routed, next.into("hop")),
        l3(Priority.high, { ...toIp(ip), ...fromTunnel }, routed, next.into("hop")),
    ]);
}

/**
 * What a Pod of a foreign subnet sends off the Node passes the host, which gives it an address of the Node: the others do
 * not know the way back to the Pod's.
 */
export function foreignPodFlows(next: NextTable, pod: PodInput): Flow[] {
    const toGateway = setDestination(pod.gatewayMac);
    return pod.ips.map((ip) =>
        l3(Priority.lower, { ...fromIp(ip), ...fromPod, ...unicastFrame }, [toGateway], next.into("switching")),
    );
}

/**
 * The way to a bridged Pod of what is routed to it here: answers of Services by the gateway, which are in the Pod's VLAN
 * again, and what other Pods of this Node send to one without a tag. From the underlay it comes with its port chosen.
 */
export function bridgedPodL3Flows(next: NextTable, pod: PodInput, { vlan, hostMac }: BridgedPod): Flow[] {
    const deliver = [setDestination(pod.mac), ...choosePort(pod.ofPort)];
    const asHost: Action = { type: "set_field", field: "eth_src", value: macToBigint(hostMac) };
    return pod.ips.flatMap((ip) => [
        l3(
            Priority.high,
            { ...toIp(ip), ...partsAre([Reg.source, Source.gateway], [Reg.vlan, vlan]) },
            deliver,
            next.into("switching"),
        ),
        ...(vlan === 0 ? [l3(Priority.high, { ...toIp(ip), ...fromPod }, [asHost, ...deliver], next.into("hop"))] : []),
    ]);
}

// A Service's packet comes from the gateway with the endpoint's address, which the host put there. The answer has to
// pass the host to get the Service's address back, even if it is for a Pod beside the endpoint, or comes by a tunnel.
function hostPath(next: NextTable, family: Family, toGateway: Action, bridging: boolean): Flow[] {
    const any = { ...fieldsOf(family).any, ...(bridging ? notBridged : {}) };
    const reply = ctStateIs({ rpl: true, trk: true });
    const matches: Match[] = [
        { ...any, ...fromPodOrTunnel, ...reply, ...partsAre([CtMark.source, Source.gateway]) },
        { ...any, ...fromPodOrTunnel, ...ctStateIs({ trk: true }), ...partsAre([CtMark.viaHost, 1]) },
    ];
    return matches.map((match) => l3(Priority.top, match, [toGateway], next.into("switching")));
}

// Link-local addresses are for talk between a Pod and the host; between Pods nothing vouches for them.
function linkLocalFlows(next: NextTable, gateway: Gateway): Flow[] {
    const any = toPrefix(linkLocal);
    return [
        l3(Priority.normal, { ...any, ...fromGateway }, [], next.into("switching")),
        l3(Priority.normal, { ...any, ...fromPod, eth_dst: macToBigint(gateway.mac) }, [], next.into("switching")),
        l3(Priority.low, any, []),
    ];
}

// Not to the gateway: the host would send it back here.
function unknownPod(prefix: Prefix): Flow {
    return l3(Priority.low, toPrefix(prefix), []);
}

// Only for what the switch itself routes. Towards the gateway the host's stack counts, and bridging is no hop. A packet
// at the end of its time goes to the host, which tells the sender (RFC 792, RFC 4443 section 3.3). The host has counted
// already what comes from it. In bridging mode the port of a Pod may be chosen already.
function decTtl(next: NextTable, family: Family, toGateway: Action, bridging: boolean): Flow[] {
    const flow = { table: Table.L3DecTtl, match: fieldsOf(family).any, gotoTable: next.after("L3DecTtl") };
    return [
        ...[0, 1].map((ip_ttl) => ({
            ...flow,
            priority: Priority.high,
            match: { ...flow.match, ip_ttl },
            actions: bridging ? [toGateway, load(Reg.outputKind, OutputKind.none)] : [toGateway],
        })),
        { ...flow, priority: Priority.top, match: { ...flow.match, ...fromGateway }, actions: [] },
        { ...flow, priority: Priority.normal, actions: [{ type: "dec_ttl" }] },
    ];
}

// For bridged Pods the switch takes a short cut past the underlay's router: no reason to refuse a packet. What the
// underlay sends to a bridged Pod is not routed at all.
function bridgingBase(next: NextTable, family: Family): Flow[] {
    const { any } = fieldsOf(family);
    return [
        ...[0, 1].map((ip_ttl) => ({
            table: Table.L3DecTtl,
            priority: Priority.top,
            match: { ...any, ...partsAre([Reg.bridged, 1]), ip_ttl },
            actions: [],
            gotoTable: next.after("L3DecTtl"),
        })),
        l3(Priority.top, { ...any, ...fromUnderlay }, [], next.into("switching")),
    ];
}

/** The action that sends to a station of the link. */
export function setDestination(mac: Uint8Array): Action {
    return { type: "set_field", field: "eth_dst", value: macToBigint(mac) };
}

function l3(priority: number, match: Match, actions: readonly Action[], gotoTable?: TableId): Flow {
    const flow = { table: Table.L3Forwarding, priority, match, actions };
    return gotoTable === undefined ? flow : { ...flow, gotoTable };
}
