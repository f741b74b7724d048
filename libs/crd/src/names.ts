import { AntreaError } from "@antrea/errors";
import { formatPrefix, formatIp, parseIp, prefixOf, type IpAddress, type Prefix } from "@antrea/ip";

/** Names the pools that a Pod, the Pods of a template, or those of a Namespace get their addresses from. */
export const poolsAnnotation = "ipam.antrea.io/ippools";
/** Names the fixed addresses of a Pod, at most one a family. */
export const podIpsAnnotation = "ipam.antrea.io/pod-ips";
/** On an IPAllocation, with value "true": it may be deleted although a Pod uses the address. */
export const forceDeleteAnnotation = "ipam.antrea.io/force-delete";

export class AllocationNameError extends AntreaError<"BAD_NAME"> {}

/** The name of the claim of an address: IPv4 dotted; IPv6 as eight groups of hexadecimal joined by "-". */
export function allocationName(ip: IpAddress): string {
    if (ip.family === 4) return formatIp(ip);
    const groups: string[] = [];
    for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((ip.value >> shift) & 0xffffn).toString(16));
    return groups.join("-");
}

const ipv6Name = /^(?:0|[1-9a-f][0-9a-f]{0,3})(?:-(?:0|[1-9a-f][0-9a-f]{0,3})){7}$/;

/** The address that a claim's name tells. Throws AllocationNameError. */
export function allocationAddress(name: string): IpAddress {
    try {
        const ip = parseIp(ipv6Name.test(name) ? name.replaceAll("-", ":") : name);
        if (allocationName(ip) === name) return ip;
    } catch {
        // told below
    }
    throw new AllocationNameError(
        "BAD_NAME",
        "peer",
        `"${name}" is not the name of an IPAllocation: it must be an address`,
    );
}

/** The aligned block that an address lies in: /24 of IPv4, /120 of IPv6. */
export function blockOf(ip: IpAddress): Prefix {
    return prefixOf(ip, ip.family === 4 ? 24 : 120);
}

/** The block as `spec.block` has it. */
export function blockText(ip: IpAddress): string {
    return formatPrefix(blockOf(ip));
}

/** On a Node: the addresses by which other Nodes reach it, joined by commas, where these are not its InternalIPs. */
export const transportAnnotation = "node.antrea.io/transport-addresses";

/** On a Node in bridging mode: the MAC address of its interface, to which Pods of IPPools on other Nodes send. */
export const macAnnotation = "node.antrea.io/mac-address";

/** The condition of a Node whose interface bridging mode has connected to OVS, or should have. */
export const uplinkCondition = "antrea.io/UplinkBridged";
