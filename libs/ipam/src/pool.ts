import { type IpPool, type IpPoolSpec } from "@antrea/crd";
import { RangeIndex, rangeOf, RangeSet, type Family, type IpAddress, type IpRange, type Prefix } from "@antrea/ip";
import { refusalText, valueText, type Refusal } from "./refusal.ts";
import { readRange, subnetEdges, type RangeOfPool } from "./subnet.ts";
import { type MaskedCidr } from "./written-range.ts";

/** One valid range of a pool: its addresses, subnet, gateway and VLAN. */
export interface PoolSubnet {
    /** Path in the IPPool: `spec.ipRanges[0]`. */
    readonly path: string;
    /** All addresses as written, including both ends of a CIDR. */
    readonly range: IpRange;
    /** Address of the subnet's router. */
    readonly gateway: IpAddress;
    /** The subnet: the prefix of length `prefixLength` that contains the gateway. */
    readonly prefix: Prefix;
    /** VLAN ID; 0 is untagged. */
    readonly vlan: number;
    /** The CIDR as written and the prefix it means, if it has host bits (`10.61.1.7/24`). */
    readonly masked?: MaskedCidr;
    /** The addresses that the range can hand out: without gateways and edges; `Exclusions` removes further ones. */
    readonly addresses: RangeSet;
}

/**
 * A parsed IPPool: its valid ranges and addresses, and why other parts are invalid; made by `readPool`, never changed.
 */
export interface Pool {
    /** `metadata.name`; "" if absent. */
    readonly name: string;
    readonly family: Family;
    /** Its valid ranges, in the order of the spec. */
    readonly subnets: readonly PoolSubnet[];
    /**
     * The addresses that its ranges can hand out: without the gateways of all ranges and the edges of CIDRs and
     * subnets.
     */
    readonly addresses: RangeSet;
    /** The distinct gateways with their VLANs. */
    readonly gateways: readonly { readonly ip: IpAddress; readonly vlan: number }[];
    /** Why parts of the object were skipped; empty for a pool that is valid in itself. */
    readonly refusals: readonly Refusal[];
    /** `refusals` as sentences. */
    readonly problems: readonly string[];
    /** The spec it was read from; a stored one may be older than the schema, so any field may be absent. */
    readonly spec: Partial<IpPoolSpec> | undefined;
    /** True after deletion while finalizers remain: the pool hands out no new address; existing allocations stay. */
    readonly isDeleting: boolean;
    /** Returns the first range that contains the address, whether or not it hands it out; undefined if none does. */
    subnetOf(ip: IpAddress): PoolSubnet | undefined;
}

/**
 * Parses a stored IPPool, valid or not. Never throws: invalid ranges are skipped and reported in `refusals` and
 * `problems`; without a valid `ipVersion`, `family` is 4 and all are skipped. Overlaps within the pool are not checked
 * (`checkPoolCreate`).
 */
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

/** Parses the valid ranges of a pool, and returns why the others are invalid. */
function readSpec(pool: IpPool): {
    readonly family: Family;
    readonly ranges: readonly RangeOfPool[];
    readonly refusals: readonly Refusal[];
} {
    // A stored object may be older than the schema, on which its type is based.
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
