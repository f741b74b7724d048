import { networkNameOf } from "../features/cni-server/conflist/index.ts";
import { CniCalls, type CniServer } from "../features/cni-server/index.ts";
import { observeCalls } from "../features/cni-server/metrics.ts";
import { netnsPathHere } from "../features/cni-server/netns-path.ts";
import { claimProblem, type IpPools } from "../features/ip-pools/index.ts";
import { flowOwner, type PodNetwork } from "../features/pod-network/index.ts";
import { isNodeNetns } from "../platform/host/node-netns.ts";
import { podUidOf } from "../platform/pod-object.ts";
import type { Platform } from "../platform/platform.ts";
import { createCniBackend, type PodCniBackend } from "./cni-backend.ts";
import type { NodeParts } from "./node-parts.ts";

/**
 * Builds the CNI server and its backend.
 *
 * @param network the Pod network, once it is built
 * @param conflist the CNI configuration of this Node
 */
export function buildCni(
    { clock, kube, netlink, bridge, flowTable, openflow, readiness, logger, metrics, config }: Platform,
    {
        ipPools,
        conflist,
        network,
        parts,
    }: {
        readonly ipPools: IpPools | undefined;
        readonly conflist: string;
        readonly network: () => PodNetwork | undefined;
        readonly parts: Pick<NodeParts, "cniServer" | "checkInterface">;
    },
): { readonly backend: PodCniBackend; readonly server: Pick<CniServer, "start" | "stop"> } {
    const backend = createCniBackend({
        readiness,
        network,
        netnsPath: (path) => netnsPathHere(path, config.hostProcPathPrefix),
        networkName: networkNameOf(conflist),
        isNodeNetns: (path) => isNodeNetns(path, config.hostProcPathPrefix),
        podUid: (namespace, name) => podUidOf(kube.api, namespace, name),
        check: (known, input) =>
            parts.checkInterface(
                {
                    netlink,
                    port: (name) => bridge.port(name),
                    flowsOf: (one) => flowTable.flowsOf(flowOwner(one.record)),
                    dumpFlows: () => openflow.dumpFlows(),
                    claimProblem: (record) => claimProblem(ipPools, record),
                },
                { known, ...input },
            ),
    });
    const calls = new CniCalls({
        backend,
        logger: logger.child("cni-server"),
        observe: observeCalls(metrics),
        now: () => clock.monotonic(),
    });
    return { backend, server: parts.cniServer(calls, { socketPath: config.cniSocket }) };
}
