// A simulated agent that repeatedly allocates and releases an address: the pool's usage stays constant.
import { openAgentPools, type AgentPools } from "../allocations/agent-pools.ts";
import { podOf } from "../allocations/simulated-agent.ts";
import { serveBench } from "../helper.ts";

export interface ClaimantInput {
    readonly kubeconfig: string;
    readonly nodeName: string;
}

export interface AllocationsInput {
    readonly pool: string;
    readonly count: number;
}

const allocationLimitMs = 60_000;
let opened: AgentPools | undefined;
let made = 0;

async function open({ kubeconfig, nodeName }: ClaimantInput): Promise<void> {
    // Without a cooling time after each release: in a small pool all addresses would be cooling after some allocations.
    opened = await openAgentPools(kubeconfig, { nodeName, cooldownMs: 0 });
}

/**
 * Allocates one address after the other, releasing each before the next; returns the milliseconds of the allocations.
 */
async function allocations({ pool, count }: AllocationsInput): Promise<readonly number[]> {
    const { pools } = opened as AgentPools; // "open" comes first
    const times: number[] = [];
    for (let at = 0; at < count; at++) {
        const { containerId, ...pod } = podOf({ agent: 4_095, round: 0 }, made++);
        const attachment = { containerId, ifName: "eth0" };
        const request = { pod, ...attachment, pools: [pool], fixed: [], statefulSet: undefined };
        const begin = performance.now();
        await pools.allocator.claim(request, AbortSignal.timeout(allocationLimitMs));
        times.push(performance.now() - begin);
        await pools.release(attachment);
    }
    return times;
}

serveBench({ open, allocations });
