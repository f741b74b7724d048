import { type Informer, type KubeObject } from "@antrea/kube";
import { type LifecyclePart } from "@antrea/runtime";
import { AddressCache } from "./addresses.ts";
import { PoolCache, type PoolCacheComponents } from "./pools.ts";
import { ReferenceCache } from "./users.ts";

/** Dependencies of ClusterCache. */
export type ClusterCacheComponents = Omit<PoolCacheComponents, "addresses">;

/**
 * The caches that the rules need: pools, the objects that name them, and the addresses of the cluster itself. `part`
 * starts and stops all of them.
 */
export class ClusterCache {
    readonly pools: PoolCache;
    readonly users: ReferenceCache;
    readonly addresses: AddressCache;
    readonly part: LifecyclePart;
    readonly #informers: readonly Pick<Informer<KubeObject>, "start" | "close" | "hasSynced">[];

    constructor(components: ClusterCacheComponents) {
        this.addresses = new AddressCache(components);
        this.pools = new PoolCache({ ...components, addresses: this.addresses });
        this.users = new ReferenceCache(components);
        this.#informers = [this.pools.informer, ...this.addresses.informers, ...this.users.informers];
        this.part = {
            name: "cluster",
            // Does not wait: before the first list the webhook reports that it cannot decide.
            start: (signal) => {
                for (const informer of this.#informers) informer.start(signal);
            },
            stop: async () => {
                await Promise.all(this.#informers.map((informer) => informer.close()));
            },
        };
    }

    /** Whether all first lists are complete; until then the caches are incomplete. */
    get hasSynced(): boolean {
        return this.#informers.every((informer) => informer.hasSynced);
    }
}
