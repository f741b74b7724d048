import { formatPrefix, prefixOf, type IpAddress, type Prefix } from "@antrea/ip";
import { isPoolRecord, type PodInterfaceView } from "../../platform/pod-interfaces/index.ts";

/**
 * The podCIDRs of this Node, plus, as a prefix of its own (/32, /128), each address that a Pod has from them, that is
 * held for a Pod (`subnet` lists both), or that remains from an earlier podCIDR: a pool may contain that address too,
 * and of a podCIDR only the queried blocks are watched. A snapshot of the time of the call.
 */
export function guardedPrefixes(
    podPrefixes: readonly Prefix[],
    podInterfaces: Pick<PodInterfaceView, "list">,
    subnet: { readonly addresses: () => readonly IpAddress[] },
): readonly Prefix[] {
    const ofSubnets = podInterfaces.list().filter(({ record }) => !isPoolRecord(record));
    const wired = ofSubnets.flatMap(({ record }) => record.addresses.map(({ ip }) => prefixOf(ip)));
    const known = new Map(
        [...wired, ...subnet.addresses().map((ip) => prefixOf(ip))].map((one) => [formatPrefix(one), one]),
    );
    return [...podPrefixes, ...known.values()];
}
