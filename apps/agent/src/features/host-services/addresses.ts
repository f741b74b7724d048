import { serviceSource } from "@antrea/flows";
import { formatIp, parsePrefix, prefixRange, RangeSet, type Family, type IpAddress, type Prefix } from "@antrea/ip";

const linkLocal = parsePrefix("fe80::/10");
const loopbacks = RangeSet.of([parsePrefix("127.0.0.0/8"), parsePrefix("::1/128"), linkLocal].map(prefixRange));
const standInRanges: Readonly<Record<Family, Prefix>> = {
    4: parsePrefix("169.254.0.128/25"),
    6: parsePrefix("fc01::aabb:ccde:0/112"),
};
/** Of 169.254.0.128/25 those up to .250: the addresses after them have other uses. */
const standInCounts: Readonly<Record<Family, number>> = { 4: 123, 6: 0x1_0000 };

/** The addresses of the virtual NodePort address and of all stand-ins, whose route leads to the gateway. */
export const virtualPrefixes: Readonly<Record<Family, readonly Prefix[]>> = {
    4: [standInRanges[4]],
    6: [standInRanges[6], parsePrefix("fc01::aabb:ccdd:eefe/128")],
};

/** The next hop of all routes to Services, which the source is that the host sees of packets that come back. */
export function nextHop(family: Family): IpAddress {
    return serviceSource(family);
}

/** Number of stand-ins of a family. */
export function standInCount(family: Family): number {
    return standInCounts[family];
}

/** The stand-in with this number, 0 to `standInCount` - 1. */
export function standInAt(family: Family, at: number): IpAddress {
    return { family, value: standInRanges[family].base + BigInt(at) };
}

/** Addresses at which the Node can be a client or serve NodePorts: neither loopback nor link-local of IPv6. */
export function usableAddresses(all: readonly IpAddress[]): readonly IpAddress[] {
    const byText = new Map(all.filter((ip) => !loopbacks.has(ip)).map((ip) => [formatIp(ip), ip]));
    return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, ip]) => ip);
}

/** Those of the addresses at which NodePorts are served, as `antreaProxy.nodePortAddresses` specifies; none named: all. */
export function nodePortAddressesOf(own: readonly IpAddress[], cidrs: readonly Prefix[]): readonly IpAddress[] {
    if (cidrs.length === 0) return own;
    const chosen = RangeSet.of(cidrs.map(prefixRange));
    return own.filter((ip) => chosen.has(ip));
}
