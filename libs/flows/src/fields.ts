import { CtState, type Match } from "@antrea/openflow";
import { type Family, type IpAddress, type Prefix, prefixMask } from "@antrea/ip";

/** What is called differently in IPv4 and IPv6. */
export interface FamilyFields {
    readonly family: Family;
    /** The match of any packet of the family. */
    readonly any: Match;
    /** The match of any ICMP packet of the family. */
    readonly icmp: Match;
    /** The conntrack zone: own connections of the main zone. */
    readonly zone: number;
    /** The value of `Reg.zoneType`: own connections of a VLAN's zone. */
    readonly zoneType: number;
    /** The conntrack zone of source addresses that the switch translates. */
    readonly snatZone: number;
}

const v4: FamilyFields = {
    family: 4,
    any: { eth_type: 0x0800 },
    icmp: { eth_type: 0x0800, ip_proto: 1 },
    zone: 65520,
    zoneType: 1,
    snatZone: 65521,
};
const v6: FamilyFields = {
    family: 6,
    any: { eth_type: 0x86dd },
    icmp: { eth_type: 0x86dd, ip_proto: 58 },
    zone: 65510,
    zoneType: 3,
    snatZone: 65511,
};

/** The fields of a family. */
export function fieldsOf(family: Family): FamilyFields {
    return family === 4 ? v4 : v6;
}

/** IP protocol numbers. */
export const IpProto = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58 } as const;

/** The ICMP message type of redirects: RFC 792. */
export const icmpRedirect = 5;

/** ICMPv6 message types of neighbour discovery: RFC 4861 section 4. */
export const NdType = {
    routerSolicitation: 133,
    routerAdvertisement: 134,
    neighborSolicitation: 135,
    neighborAdvertisement: 136,
    redirect: 137,
} as const;

/** ICMPv6 message types by which a station says what groups it listens to: RFC 2710 section 3, RFC 9777 section 5. */
export const MldType = { report: 131, done: 132, reportVersion2: 143 } as const;

/** The match of any ARP frame. */
export const anyArp: Match = { eth_type: 0x0806 };
export const ArpOp = { request: 1, reply: 2 } as const;

/** IPv6 prefixes and addresses with a meaning: RFC 4291 sections 2.5.2, 2.5.6 and 2.7. */
export const linkLocal: Prefix = { family: 6, base: 0xfe80n << 112n, length: 10 };
export const multicastIpv6: Prefix = { family: 6, base: 0xffn << 120n, length: 8 };
export const unspecifiedIpv6: IpAddress = { family: 6, value: 0n };
export const allNodes: IpAddress = { family: 6, value: (0xff02n << 112n) | 1n };

/** The match of a frame to one station, not to a group: IEEE 802, the lowest bit of the first byte. */
export const unicastFrame: Match = { eth_dst: { value: 0n, mask: 1n << 40n } };
/** The match of a frame to a group of stations. */
export const groupFrame: Match = { eth_dst: { value: 1n << 40n, mask: 1n << 40n } };
/** The match of a frame to all stations. */
export const broadcastFrame: Match = { eth_dst: 0xffffffffffffn };

/** The match of packets from an address. */
export function fromIp(ip: IpAddress): Match {
    return ip.family === 4 ? { ...v4.any, ipv4_src: ip.value } : { ...v6.any, ipv6_src: ip.value };
}

/** The match of packets to an address. */
export function toIp(ip: IpAddress): Match {
    return ip.family === 4 ? { ...v4.any, ipv4_dst: ip.value } : { ...v6.any, ipv6_dst: ip.value };
}

/** The match of packets from a prefix. */
export function fromPrefix(prefix: Prefix): Match {
    const field = { value: prefix.base, mask: prefixMask(prefix) };
    return prefix.family === 4 ? { ...v4.any, ipv4_src: field } : { ...v6.any, ipv6_src: field };
}

/** The match of packets to a prefix. */
export function toPrefix(prefix: Prefix): Match {
    const field = { value: prefix.base, mask: prefixMask(prefix) };
    return prefix.family === 4 ? { ...v4.any, ipv4_dst: field } : { ...v6.any, ipv6_dst: field };
}

/** The match of a connection's state: which bits are set and which are not. */
export function ctStateIs(bits: Partial<Record<keyof typeof CtState, boolean>>): Match {
    let [value, mask] = [0, 0];
    for (const [name, set] of Object.entries(bits) as [keyof typeof CtState, boolean][]) {
        mask |= CtState[name];
        if (set) value |= CtState[name];
    }
    return { ct_state: { value, mask } };
}
