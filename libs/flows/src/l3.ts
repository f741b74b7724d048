import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family, type IpAddress, type Prefix } from "@antrea/ip";
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

/** Flow tables of layer 3 forwarding, for `Pipeline`: next hop, TTL. */
export const l3Tables = [
    { table: "L3Forwarding", stage: "routing", miss: "drop" },
    { table: "L3DecTtl", stage: "hop", miss: "next" },
] as const;

/**
 * Layer 3 forwarding of packets that are not for a Pod of this Node: from Pods to the gateway. The destination MAC is
 * always set, so a stale or forged neighbour entry of a Pod has no effect. Packets from the gateway never return to it,
 * and packets from a tunnel reach only Pods of this Node and the gateway: no Node forwards between others.
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
 * Flows that deliver packets to a Pod's addresses: at layer 2, or routed by the switch if they come from a tunnel or
 * the sender addressed its gateway (the Pod lies outside the sender's subnet). `podFlows` checks the Pod.
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
 * Flows that send packets of a Pod of a foreign subnet that leave the Node through the host, which translates the
 * source to an address of the Node, as other Nodes have no route to the Pod's subnet. `podFlows` checks the Pod.
 */
export function foreignPodFlows(next: NextTable, pod: PodInput): Flow[] {
    const toGateway = setDestination(pod.gatewayMac);
    return pod.ips.map((ip) =>
        l3(Priority.lower, { ...fromIp(ip), ...fromPod, ...unicastFrame }, [toGateway], next.into("switching")),
    );
}

/**
 * Flows that route packets to a bridged Pod: answers of Services from the gateway, which are in the Pod's VLAN again,
 * and packets of other Pods of this Node to an untagged one. For packets from the underlay, the port is already chosen.
 * `podFlows` checks the Pod.
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
        ...(vlan !== 0 && pod.services === true ? [fromServiceFlow(next, ip, deliver)] : []),
    ]);
}

// The Pod in its VLAN is an endpoint of what the gateway sends; its router would not bring the answer to this Node.
function fromServiceFlow(next: NextTable, ip: IpAddress, deliver: readonly Action[]): Flow {
    const match = {
        ...toIp(ip),
        ...ctStateIs({ rpl: false, trk: true }),
        ...partsAre([Reg.source, Source.gateway], [Reg.vlan, 0], [CtMark.service, 1]),
    };
    return l3(Priority.high, match, [...deliver, load(Reg.toService, 1)], next.into("switching"));
}

// A Service's packet comes from the gateway with the endpoint's address as destination, which the host set. The answer
// must pass the host, which restores the Service's address, even if it is for a Pod on this Node, or comes from a
// tunnel.
function hostPath(next: NextTable, family: Family, toGateway: Action, bridging: boolean): Flow[] {
    const any = { ...fieldsOf(family).any, ...(bridging ? notBridged : {}) };
    const reply = ctStateIs({ rpl: true, trk: true });
    const matches: Match[] = [
        { ...any, ...fromPodOrTunnel, ...reply, ...partsAre([CtMark.source, Source.gateway]) },
        { ...any, ...fromPodOrTunnel, ...ctStateIs({ trk: true }), ...partsAre([CtMark.viaHost, 1]) },
    ];
    return matches.map((match) => l3(Priority.top, match, [toGateway], next.into("switching")));
}

// Link-local addresses are for traffic between a Pod and the host; between Pods they are not verified.
function linkLocalFlows(next: NextTable, gateway: Gateway): Flow[] {
    const any = toPrefix(linkLocal);
    return [
        l3(Priority.normal, { ...any, ...fromGateway }, [], next.into("switching")),
        l3(Priority.normal, { ...any, ...fromPod, eth_dst: macToBigint(gateway.mac) }, [], next.into("switching")),
        l3(Priority.low, any, []),
    ];
}

// Not to the gateway: the host would send it back to this switch.
function unknownPod(prefix: Prefix): Flow {
    return l3(Priority.low, toPrefix(prefix), []);
}

// Only for packets that the switch itself routes: towards the gateway the host decrements the TTL, and bridging is no
// hop. A packet whose TTL expires goes to the host, which reports it to the sender (RFC 792, RFC 4443 section 3.3). For
// packets from the host, the host has decremented it already. In bridging mode the port of a Pod may be chosen already.
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

// For bridged Pods the switch only saves the detour by the underlay's router, so an expiring TTL is no reason to drop a
// packet. Packets from the underlay to a bridged Pod are not routed at all.
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

/** Action that sets the destination MAC address, 6 bytes; throws IpError `INVALID_MAC` for another length. */
export function setDestination(mac: Uint8Array): Action {
    return { type: "set_field", field: "eth_dst", value: macToBigint(mac) };
}

function l3(priority: number, match: Match, actions: readonly Action[], gotoTable?: TableId): Flow {
    const flow = { table: Table.L3Forwarding, priority, match, actions };
    return gotoTable === undefined ? flow : { ...flow, gotoTable };
}
