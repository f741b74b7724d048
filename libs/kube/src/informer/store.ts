import { keyOf, type KubeObject } from "../api/types.ts";
import { type KubeLogger } from "../logger.ts";

export type ChangeType = "added" | "updated" | "deleted";

/** How a change became known. */
export interface ChangeSource {
    /** By a list, whose difference it is, or by the event of a watch. */
    readonly by: "list" | "watch";
    /**
     * The change happened after this time of the informer's monotonic clock, ms: when the informer was up to date last.
     * -Infinity when it never was.
     */
    readonly after: number;
}

/**
 * Called once per change, in order. `object` is the new state, of a deletion the last known one; `old` the state before,
 * undefined for "added". What it throws is logged and changes nothing else. Objects are shared: never mutate them.
 */
export type ChangeListener<T> = (
    type: ChangeType,
    key: string,
    object: T,
    old: T | undefined,
    source: ChangeSource,
) => void;

/** Of what was there before somebody listened. */
const known: ChangeSource = { by: "list", after: -Infinity };

/** The objects an informer knows, and who is told about changes. */
export class Store<T extends KubeObject> {
    readonly #logger: KubeLogger;
    readonly #objects = new Map<string, T>();
    readonly #listeners = new Set<ChangeListener<T>>();

    constructor(components: { readonly logger: KubeLogger }) {
        this.#logger = components.logger;
    }

    get objects(): ReadonlyMap<string, T> {
        return this.#objects;
    }

    listen(listener: ChangeListener<T>): Disposable {
        this.#listeners.add(listener);
        for (const [key, object] of [...this.#objects]) this.#call(listener, "added", key, object, undefined, known);
        return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
    }

    /** Whether that changes anything. */
    set(object: T, source: ChangeSource): boolean {
        const key = keyOf(object);
        const old = this.#objects.get(key);
        const { uid, resourceVersion } = object.metadata ?? {};
        if (old !== undefined && old.metadata?.uid === uid && old.metadata?.resourceVersion === resourceVersion)
            return false;
        if (old !== undefined && old.metadata?.uid !== uid) {
            // Deleted and made again while nobody looked: two facts, told as two.
            this.#objects.delete(key);
            this.#tell("deleted", key, old, old, source);
        }
        const before = this.#objects.get(key);
        this.#objects.set(key, object);
        this.#tell(before === undefined ? "added" : "updated", key, object, before, source);
        return true;
    }

    remove(key: string, source: ChangeSource, last?: T): void {
        const old = this.#objects.get(key);
        if (old === undefined) return;
        this.#objects.delete(key);
        this.#tell("deleted", key, last ?? old, old, source);
    }

    /** Makes the content equal to `objects` and tells the difference, deletions first. Returns whether there is any. */
    replace(objects: readonly T[], source: ChangeSource): boolean {
        const present = new Set(objects.map(keyOf));
        const gone = [...this.#objects.keys()].filter((key) => !present.has(key));
        for (const key of gone) this.remove(key, source);
        const changed = objects.filter((object) => this.set(object, source));
        return gone.length + changed.length > 0;
    }

    #tell(...change: Parameters<ChangeListener<T>>): void {
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
