import { type FieldValue, type Flow, type Match } from "@antrea/openflow";
import { linkLocalFromMac, macToBigint, prefixContains, prefixMask, sameIp, type IpAddress } from "@antrea/ip";
import { type Station } from "./arp.ts";
import {
    allNodes,
    fieldsOf,
    fromPrefix,
    linkLocal,
    MldType,
    multicastIpv6,
    NdType,
    toIp,
    toPrefix,
    unicastFrame,
} from "./fields.ts";
import { type Gateway, type PipelineInput } from "./inputs.ts";
import { sendTo } from "./output.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { partsAre, Reg, Source } from "./registers.ts";
import { Priority, Table, type TableId } from "./tables.ts";

// OVS reads a link-layer option that is not there as zero.
const noOption = 0n;

/** The link-local addresses by which a station is known: those among its addresses, and the one its MAC gives. */
export function linkLocalsOf(station: Pick<Station, "mac" | "ips">): IpAddress[] {
    const own = linkLocalFromMac(station.mac);
    return [own, ...station.ips.filter((ip) => prefixContains(linkLocal, ip) && !sameIp(ip, own))];
}

/** All IPv6 addresses of a station: those that it was given, and the link-local ones; none without IPv6. */
export function ipv6AddressesOf(station: Pick<Station, "mac" | "ips">): IpAddress[] {
    const ips = station.ips.filter((ip) => ip.family === 6);
    if (ips.length === 0) return [];
    return [...ips.filter((ip) => !prefixContains(linkLocal, ip)), ...linkLocalsOf(station)];
}

export const ndTables = [
    // What is no neighbour discovery goes on.
    { table: "NdGuard", stage: "source", miss: "next", family: 6 },
    { table: "NdForward", stage: "neighbours", miss: "drop", family: 6 },
] as const;

/** Neighbour discovery of the gateway, and what nobody may say. */
export function ndPart({ families, gateway }: Pick<PipelineInput, "families" | "gateway">): PipelinePart {
    const linkLocals = linkLocalsOf(gateway);
    return {
        tables: ndTables,
        flows: (next) =>
            families.includes(6)
                ? [...ndBaseFlows(next, gateway, linkLocals), ...gatewayNdFlows(next, gateway, linkLocals)]
                : [],
    };
}

/**
 * Neighbour discovery (RFC 4861) is limited to solicitations and advertisements, which the switch carries to the one
 * port that they are for: no flooding, no learning. Advertisements to all nodes go to the gateway, which then knows a
 * new Pod at once, and so do Pods' router solicitations. A Pod that asks whether an address is free hears no objection;
 * it could not send from another's address anyway. Router advertisements, redirects and every other multicast of IPv6
 * are dropped.
 */
function ndBaseFlows(next: NextTable, gateway: Gateway, gatewayLinkLocals: readonly IpAddress[]): Flow[] {
    const fromPod = partsAre([Reg.source, Source.pod]);
    // Whatever their code: OVS reads the fields of neighbour discovery with code 0 only.
    const guarded = Object.values(NdType).map((type) => ({ ...fieldsOf(6).icmp, icmpv6_type: type }));
    const unicast = { ...nd(NdType.neighborAdvertisement), ...unicastFrame };
    return [
        ...gatewayLinkLocals.map((ip) =>
            flow("NdGuard", Priority.high, {
                ...nd(NdType.neighborAdvertisement),
                ...fromPod,
                nd_target: ip.value,
            }),
        ),
        ...[...guarded, toPrefix(multicastIpv6)].map((match) => flow("NdGuard", Priority.low, match)),
        { ...flow("NdForward", Priority.low, unicast), gotoTable: next.into("switching") },
        {
            ...flow("NdForward", Priority.normal, {
                ...nd(NdType.neighborAdvertisement),
                ...fromPod,
                ...toIp(allNodes),
            }),
            ...sendTo(next, gateway.ofPort),
        },
        {
            ...flow("NdForward", Priority.normal, { ...nd(NdType.routerSolicitation), ...fromPod }),
            ...sendTo(next, gateway.ofPort),
        },
    ];
}

