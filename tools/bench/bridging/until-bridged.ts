import { setTimeout as sleep } from "node:timers/promises";
import { uplinkCondition } from "@antrea/crd";
import { nodes, type ApiClient } from "@antrea/kube";
import { BenchError } from "../error.ts";

const limitMs = 30_000;
const pollMs = 25;

/** Waits until the agent of a Node reports that the NIC is a port of its bridge. */
export async function untilBridged(api: ApiClient, name: string): Promise<void> {
    const end = performance.now() + limitMs;
    for (;;) {
        const node = await api.find(nodes, { name });
        const condition = node?.status?.conditions?.find(({ type }) => type === uplinkCondition);
        if (condition?.status === "True") return;
        if (performance.now() > end) {
            const reported = condition === undefined ? "none" : `${condition.reason}: ${condition.message}`;
            throw new BenchError(
                "NOT_READY",
                "environment",
                `the NIC of ${name} is not bridged; its condition: ${reported}`,
            );
        }
        await sleep(pollMs);
    }
}
