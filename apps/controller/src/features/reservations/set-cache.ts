import { type Clock } from "@antrea/async";
import {
    Informer,
    namespaces,
    statefulSets,
    type ApiClient,
    type KubeLogger,
    type Namespace,
    type StatefulSet,
} from "@antrea/kube";
import { type LifecyclePart } from "@antrea/runtime";
import { asksNamespace, demandOf, reachOf, slimNamespace, slimSet, type Demand } from "./demand.ts";

/** Dependencies of SetCache. */
export interface SetCacheComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/**
 * All StatefulSets, by `namespace/name`, and the pools that they use, directly or through their Namespace; `part`
 * starts and stops the watches. The cache may be stale: an irreversible decision reads the API server.
 */
export class SetCache {
    readonly part: LifecyclePart;
    readonly #sets: Informer<StatefulSet>;
    readonly #namespaces: Informer<Namespace>;
    readonly #listeners = new Set<(key: string) => void>();
    /** Keys of the StatefulSets by pool, and the reverse. */
    readonly #asking = new Map<string, Set<string>>();
    readonly #asked = new Map<string, readonly string[]>();
    readonly #inNamespace = new Map<string, Set<string>>();

    constructor(components: SetCacheComponents) {
        this.#sets = new Informer(components, { resource: statefulSets, transform: slimSet });
        this.#namespaces = new Informer(components, { resource: namespaces, transform: slimNamespace });
        this.#sets.onChange((type, key, set, old) => {
            // Most updates change only the status, of which little is kept.
            if (type === "updated" && old !== undefined && sameDemand(set, old)) return;
            this.#changed(key);
        });
        this.#namespaces.onChange((type, name, { metadata }, old) => {
            const before = JSON.stringify(old?.metadata?.annotations);
            if (type === "updated" && JSON.stringify(metadata?.annotations) === before) return;
            for (const key of [...(this.#inNamespace.get(name) ?? [])]) this.#changed(key);
        });
        this.part = {
            name: "set-cache",
            start: (signal) => {
                this.#namespaces.start(signal);
                this.#sets.start(signal);
            },
            stop: async () => {
                await Promise.all([this.#sets.close(), this.#namespaces.close()]);
            },
        };
    }

    /** True once the first lists of StatefulSets and Namespaces are complete. */
    get hasSynced(): boolean {
        return this.#sets.hasSynced && this.#namespaces.hasSynced;
    }

    /**
     * Resolves when StatefulSets and Namespaces are known; waits if `part` is not started. Rejects with KubeError
     * ABORTED.
     */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([this.#sets.synced(signal), this.#namespaces.synced(signal)]);
    }

    /** Whether the StatefulSet `namespace/name` exists, according to the watch. */
    has(key: string): boolean {
        return this.#sets.get(key) !== undefined;
    }

    /** The demand of a StatefulSet. Undefined if it does not exist, or depends on a Namespace that is not known yet. */
    get(key: string): Demand | undefined {
        const set = this.#sets.get(key);
        if (set === undefined) return undefined;
        const namespace = this.#namespaces.get(set.metadata?.namespace ?? "");
        return namespace === undefined && asksNamespace(set) ? undefined : demandOf(set, namespace);
    }

    /** Keys of the StatefulSets that use the pool of this name, also if it does not exist; empty if none does. */
    asking(pool: string): Iterable<string> {
        return this.#asking.get(pool) ?? [];
    }

    /**
     * Calls the listener for all StatefulSets at once, then synchronously for each whose demand may have changed or
     * that was deleted, until disposed of.
     */
    onChange(listener: (key: string) => void): Disposable {
        this.#listeners.add(listener);
        for (const keys of [...this.#inNamespace.values()]) for (const key of keys) listener(key);
        return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
    }

    #changed(key: string): void {
        const namespace = key.slice(0, key.indexOf("/"));
        const known = this.has(key);
        move(this.#inNamespace, known ? [] : [namespace], known ? [namespace] : [], key);
        const pools = this.get(key)?.pools?.names ?? [];
        move(this.#asking, this.#asked.get(key) ?? [], pools, key);
        if (pools.length === 0) this.#asked.delete(key);
        else this.#asked.set(key, pools);
        for (const listener of [...this.#listeners]) listener(key);
    }
}

function move(index: Map<string, Set<string>>, from: readonly string[], to: readonly string[], key: string): void {
    for (const each of from) {
        index.get(each)?.delete(key);
        if (index.get(each)?.size === 0) index.delete(each);
    }
    for (const each of to) {
        const keys = index.get(each) ?? new Set();
        index.set(each, keys.add(key));
    }
}

function sameDemand(a: StatefulSet, b: StatefulSet): boolean {
    const parts = ({ metadata, spec, status }: StatefulSet): string =>
        JSON.stringify([metadata?.uid, metadata?.deletionTimestamp, spec, reachOf(status?.replicas ?? 0)]);
    return parts(a) === parts(b);
}
