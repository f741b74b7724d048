import { Readable } from "node:stream";
import { KubeError, type ApiClient, type KubeObject, type Resource } from "@antrea/kube";

interface Event {
    readonly type: "ADDED" | "MODIFIED" | "DELETED";
    readonly object: KubeObject;
}

/** Objects by kind, with writes and watches, in place of an API server: cluster-scoped kinds, one watch for each. */
export class MemoryApi {
    /** Writes so far, e.g. `create ipallocations 10.0.0.1`. */
    readonly writes: string[] = [];
    /** A write that is to be rejected throws. */
    refuse: (write: string) => void = () => undefined;
    readonly #objects = new Map<string, Map<string, KubeObject>>();
    readonly #streams = new Map<string, Readable>();
    /** Events of kinds whose watch is held back. */
    readonly #heldBack = new Map<string, Event[]>();
    #version = 0;

    get client(): ApiClient {
        const named = (object: KubeObject): string => object.metadata?.name ?? "";
        const fake = {
            list: async (
                { plural }: Resource<KubeObject>,
                { transform = (item) => item }: { readonly transform?: (item: KubeObject) => KubeObject } = {},
            ) => {
                const { items, ...list } = this.#list(plural);
                return { ...list, items: items.map(transform) };
            },
            pages: async function* (this: { list: ApiClient["list"] }, resource: Resource<KubeObject>) {
                yield await this.list(resource);
            },
            watch: ({ plural }: Resource<KubeObject>, { signal }: { readonly signal: AbortSignal }) => {
                const stream = new Readable({ read: () => undefined });
                signal.addEventListener("abort", () => stream.destroy(new Error("aborted")));
                this.#streams.set(plural, stream);
                return Promise.resolve(stream);
            },
            find: async ({ plural }: Resource<KubeObject>, { name }: { readonly name: string }) =>
                this.#of(plural).get(name),
            create: async ({ plural }: Resource<KubeObject>, object: KubeObject) => {
                this.#write(`create ${plural} ${named(object)}`);
                if (this.#of(plural).has(named(object))) throw new KubeError("ALREADY_EXISTS", "exists already");
                return this.put(plural, object);
            },
            update: async ({ plural }: Resource<KubeObject>, object: KubeObject) => {
                this.#write(`update ${plural} ${named(object)}`);
                return this.put(plural, object);
            },
            delete: async ({ plural }: Resource<KubeObject>, { name }: { readonly name: string }) => {
                this.#write(`delete ${plural} ${name}`);
                this.remove(plural, name);
            },
        };
        return fake as unknown as ApiClient;
    }

    /** Stores an object, as another client. */
    put(plural: string, object: KubeObject): KubeObject {
        const name = object.metadata?.name ?? "";
        const before = this.#of(plural).get(name);
        const metadata = {
            uid: before?.metadata?.uid ?? `uid-${name}-${this.#version}`,
            generation: (before?.metadata?.generation ?? 0) + 1,
            ...object.metadata,
            resourceVersion: String(++this.#version),
        };
        const stored = { ...object, metadata };
        this.#of(plural).set(name, stored);
        this.#send(plural, { type: before === undefined ? "ADDED" : "MODIFIED", object: stored });
        return stored;
    }

    /** Deletes an object, as another client. */
    remove(plural: string, name: string): void {
        const before = this.#of(plural).get(name);
        if (before === undefined) throw new KubeError("NOT_FOUND", `no ${name}`);
        this.#of(plural).delete(name);
        const metadata = { ...before.metadata, resourceVersion: String(++this.#version) };
        this.#send(plural, { type: "DELETED", object: { ...before, metadata } });
    }

    /** All objects of a kind. */
    all<T extends KubeObject>(plural: string): readonly T[] {
        return [...this.#of(plural).values()] as unknown as readonly T[];
    }

    /** Delivers no events of a kind until the returned function is called. */
    holdBack(plural: string): () => void {
        const held: Event[] = [];
        this.#heldBack.set(plural, held);
        return () => {
            this.#heldBack.delete(plural);
            for (const event of held) this.#send(plural, event);
        };
    }

    #list(plural: string): { readonly items: readonly KubeObject[]; readonly resourceVersion: string } {
        return { items: [...this.#of(plural).values()], resourceVersion: String(this.#version) };
    }

    #of(plural: string): Map<string, KubeObject> {
        const objects = this.#objects.get(plural) ?? new Map<string, KubeObject>();
        this.#objects.set(plural, objects);
        return objects;
    }

    #write(write: string): void {
        this.writes.push(write);
        this.refuse(write);
    }

    #send(plural: string, event: Event): void {
        const held = this.#heldBack.get(plural);
        if (held !== undefined) held.push(event);
        else this.#streams.get(plural)?.push(`${JSON.stringify(event)}\n`);
    }
}
