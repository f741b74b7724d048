import { blockText, ipAllocations } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { createKubeClients } from "@antrea/kube";
import { allocationOf, nodeNameOf, openWatches, podOf, type Place, type SimulatedAgent } from "./simulated-agent.ts";

// 240.0.0.0/4: outside every pool. Room for 4096 addresses of each agent in each round.
const firstAddress = 0xf000_0000;
const agentBits = 12;
const roundBits = 22;

/**
 * The lower bound of an allocation: one create of an object of the same kind and size, without conflicts. It holds as
 * many watches as the agent does.
 */
export async function openCreateAgent(place: Place): Promise<SimulatedAgent> {
    await using stack = new AsyncDisposableStack();
    const nodeName = nodeNameOf(place.agent);
    const { api } = stack.use(createKubeClients({ kubeconfig: place.kubeconfig, userAgent: "bench-create/0" }));
    stack.use(await openWatches(api, nodeName, blockText(addressOf(place, 0))));
    const parts = stack.move();
    return {
        claim: async (pod) => {
            await api.create(
                ipAllocations,
                allocationOf(addressOf(place, pod), place.pool, nodeName, podOf(place, pod)),
            );
        },
        conflicts: async () => 0,
        [Symbol.asyncDispose]: () => parts.disposeAsync(),
    };
}

function addressOf({ agent, round }: Place, pod: number): IpAddress {
    const value = firstAddress + (round << roundBits) + (agent << agentBits) + pod;
    return { family: 4, value: BigInt(value) };
}
