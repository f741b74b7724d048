import { netnsIdentity } from "@antrea/netlink";

const ownNetns = "/proc/self/ns/net";

/** Where a program runs: what a journal of another boot or another network namespace says of links is of the past. */
export interface Whereabouts {
    readonly bootId: string;
    readonly netns: string;
}

export async function whereaboutsOf(bootId: string): Promise<Whereabouts> {
    const { dev, inode } = await netnsIdentity(ownNetns);
    return { bootId, netns: `${dev}:${inode}` };
}
