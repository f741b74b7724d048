import { macToBigint, prefixContains, prefixMask, type IpAddress } from "@antrea/ip";
import { type FieldValue, type Flow, type Match } from "@antrea/openflow";
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
import { ipv6AddressesOf, linkLocalsOf } from "./station-ips.ts";
import { Priority, Table, type TableId } from "./tables.ts";

// OVS reads an absent link-layer address option as zero.
const noOption = 0n;

/** Flow tables of IPv6 neighbour discovery, for `Pipeline`: the guard and the forwarding to one port. */
export const ndTables = [
    // Packets other than neighbour discovery continue.
    { table: "NdGuard", stage: "source", miss: "next", family: 6 },
    { table: "NdForward", stage: "neighbours", miss: "drop", family: 6 },
] as const;

/**
 * Neighbour discovery flows of the gateway, and those that drop what no port may send; none without IPv6. Throws
 * IpError `INVALID_MAC` unless the gateway's MAC address has 6 bytes.
 */
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
 * Neighbour discovery (RFC 4861) is restricted to solicitations and advertisements, which the switch sends to the one
 * port concerned: there is no flooding and no learning. Advertisements to all nodes go to the gateway, which so learns
 * of a new Pod at once, as do router solicitations of Pods. Duplicate address detection of a Pod gets no answer; it
 * could not send from another station's address anyway. Router advertisements, redirects and all other IPv6 multicast
 * are dropped.
 */
function ndBaseFlows(next: NextTable, gateway: Gateway, gatewayLinkLocals: readonly IpAddress[]): Flow[] {
    const fromPod = partsAre([Reg.source, Source.pod]);
    // Whatever their code: OVS parses the neighbour discovery fields with code 0 only.
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

/** The gateway may advertise its own MAC address only. The kernel behind it is trusted with the IP addresses. */
function gatewayNdFlows(next: NextTable, gateway: Gateway, gatewayLinkLocals: readonly IpAddress[]): Flow[] {
    const hardware = macToBigint(gateway.mac);
    const own = { in_port: gateway.ofPort };
    const sent = [
        ...[hardware, noOption].map((option) => ({ ...nd(NdType.neighborSolicitation), ...own, nd_sll: option })),
        ...[hardware, noOption].map((option) => ({ ...nd(NdType.neighborAdvertisement), ...own, nd_tll: option })),
    ];
    const ips = [
        ...gateway.ips.filter((ip) => ip.family === 6 && !prefixContains(linkLocal, ip)),
        ...gatewayLinkLocals,
    ];
    return [...sent.map((match) => allow(match)), ...ips.map((ip) => delivery(next, gateway.ofPort, ip))];
}

/**
 * Flows for neighbour discovery of a Pod: it may send solicitations with its own MAC address, and advertisements of its
 * own addresses or a link-local one (the spoof guard checks its source address). It receives solicitations for its
 * addresses and for the link-local address derived from its MAC. Empty without IPv6. `podFlows` checks the Pod.
 */
export function podNdFlows(next: NextTable, pod: Station): Flow[] {
    const ips = pod.ips.filter((ip) => ip.family === 6);
    if (ips.length === 0) return [];
    const linkLocalTarget = { value: linkLocal.base, mask: prefixMask(linkLocal) };
    const sent = [
        { ...nd(NdType.routerSolicitation), in_port: pod.ofPort },
        ...sentBy(pod, [...ips.map((ip) => ip.value), linkLocalTarget]),
    ];
    return [...sent.map((match) => allow(match)), ...ipv6AddressesOf(pod).map((ip) => delivery(next, pod.ofPort, ip))];
}

/**
 * Flows for neighbour discovery of a bridged Pod. As `podNdFlows`, but to the underlay, only for the link-local address
 * derived from its MAC, as other stations there have theirs, and without router solicitations. It may also send
 * multicast listener reports, without which snooping switches (RFC 4541) do not forward solicitations for its addresses
 * to it. `podFlows` checks the Pod.
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
    return [...sentBy(pod, targets), ...reports].map((match) => allow(match, next.into("underlaySwitch")));
}

/** Solicitations and advertisements with the Pod's own MAC address; advertisements of these targets only. */
function sentBy({ ofPort, mac }: Station, targets: readonly FieldValue[]): Match[] {
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

/** Match of a neighbour discovery message with this ICMPv6 type, a value of `NdType`, and code 0. */
export function nd(type: number): Match {
    return { ...fieldsOf(6).icmp, icmpv6_type: type, icmpv6_code: 0 };
}

function allow(match: Match, gotoTable: TableId = Table.NdForward): Flow {
    return { ...flow("NdGuard", Priority.normal, match), gotoTable };
}

// A station's duplicate address detection would return to its own port, to which OVS does not send.
function delivery(next: NextTable, ofPort: number, ip: IpAddress): Flow {
    const match = { ...nd(NdType.neighborSolicitation), nd_target: ip.value };
    return { ...flow("NdForward", Priority.normal, match), ...sendTo(next, ofPort) };
}

function flow(table: "NdGuard" | "NdForward", priority: number, match: Match): Flow {
    return { table: Table[table], priority, match, actions: [] };
}
