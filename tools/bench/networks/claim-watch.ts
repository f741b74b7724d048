import { ipAllocations, isOfPods, type IpAllocation } from "@antrea/crd";
import { Informer, type ApiClient } from "@antrea/kube";
import { silent } from "../silent.ts";

/** Counts the claims of Pods as a watch shows them. */
export class ClaimWatch implements AsyncDisposable {
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

    /** Resolves when all claims are known. */
    static async open(api: ApiClient): Promise<ClaimWatch> {
        const watch = new ClaimWatch(api);
        const never = new AbortController().signal;
        watch.#informer.start(never);
        await watch.#informer.synced(never);
        return watch;
    }

    /** Number of claims of Pods. */
    get count(): number {
        return this.#live.size;
    }

    /** When the last claim was shown, by `performance.now`; 0 before the first. */
    get lastAt(): number {
        return this.#lastAt;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#informer.close();
    }
}