/** What the gateway may say: its own hardware address. The kernel behind it is trusted with the IP addresses. */
function gatewayNdFlows(next: NextTable, gateway: Gateway, gatewayLinkLocals: readonly IpAddress[]): Flow[] {
    const hardware = macToBigint(gateway.mac);
    const own = { in_port: gateway.ofPort };
    const said = [
        ...[hardware, noOption].map((option) => ({ ...nd(NdType.neighborSolicitation), ...own, nd_sll: option })),
        ...[hardware, noOption].map((option) => ({ ...nd(NdType.neighborAdvertisement), ...own, nd_tll: option })),
    ];
    const ips = [
        ...gateway.ips.filter((ip) => ip.family === 6 && !prefixContains(linkLocal, ip)),
        ...gatewayLinkLocals,
    ];
    return [...said.map((match) => allow(match)), ...ips.map((ip) => delivery(next, gateway.ofPort, ip))];
}

/**
 * What a Pod may say: its own hardware address, and advertisements of its own addresses or of a link-local one. Its
 * sender address was seen to by the spoof guard. It hears the questions for its addresses and for the link-local
 * address that its MAC gives.
 */
export function podNdFlows(next: NextTable, pod: Station): Flow[] {
    const ips = pod.ips.filter((ip) => ip.family === 6);
    if (ips.length === 0) return [];
    const linkLocalTarget = { value: linkLocal.base, mask: prefixMask(linkLocal) };
    const said = [
        { ...nd(NdType.routerSolicitation), in_port: pod.ofPort },
        ...saidBy(pod, [...ips.map((ip) => ip.value), linkLocalTarget]),
    ];
    return [...said.map((match) => allow(match)), ...ipv6AddressesOf(pod).map((ip) => delivery(next, pod.ofPort, ip))];
}

/**
 * A bridged Pod is no guest of the gateway's: it says the same to the underlay, of its own link-local address only, since
 * there others have theirs, and asks for no routers. It tells what groups it listens to: switches that mind that (RFC
 * 4541) send it no questions for its addresses otherwise.
 */
export function bridgedPodNdFlows(next: NextTable, pod: Station): Flow[] {
    const targets = ipv6AddressesOf(pod).map((ip) => ip.value);
    if (targets.length === 0) return [];
    const reports = Object.values(MldType).map((type) => ({
        ...fieldsOf(6).icmp,
        icmpv6_type: type,
        in_port: pod.ofPort,
        ...fromPrefix(linkLocal),
        ...toPrefix(multicastIpv6),
    }));
    return [...saidBy(pod, targets), ...reports].map((match) => allow(match, next.into("underlaySwitch")));
}

/** Questions and advertisements with the Pod's own hardware address; advertisements of these targets only. */
function saidBy({ ofPort, mac }: Station, targets: readonly FieldValue[]): Match[] {
    const hardware = macToBigint(mac);
    const own = { in_port: ofPort };
    return [
        ...[hardware, noOption].map((option) => ({ ...nd(NdType.neighborSolicitation), ...own, nd_sll: option })),
        ...[hardware, noOption].flatMap((option) =>
            targets.map((target) => ({
                ...nd(NdType.neighborAdvertisement),
                ...own,
                nd_target: target,
                nd_tll: option,
            })),
        ),
    ];
}

/** The match of a message of neighbour discovery. */
export function nd(type: number): Match {
    return { ...fieldsOf(6).icmp, icmpv6_type: type, icmpv6_code: 0 };
}

function allow(match: Match, gotoTable: TableId = Table.NdForward): Flow {
    return { ...flow("NdGuard", Priority.normal, match), gotoTable };
}

// A station's question whether its own address is free comes back to its own port, which OVS does not send to.
function delivery(next: NextTable, ofPort: number, ip: IpAddress): Flow {
    const match = { ...nd(NdType.neighborSolicitation), nd_target: ip.value };
    return { ...flow("NdForward", Priority.normal, match), ...sendTo(next, ofPort) };
}

function flow(table: "NdGuard" | "NdForward", priority: number, match: Match): Flow {
    return { table: Table[table], priority, match, actions: [] };
}
