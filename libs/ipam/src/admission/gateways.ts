import { formatIp, parseIp, RangeSet, sameIp } from "@antrea/ip";
import { type Exclusions } from "../exclusions.ts";
import { type Pool, type PoolSubnet } from "../pool.ts";
import { type Refusal } from "../refusal.ts";
import { holderText, isUse, type PoolUse } from "./pool-use.ts";

/**
 * Returns a refusal, with the owner, for each allocation whose address is to be a gateway in the same VLAN; in another
 * VLAN it is a different address. Allocations of Nodes and gateways (`isUse`) do not count. Of an allocation without a
 * known pool, the VLAN is not compared. Throws IpError for an allocation with an invalid address.
 *
 * @param use its `allocations` are those of the addresses in `gateways`
 */
export function gatewaysInUse(
    ranges: readonly PoolSubnet[],
    gateways: RangeSet,
    context: { pool(name: string): Pick<Pool, "subnetOf"> | undefined },
    use: Pick<PoolUse, "allocations">,
): readonly Refusal[] {
    return use.allocations.flatMap((allocation) => {
        const ip = parseIp(allocation.spec.address);
        if (!isUse(allocation) || !gateways.has(ip)) return [];
        const vlan = context.pool(allocation.spec.pool)?.subnetOf(ip)?.vlan;
        const range = ranges.find((each) => sameIp(each.gateway, ip) && (vlan === undefined || vlan === each.vlan));
        if (range === undefined) return [];
        const rule = `is in use: ${holderText(allocation)}; name the address of the router, or delete what uses this one first`;
        return [{ path: `${range.path}.gateway`, value: formatIp(ip), rule }];
    });
}

/**
 * Returns warnings for gateways outside the pool's ranges that lie in a podCIDR or a Service CIDR; none for the address
 * of a Node, which may be a gateway.
 */
export function gatewayWarnings(
    ranges: readonly PoolSubnet[],
    { exclusions }: { readonly exclusions: Pick<Exclusions, "podCidrs" | "serviceCidrs"> },
): readonly string[] {
    const kinds = [
        { what: "podCIDRs of Nodes", set: exclusions.podCidrs },
        { what: "Service CIDRs", set: exclusions.serviceCidrs },
    ];
    const written = RangeSet.of(ranges.map(({ range }) => range));
    return ranges.flatMap(({ path, gateway }) =>
        kinds.flatMap(({ what, set }) =>
            set.has(gateway) && !written.has(gateway)
                ? [
                      `${path}.gateway ${formatIp(gateway)} is one of ${what}: a Pod or Service may have it; name the address of the router`,
                  ]
                : [],
        ),
    );
}
