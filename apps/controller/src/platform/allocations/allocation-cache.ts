import { type Clock } from "@antrea/async";
import { blockOf, ipAllocations, isOfPods, type IpAllocation } from "@antrea/crd";
import { prefixRange, RangeIndex, type IpRange, type Prefix } from "@antrea/ip";
import {
    Informer,
    type ApiClient,
    type KubeLogger,
    type KubeObject,
    type ListOptions,
    type Resource,
} from "@antrea/kube";
import { type LifecyclePart } from "@antrea/runtime";
import { AllocationReader, setKeyOf, type Allocation } from "./allocation.ts";

/** Dependencies of AllocationCache. */
export interface AllocationCacheComponents {
    readonly api: Pick<ApiClient, "pages" | "watch">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** The allocations in one aligned block of addresses (`blockOf`: /24 or /120); live: it shows later changes. */
export interface BlockAllocations {
    readonly prefix: Prefix;
    /** Number of allocations that a Pod uses. */
    readonly allocated: number;
    /** Number of the other ones. */
    readonly reserved: number;
    readonly allocations: ReadonlySet<Allocation>;
}

/**
 * Called synchronously after each change with the previous allocation (undefined: it is new) and the new one
 * (undefined: it was deleted); the cache is already updated. An error that it throws is logged and otherwise ignored.
 */
export type AllocationListener = (before: Allocation | undefined, after: Allocation | undefined) => void;

interface Block {
    readonly prefix: Prefix;
    allocated: number;
    reserved: number;
    readonly allocations: Set<Allocation>;
}

const none: ReadonlySet<Allocation> = new Set();

/**
 * All IPAllocations of the cluster, kept up to date by list and watch, indexed by address, block, StatefulSet and Node;
 * `part` starts and stops it. The sets that it returns are live. The cache may be stale: an irreversible decision uses
 * the live object.
 */
export class AllocationCache {
    readonly part: LifecyclePart;
    readonly #informer: Informer<Allocation>;
    readonly #blocks = new Map<string, Block>();
    readonly #places = new RangeIndex<Block>();
    readonly #sets = new Map<string, Set<Allocation>>();
    readonly #nodes = new Map<string, Set<Allocation>>();
    readonly #held = new Map<string, Set<Allocation>>();
    readonly #gateways = new Map<string, Set<Allocation>>();

