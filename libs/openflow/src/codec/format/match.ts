import { type Match } from "../match.ts";
import { canonicalMatch, type MatchEntry } from "../match/canonical.ts";
import { formatValue, hex } from "./value.ts";

const etherTypes: ReadonlyMap<bigint, string> = new Map([
    [0x0800n, "ip"],
    [0x86ddn, "ipv6"],
    [0x0806n, "arp"],
]);
/** Short names for an Ethernet type together with an IP protocol, for IPv4 and for IPv6. */
const protocols: ReadonlyMap<bigint, readonly [ipv4: string | undefined, ipv6: string | undefined]> = new Map([
    [1n, ["icmp", undefined]],
    [6n, ["tcp", "tcp6"]],
    [17n, ["udp", "udp6"]],
    [58n, [undefined, "icmp6"]],
    [132n, ["sctp", "sctp6"]],
]);

/**
 * A match in the syntax of ovs-ofctl(8): short names (`tcp`, `arp`) first, terms separated by commas, an empty text for
 * a match of every packet. Throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE` for a match that cannot be written.
 */
export function formatMatch(match: Match): string {
    return matchTerms(match).join(",");
}

/** The terms of `formatMatch`, not joined; empty for a match of every packet. Throws as it does. */
export function matchTerms(match: Match): readonly string[] {
    const entries = canonicalMatch(match);
    const etherType = entries.find(({ field }) => field.name === "eth_type")?.value;
    const protocol = entries.find(({ field }) => field.name === "ip_proto")?.value;
    const family = etherType === undefined ? undefined : etherTypes.get(etherType);
    const short = protocolName(family, protocol);
    return [
        ...(short !== undefined ? [short] : family !== undefined ? [family] : []),
        ...entries.filter(({ field }) => !implied(field.name)).map(formatEntry),
    ];

    function implied(name: string): boolean {
        return (name === "eth_type" && family !== undefined) || (name === "ip_proto" && short !== undefined);
    }
}

function protocolName(family: string | undefined, protocol: bigint | undefined): string | undefined {
    if (protocol === undefined) return undefined;
    if (family === "ip") return protocols.get(protocol)?.[0];
    return family === "ipv6" ? protocols.get(protocol)?.[1] : undefined;
}

function formatEntry(entry: MatchEntry): string {
    const { field, value, mask } = entry;
    // ovs-ofctl's vlan_vid has no bit for "tagged"; its vlan_tci has, in the same place.
    if (field.name === "vlan_vid") return `vlan_tci=${hex(value)}/${hex(mask ?? 0x1fffn)}`;
    if (field.name === "vlan_pcp") return `dl_vlan_pcp=${value}`;
    return `${field.ofctl}=${formatValue(entry)}`;
}
