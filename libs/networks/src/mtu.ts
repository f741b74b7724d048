import { minMtuOfIpv6 } from "@antrea/ip";

/**
 * What is wrong with the MTU (bytes) of an interface that has an address of IPv6, as the rule and the next step of a
 * message; undefined if nothing is.
 */
export function ipv6MtuFault(mtu: number): { readonly rule: string; readonly next: string } | undefined {
    if (mtu >= minMtuOfIpv6) return undefined;
    return { rule: `is under ${minMtuOfIpv6}, the minimum of IPv6 (RFC 8200)`, next: "raise it, or use IPv4 only" };
}
