import { netnsIdentity } from "@antrea/netlink";

const ownNetns = "/proc/self/ns/net";

/** Where a program runs: what a journal of another boot or another network namespace says of links is of the past. */
export interface BootContext {
    readonly bootId: string;
    readonly netns: string;
}

export async function bootContextOf(bootId: string): Promise<BootContext> {
    const { dev, inode } = await netnsIdentity(ownNetns);
    return { bootId, netns: `${dev}:${inode}` };
}
