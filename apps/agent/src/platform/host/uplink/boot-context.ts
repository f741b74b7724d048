import { netnsIdentity } from "@antrea/netlink";

const ownNetns = "/proc/self/ns/net";

/**
 * The boot and network namespace of the process: a journal from another boot or namespace describes links that no
 * longer exist.
 */
export interface BootContext {
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
    /** Device and inode number of the namespace's file: "4:4026531840". */
    readonly netns: string;
}

/**
 * The context of this process, with this boot ID and its own network namespace. Rejects with NetlinkError if /proc
 * cannot be read.
 */
export async function bootContextOf(bootId: string): Promise<BootContext> {
    const { dev, inode } = await netnsIdentity(ownNetns);
    return { bootId, netns: `${dev}:${inode}` };
}
