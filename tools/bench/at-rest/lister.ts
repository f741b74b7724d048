// Lists all claims a page at a time, and keeps nothing.
import { ipAllocations, isOfPods } from "@antrea/crd";
import { createKubeClients } from "@antrea/kube";
import { serveBench } from "../helper.ts";

/** Of one list: how many claims of Pods there were, and the seconds from its first request to its last page. */
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
