import { ipPools, type IpPool } from "@antrea/crd";
import { rangesOverlap, type IpRange } from "@antrea/ip";
import { Exclusions, PoolIndex, readPool, type ClusterAddresses, type Pool, type PoolRange } from "@antrea/ipam";
import { Informer, metadataOnly, pathOf, type ApiClient, type KubeObject } from "@antrea/kube";
import { slimPool } from "./slim.ts";
import { type CacheComponents } from "./types.ts";

/** IPPools at one point in time, also those that are being deleted. */
export interface PoolView {
    /** The pool of this name; undefined if there is none. */
    pool(name: string): Pool | undefined;
    all(): Iterable<Pool>;
    /** The ranges of pools that overlap the range, under the pools' names. */
    overlapping(range: IpRange): readonly PoolRange[];
    /** The addresses that none of these pools assigns. */
    readonly exclusions: Pick<Exclusions, "reason">;
}

/** Dependencies of PoolCache. */
export interface PoolCacheComponents extends CacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "find" | "request">;
    readonly addresses: {
        /** The same object until something changes. */
        readonly current: ClusterAddresses;
        onChange(listener: () => void): Disposable;
    };
}

// Up to this many pools are read one by one, more by a list.
const maxSingleReads = 16;
// Up to this many pools are compared one by one. Each costs the API server and the answer about 13 microseconds; 100 at
// most double the time to validate a pool.
const maxCompared = 100;

/**
 * All IPPools. The informer's state is slightly stale, so there are two methods that ask the API server: `counted`
 * before a request is allowed, `live` before one is refused; both reject with KubeError. The owner starts and closes
 * `informer`.
 */
export class PoolCache implements PoolView {
    readonly informer: Informer<IpPool>;
    readonly #api: PoolCacheComponents["api"];
    readonly #addresses: PoolCacheComponents["addresses"];
    readonly #index = new PoolIndex(() => this.#addresses.current);

    constructor(components: PoolCacheComponents) {
        this.#api = components.api;
        this.#addresses = components.addresses;
        this.#addresses.onChange(() => this.#index.clusterChanged());
        this.informer = new Informer<IpPool>(components, { resource: ipPools, transform: slimPool });
        this.informer.onChange((type, name, object, old) => {
            // The status is updated all the time; only the spec matters.
            if (type === "updated" && object.metadata?.generation === old?.metadata?.generation) return;
            if (type === "deleted") this.#index.delete(name);
            else this.#index.set(readPool(object));
        });
    }

    /** See PoolView; the same object until a pool or the cluster changes. */
    get exclusions(): Exclusions {
        return this.#index.exclusions;
    }

    /** See PoolView. */
    pool(name: string): Pool | undefined {
        return this.#index.pool(name);
    }

    /** See PoolView. */
    all(): Iterable<Pool> {
        return this.#index.all();
    }

    /** See PoolView. */
    overlapping(range: IpRange): readonly PoolRange[] {
        return this.#index.overlapping(range);
    }

    /**
     * The known pools if they match the API server; otherwise all of them, listed again. So a pool that was just
     * created or changed through another replica is not missed. The first 100 are compared by UID and generation, the
     * others by number only, so that the request costs the same however many pools there are: among the others a
     * change, or a creation with a concurrent deletion, is missed until the watch delivers it. Rejects with KubeError.
     */
    async counted(signal: AbortSignal): Promise<PoolView> {
        const path = `${pathOf(ipPools)}?limit=${maxCompared}`;
        const { items, count } = readHead(
            await this.#api.request({ method: "GET", path, accept: metadataOnly }, { signal }),
        );
        const isSame = count === this.#index.size && items.every((item) => this.#isKnown(item));
        return isSame ? this : this.#listed(signal);
    }

    /**
     * The known pools, with the named ones read from the API server now; a name without a pool is none of the view.
     * More than 16 names are read by a list of all. Rejects with KubeError.
     */
    async live(names: Iterable<string>, signal: AbortSignal): Promise<PoolView> {
        const unique = [...new Set(names)];
        if (unique.length > maxSingleReads) return this.#listed(signal);
        const found = await Promise.all(unique.map((name) => this.#api.find(ipPools, { name }, { signal })));
        const fresh = new Map(unique.map((name, at) => [name, found[at] && readPool(found[at])]));
        return new PatchedView(this, fresh, this.#addresses);
    }

    #isKnown({ metadata }: KubeObject): boolean {
        const known = this.informer.get(metadata?.name ?? "")?.metadata;
        return known?.uid === metadata?.uid && known?.generation === metadata?.generation;
    }

    async #listed(signal: AbortSignal): Promise<PoolView> {
        const index = new PoolIndex(() => this.#addresses.current);
        for (const object of (await this.#api.list(ipPools, { signal })).items) index.set(readPool(object));
        return index;
    }
}

/** A view with some pools replaced or removed. */
class PatchedView implements PoolView {
    readonly #base: PoolView;
    readonly #fresh: ReadonlyMap<string, Pool | undefined>;
    readonly #addresses: PoolCacheComponents["addresses"];
    #exclusions: Exclusions | undefined;

    constructor(
        base: PoolView,
        fresh: ReadonlyMap<string, Pool | undefined>,
        addresses: PoolCacheComponents["addresses"],
    ) {
        this.#base = base;
        this.#fresh = fresh;
        this.#addresses = addresses;
    }

    get exclusions(): Exclusions {
        return (this.#exclusions ??= new Exclusions(this.#addresses.current, this.all()));
    }

    pool(name: string): Pool | undefined {
        return this.#fresh.has(name) ? this.#fresh.get(name) : this.#base.pool(name);
    }

    *all(): Iterable<Pool> {
        for (const pool of this.#base.all()) if (!this.#fresh.has(pool.name)) yield pool;
        for (const pool of this.#fresh.values()) if (pool !== undefined) yield pool;
    }

    overlapping(range: IpRange): readonly PoolRange[] {
        const others = this.#base.overlapping(range).filter(({ key }) => !this.#fresh.has(key));
        const fresh = [...this.#fresh].flatMap(([key, pool]) =>
            (pool?.subnets ?? []).map((subnet) => ({ key, range: subnet.range })),
        );
        return [...others, ...fresh.filter((candidate) => rangesOverlap(candidate.range, range))];
    }
}

/** The first objects of a list and the total count; undefined if the server does not report it. */
function readHead(list: unknown): { readonly items: readonly KubeObject[]; readonly count: number | undefined } {
    const { items, metadata } = (list ?? {}) as {
        // null when there is none
        readonly items?: readonly KubeObject[] | null;
        readonly metadata?: { readonly remainingItemCount?: number; readonly continue?: string };
    };
    const { continue: more = "", remainingItemCount = more === "" ? 0 : undefined } = metadata ?? {};
    if (items === undefined || remainingItemCount === undefined) return { items: [], count: undefined };
    return { items: items ?? [], count: (items ?? []).length + remainingItemCount };
}
