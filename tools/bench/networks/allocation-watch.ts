import { ipAllocations, isOfPods, type IpAllocation } from "@antrea/crd";
import { Informer, type ApiClient } from "@antrea/kube";
import { silent } from "../silent.ts";

/** Counts the allocations of Pods as a watch shows them. */
export class AllocationWatch implements AsyncDisposable {
    readonly #informer: Informer<IpAllocation>;
    readonly #live = new Set<string>();
    #lastAt = 0;

    private constructor(api: ApiClient) {
        this.#informer = new Informer({ api, logger: silent }, { resource: ipAllocations });
        this.#informer.onChange((type, name, { spec }) => {
            if (type === "deleted") this.#live.delete(name);
            if (type !== "added" || !isOfPods(spec.owner)) return;
            this.#live.add(name);
            this.#lastAt = performance.now();
        });
    }

    /** Resolves when all allocations are known. */
    static async open(api: ApiClient): Promise<AllocationWatch> {
        const watch = new AllocationWatch(api);
        const never = new AbortController().signal;
        watch.#informer.start(never);
        await watch.#informer.synced(never);
        return watch;
    }

    /** Number of allocations of Pods. */
    get count(): number {
        return this.#live.size;
    }

    /** When the last allocation was shown, by `performance.now`; 0 before the first. */
    get lastAt(): number {
        return this.#lastAt;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#informer.close();
    }
}
