// The agent's allocation behind the agent's CNI server, without wiring: antrea-cni gets an address and no interface, as
// from an IPAM plugin.
import { cniErrorCode, CniCalls, CniServer, type CniBackend } from "@antrea/agent/features/cni-server";
import { poolErrorCode } from "@antrea/agent/features/ip-pools";
import { openAgentPools, type AgentPools } from "../allocations/agent-pools.ts";
import { serveBench } from "../helper.ts";
import { silent } from "../silent.ts";

export interface AllocatorInput {
    readonly kubeconfig: string;
    readonly socketPath: string;
    readonly nodeName: string;
    /** The IPPool of all Pods, otherwise read from the Pod's annotation in a cache. */
    readonly pool: string;
}

async function open({ kubeconfig, socketPath, nodeName, pool }: AllocatorInput): Promise<void> {
    const { pools } = await openAgentPools(kubeconfig, { nodeName });
    const calls = new CniCalls({
        backend: backendOf(pools, pool),
        logger: silent,
        observe: () => undefined,
        now: () => performance.now(),
    });
    await new CniServer({ calls }, { socketPath }).start();
}

function backendOf(pools: AgentPools["pools"], pool: string): CniBackend {
    return {
        async add({ containerId, ifName, netns, podNamespace, podName, podUid }, signal) {
            const request = {
                pod: { namespace: podNamespace, name: podName, uid: podUid },
                containerId,
                ifName,
                pools: [pool],
                fixed: [],
                statefulSet: undefined,
            };
            const addresses = await pools.allocator.claim(request, signal);
            return { hostIfName: "none", ifName, mac: "", netns, addresses };
        },
        delete: (attachment) => pools.release(attachment),
        check: async () => undefined,
        collect: async () => 0,
        notReady: () => undefined,
        ready: async () => undefined,
        errorCode: (error) => cniErrorCode(error, [poolErrorCode]),
    };
}

serveBench({ open });
