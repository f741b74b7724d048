import { linkLocalFromMac, prefixContains, sameIp, type IpAddress } from "@antrea/ip";
import { type Station } from "./arp.ts";
import { linkLocal } from "./fields.ts";

/**
 * The link-local addresses of a station: first the one derived from its MAC address (EUI-64), then those that it has.
 * Throws IpError `INVALID_MAC` unless the MAC address has 6 bytes.
 */
export function linkLocalsOf(station: Pick<Station, "mac" | "ips">): IpAddress[] {
    const own = linkLocalFromMac(station.mac);
    return [own, ...station.ips.filter((ip) => prefixContains(linkLocal, ip) && !sameIp(ip, own))];
}

/**
 * Returns all IPv6 addresses of a station: those that are not link-local, then those of `linkLocalsOf`; none if it has
 * no IPv6 address. Throws as `linkLocalsOf`.
 */
export function ipv6AddressesOf(station: Pick<Station, "mac" | "ips">): IpAddress[] {
    const ips = station.ips.filter((ip) => ip.family === 6);
    if (ips.length === 0) return [];
    return [...ips.filter((ip) => !prefixContains(linkLocal, ip)), ...linkLocalsOf(station)];
}
