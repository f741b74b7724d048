import { ipPools, type IpPool } from "@antrea/crd";
import { rangesOverlap, type IpRange } from "@antrea/ip";
import { Exclusions, PoolIndex, readPool, type ClusterAddresses, type Pool, type PoolRange } from "@antrea/ipam";
import { Informer, metadataOnly, pathOf, type ApiClient, type KubeObject } from "@antrea/kube";
import { slimPool } from "./slim.ts";
import { type CacheComponents } from "./types.ts";

/** IPPools at some moment. */
export interface PoolView {
    pool(name: string): Pool | undefined;
    all(): Iterable<Pool>;
    /** The ranges of pools that share addresses with the range, under the pools' names. */
    overlapping(range: IpRange): readonly PoolRange[];
    /** What none of these pools hands out. */
    readonly exclusions: Pick<Exclusions, "reason">;
}

export interface PoolCacheComponents extends CacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "find" | "request">;
    readonly addresses: {
        /** The same object until something changes. */
        readonly current: ClusterAddresses;
        onChange(listener: () => void): Disposable;
    };
}

// More pools than these are read at once by a list.
const maxSingleReads = 16;
// So many pools are compared one by one. Each costs the API server and the answer about 13 microseconds; 100 double the
// time that a pool is judged in at most.
const maxCompared = 100;

/**
 * All IPPools. What an informer knows is a moment old, so there are two ways to ask the API server itself: `counted`
 * before something is allowed, `live` before something is refused.
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
            // The status is written all the time; only the spec matters.
            if (type === "updated" && object.metadata?.generation === old?.metadata?.generation) return;
            if (type === "deleted") this.#index.delete(name);
            else this.#index.set(readPool(object));
        });
    }

    get exclusions(): Exclusions {
        return this.#index.exclusions;
    }

    pool(name: string): Pool | undefined {
        return this.#index.pool(name);
    }

    all(): Iterable<Pool> {
        return this.#index.all();
    }

    overlapping(range: IpRange): readonly PoolRange[] {
        return this.#index.overlapping(range);
    }

    /**
     * The pools as they are known, if the API server has the same now; else all of them, read anew. So a pool that was
     * made or changed a moment ago through another replica is not missed. The first 100 are compared by UID and
     * generation, the others by their number only, so that the request costs the same however many pools there are: of
     * these one that was changed, or made while another was deleted, is missed until the watch delivers it.
     */
    async counted(signal: AbortSignal): Promise<PoolView> {
        const path = `${pathOf(ipPools)}?limit=${maxCompared}`;
        const { items, count } = readHead(
            await this.#api.request({ method: "GET", path, accept: metadataOnly }, { signal }),
        );
        const isSame = count === this.#index.size && items.every((item) => this.#isKnown(item));
        return isSame ? this : this.#listed(signal);
    }

    /** The pools as they are known, those of these names as they are stored now. */
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

/** A view with some pools replaced, or gone. */
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

/** The first objects of a list, and how many there are of all; undefined when the server does not tell. */
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
