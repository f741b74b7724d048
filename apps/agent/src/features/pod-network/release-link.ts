import { messageOf } from "@antrea/errors";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { StoredPort } from "./found-records.ts";
import { releasePodLink } from "./link.ts";

/**
 * Releases the link of a port that is dropped, see `releasePodLink`. Never rejects: a failure is logged. No effect if
 * the port names no container.
 */
export async function releaseLinkOf(
    { name: hostIfName, externalIds }: StoredPort,
    { logger, netlink }: { readonly logger: Logger; readonly netlink: Netlink },
): Promise<void> {
    const containerId = externalIds.get("container-id") ?? "";
    if (containerId === "") return;
    try {
        await releasePodLink(netlink, { hostIfName, containerId });
    } catch (error) {
        // It may be disappearing with its namespace.
        logger.warn("link of a removed Pod port cannot be deleted", {
            link: hostIfName,
            reason: messageOf(error),
        });
    }
}
