import { Readable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { type IncomingMessage } from "node:http";
import { keyOf, KubeError, type ApiClient, type KubeObject, type ListResult, type Resource } from "@antrea/kube";

type Method = "create" | "update" | "delete" | "find" | "list";

/** Of one request: `refuse` happens before it has an effect, `lose` after it, each as the error that is thrown. */
export interface Fault {
    readonly refuse?: KubeError;
    readonly lose?: KubeError;
}

interface Watcher {
    readonly plural: string;
    readonly matches: (object: KubeObject) => boolean;
    readonly stream: Readable;
}

interface Change {
    readonly version: number;
    readonly plural: string;
    readonly old: KubeObject | undefined;
    /** Of a deletion the last state, with the version of the deletion. */
    readonly object: KubeObject;
    readonly deleted: boolean;
}

export interface Backup {
    readonly version: number;
    readonly kinds: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
}

/**
 * An API server in memory: versions, UIDs, preconditions, field selectors and watches as the real one has them, and
 * faults on demand. Events reach watches when the test asks for it, if it holds them back.
 */
export class FakeApi implements Pick<ApiClient, "create" | "delete" | "find" | "list" | "pages" | "update" | "watch"> {
    /** What happens to the next requests; undefined: nothing. */
    fault: (method: Method, plural: string, name: string) => Fault | undefined = () => undefined;
    /** Runs before each request takes effect. */
    before: (method: Method, plural: string, name: string) => Promise<void> = () => Promise.resolve();
    readonly requests: string[] = [];
    readonly #kinds = new Map<string, Map<string, KubeObject>>();
    readonly #watchers = new Set<Watcher>();
    readonly #changes: Change[] = [];
    #version = 100;
    #held: (() => void)[] | undefined;

    /** Puts an object there, as somebody else. */
    put(resource: Resource<KubeObject>, object: KubeObject): KubeObject {
        const old = this.#objects(resource).get(keyOf(object));
        return this.#store(resource, { ...object, metadata: { ...old?.metadata, ...object.metadata } }, old);
    }

    /** Removes an object, as somebody else. */
    remove(resource: Resource<KubeObject>, key: string): void {
        const old = this.#objects(resource).get(key);
        if (old !== undefined) this.#drop(resource, old);
    }

    get(resource: Resource<KubeObject>, key: string): KubeObject | undefined {
        return this.#objects(resource).get(key);
    }

    all<T extends KubeObject>(resource: Resource<T>): readonly T[] {
        // The store holds what was put in under this resource.
        return [...this.#objects(resource).values()] as T[];
    }

    /** How many watches of a kind are open. */
    watches({ plural }: Resource<KubeObject>): number {
        return [...this.#watchers].filter((watcher) => watcher.plural === plural).length;
    }

    /** From here on watches report nothing, until `releaseEvents`. */
    holdEvents(): void {
        this.#held ??= [];
    }

    releaseEvents(): void {
        const held = this.#held ?? [];
        this.#held = undefined;
        for (const deliver of held) deliver();
    }

    /** What there is, for `restore`. */
    save(): Backup {
        const kinds = [...this.#kinds].map(([plural, objects]) => [plural, new Map(objects)] as const);
        return { version: this.#version, kinds: new Map(kinds) };
    }

    /** Goes back to what there was, with the versions of then, and ends all watches, as a restore of etcd does. */
    restore({ version, kinds }: Backup): void {
        this.#version = version;
        this.#kinds.clear();
        for (const [plural, objects] of kinds) this.#kinds.set(plural, new Map(objects));
        this.#changes.splice(0, this.#changes.length, ...this.#changes.filter((change) => change.version <= version));
        for (const { stream } of this.#watchers) stream.destroy(new KubeError("EXPIRED", "too old resource version"));
        this.#watchers.clear();
    }

    create: ApiClient["create"] = async (resource, object) => {
        const name = keyOf(object);
        return this.#request("create", resource, name, () => {
            if (this.#objects(resource).has(name)) throw new KubeError("ALREADY_EXISTS", `${name} exists`);
            return this.#store(resource, object, undefined);
        });
    };

    update: ApiClient["update"] = async (resource, object) => {
        const name = keyOf(object);
        return this.#request("update", resource, name, () => {
            const old = this.#objects(resource).get(name);
            if (old === undefined) throw new KubeError("NOT_FOUND", `${name} is not there`);
            const { uid, resourceVersion } = object.metadata ?? {};
            if (uid !== old.metadata?.uid || resourceVersion !== old.metadata?.resourceVersion) {
                throw new KubeError("CONFLICT", `${name} has changed`);
            }
            return this.#store(resource, object, old);
        });
    };

    delete: ApiClient["delete"] = async (resource, { name, namespace }, o = {}) => {
        const key = namespace === undefined ? name : `${namespace}/${name}`;
        await this.#request("delete", resource, key, () => {
            const old = this.#objects(resource).get(key);
            if (old === undefined) throw new KubeError("NOT_FOUND", `${key} is not there`);
            const { uid, resourceVersion } = old.metadata ?? {};
            if ((o.uid ?? uid) !== uid || (o.resourceVersion ?? resourceVersion) !== resourceVersion) {
                throw new KubeError("CONFLICT", `${key} has changed`);
            }
            this.#drop(resource, old);
            return old;
        });
    };

    find: ApiClient["find"] = async (resource, { name, namespace }) => {
        const key = namespace === undefined ? name : `${namespace}/${name}`;
        return this.#request("find", resource, key, () => this.#objects(resource).get(key) as never);
    };

    list: ApiClient["list"] = async (resource, o = {}) => {
        const matches = selector(o.fieldSelector);
        const work = (): ListResult<never> => ({
            items: (this.all(resource).filter(matches) as never[]).map(
                (item) => (o.transform?.(item) ?? item) as never,
            ),
            resourceVersion: String(this.#version),
        });
        const aborted = Promise.withResolvers<never>();
        const abort = (): void => aborted.reject(new KubeError("ABORTED", "list"));
        if (o.signal?.aborted === true) abort();
        o.signal?.addEventListener("abort", abort, { once: true });
        return Promise.race([this.#request("list", resource, o.fieldSelector ?? "", work), aborted.promise]);
    };

    pages: ApiClient["pages"] = async function* (this: FakeApi, resource, o) {
        yield await this.list(resource, o);
    };

    watch: ApiClient["watch"] = (resource, { fieldSelector, resourceVersion, signal }) => {
        if (signal.aborted) return Promise.reject(new KubeError("ABORTED", "watch"));
        const stream = new Readable({ read: () => undefined });
        const watcher = { plural: resource.plural, matches: selector(fieldSelector), stream };
        for (const change of this.#changes) if (change.version > Number(resourceVersion)) this.#send(watcher, change);
        this.#watchers.add(watcher);
        signal.addEventListener("abort", () => {
            this.#watchers.delete(watcher);
            stream.destroy(new Error("aborted"));
        });
        return Promise.resolve(stream as IncomingMessage);
    };

    async #request<T>(method: Method, { plural }: Resource<KubeObject>, name: string, work: () => T): Promise<T> {
        this.requests.push(`${method} ${plural} ${name}`);
        await this.before(method, plural, name);
        await new Promise((resolve) => setImmediate(resolve));
        const fault = this.fault(method, plural, name);
        if (fault?.refuse !== undefined) throw fault.refuse;
        const result = work();
        if (fault?.lose !== undefined) throw fault.lose;
        return structuredClone(result);
    }

    #objects({ plural }: Resource<KubeObject>): Map<string, KubeObject> {
        const known = this.#kinds.get(plural) ?? new Map<string, KubeObject>();
        this.#kinds.set(plural, known);
        return known;
    }

    #store<T extends KubeObject>(resource: Resource<T>, object: T, old: KubeObject | undefined): T {
        this.#version += 1;
        const uid = old?.metadata?.uid ?? object.metadata?.uid ?? `uid-of-${keyOf(object)}-${this.#version}`;
        const { spec } = object as { spec?: unknown };
        const isSame = isDeepStrictEqual(spec, (old as { spec?: unknown } | undefined)?.spec);
        const isDeleted = object.metadata?.deletionTimestamp !== old?.metadata?.deletionTimestamp;
        const generation = (old?.metadata?.generation ?? 0) + (isSame && !isDeleted && old !== undefined ? 0 : 1);
        const metadata = { ...object.metadata, uid, generation, resourceVersion: String(this.#version) };
        const stored = structuredClone({ ...object, metadata });
        this.#objects(resource).set(keyOf(stored), stored);
        this.#changed({ plural: resource.plural, old, object: stored, deleted: false });
        return stored;
    }

    #drop(resource: Resource<KubeObject>, old: KubeObject): void {
        this.#version += 1;
        this.#objects(resource).delete(keyOf(old));
        const object = { ...old, metadata: { ...old.metadata, resourceVersion: String(this.#version) } };
        this.#changed({ plural: resource.plural, old, object, deleted: true });
    }

    #changed(what: Omit<Change, "version">): void {
        const change = { ...what, version: this.#version };
        this.#changes.push(change);
        for (const watcher of this.#watchers) this.#send(watcher, change);
    }

    #send({ plural, matches, stream }: Watcher, change: Change): void {
        if (plural !== change.plural) return;
        const was = change.old !== undefined && matches(change.old);
        const is = !change.deleted && matches(change.object);
        if (!was && !is) return;
        const type = is ? (was ? "MODIFIED" : "ADDED") : "DELETED";
        const line = `${JSON.stringify({ type, object: change.object })}\n`;
        if (this.#held === undefined) stream.push(line);
        else this.#held.push(() => stream.push(line));
    }
}

/** The answer that never came: nobody knows whether the request was carried out. */
export function lost(): KubeError {
    return new KubeError("CONNECTION_FAILED", "the connection broke", { outcomeUnknown: true });
}

/** No connection: the request was never sent. */
export function away(): KubeError {
    return new KubeError("CONNECTION_FAILED", "no connection");
}

function selector(text: string | undefined): (object: KubeObject) => boolean {
    const terms = (text ?? "")
        .split(",")
        .filter((term) => term !== "")
        .map((term) => term.split("=", 2) as [string, string]);
    return (object) => terms.every(([path, value]) => String(at(object, path) ?? "") === value);
}

function at(object: unknown, path: string): unknown {
    return path.split(".").reduce((part, key) => (part as Record<string, unknown> | undefined)?.[key], object);
}
