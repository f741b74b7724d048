import type { Link } from "@antrea/netlink";
import { isSameAttachment, type Attachment, type DeviceId } from "../../platform/pod-interfaces/index.ts";
import { fromFunctionAlias } from "./alias.ts";

/**
 * Finds the link of a virtual function among those of its Pod. The Pod can change name and alias of each, and make links with
 * any, but none without kind as a NIC has it, and none with a device.
 *
 * @param kind of the link, as it was before the Pod got it
 */
export function linkInPod(
    links: readonly Link[],
    attachment: Attachment & { readonly device: DeviceId },
    kind: string | undefined,
): Link | undefined {
    const { device, ifName } = attachment;
    const possible = links.filter(
        (link) => link.kind === kind && (link.parentDevice ?? device.id) === device.id && !link.loopback,
    );
    const isMarked = ({ alias }: Link): boolean => {
        const marked = fromFunctionAlias(alias);
        return marked !== undefined && isSameAttachment(marked, attachment);
    };
    return (
        possible.find(({ parentDevice }) => parentDevice !== undefined) ??
        possible.find(isMarked) ??
        possible.find(({ name }) => name === ifName)
    );
}
