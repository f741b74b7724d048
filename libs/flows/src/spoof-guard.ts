import { type Flow, type Match } from "@antrea/openflow";
import { linkLocalFromMac, macToBigint, sameIp, type Family, type IpAddress } from "@antrea/ip";
import { fieldsOf, fromIp, fromPrefix, icmpRedirect, linkLocal, NdType, unspecifiedIpv6 } from "./fields.ts";
import { type Gateway, type PodInput } from "./inputs.ts";
import { partsAre, Reg, Source } from "./registers.ts";
import { type NextTable } from "./part.ts";
import { Priority, Table, type TableId } from "./tables.ts";

/**
 * Flows of the spoof guard for the gateway: it may send from any IP address (it forwards for others), but only with its
 * own MAC address. Pods must not use the gateway's link-local addresses (`linkLocalsOf`). ICMP redirects are dropped
 * from all sources: the host sends them when it forwards a Service's packet to the port it came from, and a Pod that
 * follows one would bypass the host's address translation. (ICMPv6 redirects are dropped as neighbour discovery.)
 */
export function gatewaySpoofGuard(
    next: NextTable,
    families: readonly Family[],
    gateway: Gateway,
    gatewayLinkLocals: readonly IpAddress[],
): Flow[] {
    const flows = families.map((family) =>
        pass(
            { ...fieldsOf(family).any, in_port: gateway.ofPort, eth_src: macToBigint(gateway.mac) },
            allowed(next, family),
        ),
    );
    if (families.includes(4)) flows.push(drop({ ...fieldsOf(4).icmp, icmpv4_type: icmpRedirect }));
    if (families.includes(6)) {
        for (const ip of gatewayLinkLocals) flows.push(drop({ ...fromIp(ip), ...partsAre([Reg.source, Source.pod]) }));
    }
    return flows;
}

/**
 * Flows of the spoof guard for a Pod: it may send with its MAC address and from its addresses. With IPv6 also from a
 * link-local address, and from the unspecified address for duplicate address detection (RFC 4862 section 5.4.2). A
 * bridged Pod may use only the link-local address derived from its MAC, as others on the underlay belong to other
 * stations. `podFlows` checks the Pod.
 */
export function podSpoofGuard(next: NextTable, pod: PodInput): Flow[] {
    const station: Match = { in_port: pod.ofPort, eth_src: macToBigint(pod.mac) };
    const flows = pod.ips.map((ip) => pass({ ...station, ...fromIp(ip) }, allowed(next, ip.family)));
    if (!pod.ips.some((ip) => ip.family === 6)) return flows;
    const question = { ...fieldsOf(6).icmp, icmpv6_type: NdType.neighborSolicitation, icmpv6_code: 0 };
    return [
        ...flows,
        ...linkLocalSources(pod).map((match) => pass({ ...station, ...match }, allowed(next, 6))),
        pass({ ...station, ...question, ...fromIp(unspecifiedIpv6) }, allowed(next, 6)),
    ];
}

function linkLocalSources(pod: PodInput): Match[] {
    if (pod.bridged === undefined) return [fromPrefix(linkLocal)];
    const own = linkLocalFromMac(pod.mac);
    return pod.ips.some((ip) => sameIp(ip, own)) ? [] : [fromIp(own)];
}

function allowed(next: NextTable, family: Family): TableId {
    return next.after("SpoofGuard", family);
}

function pass(match: Match, gotoTable: TableId): Flow {
    return { table: Table.SpoofGuard, priority: Priority.normal, match, actions: [], gotoTable };
}

function drop(match: Match): Flow {
    return { table: Table.SpoofGuard, priority: Priority.high, match, actions: [] };
}
