import { formatPrefix, prefixContains, type IpAddress } from "@antrea/ip";
import { type PoolSubnet } from "../pool.ts";

/**
 * Returns a warning for each range without VLAN in a subnet in which no Node has an address: in bridging mode its Pods
 * are in the network of the Nodes' uplinks, where this subnet is unknown. None for an IP family of which no Node has an
 * address.
 *
 * @param bridgedNodes addresses of the Nodes in bridging mode
 */
export function foreignSubnetWarnings(
    ranges: readonly PoolSubnet[],
    bridgedNodes: readonly IpAddress[],
): readonly string[] {
    return ranges.flatMap(({ path, prefix, vlan }) => {
        const nodes = bridgedNodes.filter(({ family }) => family === prefix.family);
        if (vlan !== 0 || nodes.length === 0 || nodes.some((ip) => prefixContains(prefix, ip))) return [];
        const subnet = formatPrefix(prefix);
        return [
            `${path}: has no vlan, so with bridging mode its Pods are in the subnet of the Nodes, and no Node has an ` +
                `address in ${subnet}: set the vlan of ${subnet}, or take addresses of the Nodes' subnet`,
        ];
    });
}
