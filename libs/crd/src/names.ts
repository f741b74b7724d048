import { AntreaError } from "@antrea/errors";
import { formatPrefix, formatIp, parseIp, prefixOf, type IpAddress, type Prefix } from "@antrea/ip";

/**
 * Annotation of a Pod, a Pod template or a Namespace: the names of the IPPools from which its Pods get their addresses,
 * separated by commas, at most 16. A Pod's own replaces that of its Namespace; without either, addresses come from the
 * podCIDRs of the Node.
 */
export const poolsAnnotation = "ipam.antrea.io/ippools";
/**
 * Annotation of a Pod or a Pod template: the static addresses of a Pod, separated by commas, at most one per IP family.
 */
export const podIpsAnnotation = "ipam.antrea.io/pod-ips";
/**
 * Annotation of an IPAllocation: with the value "true", set by an earlier request, admission no longer rejects that
 * others than agents and controller change or delete it while a Pod uses the address.
 */
export const forceDeleteAnnotation = "ipam.antrea.io/force-delete";

/** Thrown by `allocationAddress` for a name that is not an address; code `BAD_NAME`. */
export class AllocationNameError extends AntreaError<"BAD_NAME"> {}

/**
 * Returns the name of the IPAllocation of an address: IPv4 in dotted decimal; IPv6 as eight hexadecimal groups without
 * leading zeros, joined by "-".
 */
export function allocationName(ip: IpAddress): string {
    if (ip.family === 4) return formatIp(ip);
    const groups: string[] = [];
    for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((ip.value >> shift) & 0xffffn).toString(16));
    return groups.join("-");
}

const ipv6Name = /^(?:0|[1-9a-f][0-9a-f]{0,3})(?:-(?:0|[1-9a-f][0-9a-f]{0,3})){7}$/;

/**
 * Returns the address that the name of an IPAllocation encodes. Throws AllocationNameError `BAD_NAME` unless the name
 * is exactly the one that `allocationName` returns.
 */
export function allocationAddress(name: string): IpAddress {
    try {
        const ip = parseIp(ipv6Name.test(name) ? name.replaceAll("-", ":") : name);
        if (allocationName(ip) === name) return ip;
    } catch {
        // The error below covers this case.
    }
    throw new AllocationNameError(
        "BAD_NAME",
        "remote",
        `"${name}" is not the name of an IPAllocation: it must be an address`,
    );
}

/** Returns the aligned block that contains an address: /24 for IPv4, /120 for IPv6. */
export function blockOf(ip: IpAddress): Prefix {
    return prefixOf(ip, ip.family === 4 ? 24 : 120);
}

/** Returns the block of an address (/24 of IPv4, /120 of IPv6) as text, as `spec.block` of an IPAllocation has it: `10.2.0.0/24`. */
export function blockText(ip: IpAddress): string {
    return formatPrefix(blockOf(ip));
}

/**
 * Annotation of a Node: the addresses by which other Nodes reach it, separated by commas; set by its agent if
 * `transportInterface` or `transportInterfaceCIDRs` chooses them. Without it, the InternalIPs are used.
 */
export const transportAnnotation = "node.antrea.io/transport-addresses";

/**
 * Annotation of a Node in bridging mode: the MAC address of its uplink interface (`aa:bb:cc:dd:ee:ff`), the destination
 * of frames that Pods of IPPools on other Nodes send to this Node.
 */
export const macAnnotation = "node.antrea.io/mac-address";

/**
 * Type of the Node condition of bridging mode, written by the agent: `True` if the uplink interface is connected to
 * OVS, `False` with the reason if not. Unchanged while the interface is being moved; removed by an agent without
 * bridging mode.
 */
export const uplinkCondition = "antrea.io/UplinkBridged";

/**
 * Type of the Node condition of secondary networks, written by the agent: `True` if all NICs of
 * `secondaryNetwork.ovsBridges` are ports of the bridge, `False` with the reason if not; removed by an agent without such a
 * bridge.
 */
export const secondaryBridgeCondition = "antrea.io/SecondaryBridgeReady";

/**
 * The end of the message of `secondaryBridgeCondition` while it is `False` and no Pod can be connected. Without it Pods are
 * connected by the other NICs.
 */
export const noNicConnected = "no NIC of the bridge is connected";

/**
 * Annotation on Pods with the state of their networks (multi-network specification 1.3), written by the plugin that
 * attached them; of Pods, an agent writes nothing else.
 */
export const networkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status";
