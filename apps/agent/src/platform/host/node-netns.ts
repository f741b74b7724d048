import { statSync, type BigIntStats } from "node:fs";

/** The namespace of the thread that enters other namespaces. The agent's Pod uses the Node's network namespace. */
const ownNetns = "/proc/thread-self/ns/net";

/**
 * Whether a path, such as that of a Pod's namespace from CNI, refers to the network namespace of the Node itself: that
 * of the agent, or of the Node's first process. Synchronous, so that the path cannot change between check and use.
 * Never throws: false for a path that cannot be read; the error is reported on opening it.
 *
 * @param hostPrefix the prefix of the Node's /proc: `hostProcPathPrefix`; without it only the agent's namespace is
 *   compared
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

/** Device and inode, which identify a namespace. Undefined if the path cannot be read. */
function identityOf(path: string): Pick<BigIntStats, "dev" | "ino"> | undefined {
    try {
        return statSync(path, { bigint: true });
    } catch {
        return undefined;
    }
}
