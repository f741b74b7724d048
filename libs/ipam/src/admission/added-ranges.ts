import {
    formatIp,
    formatPrefix,
    formatRange,
    formatRangeSet,
    parsePrefix,
    prefixContains,
    prefixRange,
    RangeSet,
    unroutedUse,
    type Prefix,
    type SpecialUse,
} from "@antrea/ip";
import { type PoolSubnet } from "../pool.ts";
import { type Refusal } from "../refusal.ts";

/** Cluster state that the rules for added ranges and gateways need. */
export interface AddedRangesContext {
    /**
     * `nodeIPAM.clusterCIDRs`; empty if antrea-controller assigns no podCIDRs, or if they are unknown: the rule is then
     * skipped.
     */
    readonly clusterCidrs: readonly Prefix[];
}

// Only for added ranges: stored pools may have these addresses from before the rule existed.
const unroutable: readonly SpecialUse[] = [
    ...unroutedUse,
    { name: "reserved addresses (RFC 1112), which hosts do not accept", prefix: parsePrefix("240.0.0.0/4") },
    {
        name: "the address that Nodes reach Services with for bridged Pods",
        prefix: parsePrefix("fc01::aabb:ccdd:eeff/128"),
    },
];

/**
 * Returns refusals of addresses that a change adds to a pool and that no Pod should have: `unroutedUse`, 240.0.0.0/4,
 * the address by which Nodes reach Services for bridged Pods, and those of the cluster CIDRs. Addresses of `specialUse`
 * are not among them: `readPool` refuses these, whether added or not.
 *
 * @param before the addresses that were written in the pool before; empty for a new pool
 */
export function addedRanges(
    ranges: readonly PoolSubnet[],
    before: RangeSet,
    { clusterCidrs }: AddedRangesContext,
): readonly Refusal[] {
    return ranges.flatMap(({ path, range }) => {
        const added = RangeSet.of([range]).subtract(before);
        const common = (prefix: Prefix): RangeSet => added.intersect(RangeSet.of([prefixRange(prefix)]));
        const value = formatRange(range);
        const special = unroutable.find(({ prefix }) => !common(prefix).isEmpty);
        const inCluster = clusterCidrs.filter((prefix) => !common(prefix).isEmpty);
        return [
            ...(special === undefined
                ? []
                : [{ path, value, rule: `must not hold ${special.name} (${formatPrefix(special.prefix)})` }]),
            ...inCluster.map((prefix) => ({
                path,
                value,
                rule: `must not have addresses of cluster CIDR ${formatPrefix(prefix)} (nodeIPAM.clusterCIDRs), of which Nodes get the subnets of their Pods: ${formatRangeSet(common(prefix))}; choose addresses outside it`,
            })),
        ];
    });
}

/**
 * Returns refusals of gateways that a change adds to a pool and that lie in a cluster CIDR. A gateway that also lies in
 * a range of the pool is left to `addedRanges`.
 *
 * @param before the gateways that the pool had before; empty for a new pool
 */
export function addedGateways(
    ranges: readonly PoolSubnet[],
    before: RangeSet,
    { clusterCidrs }: AddedRangesContext,
): readonly Refusal[] {
    const reported = RangeSet.of(ranges.map(({ range }) => range)).union(before);
    return ranges.flatMap(({ path, gateway }) => {
        const prefix = clusterCidrs.find((each) => prefixContains(each, gateway));
        if (prefix === undefined || reported.has(gateway)) return [];
        const rule = `must not be in cluster CIDR ${formatPrefix(prefix)} (nodeIPAM.clusterCIDRs), of which Nodes get the subnets of their Pods; name the address of the router, outside it`;
        return [{ path: `${path}.gateway`, value: formatIp(gateway), rule }];
    });
}
