import { type Clock } from "@antrea/async";
import { ipPools, type IpPool } from "@antrea/crd";
import { RangeSet, type IpAddress } from "@antrea/ip";
import {
    clusterAddresses,
    PoolIndex,
    rangesOf,
    readPool,
    type ClusterAddresses,
    type Overlap,
    type Pool,
} from "@antrea/ipam";
import {
    Informer,
    serviceCidrs,
    withoutManagedFields,
    type ApiClient,
    type KubeLogger,
    type Node,
    type ServiceCidr,
} from "@antrea/kube";
import { type LifecyclePart } from "@antrea/runtime";
import { CrowdedNodes, type FurtherAddresses } from "./crowded-nodes.ts";

/** Dependencies of PoolCache. */
export interface PoolCacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    /** All Nodes; the caller starts and stops the informer. */
    readonly nodes: Pick<Informer<Node>, "list" | "onChange" | "synced" | "hasSynced">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/**
 * - `meaning`: the addresses that the pool assigns, or shares with others, may have changed; or the pool was deleted.
 * - `status`: another field of the object changed.
 */
export type PoolChange = "meaning" | "status";
/** Called synchronously after a change of the pool of this name; the cache is already updated. Must not throw. */
export type PoolListener = (pool: string, change: PoolChange) => void;

/**
 * All IPPools as they apply to this cluster: the addresses that they assign, without those of Nodes, Services and
 * gateways, and those that they share with other pools. Follows the Nodes' informer from construction on; `part` starts
 * and stops the other watches.
 */
export class PoolCache {
    readonly part: LifecyclePart;
    readonly #nodes: PoolCacheComponents["nodes"];
    readonly #informer: Informer<IpPool>;
    readonly #services: Informer<ServiceCidr>;
    readonly #index = new PoolIndex(() => clusterAddresses(this.#nodes.list(), this.#services.list()));
    readonly #crowded = new CrowdedNodes();
    readonly #listeners = new Set<PoolListener>();

    constructor(components: PoolCacheComponents) {
        this.#nodes = components.nodes;
        this.#informer = new Informer<IpPool>(components, { resource: ipPools, transform: withoutManagedFields });
        this.#services = new Informer<ServiceCidr>(components, { resource: serviceCidrs });
        this.#informer.onChange((type, name, object, old) => this.#poolChanged(name, type === "deleted", object, old));
        this.#services.onChange((type, _name, object, old) =>
            this.#clusterChanged(
                clusterAddresses([], old === undefined ? [] : [old]),
                clusterAddresses([], type === "deleted" ? [] : [object]),
            ),
        );
        this.#nodes.onChange((type, name, node, old) => this.#nodeChanged(name, type === "deleted", node, old));
        this.part = {
            name: "pool-cache",
            start: (signal) => {
                this.#informer.start(signal);
                this.#services.start(signal);
            },
            stop: async () => {
                await Promise.all([this.#informer.close(), this.#services.close()]);
            },
        };
    }

    /** True once the first lists of pools, Nodes and Service CIDRs are complete. */
    get hasSynced(): boolean {
        return this.#informer.hasSynced && this.#services.hasSynced && this.#nodes.hasSynced;
    }

    /**
     * Resolves when pools, Nodes and Service CIDRs are known; waits if `part` is not started. Rejects with KubeError
     * ABORTED.
     */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([this.#informer.synced(signal), this.#services.synced(signal), this.#nodes.synced(signal)]);
    }

    /** Names of all pools. */
    get names(): Iterable<string> {
        return this.#index.names;
    }

    /** The API object without managed fields; undefined if there is no such pool. */
    object(name: string): IpPool | undefined {
        return this.#informer.get(name);
    }

    /**
     * The parsed pool, also one that is being deleted or has invalid ranges; undefined if there is none of this name.
     */
    get(name: string): Pool | undefined {
        return this.#index.pool(name);
    }

    /** The addresses that the pool assigns in this cluster. Empty if there is no such pool. */
    usable(name: string): RangeSet {
        return this.#index.usable(name);
    }

    /** Other pools that share addresses with this one, sorted by name; empty if there is no such pool. */
    overlaps(name: string): readonly Overlap[] {
        return this.#index.overlaps(name);
    }

    /**
     * Addresses in the pool's ranges that Nodes report and that are not reserved, sorted by Node. Empty if there is no
     * such pool.
     */
    further(name: string): readonly FurtherAddresses[] {
        const pool = this.#index.pool(name);
        return pool === undefined ? [] : this.#crowded.further(pool);
    }

    /** Names of the pools with the address in a range, sorted, whether or not they assign it. */
    covering(ip: IpAddress): readonly string[] {
        return this.#index.covering(ip);
    }

    /**
     * Calls the listener for all pools at once (`meaning`), then for each change, including deletion, until disposed
     * of.
     */
    onChange(listener: PoolListener): Disposable {
        this.#listeners.add(listener);
        for (const name of [...this.#index.names]) listener(name, "meaning");
        return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
    }

    #poolChanged(name: string, deleted: boolean, object: IpPool, old: IpPool | undefined): void {
        if (!deleted && old !== undefined && old.metadata?.generation === object.metadata?.generation) {
            for (const listener of [...this.#listeners]) listener(name, "status");
            return;
        }
        this.#notify(deleted ? this.#index.delete(name) : this.#index.set(readPool(object)));
    }

    #nodeChanged(name: string, deleted: boolean, node: Node, old: Node | undefined): void {
        const isOtherOrder = this.#crowded.changed(name, deleted ? undefined : node);
        const before = clusterAddresses(old === undefined ? [] : [old]);
        this.#clusterChanged(before, clusterAddresses(deleted ? [] : [node]), isOtherOrder);
    }

    #clusterChanged(old: ClusterAddresses, now: ClusterAddresses, isOtherOrder = false): void {
        const [before, after] = [rangesOf(old), rangesOf(now)];
        if (!isOtherOrder && RangeSet.of(before).equals(RangeSet.of(after))) return;
        this.#notify(this.#index.clusterChanged([...before, ...after]));
    }

    #notify(pools: ReadonlySet<string>): void {
        for (const listener of [...this.#listeners]) for (const name of pools) listener(name, "meaning");
    }
}
