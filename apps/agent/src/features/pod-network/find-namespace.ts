import { isNetlinkError, type Netlink } from "@antrea/netlink";
import { isPeerIn, type PodNamespaces } from "./link.ts";

/**
 * The path of the network namespace that has the other end of a veth, of which a record that was rebuilt from its link has none;
 * undefined if the link is gone, or the container runtime keeps the namespace elsewhere. Good for use at once only: a later
 * namespace may get the path. Rejects with NetlinkError.
 */
export async function findNamespace(
    hostIfName: string,
    netlink: Pick<Netlink, "link" | "netnsId">,
    namespaces: Pick<PodNamespaces, "paths">,
): Promise<string | undefined> {
    const link = await netlink.link(hostIfName);
    if (link === undefined) return undefined;
    for (const path of await namespaces.paths()) {
        try {
            if (await isPeerIn(netlink, link, path)) return path;
        } catch (error) {
            // It has ended meanwhile, or the file is another one.
            if (!isNetlinkError(error, "ENOENT", "NOT_A_NETNS")) throw error;
        }
    }
    return undefined;
}
