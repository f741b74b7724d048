import { allocationAddress, allocationName, blockOf, ipAllocations } from "@antrea/crd";
import { formatPrefix, prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger, type KubeObject, type Resource } from "@antrea/kube";
import { type AllocationUser } from "./allocations.ts";
import { type PoolCache } from "./pool-cache.ts";

/** Dependencies of AllocationsWithin. */
export interface AllocationsWithinComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    /** Only for logging: an allocation may outlive its pool's range, and the pool itself. */
    readonly cache: Pick<PoolCache, "poolsWithin" | "onRanges">;
}

/**
 * The fields kept of an allocation. Only those within the prefixes have a `spec`, which has no `pod` while the address
 * is reserved.
 */
interface KeptAllocation extends KubeObject, AllocationUser {}

const allocations: Resource<KeptAllocation> = ipAllocations;

interface WatchedBlock {
    readonly informer: Informer<KeptAllocation>;
    /** Watched since startup: the Node does not wait for these allocations while the API server is unavailable. */
    readonly isFirst: boolean;
}

/**
 * The allocations of addresses within some prefixes, from any pool, including pools that no longer exist or have no
 * range there. Watches blocks on demand until `close`: from construction on the first block of each prefix, later the
 * block of each queried address. A prefix may therefore be of any size. Logs each IPPool with a range in the prefixes
 * once.
 */
export class AllocationsWithin {
    readonly #components: AllocationsWithinComponents;
    readonly #prefixes: readonly Prefix[];
    readonly #stop = new AbortController();
    readonly #blocks = new Map<string, WatchedBlock>();
    readonly #listeners = new Set<() => void>();
    readonly #bookListener: Disposable;
    readonly #reported = new Set<string>();

    constructor(components: AllocationsWithinComponents, options: { readonly prefixes: readonly Prefix[] }) {
        this.#components = components;
        this.#prefixes = options.prefixes;
        for (const { family, base } of options.prefixes) this.#blockAt({ family, value: base }, true);
        this.#bookListener = components.cache.onRanges(() => this.#report());
        this.#report();
    }

    /** Registers a listener for changes of allocations within the prefixes; it stays until `close`. */
    onChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    /**
     * Resolves when the allocations of all blocks watched at the call are known; rejects if the signal aborts first.
     */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([...this.#blocks.values()].map(({ informer }) => informer.synced(signal)));
    }

    /**
     * Whether an address is allocated or reserved; false for one outside the prefixes, and while a block watched since
     * construction is not synced. Undefined while another block is not synced, such as one queried for the first time:
     * retry later.
     */
    has(ip: IpAddress): boolean | undefined {
        if (!this.#isWithin(ip)) return false;
        const { informer, isFirst } = this.#blockAt(ip);
        if (!informer.hasSynced && !isFirst) return undefined;
        return informer.get(allocationName(ip)) !== undefined;
    }

    /**
     * The allocation of an address, as last delivered by the watch of its block. Undefined if there is none, the block
     * is not synced or the address is outside the prefixes.
     */
    get(ip: IpAddress): AllocationUser | undefined {
        return this.#isWithin(ip) ? this.#blockAt(ip).informer.get(allocationName(ip)) : undefined;
    }

    /** Ends all watches and waits for them. */
    async close(): Promise<void> {
        this.#bookListener[Symbol.dispose]();
        this.#stop.abort();
        await Promise.all([...this.#blocks.values()].map(({ informer }) => informer.close()));
    }

    #blockAt(ip: IpAddress, isFirst = false): WatchedBlock {
        const block = formatPrefix(blockOf(ip));
        const known = this.#blocks.get(block);
        if (known !== undefined) return known;
        const watched = { informer: this.#watch(block), isFirst };
        this.#blocks.set(block, watched);
        return watched;
    }

    #watch(block: string): Informer<KeptAllocation> {
        const { api, logger } = this.#components;
        const informer = new Informer(
            { api, logger },
            {
                resource: allocations,
                fieldSelector: `spec.block=${block}`,
                transform: (allocation) => this.#keep(allocation),
            },
        );
        informer.onChange((_type, _name, { spec }) => {
            if (spec !== undefined) for (const listener of this.#listeners) listener();
        });
        informer.start(this.#stop.signal);
        return informer;
    }

    #report(): void {
        const { cache, logger } = this.#components;
        for (const pool of this.#prefixes.flatMap((prefix) => cache.poolsWithin(prefix))) {
            if (this.#reported.has(pool)) continue;
            this.#reported.add(pool);
            logger.warn(
                "an IPPool has a range in a podCIDR of this Node; its allocations there are excluded from the podCIDR",
                {
                    pool,
                },
            );
        }
    }

    #isWithin(ip: IpAddress): boolean {
        return this.#prefixes.some((prefix) => prefixContains(prefix, ip));
    }

    #keep({ metadata, spec }: KeptAllocation): KeptAllocation {
        const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
        const kept = { metadata: { name, uid, resourceVersion } };
        const ip = addressOf(name);
        if (ip === undefined || !this.#isWithin(ip)) return kept;
        if (spec?.pod === undefined) return { ...kept, spec: {} };
        const { uid: podUid, containerID, interface: ifName } = spec.pod;
        return { ...kept, spec: { pod: { uid: podUid, containerID, interface: ifName } } };
    }
}

/** The address of an allocation name. A name that is not an address is ignored, so that it does not block the sync. */
function addressOf(name: string): IpAddress | undefined {
    try {
        return allocationAddress(name);
    } catch {
        return undefined;
    }
}
