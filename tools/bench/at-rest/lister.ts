// Lists all allocations page by page and keeps none.
import { ipAllocations, isOfPods } from "@antrea/crd";
import { createKubeClients } from "@antrea/kube";
import { serveBench } from "../helper.ts";

/**
 * The result of one list: the number of allocations of Pods, and the seconds from the first request to the last page.
 */
export interface Listed {
    readonly count: number;
    readonly seconds: number;
}

async function list({ kubeconfig }: { readonly kubeconfig: string }): Promise<Listed> {
    using clients = createKubeClients({ kubeconfig, userAgent: "bench-list/0" });
    const begin = performance.now();
    let count = 0;
    for await (const { items } of clients.api.pages(ipAllocations)) {
        count += items.filter(({ spec }) => isOfPods(spec.owner)).length;
    }
    return { count, seconds: (performance.now() - begin) / 1000 };
}

serveBench({ list });
