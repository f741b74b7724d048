import { type CniResult } from "@antrea/cni";
import { formatIp } from "@antrea/ip";
import { type IpamSection, type StaticAddress } from "./ipam-section.ts";

/**
 * The answer of an IPAM plugin (CNI specification 1.1, "Delegated plugins (IPAM)"): the addresses in this order, each
 * with its gateway, and routes and DNS of the section as they are. It has no interface, and no default route that the
 * section does not have. Pools and addresses of the section are not read.
 */
export function ipamResult({ routes, dns }: IpamSection, addresses: readonly StaticAddress[]): CniResult {
    const ips = addresses.map(({ ip, prefixLength, gateway }) => {
        const address = `${formatIp(ip)}/${prefixLength}`;
        return gateway === undefined ? { address } : { address, gateway: formatIp(gateway) };
    });
    return { interfaces: [], ips, routes, dns: dns ?? {} };
}
