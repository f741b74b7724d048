import { orAborted, SharedReads } from "@antrea/async";
import { ipPools, type IpPool, type IpPoolSpec, type IpPoolStatus } from "@antrea/crd";
import { prefixRange, rangeOf, type IpAddress, type Prefix, type RangeSet } from "@antrea/ip";
import { clusterAddresses, Exclusions, PoolIndex, readPool, type ClusterAddresses, type Pool } from "@antrea/ipam";
import {
    Informer,
    serviceCidrs,
    type ApiClient,
    type KubeError,
    type KubeLogger,
    type ServiceCidr,
} from "@antrea/kube";
import { type PoolMatch } from "@antrea/networks";
import { NodeAddresses, type NodesAddresses, type NodeSource } from "./node-addresses.ts";
import { type PoolVersion } from "./types.ts";

const liveLimitMs = 5_000;

/** Dependencies of PoolCache. */
export interface PoolCacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "find">;
    readonly logger: KubeLogger;
    readonly nodes: NodeSource;
}

/**
 * An IPPool, the addresses it hands out now, and its status from the controller; a snapshot of the time of the call.
 */
export interface KnownPool {
    readonly pool: Pool;
    /**
     * The addresses that the pool hands out, allocated or not: its ranges without gateways, addresses and podCIDRs of
     * Nodes and Service CIDRs. Identical object until one of its inputs changes.
     */
    readonly usable: RangeSet;
    /** Undefined until the controller has written it. */
    readonly status: IpPoolStatus | undefined;
    readonly version: PoolVersion;
    /** Deleted and waiting for a finalizer: no new addresses are handed out. */
    readonly isDeleting: boolean;
}

interface Entry {
    readonly version: PoolVersion;
    readonly resourceVersion: bigint;
    readonly spec: IpPoolSpec;
    readonly pool: Pool;
    readonly status: IpPoolStatus | undefined;
    readonly isDeleting: boolean;
    /** Read live; the watch has not delivered it yet. */
    readonly isLive: boolean;
}

/**
 * The IPPools of the cluster and their excluded addresses, recomputed only when an input changes. `start` once, at the
 * end `close`; what is asked before `synced` is incomplete.
 */
export class PoolCache {
    readonly #components: PoolCacheComponents;
    readonly #pools: Informer<IpPool>;
    readonly #services: Informer<ServiceCidr>;
    readonly #entries = new Map<string, Entry>();
    readonly #index = new PoolIndex(() => this.#cluster(this.#nodes.inPools()));
    readonly #nodes: NodeAddresses;
    readonly #liveReads = new SharedReads((name) => this.#readLive(name));
    readonly #listeners: Disposable[];
    readonly #rangeListeners = new Set<() => void>();

