import { formatPrefix, prefixOf, type Prefix } from "@antrea/ip";
import type { PodNetwork } from "./pod-network.ts";

/** Whether a route leads to a Pod of this Node that is wired: neither being removed nor isolated. */
export function isRoutedToPod(
    network: Pick<PodNetwork, "interfaces" | "isLeaving" | "isCutOff">,
    dst: Prefix,
): boolean {
    const text = formatPrefix(dst);
    return network
        .interfaces()
        .some(
            (known) =>
                known.record.addresses.some(({ ip }) => formatPrefix(prefixOf(ip)) === text) &&
                !network.isLeaving(known) &&
                !network.isCutOff(known),
        );
}
