import { keyOf } from "../api/object-key.ts";
import { type KubeObject } from "../api/types.ts";
import { type KubeLogger } from "../logger.ts";

/** Type of a change; an object replaced by one with another UID is first "deleted", then "added". */
export type ChangeType = "added" | "updated" | "deleted";

/** How a change became known: from a list or a watch, and the earliest time at which it happened. */
export interface ChangeSource {
    /** By comparison with a list, or by an event of a watch. */
    readonly by: "list" | "watch";
    /**
     * The change happened after this monotonic time (ms), at which the informer was last up to date; -Infinity if it
     * never was.
     */
    readonly after: number;
}

/**
 * Called once for each change, in order. `object` is the new state, or on deletion the last known one; `old` is the
 * state before, undefined for "added". An exception is logged and has no other effect. Objects are shared: do not
 * modify them.
 */
export type ChangeListener<T> = (
    type: ChangeType,
    key: string,
    object: T,
    old: T | undefined,
    source: ChangeSource,
) => void;

/** Source of the objects that were known before the listener was added. */
const known: ChangeSource = { by: "list", after: -Infinity };

/** The objects of an informer by key, and the listeners to their changes, which it calls synchronously. */
export class Store<T extends KubeObject> {
    readonly #logger: KubeLogger;
    readonly #objects = new Map<string, T>();
    readonly #listeners = new Set<ChangeListener<T>>();

    constructor(components: { readonly logger: KubeLogger }) {
        this.#logger = components.logger;
    }

    /** The objects by key (`namespace/name`). */
    get objects(): ReadonlyMap<string, T> {
        return this.#objects;
    }

    /** Calls the listener with "added" for each known object, then for each change until disposed of. */
    listen(listener: ChangeListener<T>): Disposable {
        this.#listeners.add(listener);
        for (const [key, object] of [...this.#objects]) this.#call(listener, "added", key, object, undefined, known);
        return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
    }

    /**
     * Adds or replaces an object and reports the change. Returns false if its UID and resourceVersion are known
     * already.
     */
    set(object: T, source: ChangeSource): boolean {
        const key = keyOf(object);
        const old = this.#objects.get(key);
        const { uid, resourceVersion } = object.metadata ?? {};
        if (old !== undefined && old.metadata?.uid === uid && old.metadata?.resourceVersion === resourceVersion)
            return false;
        if (old !== undefined && old.metadata?.uid !== uid) {
            // Deleted and created again between two observations: reported as two changes.
            this.#objects.delete(key);
            this.#notify("deleted", key, old, old, source);
        }
        const before = this.#objects.get(key);
        this.#objects.set(key, object);
        this.#notify(before === undefined ? "added" : "updated", key, object, before, source);
        return true;
    }

    /** Removes the object with this key, if known, and reports the deletion with `last` as its last state. */
    remove(key: string, source: ChangeSource, last?: T): void {
        const old = this.#objects.get(key);
        if (old === undefined) return;
        this.#objects.delete(key);
        this.#notify("deleted", key, last ?? old, old, source);
    }

    /** Replaces the content by `objects` and reports the difference, deletions first. Returns whether there is any. */
    replace(objects: readonly T[], source: ChangeSource): boolean {
        const present = new Set(objects.map(keyOf));
        const gone = [...this.#objects.keys()].filter((key) => !present.has(key));
        for (const key of gone) this.remove(key, source);
        const changed = objects.filter((object) => this.set(object, source));
        return gone.length + changed.length > 0;
    }

    #notify(...change: Parameters<ChangeListener<T>>): void {
        for (const listener of [...this.#listeners]) this.#call(listener, ...change);
    }

    #call(listener: ChangeListener<T>, ...change: Parameters<ChangeListener<T>>): void {
        try {
            listener(...change);
        } catch (error) {
            const [type, key] = change;
            this.#logger.error("a change listener failed", { type, key, error });
        }
    }
}
