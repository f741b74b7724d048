import { allocationName, ipAllocations } from "@antrea/crd";
import { type IpAddress, type Prefix } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger, type KubeObject, type Resource } from "@antrea/kube";
import { type PoolBook } from "./pool-book.ts";

export interface ClaimsWithinComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly book: Pick<PoolBook, "poolsWithin">;
}

// Only names are looked at.
const claims: Resource<KubeObject> = ipAllocations;

/**
 * The claims of addresses in some prefixes: a Node may be given a podCIDR in which a pool has handed out addresses
 * before. Watches pools with a range in the prefixes, of which a cluster should have none.
 */
export class ClaimsWithin {
    readonly #components: ClaimsWithinComponents;
    readonly #prefixes: readonly Prefix[];
    readonly #stop = new AbortController();
    readonly #pools = new Map<string, Informer<KubeObject>>();

    constructor(components: ClaimsWithinComponents, options: { readonly prefixes: readonly Prefix[] }) {
        this.#components = components;
        this.#prefixes = options.prefixes;
    }

    /** Follows the pools. What was claimed from a pool that is gone stays known until the process ends. */
    refresh(): void {
        const { api, book, logger } = this.#components;
        for (const pool of this.#prefixes.flatMap((prefix) => book.poolsWithin(prefix))) {
            if (this.#pools.has(pool)) continue;
            const informer = new Informer(
                { api, logger },
                {
                    resource: claims,
                    fieldSelector: `spec.pool=${pool}`,
                    transform: ({ metadata }) => ({
                        metadata: { name: metadata?.name ?? "", resourceVersion: metadata?.resourceVersion ?? "" },
                    }),
                },
            );
            informer.start(this.#stop.signal);
            this.#pools.set(pool, informer);
            logger.warn(
                "an IPPool has a range in a podCIDR of this Node; its claims there are kept out of the podCIDR",
                {
                    pool,
                },
            );
        }
    }

    /** Resolves when the claims of all pools that are watched are known. */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([...this.#pools.values()].map((informer) => informer.synced(signal)));
    }

    has(ip: IpAddress): boolean {
        if (this.#pools.size === 0) return false;
        const name = allocationName(ip);
        return [...this.#pools.values()].some((informer) => informer.get(name) !== undefined);
    }

    async close(): Promise<void> {
        this.#stop.abort();
        await Promise.all([...this.#pools.values()].map((informer) => informer.close()));
    }
}