    constructor(components: AllocationCacheComponents) {
        const reader = new AllocationReader();
        const { object: _, ...where } = ipAllocations;
        this.#informer = new Informer<Allocation>(
            { ...components, api: slimSource(components.api, reader) },
            { resource: where, transform: (object) => slim(object, reader) },
        );
        this.#informer.onChange((type, _key, allocation, old) => {
            if (old !== undefined) this.#remove(old);
            if (type !== "deleted") this.#add(allocation);
        });
        this.part = {
            name: "allocations",
            start: (signal) => this.#informer.start(signal),
            stop: () => this.#informer.close(),
        };
    }

    /** True once the first list is complete; the cache is empty or incomplete before. */
    get hasSynced(): boolean {
        return this.#informer.hasSynced;
    }

    /**
     * Resolves when all allocations are known; waits if `part` is not started. Rejects with KubeError ABORTED, also
     * when it stops.
     */
    async synced(signal: AbortSignal): Promise<void> {
        return this.#informer.synced(signal);
    }

    /**
     * Lists all allocations again: resolves when all that was true at the time of the call is in the cache. Rejects
     * with KubeError ABORTED.
     */
    async refresh(signal: AbortSignal): Promise<void> {
        return this.#informer.refresh(signal);
    }

    /** The allocation by the name of the object (`allocationName`); undefined if there is none. */
    get(name: string): Allocation | undefined {
        return this.#informer.get(name);
    }

    /**
     * The blocks with allocations that overlap this range, each once, by `spec.block`; of a block at its edge all
     * allocations count.
     */
    *blocksIn(range: IpRange): Iterable<readonly [block: string, allocations: BlockAllocations]> {
        for (const { key, value } of this.#places.overlapping(range)) yield [key, value];
    }

    /** Allocations owned by a StatefulSet, by `namespace/name`; empty if it owns none. */
    ofSet(key: string): ReadonlySet<Allocation> {
        return this.#sets.get(key) ?? none;
    }

    /** Keys of the StatefulSets that own allocations. */
    get sets(): Iterable<string> {
        return this.#sets.keys();
    }

    /**
     * Allocations that Pods on the Node of this name use, without those of unknown owner kinds, which are never
     * released.
     */
    usedOn(node: string): ReadonlySet<Allocation> {
        return this.#nodes.get(node) ?? none;
    }

    /** Names of the Nodes with allocations in use. */
    get nodesInUse(): Iterable<string> {
        return this.#nodes.keys();
    }

    /** Allocations that reserve the own addresses of the Node of this name. */
    heldBy(node: string): ReadonlySet<Allocation> {
        return this.#held.get(node) ?? none;
    }

    /** Names of the Nodes with reserved addresses. */
    get holders(): Iterable<string> {
        return this.#held.keys();
    }

    /** Names of the allocations that reserve gateways. */
    get gateways(): Iterable<string> {
        return this.#gateways.keys();
    }

    /** Calls the listener synchronously for all allocations as new, then for each change, until disposed of. */
    onChange(listener: AllocationListener): Disposable {
        return this.#informer.onChange((type, _key, allocation, old) =>
            type === "deleted" ? listener(old ?? allocation, undefined) : listener(old, allocation),
        );
    }

    #add(allocation: Allocation): void {
        const block = this.#blocks.get(allocation.block) ?? this.#newBlock(allocation);
        block.allocations.add(allocation);
        block[allocation.pod === undefined ? "reserved" : "allocated"] += 1;
        for (const [index, key] of this.#indexes(allocation)) {
            const allocations = index.get(key);
            if (allocations === undefined) index.set(key, new Set([allocation]));
            else allocations.add(allocation);
        }
    }

    #newBlock({ block: text, ip }: Allocation): Block {
        const block: Block = { prefix: blockOf(ip), allocated: 0, reserved: 0, allocations: new Set() };
        this.#blocks.set(text, block);
        this.#places.set(text, [prefixRange(block.prefix)], block);
        return block;
    }

    #remove(allocation: Allocation): void {
        const block = this.#blocks.get(allocation.block);
        if (block?.allocations.delete(allocation) !== true) return;
        block[allocation.pod === undefined ? "reserved" : "allocated"] -= 1;
        if (block.allocations.size === 0) {
            this.#blocks.delete(allocation.block);
            this.#places.delete(allocation.block);
        }
        for (const [index, key] of this.#indexes(allocation)) {
            const allocations = index.get(key);
            allocations?.delete(allocation);
            if (allocations?.size === 0) index.delete(key);
        }
    }

    *#indexes(allocation: Allocation): Iterable<readonly [Map<string, Set<Allocation>>, string]> {
        const set = setKeyOf(allocation);
        if (set !== undefined) yield [this.#sets, set];
        if (allocation.pod !== undefined && isOfPods(allocation.owner)) yield [this.#nodes, allocation.pod.nodeName];
        if (allocation.owner.kind === "Gateway") yield [this.#gateways, allocation.metadata.name];
        if (allocation.owner.kind === "Node") yield [this.#held, allocation.owner.name ?? ""];
    }
}

/** Lists page by page and keeps the reduced records only: all objects at once would be several times as large. */
function slimSource(
    api: AllocationCacheComponents["api"],
    reader: AllocationReader,
): { readonly list: ApiClient["list"]; readonly watch: ApiClient["watch"] } {
    const list = async <T extends KubeObject>(
        resource: Resource<T>,
        o?: ListOptions,
    ): Promise<{ items: T[]; resourceVersion: string }> => {
        const items: T[] = [];
        let resourceVersion = "";
        for await (const page of api.pages(resource, o)) {
            // The informer passes its own resource only, so T is Allocation.
            for (const item of page.items) items.push(slim(item as unknown as Allocation, reader) as unknown as T);
            resourceVersion = page.resourceVersion;
        }
        return { items, resourceVersion };
    };
    return { list, watch: (resource, o) => api.watch(resource, o) };
}

// Objects from the watch are IPAllocations; listed ones are already reduced.
function slim(object: Allocation, reader: AllocationReader): Allocation {
    return "spec" in object ? reader.read(object as unknown as IpAllocation) : object;
}
