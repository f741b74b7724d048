import { type IpPool, type IpPoolSpec } from "@antrea/crd";
import { RangeIndex, RangeSet, rangeOf, type Family, type IpAddress, type IpRange, type Prefix } from "@antrea/ip";
import { refusalText, valueText, type Refusal } from "./refusal.ts";
import { readRange, subnetEdges, type MaskedCidr, type RangeOfPool } from "./subnet.ts";

/** One range of a pool. */
export interface PoolSubnet {
    /** Where it stands in the pool: `spec.ipRanges[0]`. */
    readonly path: string;
    /** All addresses that are written, a CIDR without its host bits. */
    readonly range: IpRange;
    readonly gateway: IpAddress;
    /** The subnet: the prefix of `prefixLength` that the gateway lies in. */
    readonly prefix: Prefix;
    /** 0 is untagged. */
    readonly vlan: number;
    /** The CIDR as it is written, and what it means, where its address is not the first of its prefix (`10.61.1.7/24`). */
    readonly masked?: MaskedCidr;
    /** What the range hands out by its form: `Exclusions` takes more away. */
    readonly addresses: RangeSet;
}

/** What an IPPool object means. */
export interface Pool {
    readonly name: string;
    readonly family: Family;
    readonly subnets: readonly PoolSubnet[];
    /** What all ranges hand out, without the gateways of all of them. */
    readonly addresses: RangeSet;
    readonly gateways: readonly { readonly ip: IpAddress; readonly vlan: number }[];
    /** Why parts of the object were left out; empty for a pool that admission lets pass by itself. */
    readonly refusals: readonly Refusal[];
    /** `refusals` as sentences. */
    readonly problems: readonly string[];
    /** What it was read from; a stored one may be older than the schema that its type tells of. */
    readonly spec: Partial<IpPoolSpec> | undefined;
    /** It was deleted and only waits for its finalizers: it hands out nothing new, and what others have of it they keep. */
    readonly isDeleting: boolean;
    /** The range that the address is written in, the first of several, also when the range does not hand it out. */
    subnetOf(ip: IpAddress): PoolSubnet | undefined;
}

/** Reads any stored IPPool, however bad: never throws; what cannot be used is left out and told in `problems`. */
export function readPool(pool: IpPool): Pool {
    const { family, ranges, refusals } = readSpec(pool);
    const gateways = uniqueGateways(ranges);
    const gatewaySet = RangeSet.ofAddresses(gateways.map(({ ip }) => ip));
    const subnets = ranges.map(({ inner, ...subnet }) => {
        const addresses = RangeSet.of([inner]).subtract(gatewaySet).subtract(subnetEdges(subnet.prefix));
        return { ...subnet, addresses };
    });
    let index: RangeIndex<number> | undefined;
    return {
        name: pool.metadata?.name ?? "",
        family,
        subnets,
        addresses: RangeSet.of(subnets.flatMap(({ addresses }) => addresses.ranges)),
        gateways,
        refusals,
        problems: refusals.map(refusalText),
        spec: pool.spec,
        isDeleting: pool.metadata?.deletionTimestamp !== undefined,
        subnetOf: (ip) => {
            index ??= indexOf(subnets);
            const at = index.overlapping(rangeOf(ip)).map(({ value }) => value);
            return at.length === 0 ? undefined : subnets[Math.min(...at)];
        },
    };
}

/** The ranges of a pool that can be read, and why the others cannot. */
function readSpec(pool: IpPool): {
    readonly family: Family;
    readonly ranges: readonly RangeOfPool[];
    readonly refusals: readonly Refusal[];
} {
    // A stored object may be older than the schema that its type tells of.
    const { ipVersion, ipRanges }: Partial<IpPool["spec"]> = pool.spec ?? {};
    if (ipVersion !== 4 && ipVersion !== 6) {
        const refusal = { path: "spec.ipVersion", value: valueText(ipVersion), rule: "must be 4 or 6" };
        return { family: 4, ranges: [], refusals: [refusal] };
    }
    if (!Array.isArray(ipRanges) || ipRanges.length === 0) {
        const refusal = { path: "spec.ipRanges", value: "", rule: "must have at least one range" };
        return { family: ipVersion, ranges: [], refusals: [refusal] };
    }
    const readings = ipRanges.map((range, at) => readRange(range ?? {}, `spec.ipRanges[${at}]`, ipVersion));
    return {
        family: ipVersion,
        ranges: readings.flatMap(({ range }) => (range === undefined ? [] : [range])),
        refusals: readings.flatMap(({ refusals }) => refusals),
    };
}

function uniqueGateways(ranges: readonly RangeOfPool[]): readonly { readonly ip: IpAddress; readonly vlan: number }[] {
    const unique = new Map(ranges.map(({ gateway: ip, vlan }) => [`${ip.value} ${vlan}`, { ip, vlan }]));
    return [...unique.values()];
}

function indexOf(subnets: readonly PoolSubnet[]): RangeIndex<number> {
    const index = new RangeIndex<number>();
    subnets.forEach(({ path, range }, at) => index.set(path, [range], at));
    return index;
}
