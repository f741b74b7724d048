import { ipAllocations, isOfPods, type IpAllocation } from "@antrea/crd";
import { type ApiClient } from "@antrea/kube";

/**
 * The allocations of Pods and StatefulSets, without the controller's reservations of gateways and Node addresses,
 * which stay as long as a pool or Node has them.
 */
export async function allocationsOfPods(api: Pick<ApiClient, "pages">): Promise<readonly IpAllocation[]> {
    const found: IpAllocation[] = [];
    for await (const { items } of api.pages(ipAllocations))
        found.push(...items.filter(({ spec }) => isOfPods(spec.owner)));
    return found;
}

/** How many addresses the controller reserves as gateways of pools. */
export async function heldGateways(api: Pick<ApiClient, "pages">): Promise<number> {
    let count = 0;
    for await (const { items } of api.pages(ipAllocations)) {
        count += items.filter(({ spec }) => spec.owner.kind === "Gateway").length;
    }
    return count;
}
