import { type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { keyOf, type ApiClient, type KubeObject, type Resource } from "@antrea/kube";

type Api = Pick<ApiClient, "list" | "watch" | "find" | "request" | "pages">;

/** Holds objects like an API server, and sends changes to watches only when `deliver` is called. */
export class FakeApi {
    readonly requests: string[] = [];
    /** False: as a server that does not report how many objects it left out. */
    countsRest = true;
    readonly #objects = new Map<string, Map<string, KubeObject>>();
    readonly #watches: { readonly plural: string; readonly stream: Readable }[] = [];
    readonly #undelivered: { readonly plural: string; readonly line: string }[] = [];
    #version = 1;

    put<T extends KubeObject>(resource: Resource<T>, object: T): void {
        this.#version += 1;
        const resourceVersion = String(this.#version);
        const stored = { ...object, metadata: { uid: keyOf(object), ...object.metadata, resourceVersion } };
        const known = this.#of(resource.plural);
        const type = known.has(keyOf(object)) ? "MODIFIED" : "ADDED";
        known.set(keyOf(object), stored);
        this.#undelivered.push({ plural: resource.plural, line: JSON.stringify({ type, object: stored }) });
    }

    remove<T extends KubeObject>(resource: Resource<T>, key: string): void {
        const object = this.#of(resource.plural).get(key);
        this.#of(resource.plural).delete(key);
        this.#undelivered.push({ plural: resource.plural, line: JSON.stringify({ type: "DELETED", object }) });
    }

    /** Sends the changes to the watches and waits until they are processed. */
    async deliver(): Promise<void> {
        for (const { plural, line } of this.#undelivered.splice(0)) {
            for (const watch of this.#watches) if (watch.plural === plural) watch.stream.push(`${line}\n`);
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
    }

    readonly api: Api = {
        list: (async (
            resource: Resource<KubeObject>,
            {
                namespace,
                transform = (item) => item,
            }: { readonly namespace?: string; readonly transform?: (item: KubeObject) => KubeObject } = {},
        ) => {
            this.requests.push(`list ${resource.plural}`);
            const all = [...this.#of(resource.plural).values()];
            const items = all.filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace);
            return { items: items.map(transform), resourceVersion: String(this.#version) };
        }) as Api["list"],
        find: (async (resource: Resource<KubeObject>, ref: { readonly namespace?: string; readonly name: string }) => {
            const key = ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
            this.requests.push(`get ${resource.plural} ${key}`);
            return this.#of(resource.plural).get(key);
        }) as Api["find"],
        request: async ({ path }) => {
            this.requests.push(`count ${path}`);
            const limit = Number(new URLSearchParams(path.split("?")[1]).get("limit"));
            const all = [...this.#of("ippools").values()].map(({ metadata }) => ({ metadata }));
            const rest = all.length - limit;
            const more = { continue: "more", ...(this.countsRest && { remainingItemCount: rest }) };
            return { items: all.length === 0 ? null : all.slice(0, limit), metadata: rest > 0 ? more : {} };
        },
        pages: (
            async function* (this: FakeApi, resource: Resource<KubeObject>, o: { readonly fieldSelector?: string }) {
                this.requests.push(`list ${resource.plural} ${o.fieldSelector}`);
                const items = [...this.#of(resource.plural).values()];
                for (let at = 0; at < items.length; at += 2) {
                    yield { items: items.slice(at, at + 2), resourceVersion: String(this.#version) };
                }
            } as Api["pages"]
        ).bind(this as never) as Api["pages"],
        watch: async ({ plural }, { signal }) => {
            const stream = new Readable({ read: () => undefined });
            signal.addEventListener("abort", () => stream.destroy());
            this.#watches.push({ plural, stream });
            return stream as IncomingMessage;
        },
    };

    #of(plural: string): Map<string, KubeObject> {
        const known = this.#objects.get(plural) ?? new Map<string, KubeObject>();
        this.#objects.set(plural, known);
        return known;
    }
}
