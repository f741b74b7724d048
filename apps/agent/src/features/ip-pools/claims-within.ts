import { allocationAddress, allocationName, blockOf, ipAllocations } from "@antrea/crd";
import { formatPrefix, prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import { Informer, type ApiClient, type KubeLogger, type KubeObject, type Resource } from "@antrea/kube";
import { type ClaimUser } from "./claims.ts";
import { type PoolCache } from "./pool-cache.ts";

export interface ClaimsWithinComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    /** Only for what is logged: a claim outlives what its pool has, and the pool itself. */
    readonly book: Pick<PoolCache, "poolsWithin" | "onRanges">;
}

/** What is kept of a claim. Only those in the prefixes have a `spec`, and in it no `pod` while the address is reserved. */
interface KeptClaim extends KubeObject, ClaimUser {}

const claims: Resource<KeptClaim> = ipAllocations;

interface WatchedBlock {
    readonly informer: Informer<KeptClaim>;
    /** It is watched from the start on: then a Node goes on without its claims while nobody can tell them. */
    readonly isFirst: boolean;
}

/**
 * The claims of addresses in some prefixes, of whichever pool: one that has a range there, had one, is gone, or never was.
 * Watched are blocks, from when they matter until the process ends: at the start the first block of each prefix, and later
 * those of each address that is asked about. So a prefix may be of any size.
 */
export class ClaimsWithin {
    readonly #components: ClaimsWithinComponents;
    readonly #prefixes: readonly Prefix[];
    readonly #stop = new AbortController();
    readonly #blocks = new Map<string, WatchedBlock>();
    readonly #listeners = new Set<() => void>();
    readonly #bookListener: Disposable;
    readonly #reported = new Set<string>();

    constructor(components: ClaimsWithinComponents, options: { readonly prefixes: readonly Prefix[] }) {
        this.#components = components;
        this.#prefixes = options.prefixes;
        for (const { family, base } of options.prefixes) this.#blockAt({ family, value: base }, true);
        this.#bookListener = components.book.onRanges(() => this.#report());
        this.#report();
    }

    /** Called after each change of a claim in the prefixes. */
    onChange(listener: () => void): void {
        this.#listeners.add(listener);
    }

    /** Resolves when the claims of all blocks that are watched are known. */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([...this.#blocks.values()].map(({ informer }) => informer.synced(signal)));
    }

    /**
     * Whether an address is claimed, false for one outside the prefixes. Undefined while that is not known of a block that
     * was not watched from the start on; to be asked again then.
     */
    has(ip: IpAddress): boolean | undefined {
        if (!this.#isWithin(ip)) return false;
        const { informer, isFirst } = this.#blockAt(ip);
        if (!informer.hasSynced && !isFirst) return undefined;
        return informer.get(allocationName(ip)) !== undefined;
    }

    /** The claim of an address in the prefixes, as far as the watch of its block has delivered it. */
    get(ip: IpAddress): ClaimUser | undefined {
        return this.#isWithin(ip) ? this.#blockAt(ip).informer.get(allocationName(ip)) : undefined;
    }

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

    #watch(block: string): Informer<KeptClaim> {
        const { api, logger } = this.#components;
        const informer = new Informer(
            { api, logger },
            { resource: claims, fieldSelector: `spec.block=${block}`, transform: (claim) => this.#keep(claim) },
        );
        informer.onChange((_type, _name, { spec }) => {
            if (spec !== undefined) for (const listener of this.#listeners) listener();
        });
        informer.start(this.#stop.signal);
        return informer;
    }

    #report(): void {
        const { book, logger } = this.#components;
        for (const pool of this.#prefixes.flatMap((prefix) => book.poolsWithin(prefix))) {
            if (this.#reported.has(pool)) continue;
            this.#reported.add(pool);
            logger.warn(
                "an IPPool has a range in a podCIDR of this Node; its claims there are kept out of the podCIDR",
                {
                    pool,
                },
            );
        }
    }

    #isWithin(ip: IpAddress): boolean {
        return this.#prefixes.some((prefix) => prefixContains(prefix, ip));
    }

    #keep({ metadata, spec }: KeptClaim): KeptClaim {
        const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
        const kept = { metadata: { name, uid, resourceVersion } };
        const ip = addressOf(name);
        if (ip === undefined || !this.#isWithin(ip)) return kept;
        if (spec?.pod === undefined) return { ...kept, spec: {} };
        const { uid: podUid, containerID, interface: ifName } = spec.pod;
        return { ...kept, spec: { pod: { uid: podUid, containerID, interface: ifName } } };
    }
}

/** One whose name is no address claims none, and must not keep the others from being known. */
function addressOf(name: string): IpAddress | undefined {
    try {
        return allocationAddress(name);
    } catch {
        return undefined;
    }
}
