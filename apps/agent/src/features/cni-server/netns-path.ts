/** Directory where the chart mounts network namespaces at the same path as on the Node. */
const mounted = /^\/(?:var\/)?run\/netns\//;
const ofProcess = /^\/proc\/\d+\//;

/**
 * The path at which the agent reaches a network namespace that a container runtime names by a path of the Node.
 * containerd and CRI-O use /var/run/netns, which is mounted here. A runtime without such a directory (cri-dockerd)
 * names a process of the Node, whose PID is not valid in the agent's container; and containerd may be configured with
 * another directory. Both are reached through the Node's /proc.
 *
 * @param hostPrefix the prefix of the Node's /proc: `hostProcPathPrefix`; "/" if the agent runs on the Node itself
 */
export function netnsPathHere(path: string, hostPrefix: string): string {
    const prefix = hostPrefix.replace(/\/+$/, "");
    if (prefix === "" || mounted.test(path)) return path;
    if (ofProcess.test(path)) return `${prefix}${path}`;
    return path.startsWith("/proc/") ? path : `${prefix}/proc/1/root${path}`;
}
