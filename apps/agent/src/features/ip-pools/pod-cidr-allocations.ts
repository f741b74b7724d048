import { type IpAddress, type Prefix } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { AllocationsWithin } from "./allocations-within.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type NodePods } from "./node-pods.ts";
import { type PodEvents } from "./pod-events.ts";
import { type PoolCache } from "./pool-cache.ts";
import { SubnetAllocations, type SubnetWiring } from "./subnet-allocations.ts";
import { type SubnetHolders } from "./subnet-holders.ts";

/** Dependencies of PodCidrAllocations. */
export interface PodCidrComponents {
    readonly api: Pick<ApiClient, "find" | "list" | "watch">;
    readonly cache: PoolCache;
    readonly pods: Pick<NodePods, "withNames">;
    readonly holders: SubnetHolders;
    readonly events: PodEvents;
    readonly metrics: IpamMetrics;
    readonly logger: Logger;
}

/** The allocations from pools within the podCIDRs of this Node, and the interfaces that have such an address without one. */
export class PodCidrAllocations {
    readonly #components: PodCidrComponents;
    readonly #listeners = new Set<() => void>();
    #within: AllocationsWithin | undefined;
    #subnetAllocations: SubnetAllocations | undefined;

    constructor(components: PodCidrComponents) {
        this.#components = components;
    }

    /** The number of interfaces that `check` keeps isolated. */
    get isolated(): number {
        return this.#subnetAllocations?.isolated ?? 0;
    }

    /**
     * Watches for allocations within these podCIDRs of this Node, made before the Node got the podCIDRs or by an agent
     * that does not know that it has them; the prefixes of the first call count. Resolves when they are known; if the
     * signal aborts first, rejects and continues to watch.
     */
    async guard(prefixes: readonly Prefix[], signal: AbortSignal): Promise<void> {
        this.#within ??= this.#newWithin(prefixes);
        await this.#within.synced(signal);
    }

    /** Registers a listener, for good, for changes of allocations within the podCIDRs that `guard` guards. */
    onChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    /**
     * Isolates and reports interfaces whose podCIDR address is allocated to another Pod or belongs to another Node, and
     * reconnects those for which that has ended. Rejects at the end if an interface could not be checked. `wiring` must
     * be the same object on each call.
     */
    async check(wiring: SubnetWiring, signal: AbortSignal): Promise<void> {
        this.#subnetAllocations ??= this.#newSubnetAllocations(wiring);
        await this.#subnetAllocations.check(signal);
    }

    /**
     * Whether an address of the guarded podCIDRs is allocated from a pool, for a Pod of any Node, or reserved; false
     * before `guard`, for other addresses, and while a block that is watched since `guard` (the first of each prefix)
     * has not been read. Undefined while another block, queried for the first time, is being read: ask again later.
     */
    isClaimed(ip: IpAddress): boolean | undefined {
        return this.#within === undefined ? false : this.#within.has(ip);
    }

    /** Ends the watches of `guard`. */
    async close(): Promise<void> {
        await this.#within?.close();
    }

    #newWithin(prefixes: readonly Prefix[]): AllocationsWithin {
        const { api, logger, cache } = this.#components;
        const within = new AllocationsWithin({ api, logger, cache }, { prefixes });
        within.onChange(() => {
            for (const listener of this.#listeners) listener();
        });
        return within;
    }

    #newSubnetAllocations(wiring: SubnetWiring): SubnetAllocations {
        const { api, logger, events, metrics, pods, holders } = this.#components;
        return new SubnetAllocations({
            logger,
            wiring,
            events,
            metrics,
            allocations: { api, of: (ip) => this.#within?.get(ip) },
            withNames: (wired) => pods.withNames(wired),
            holders,
        });
    }
}
