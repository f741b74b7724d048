import { familyBits, type Prefix } from "@antrea/ip";
import type { PodInterfaceView } from "../../platform/pod-interfaces/index.ts";

/**
 * Whether a route destination is the address of a wired Pod of this Node that is neither being removed nor isolated.
 */
export function isRoutedToPod(
    podInterfaces: Pick<PodInterfaceView, "isConnected">,
    { family, base, length }: Prefix,
): boolean {
    return length === familyBits(family) && podInterfaces.isConnected({ family, value: base });
}
