import { buildUplink } from "../features/bridging/feature.ts";
import type { Uplink } from "../features/bridging/uplink/index.ts";
import { Conflist, type ConflistOptions } from "../features/cni-server/conflist/index.ts";
import { CniServer, type CniCalls } from "../features/cni-server/index.ts";
import { buildIpPools } from "../features/ip-pools/feature.ts";
import { checkInterface, type PodNamespaces } from "../features/pod-network/index.ts";
import type { Platform } from "../platform/platform.ts";

/**
 * The parts of features that a simulated Node replaces or has to access: most of them use its files, sockets and
 * namespaces.
 */
export interface NodeParts {
    readonly ipPools: typeof buildIpPools;
    readonly uplink: (platform: Platform) => Pick<Uplink, "state" | "recover" | "connect" | "look" | "restore">;
    readonly conflist: (options: ConflistOptions) => Pick<Conflist, "write" | "remove">;
    /** Builds the server for CNI calls. */
    readonly cniServer: (
        calls: Pick<CniCalls, "call">,
        options: { readonly socketPath: string },
    ) => Pick<CniServer, "start" | "stop">;
    /** Compares a wired interface with the kernel and OVS. */
    readonly checkInterface: typeof checkInterface;
    /** Default: the kernel's namespaces. */
    readonly namespaces?: PodNamespaces;
}

/** The parts for the Node on which the agent runs. */
export const nodeParts: NodeParts = {
    ipPools: buildIpPools,
    uplink: buildUplink,
    conflist: (options) => new Conflist(options),
    cniServer: (calls, options) => new CniServer({ calls }, options),
    checkInterface,
};
