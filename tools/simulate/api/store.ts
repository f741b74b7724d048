import { keyOf, type KubeObject } from "@antrea/kube";
import { type Kind } from "./kinds.ts";
import { type Matches } from "./selectors.ts";

/** One version of an object. */
export interface Stored {
    readonly object: KubeObject;
    readonly text: string;
}

/** The transition of an object between two versions. */
export interface Change {
    readonly version: number;
    readonly kind: Kind;
    readonly key: string;
    readonly before: Stored | undefined;
    /** Undefined: deleted. */
    readonly after: Stored | undefined;
}

/** The watch event for a change, one line; undefined: none. */
export function lineOf(change: Change, matches: Matches): string | undefined {
    const { before, after, version } = change;
    const was = before !== undefined && matches(before.object);
    const is = after !== undefined && matches(after.object);
    if (is) return `{"type":"${was ? "MODIFIED" : "ADDED"}","object":${after.text}}\n`;
    // An object that no longer matches is delivered as deleted, in its previous state, with the version of the change.
    return was ? `{"type":"DELETED","object":${JSON.stringify(withVersion(before.object, version))}}\n` : undefined;
}

class Collection {
    readonly objects = new Map<string, Stored>();
    /** Oldest first. */
    changes: Change[] = [];
    /** The version up to which changes are compacted. */
    compactedTo = 0;
}

/** All objects and their latest changes, in memory. Listeners are called synchronously with each change. */
export class Store {
    version = 1;
    readonly #collections = new Map<Kind, Collection>();
    readonly #listeners = new Set<(change: Change) => void>();

    get(kind: Kind, key: string): Stored | undefined {
        return this.#collection(kind).objects.get(key);
    }

    all(kind: Kind): Iterable<Stored> {
        return this.#collection(kind).objects.values();
    }

    put(kind: Kind, object: KubeObject): Stored {
        const key = keyOf(object);
        const collection = this.#collection(kind);
        this.version += 1;
        const versioned = withVersion(object, this.version);
        const after = { object: versioned, text: JSON.stringify(versioned) };
        const before = collection.objects.get(key);
        collection.objects.set(key, after);
        this.#changed(collection, { version: this.version, kind, key, before, after });
        return after;
    }

    delete(kind: Kind, key: string): void {
        const collection = this.#collection(kind);
        const before = collection.objects.get(key);
        if (before === undefined) return;
        this.version += 1;
        collection.objects.delete(key);
        this.#changed(collection, { version: this.version, kind, key, before, after: undefined });
    }

    /** The changes after that version; undefined if some of them are compacted. */
    since(kind: Kind, version: number): readonly Change[] | undefined {
        const { changes, compactedTo } = this.#collection(kind);
        if (version < compactedTo) return undefined;
        let first = changes.length;
        while (first > 0 && (changes[first - 1]?.version ?? 0) > version) first -= 1;
        return changes.slice(first);
    }

    /** Discards all changes so far. */
    compact(): void {
        for (const collection of this.#collections.values()) {
            collection.changes = [];
            collection.compactedTo = this.version;
        }
    }

    onChange(listener: (change: Change) => void): Disposable {
        this.#listeners.add(listener);
        return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
    }

    #changed(collection: Collection, change: Change): void {
        collection.changes.push(change);
        for (const listener of [...this.#listeners]) listener(change);
    }

    #collection(kind: Kind): Collection {
        const known = this.#collections.get(kind);
        if (known !== undefined) return known;
        const made = new Collection();
        this.#collections.set(kind, made);
        return made;
    }
}

function withVersion(object: KubeObject, version: number): KubeObject {
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}
