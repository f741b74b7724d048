import { formatPrefix, prefixOf, type Prefix } from "@antrea/ip";
import type { PodInterfaceView } from "../../platform/pod-interfaces/index.ts";

/**
 * Whether a route destination is the address of a wired Pod of this Node that is neither being removed nor isolated.
 */
export function isRoutedToPod(
    podInterfaces: Pick<PodInterfaceView, "list" | "isLeaving" | "isIsolated">,
    dst: Prefix,
): boolean {
    const text = formatPrefix(dst);
    return podInterfaces
        .list()
        .some(
            ({ record }) =>
                record.addresses.some(({ ip }) => formatPrefix(prefixOf(ip)) === text) &&
                !podInterfaces.isLeaving(record) &&
                !podInterfaces.isIsolated(record),
        );
}
