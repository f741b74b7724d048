import { type IpRangeSpec } from "@antrea/crd";
import {
    familyBits,
    formatPrefix,
    formatRange,
    prefixContains,
    prefixOf,
    prefixRange,
    RangeSet,
    rangesOverlap,
    specialUse,
    type Family,
    type IpAddress,
    type IpRange,
    type Prefix,
} from "@antrea/ip";
import { valueText, type Refusal } from "./refusal.ts";
import { checkInside, readIp, readWritten, type MaskedCidr, type Refuse } from "./written-range.ts";

/** One range of a pool as written in its spec, with its subnet. */
export interface RangeOfPool {
    /** Path in the IPPool: `spec.ipRanges[0]`. */
    readonly path: string;
    /** All addresses as written, including both ends of a CIDR. */
    readonly range: IpRange;
    /** The addresses without the edges of a CIDR: its first and, for IPv4, its last address. */
    readonly inner: IpRange;
    /** Address of the subnet's router. */
    readonly gateway: IpAddress;
    /** The subnet: the prefix of length `prefixLength` that contains the gateway. */
    readonly prefix: Prefix;
    /** VLAN ID; 0 is untagged. */
    readonly vlan: number;
    readonly masked?: MaskedCidr;
}

/** A parsed range, or why it is invalid: then at least one refusal. */
export type RangeReading =
    | { readonly range: RangeOfPool; readonly refusals: readonly [] }
    | { readonly range: undefined; readonly refusals: readonly Refusal[] };

/**
 * Parses one range of a pool of this IP family and checks all rules that concern the range alone. Never throws. The
 * paths of refusals begin with `path`, such as `spec.ipRanges[0]`.
 */
export function readRange(spec: IpRangeSpec, path: string, family: Family): RangeReading {
    const refusals: Refusal[] = [];
    const refuse = (field: string, value: unknown, rule: string): undefined => {
        refusals.push({ path: field === "" ? path : `${path}.${field}`, value: valueText(value), rule });
    };
    const written = readWritten(spec, family, refuse);
    const gateway = readIp("gateway", spec.gateway, family, refuse);
    const prefix = gateway && readSubnet(spec, gateway, refuse);
    const vlan = spec.vlan ?? 0;
    checkVlan(vlan, refuse);
    if (written !== undefined) {
        const special = specialUse.find((use) => rangesOverlap(prefixRange(use.prefix), written.range));
        if (special !== undefined) {
            refuse(
                written.form,
                formatRange(written.range),
                `must not hold ${special.name} (${formatPrefix(special.prefix)})`,
            );
        }
        if (prefix !== undefined) checkInside(written, prefix, spec, refuse);
    }
    if (refusals.length > 0 || written === undefined || gateway === undefined || prefix === undefined) {
        return { range: undefined, refusals };
    }
    const { range, inner, masked } = written;
    return { range: { path, range, inner, gateway, prefix, vlan, ...(masked && { masked }) }, refusals: [] };
}

/**
 * Returns the addresses of a subnet that its Pods cannot use: for IPv4 network and broadcast address, for IPv6 the
 * Subnet-Router anycast address. Empty for a subnet of one or two addresses (RFC 3021, RFC 6164).
 */
export function subnetEdges(prefix: Prefix): RangeSet {
    if (prefix.length >= familyBits(prefix.family) - 1) return RangeSet.empty;
    const { family, first, last } = prefixRange(prefix);
    const edges = family === 4 ? [first, last] : [first];
    return RangeSet.ofAddresses(edges.map((value) => ({ family, value })));
}

const highestVlan = 4094;

function readSubnet(spec: IpRangeSpec, gateway: IpAddress, refuse: Refuse): Prefix | undefined {
    const { prefixLength } = spec;
    const longest = familyBits(gateway.family) - 1;
    if (!Number.isInteger(prefixLength) || prefixLength < 1 || prefixLength > longest) {
        return refuse("prefixLength", prefixLength, `must be a whole number from 1 to ${longest}`);
    }
    const prefix = prefixOf(gateway, prefixLength);
    const { first, last } = prefixRange(prefix);
    if (prefixLength < longest && gateway.value === first) {
        const name = gateway.family === 4 ? "network" : "Subnet-Router anycast";
        return refuse("gateway", spec.gateway, `must not be the ${name} address of ${formatPrefix(prefix)}`);
    }
    if (prefixLength < longest && gateway.family === 4 && gateway.value === last) {
        return refuse("gateway", spec.gateway, `must not be the broadcast address of ${formatPrefix(prefix)}`);
    }
    const special = specialUse.find((use) => prefixContains(use.prefix, gateway));
    if (special !== undefined) {
        return refuse("gateway", spec.gateway, `must not lie in ${formatPrefix(special.prefix)} (${special.name})`);
    }
    return prefix;
}

function checkVlan(vlan: number, refuse: Refuse): void {
    if (Number.isInteger(vlan) && vlan >= 0 && vlan <= highestVlan) return;
    const reserved = vlan === highestVlan + 1 ? `: IEEE 802.1Q reserves ${vlan}` : "";
    refuse("vlan", vlan, `must be a whole number from 0 (untagged) to ${highestVlan}${reserved}`);
}