    constructor(components: PoolCacheComponents) {
        this.#components = components;
        this.#pools = new Informer(components, { resource: ipPools, transform: slimPool });
        this.#services = new Informer(components, { resource: serviceCidrs });
        const forget = (): void => void this.#index.clusterChanged();
        this.#nodes = new NodeAddresses({
            nodes: components.nodes,
            isInPool: (range) => this.#index.overlapping(range).length > 0,
            onChange: forget,
        });
        this.#listeners = [
            this.#pools.onChange((type, name, object, _old, { by }) => {
                if (type === "deleted") this.#drop(name);
                else if (by === "list" || !this.#isLate(object)) this.#keep(object, { isLive: false });
            }),
            this.#pools.onList(() => this.#asListed()),
            this.#services.onChange(forget),
            this.#nodes,
        ];
    }

    /** Starts all watches; they end when the signal aborts or by `close`. */
    start(signal: AbortSignal): void {
        this.#pools.start(signal);
        this.#services.start(signal);
    }

    /** Ends all watches and waits for them. */
    async close(): Promise<void> {
        for (const listener of this.#listeners) listener[Symbol.dispose]();
        await Promise.all([this.#pools.close(), this.#services.close()]);
    }

    /**
     * Resolves when IPPools, Service CIDRs and Nodes are synced, which determine the usable addresses; rejects if the
     * signal aborts first, or the cache is closed (KubeError `ABORTED`).
     */
    async synced(signal: AbortSignal): Promise<void> {
        if (this.#isReady) return;
        await Promise.all([this.#pools.synced(signal), this.#services.synced(signal)]);
        await this.#components.nodes.synced(signal);
    }

    /** The request error that prevents the sync of IPPools or Service CIDRs; undefined if there is none. */
    get lastError(): KubeError | undefined {
        const waiting = [this.#pools, this.#services].map(({ hasSynced, state }) => !hasSynced && state);
        return waiting.flatMap((state) => (state && state.kind === "waiting" ? [state.lastError] : []))[0];
    }

    /** The Service CIDRs; undefined while they are not known. */
    get serviceCidrs(): readonly Prefix[] | undefined {
        return this.#services.hasSynced ? this.#serviceCidrs() : undefined;
    }

    /**
     * Registers a listener for possible changes of the Service CIDRs, until the result is disposed of; it is called at
     * once if some are known.
     */
    onServiceCidrs(listener: () => void): Disposable {
        return this.#services.onChange(listener);
    }

    /**
     * Registers a listener that is called when a range of a pool is added, removed or changed, until the result is
     * disposed of.
     */
    onRanges(listener: () => void): Disposable {
        this.#rangeListeners.add(listener);
        return { [Symbol.dispose]: () => this.#rangeListeners.delete(listener) };
    }

    /**
     * An IPPool by name, read live if the cache lacks it; waits for `synced`. Undefined only if the API server reports
     * that there is none. Rejects with KubeError, also on abort of the request, or if the signal aborts before the
     * sync.
     */
    async find(name: string, signal: AbortSignal): Promise<KnownPool | undefined> {
        await this.synced(signal);
        const known = this.#entries.get(name);
        if (known !== undefined) return this.#known(known);
        const object = await this.#components.api.find(ipPools, { name }, { signal });
        return object && this.#known(this.#entryOf(slimPool(object), true));
    }

    /**
     * Reads an IPPool from the API server, bypassing the watch, and caches it; undefined if there is none. The request
     * begins after the call, and callers who come while one is under way share the next; it is not repeated and has a limit
     * of 5 s. Rejects with its KubeError, or if the signal aborts first.
     */
    live(name: string, signal: AbortSignal): Promise<KnownPool | undefined> {
        return orAborted(this.#liveReads.get(name), signal);
    }

    /**
     * A GET without resourceVersion is a quorum read from etcd. With the resourceVersion of an allocation it would wait
     * until the server's cache of IPPools has caught up, which without IPPool events happens only every 100 ms.
     */
    async #readLive(name: string): Promise<KnownPool | undefined> {
        const before = this.#entries.get(name);
        const found = await this.#components.api.find(ipPools, { name }, { timeoutMs: liveLimitMs });
        // A watch event during the request may be newer.
        const isKept = this.#entries.get(name) === before;
        if (found === undefined) {
            if (isKept && before?.isLive === true) this.#asWatched(name);
            return undefined;
        }
        const object = slimPool(found);
        if (isKept && !(before !== undefined && isSameObject(before, object))) this.#keep(object, { isLive: true });
        return this.#known(this.#entryOf(object, true));
    }

    /**
     * An IPPool as last delivered by the watch or read by `live`; undefined if none is known, and until pools, Services
     * and Nodes are synced.
     */
    known(name: string): KnownPool | undefined {
        const entry = this.#isReady ? this.#entries.get(name) : undefined;
        return entry && this.#known(entry);
    }

    /** Whether no IPPool of the name is known; false before the first list. */
    isMissing(name: string): boolean {
        return this.hasPools && !this.#entries.has(name);
    }

    /** Whether all IPPools are synced, so that an address without a pool is in none. */
    get hasPools(): boolean {
        return this.#pools.hasSynced;
    }

    /**
     * The IPPool with a range that contains the address: the named one if several do. Undefined if none does, also before
     * IPPools are synced, see `hasPools`.
     *
     * @param match "usable": one that may hand it out, also if a Node or Service has it now; default: any
     */
    poolOf(ip: IpAddress, named = "", match: PoolMatch = "range"): string | undefined {
        const names =
            match === "usable"
                ? this.#index.handingOut(ip)
                : this.#index.overlapping(rangeOf(ip)).map(({ key }) => key);
        return names.includes(named) ? named : names[0];
    }

    /** The names of known IPPools with a range that overlaps the prefix, usable or not. */
    poolsWithin(prefix: Prefix): readonly string[] {
        return [...new Set(this.#index.overlapping(prefixRange(prefix)).map(({ key }) => key))];
    }

    /** The names of the other IPPools whose ranges overlap with this one. */
    overlapping(pool: Pool): readonly string[] {
        const found = pool.subnets.flatMap(({ range }) => this.#index.overlapping(range));
        return [...new Set(found.map(({ key }) => key))].filter((name) => name !== pool.name);
    }

    /**
     * Why a pool does not hand out an address, as the end of a sentence: `lies in a Service CIDR`; undefined if it
     * does.
     */
    reason(pool: Pool, ip: IpAddress): string | undefined {
        return this.#exclusionsFor(pool).reason(pool, ip);
    }

    /** True also without a caller of `synced`, as after a restart until a Pod requests an address. */
    get #isReady(): boolean {
        return this.#pools.hasSynced && this.#services.hasSynced && this.#components.nodes.hasSynced;
    }

    #known({ pool, status, version, isDeleting }: Entry): KnownPool {
        const usable = this.#isIndexed(pool) ? this.#index.usable(pool.name) : this.#exclusionsFor(pool).usable(pool);
        return { pool, usable, status, version, isDeleting };
    }

    /**
     * Whether a watch event is older than a live read, by resourceVersion. The next list ends the comparison, as after
     * an etcd restore, which lowers the versions.
     */
    #isLate(object: IpPool): boolean {
        const before = this.#entries.get(object.metadata?.name ?? "");
        return (
            before?.isLive === true &&
            before.version.uid === object.metadata?.uid &&
            versionOf(object) < before.resourceVersion
        );
    }

    /** Clears the marks of live reads: a list after them supersedes them, and an unchanged list reports no change. */
    #asListed(): void {
        for (const [name, { isLive }] of this.#entries) if (isLive) this.#asWatched(name);
    }

    #asWatched(name: string): void {
        const object = this.#pools.get(name);
        if (object === undefined) this.#drop(name);
        else this.#keep(object, { isLive: false });
    }

    #drop(name: string): void {
        this.#entries.delete(name);
        this.#index.delete(name);
        this.#rangesChanged();
    }

    #keep(object: IpPool, { isLive }: { readonly isLive: boolean }): void {
        const name = object.metadata?.name ?? "";
        const before = this.#entries.get(name);
        const entry = this.#entryOf(object, isLive);
        this.#entries.set(name, entry);
        if (entry.pool === before?.pool) return;
        this.#index.set(entry.pool);
        this.#rangesChanged();
    }

    /** The controller updates the status often; the spec and everything derived from it remain the same objects. */
    #entryOf(object: IpPool, isLive: boolean): Entry {
        const { name = "", uid = "", generation = 0 } = object.metadata ?? {};
        const held = this.#entries.get(name);
        const isSame = held !== undefined && JSON.stringify(held.spec) === JSON.stringify(object.spec);
        return {
            version: { uid, generation },
            resourceVersion: versionOf(object),
            spec: isSame ? held.spec : object.spec,
            pool: isSame ? held.pool : readPool(object),
            status: object.status,
            isDeleting: object.metadata?.deletionTimestamp !== undefined,
            isLive,
        };
    }

    #rangesChanged(): void {
        this.#nodes.poolsChanged();
        for (const listener of this.#rangeListeners) listener();
    }

    #isIndexed(pool: Pool): boolean {
        return this.#index.pool(pool.name) === pool;
    }

    #exclusionsFor(pool: Pool): Exclusions {
        if (this.#isIndexed(pool)) return this.#index.exclusions;
        // For a pool that the watch lacks, the Node addresses within its ranges are not preselected.
        return new Exclusions(this.#cluster(this.#nodes.all()), [...this.#index.all(), pool]);
    }

    #cluster(nodes: NodesAddresses): ClusterAddresses {
        return { ...nodes, serviceCidrs: this.#serviceCidrs() };
    }

    #serviceCidrs(): readonly Prefix[] {
        return clusterAddresses([], this.#services.list()).serviceCidrs;
    }
}

function isSameObject({ resourceVersion, version }: Entry, object: IpPool): boolean {
    return version.uid === object.metadata?.uid && resourceVersion === versionOf(object);
}

/** resourceVersions are increasing decimal numbers, common to all objects. */
function versionOf({ metadata }: IpPool): bigint {
    const text = metadata?.resourceVersion ?? "";
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
}

function slimPool({ metadata, spec, status }: IpPool): IpPool {
    const { name = "", uid = "", resourceVersion = "", generation = 0, deletionTimestamp } = metadata ?? {};
    const deleted = deletionTimestamp === undefined ? {} : { deletionTimestamp };
    const slim = { metadata: { name, uid, resourceVersion, generation, ...deleted }, spec };
    if (status === undefined) return slim;
    const { usage, freeBlocks } = status;
    return { ...slim, status: { ...(usage && { usage }), ...(freeBlocks && { freeBlocks }) } };
}
