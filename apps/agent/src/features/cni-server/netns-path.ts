/** Where the chart mounts network namespaces under the path that they have on the Node. */
const mounted = /^\/(?:var\/)?run\/netns\//;
const ofProcess = /^\/proc\/\d+\//;

/**
 * The path by which the agent reaches a network namespace that a container runtime names by a path of the Node.
 * containerd and CRI-O keep theirs in /var/run/netns, which is mounted here. A runtime without such a folder
 * (cri-dockerd) names a process of the Node, which in the agent's container has no number or that of another; and
 * containerd may be told to keep its namespaces in a folder of its own. Both are found by the Node's /proc.
 *
 * @param hostPrefix what stands before the Node's /proc: `hostProcPathPrefix`; "/" where the agent runs on the Node itself
 */
export function netnsPathHere(path: string, hostPrefix: string): string {
    const prefix = hostPrefix.replace(/\/+$/, "");
    if (prefix === "" || mounted.test(path)) return path;
    if (ofProcess.test(path)) return `${prefix}${path}`;
    return path.startsWith("/proc/") ? path : `${prefix}/proc/1/root${path}`;
}
