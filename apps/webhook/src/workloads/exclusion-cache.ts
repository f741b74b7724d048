import { Exclusions, type ClusterAddresses, type Pool } from "@antrea/ipam";

export interface KnownPools {
    pool(name: string): Pool | undefined;
    all(): Iterable<Pool>;
}

export interface KnownAddresses {
    /** The same object until something changes. */
    readonly current: ClusterAddresses;
}

/** What is never handed out. Made when it is asked for, and again only after a change: it takes a look at all pools. */
export class ExclusionCache {
    readonly #pools: KnownPools & { readonly changes: number };
    readonly #addresses: KnownAddresses;
    #made: { readonly changes: number; readonly addresses: ClusterAddresses; readonly value: Exclusions } | undefined;

    constructor(components: {
        readonly pools: KnownPools & { readonly changes: number };
        readonly addresses: KnownAddresses;
    }) {
        this.#pools = components.pools;
        this.#addresses = components.addresses;
    }

    /** For the pools of this view. */
    for(pools: KnownPools): Exclusions {
        const addresses = this.#addresses.current;
        if (pools !== this.#pools) return new Exclusions(addresses, pools.all());
        const { changes } = this.#pools;
        if (this.#made?.changes !== changes || this.#made.addresses !== addresses) {
            this.#made = { changes, addresses, value: new Exclusions(addresses, pools.all()) };
        }
        return this.#made.value;
    }
}
