import { statSync, type BigIntStats } from "node:fs";

/** Of the thread that works in namespaces. The agent's Pod is in the Node's own network namespace. */
const ownNetns = "/proc/thread-self/ns/net";

/**
 * Whether a path stands for the network namespace of the Node itself: the agent's own, or that of the Node's first
 * process. Synchronous, so that nothing lies between the look and the use of the path. False for a path where nothing
 * is: whoever opens it reports that.
 *
 * @param hostPrefix what stands before the Node's /proc: `hostProcPathPrefix`; without it only the agent's own counts
 */
export function isNodeNetns(path: string, hostPrefix?: string): boolean {
    const asked = identityOf(path);
    if (asked === undefined) return false;
    const ofNode = [ownNetns, ...(hostPrefix === undefined ? [] : [`${hostPrefix.replace(/\/+$/, "")}/proc/1/ns/net`])];
    return ofNode.some((one) => {
        const known = identityOf(one);
        return known !== undefined && known.dev === asked.dev && known.ino === asked.ino;
    });
}

/** Device and inode: two paths with the same ones are the same namespace. Undefined when it cannot be looked at. */
function identityOf(path: string): Pick<BigIntStats, "dev" | "ino"> | undefined {
    try {
        return statSync(path, { bigint: true });
    } catch {
        return undefined;
    }
}
