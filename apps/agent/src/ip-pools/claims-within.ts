import { allocationAddress, allocationName, ipAllocations } from "@antrea/crd";
import { prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger, type KubeObject, type Resource } from "@antrea/kube";
import { type ClaimUser } from "./claims.ts";
import { type PoolBook } from "./pool-book.ts";

export interface ClaimsWithinComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly book: Pick<PoolBook, "poolsWithin" | "onRanges">;
}

/**
 * What is kept of a claim: a pool may have very many, and few in a podCIDR. Only those in the prefixes have a `spec`, and in
 * it no `pod` while the address is reserved.
 */
interface KeptClaim extends KubeObject, ClaimUser {}

const claims: Resource<KeptClaim> = ipAllocations;

/**
 * The claims of addresses in some prefixes: a Node may be given a podCIDR in which a pool has handed out addresses
 * before, and an agent that hears late of the podCIDR may claim one. Watches pools with a range in the prefixes, of which a
 * cluster should have none, from when the first is known until the process ends.
 */
export class ClaimsWithin {
    readonly #components: ClaimsWithinComponents;
    readonly #prefixes: readonly Prefix[];
    readonly #stop = new AbortController();
    readonly #pools = new Map<string, Informer<KeptClaim>>();
    readonly #listeners = new Set<() => void>();
    readonly #bookListener: Disposable;

    constructor(components: ClaimsWithinComponents, options: { readonly prefixes: readonly Prefix[] }) {
        this.#components = components;
        this.#prefixes = options.prefixes;
        this.#bookListener = components.book.onRanges(() => this.#refresh());
        this.#refresh();
    }

    /** Called after each change of a claim in the prefixes. */
    onChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    /** Resolves when the claims of all pools that are watched are known. */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([...this.#pools.values()].map((informer) => informer.synced(signal)));
    }

    has(ip: IpAddress): boolean {
        return this.get(ip) !== undefined;
    }

    /** The claim of an address in the prefixes, as far as the watch has delivered it. */
    get(ip: IpAddress): ClaimUser | undefined {
        if (this.#pools.size === 0) return undefined;
        const name = allocationName(ip);
        for (const informer of this.#pools.values()) {
            const claim = informer.get(name);
            if (claim !== undefined) return claim;
        }
        return undefined;
    }

    async close(): Promise<void> {
        this.#bookListener[Symbol.dispose]();
        this.#stop.abort();
        await Promise.all([...this.#pools.values()].map((informer) => informer.close()));
    }

    /** What was claimed from a pool that is gone stays known. */
    #refresh(): void {
        const { book } = this.#components;
        for (const pool of this.#prefixes.flatMap((prefix) => book.poolsWithin(prefix))) {
            if (!this.#pools.has(pool)) this.#watch(pool);
        }
    }

    #watch(pool: string): void {
        const { api, logger } = this.#components;
        const informer = new Informer(
            { api, logger },
            { resource: claims, fieldSelector: `spec.pool=${pool}`, transform: (claim) => this.#keep(claim) },
        );
        informer.onChange((_type, _name, { spec }) => {
            if (spec !== undefined) for (const listener of this.#listeners) listener();
        });
        informer.start(this.#stop.signal);
        this.#pools.set(pool, informer);
        logger.warn("an IPPool has a range in a podCIDR of this Node; its claims there are kept out of the podCIDR", {
            pool,
        });
    }

    #isWithin(name: string): boolean {
        try {
            const ip = allocationAddress(name);
            return this.#prefixes.some((prefix) => prefixContains(prefix, ip));
        } catch {
            // One whose name is no address claims none, and must not keep the others from being known.
            return false;
        }
    }

    #keep({ metadata, spec }: KeptClaim): KeptClaim {
        const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
        const kept = { metadata: { name, uid, resourceVersion } };
        if (!this.#isWithin(name)) return kept;
        if (spec?.pod === undefined) return { ...kept, spec: {} };
        const { uid: podUid, containerID, interface: ifName } = spec.pod;
        return { ...kept, spec: { pod: { uid: podUid, containerID, interface: ifName } } };
    }
}
