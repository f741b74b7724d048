import { netnsIdentity } from "@antrea/netlink";

const ownNetns = "/proc/self/ns/net";

/**
 * The boot and network namespace of the process: a journal from another boot or namespace describes links that no
 * longer exist.
 */
export interface BootContext {
    readonly bootId: string;
    readonly netns: string;
}

/** The context of this process: boot ID, and device and inode of its network namespace. */
export async function bootContextOf(bootId: string): Promise<BootContext> {
    const { dev, inode } = await netnsIdentity(ownNetns);
    return { bootId, netns: `${dev}:${inode}` };
}
