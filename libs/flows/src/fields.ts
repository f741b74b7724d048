import { CtState, type Match } from "@antrea/openflow";
import { type Family, type IpAddress, type Prefix, prefixMask } from "@antrea/ip";

/** Matches and conntrack zones that differ between IPv4 and IPv6; see `fieldsOf`. */
export interface FamilyFields {
    readonly family: Family;
    /** Match of all packets of the family. */
    readonly any: Match;
    /** Match of all ICMP (ICMPv6) packets. */
    readonly icmp: Match;
    /** Conntrack zone outside bridging mode. */
    readonly zone: number;
    /** Value of `Reg.zoneType` for the conntrack zones of VLANs in bridging mode. */
    readonly zoneType: number;
    /** Conntrack zone of the source NAT for Services. */
    readonly snatZone: number;
    /** Conntrack zone in which the fragments of a datagram meet; no connection is in it. See `fragmentFlows`. */
    readonly orderZone: number;
    /** Conntrack zone whose marks have the destination ports of datagrams in fragments. */
    readonly portZone: number;
}

const v4: FamilyFields = {
    family: 4,
    any: { eth_type: 0x0800 },
    icmp: { eth_type: 0x0800, ip_proto: 1 },
    zone: 65520,
    zoneType: 1,
    snatZone: 65521,
    orderZone: 65522,
    portZone: 65523,
};
const v6: FamilyFields = {
    family: 6,
    any: { eth_type: 0x86dd },
    icmp: { eth_type: 0x86dd, ip_proto: 58 },
    zone: 65510,
    zoneType: 3,
    snatZone: 65511,
    orderZone: 65512,
    portZone: 65513,
};

/** Returns the matches and conntrack zones of an IP family. */
export function fieldsOf(family: Family): FamilyFields {
    return family === 4 ? v4 : v6;
}

/** IP protocol numbers (IANA). */
export const IpProto = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58, sctp: 132 } as const;

/** ICMP message type of redirects (RFC 792). */
export const icmpRedirect = 5;

/** ICMPv6 message types of neighbour discovery (RFC 4861 section 4). */
export const NdType = {
    routerSolicitation: 133,
    routerAdvertisement: 134,
    neighborSolicitation: 135,
    neighborAdvertisement: 136,
    redirect: 137,
} as const;

/** ICMPv6 message types of multicast listener reports (RFC 2710 section 3, RFC 9777 section 5). */
export const MldType = { report: 131, done: 132, reportVersion2: 143 } as const;

/** Match of all ARP frames. */
export const anyArp: Match = { eth_type: 0x0806 };
/** ARP operation codes (RFC 826). */
export const ArpOp = { request: 1, reply: 2 } as const;

/** Link-local prefix fe80::/10 (RFC 4291 section 2.5.6). */
export const linkLocal: Prefix = { family: 6, base: 0xfe80n << 112n, length: 10 };
/** Multicast prefix ff00::/8 (RFC 4291 section 2.7). */
export const multicastIpv6: Prefix = { family: 6, base: 0xffn << 120n, length: 8 };
/** Unspecified address :: (RFC 4291 section 2.5.2). */
export const unspecifiedIpv6: IpAddress = { family: 6, value: 0n };
/** All-nodes multicast address ff02::1 (RFC 4291 section 2.7.1). */
export const allNodes: IpAddress = { family: 6, value: (0xff02n << 112n) | 1n };

/** Match of unicast frames (IEEE 802: the lowest bit of the first byte is 0). */
export const unicastFrame: Match = { eth_dst: { value: 0n, mask: 1n << 40n } };
/** Match of frames to a group of stations: multicast and broadcast. */
export const groupFrame: Match = { eth_dst: { value: 1n << 40n, mask: 1n << 40n } };
/** Match of frames to all stations (ff:ff:ff:ff:ff:ff). */
export const broadcastFrame: Match = { eth_dst: 0xffffffffffffn };

/** Match of packets with this source address, with its EtherType. */
export function fromIp(ip: IpAddress): Match {
    return ip.family === 4 ? { ...v4.any, ipv4_src: ip.value } : { ...v6.any, ipv6_src: ip.value };
}

/** Match of packets with this destination address, with its EtherType. */
export function toIp(ip: IpAddress): Match {
    return ip.family === 4 ? { ...v4.any, ipv4_dst: ip.value } : { ...v6.any, ipv6_dst: ip.value };
}

/** Match of packets with a source address in the prefix, with its EtherType. */
export function fromPrefix(prefix: Prefix): Match {
    const field = { value: prefix.base, mask: prefixMask(prefix) };
    return prefix.family === 4 ? { ...v4.any, ipv4_src: field } : { ...v6.any, ipv6_src: field };
}

/** Match of packets with a destination address in the prefix, with its EtherType. */
export function toPrefix(prefix: Prefix): Match {
    const field = { value: prefix.base, mask: prefixMask(prefix) };
    return prefix.family === 4 ? { ...v4.any, ipv4_dst: field } : { ...v6.any, ipv6_dst: field };
}

/**
 * Match of the packets of a connection's first direction whose first packet had, before any translation, a destination in
 * the prefix, with its EtherType; after a lookup only.
 */
export function begunTo(prefix: Prefix): Match {
    const field = { value: prefix.base, mask: prefixMask(prefix) };
    const common = ctStateIs({ rpl: false, inv: false, trk: true });
    return prefix.family === 4
        ? { ...v4.any, ...common, ct_nw_dst: field }
        : { ...v6.any, ...common, ct_ipv6_dst: field };
}

/** Match of connection tracking state bits (`ct_state`): true must be set, false must not be; others are ignored. */
export function ctStateIs(bits: Partial<Record<keyof typeof CtState, boolean>>): Match {
    let [value, mask] = [0, 0];
    for (const [name, set] of Object.entries(bits) as [keyof typeof CtState, boolean][]) {
        mask |= CtState[name];
        if (set) value |= CtState[name];
    }
    return { ct_state: { value, mask } };
}
