import { isDeepStrictEqual } from "node:util";
import { type KubeObject } from "@antrea/kube";
import { type Random } from "../time/random.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { Refusal, type Answer } from "./answer.ts";
import { kinds, type Kind } from "./kinds.ts";
import {
    checkDeletable,
    checkOpen,
    isNamespace,
    isOver as isEmptied,
    newNamespace,
    prepared,
    terminating,
} from "./namespaces.ts";
import { merged } from "./patch.ts";
import { checkSchema, type User, type Write } from "./rules.ts";
import { matcher, type Matches } from "./selectors.ts";
import { Store, type Stored } from "./store.ts";

export interface ApiRequest {
    readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
    /** Including the query. */
    readonly path: string;
    readonly body?: string | undefined;
    readonly contentType?: string | undefined;
}

/** Called before a write that all rules allow; throws Refusal. */
export type Admission = (write: Write) => Promise<void> | undefined;

export interface WatchStart {
    readonly kind: Kind;
    readonly matches: Matches;
    readonly version: number;
    readonly timeoutMs: number;
}

/** The parsed path. */
export interface Target {
    readonly kind: Kind;
    readonly namespace: string;
    readonly name: string;
    readonly subresource: string;
    readonly query: URLSearchParams;
}

type Metadata = NonNullable<KubeObject["metadata"]>;
interface DeleteBody {
    readonly gracePeriodSeconds?: number;
    readonly propagationPolicy?: string;
    readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

const kindsByPath: ReadonlyMap<string, Kind> = new Map(
    kinds.map((kind) => [`${kind.apiVersion}/${kind.resource.plural}`, kind]),
);

/**
 * The API server as its clients observe it, from the parsed request to the response: versions, UIDs, preconditions,
 * selectors, pages, watches, graceful deletion and finalizers, validation and admission. A suite of cases runs
 * against it and against kube-apiserver (test/api-compliance.ts). Controllers are implemented separately.
 */
export class ApiServer {
    readonly store: Store = new Store();
    /** Installed admission policies; they throw Refusal. */
    policies: (write: Write) => void = () => undefined;
    /** Webhooks. */
    admission: Admission = () => undefined;
    readonly #time: VirtualTime;
    readonly #random: Random;
    /** Remaining pages of lists, by continue token. */
    readonly #pages = new Map<string, { readonly items: readonly string[]; readonly version: number }>();

    constructor(time: VirtualTime, random: Random) {
        this.#time = time;
        this.#random = random;
    }

    /** Handles one request; a write takes effect before this resolves, or never. */
    async handle(request: ApiRequest, user: User): Promise<Answer> {
        try {
            const body = await this.#dispatch(request, user);
            return { status: request.method === "POST" ? 201 : 200, body };
        } catch (error) {
            if (error instanceof Refusal) return { status: error.status, body: error.body };
            throw error;
        }
    }

    /** The watch for a path. Throws Refusal. */
    watchOf(path: string): WatchStart {
        const { kind, query, namespace } = target(path);
        const matches = matcher(kind, query.get("fieldSelector"));
        return {
            kind,
            matches:
                namespace === "" ? matches : (object) => object.metadata?.namespace === namespace && matches(object),
            version: Number(query.get("resourceVersion")),
            timeoutMs: Number(query.get("timeoutSeconds")) * 1000,
        };
    }

    /** Invalidates continue tokens, and resource versions of watches. */
    compact(): void {
        this.store.compact();
        this.#pages.clear();
    }

    #dispatch({ method, path, body = "", contentType = "" }: ApiRequest, user: User): string | Promise<string> {
        const to = target(path);
        switch (method) {
            case "GET":
                return to.name === "" ? this.#list(to) : this.#existing(to).text;
            case "POST":
                return this.#create(to, JSON.parse(body) as KubeObject, user);
            case "PUT":
                return this.#change(to, () => JSON.parse(body) as KubeObject, user);
            case "PATCH":
                return this.#change(to, patchOf(JSON.parse(body), contentType), user, true);
            case "DELETE":
                return this.#delete(to, body === "" ? {} : (JSON.parse(body) as DeleteBody), user);
        }
    }

    #existing({ kind, namespace, name }: Target): Stored {
        const found = this.store.get(kind, keyFor(namespace, name));
        if (found === undefined) throw new Refusal(404, `${kind.resource.plural} "${name}" not found`);
        return found;
    }

    #list({ kind, namespace, query }: Target): string {
        const limit = Number(query.get("limit") ?? 0);
        const token = query.get("continue");
        const held = token === null ? undefined : this.#pages.get(token);
        if (token !== null && held === undefined) {
            throw new Refusal(410, "The provided continue parameter is too old", "Expired");
        }
        const version = held?.version ?? this.store.version;
        const items = held?.items ?? this.#matching(kind, namespace, matcher(kind, query.get("fieldSelector")));
        const page = limit > 0 ? items.slice(0, limit) : items;
        const rest = items.slice(page.length);
        let more = "";
        if (rest.length > 0) {
            const next = this.#random.hex(16);
            this.#pages.set(next, { items: rest, version });
            const isWhole = (query.get("fieldSelector") ?? "") === "";
            more = `,"continue":"${next}"${isWhole ? `,"remainingItemCount":${rest.length}` : ""}`;
        }
        const head = `"kind":"${kind.resource.kind}List","apiVersion":"${kind.apiVersion}"`;
        return `{${head},"metadata":{"resourceVersion":"${version}"${more}},"items":[${page.join(",")}]}`;
    }

    #matching(kind: Kind, namespace: string, matches: Matches): readonly string[] {
        const found: (readonly [key: string, text: string])[] = [];
        for (const { object, text } of this.store.all(kind)) {
            const { namespace: own = "", name = "" } = object.metadata ?? {};
            if ((namespace === "" || own === namespace) && matches(object)) found.push([keyFor(own, name), text]);
        }
        return found.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text);
    }

    async #create({ kind, namespace }: Target, given: KubeObject, user: User): Promise<string> {
        const { name = "", ...meta } = given.metadata ?? {};
        if (meta.resourceVersion !== undefined && meta.resourceVersion !== "") {
            throw new Refusal(400, "resourceVersion should not be set on objects to be created");
        }
        const metadata: Metadata = {
            ...meta,
            name,
            ...(kind.resource.namespaced && { namespace }),
            uid: this.#random.uuid(),
            creationTimestamp: this.#timestamp(),
            ...(kind.hasGeneration && { generation: 1 }),
        };
        const { status: _, ...rest } = given as KubeObject & { readonly status?: unknown };
        const status = defaultStatus(kind);
        const made = {
            ...(kind.hasStatus ? rest : given),
            metadata,
            ...(status === undefined ? {} : { status }),
        } as KubeObject;
        const object = isNamespace(kind) ? newNamespace(made) : made;
        const write: Write = {
            kind,
            namespace,
            name,
            user,
            subresource: "",
            operation: "CREATE",
            before: undefined,
            after: object,
        };
        if (kind.resource.namespaced) this.#checkNamespace(namespace, kind);
        await this.#judge(write);
        if (this.store.get(kind, keyFor(namespace, name)) !== undefined) {
            throw new Refusal(409, `${kind.resource.plural} "${name}" already exists`, "AlreadyExists");
        }
        return this.store.put(kind, object).text;
    }

    async #change(
        to: Target,
        wanted: (before: KubeObject) => KubeObject,
        user: User,
        isPatch = false,
    ): Promise<string> {
        const { kind, namespace, name, subresource } = to;
        for (;;) {
            const stored = this.#existing(to);
            const before = stored.object;
            const given = wanted(before);
            const version = given.metadata?.resourceVersion ?? "";
            if (version === "" && kind.custom && !isPatch) {
                throw new Refusal(422, "metadata.resourceVersion: Invalid value: must be specified for an update");
            }
            const conflict = new Refusal(
                409,
                `Operation cannot be fulfilled on ${kind.resource.plural} "${name}": the object has been modified`,
            );
            if (version !== "" && version !== before.metadata?.resourceVersion) throw conflict;
            const { uid } = given.metadata ?? {};
            if (uid !== undefined && uid !== "" && uid !== before.metadata?.uid) {
                if (!isPatch) throw conflict;
                // For a custom resource's status only the version of the metadata is evaluated.
                if (!kind.custom || subresource === "") throw new Refusal(422, "metadata.uid: field is immutable");
            }
            const plain = this.#prepared(kind, before, given, subresource);
            const after = isNamespace(kind) ? prepared(before, given, plain, subresource) : plain;
            if (isDeepStrictEqual(after, before)) return stored.text;
            await this.#judge({ kind, namespace, name, user, subresource, operation: "UPDATE", before, after });
            const key = keyFor(namespace, name);
            // Changed during admission: with a version that is a conflict, otherwise retry.
            if (this.store.get(kind, key) !== stored) {
                if (version !== "" && !isPatch) throw conflict;
                continue;
            }
            const kept = this.store.put(kind, after);
            if (isNamespace(kind) ? isEmptied(after) : isOver(after, before)) this.store.delete(kind, key);
            return kept.text;
        }
    }

    #prepared(kind: Kind, before: KubeObject, given: KubeObject, subresource: string): KubeObject {
        const old = before as KubeObject & { readonly status?: unknown; readonly spec?: unknown };
        const next = given as typeof old;
        if (subresource === "status") {
            const { annotations, labels } = (kind.custom ? old : next).metadata ?? {};
            const metadata = { ...old.metadata, ...(annotations && { annotations }), ...(labels && { labels }) };
            return { ...old, metadata, status: next.status } as KubeObject;
        }
        const { uid, creationTimestamp, generation, deletionTimestamp, deletionGracePeriodSeconds, resourceVersion } =
            old.metadata ?? {};
        const fixed = Object.fromEntries(
            Object.entries({
                uid,
                creationTimestamp,
                deletionTimestamp,
                deletionGracePeriodSeconds,
                resourceVersion,
            }).filter(([, value]) => value !== undefined),
        );
        const { deletionTimestamp: _, ...meta } = next.metadata ?? {};
        const isSame = isDeepStrictEqual(next.spec, old.spec);
        const counted = kind.hasGeneration ? { generation: (generation ?? 1) + (isSame ? 0 : 1) } : {};
        const { status: _status, ...rest } = next;
        const status = kind.hasStatus ? (old.status === undefined ? {} : { status: old.status }) : statusOf(next);
        return { ...rest, metadata: { ...meta, ...fixed, ...counted }, ...status } as KubeObject;
    }

    async #delete(to: Target, options: DeleteBody, user: User): Promise<string> {
        const { kind, namespace, name } = to;
        for (;;) {
            const stored = this.#existing(to);
            const before = stored.object;
            const { uid, resourceVersion } = options.preconditions ?? {};
            const { metadata = {} } = before;
            if (
                (uid ?? metadata.uid) !== metadata.uid ||
                (resourceVersion ?? metadata.resourceVersion) !== metadata.resourceVersion
            ) {
                throw new Refusal(409, `Precondition failed on ${kind.resource.plural} "${name}"`);
            }
            if (isNamespace(kind)) checkDeletable(name);
            const write = { kind, namespace, name, user, subresource: "", operation: "DELETE" } as const;
            await this.#judge({ ...write, before, after: undefined });
            const key = keyFor(namespace, name);
            if (this.store.get(kind, key) !== stored) continue;
            if (isNamespace(kind)) {
                const ending = terminating(before, this.#timestamp());
                return ending === before ? stored.text : this.store.put(kind, ending).text;
            }
            const finalizers = finalizersOf(metadata, options);
            const grace = graceOf(kind, before, options);
            if (finalizers.length === 0 && grace === 0) {
                this.store.delete(kind, key);
                return stored.text;
            }
            if (metadata.deletionTimestamp !== undefined && isDeepStrictEqual(finalizers, metadata.finalizers ?? [])) {
                return stored.text;
            }
            const ending: Metadata = {
                ...metadata,
                deletionTimestamp: metadata.deletionTimestamp ?? this.#timestamp(grace),
                deletionGracePeriodSeconds: grace,
                ...(finalizers.length > 0 && { finalizers }),
            };
            return this.store.put(kind, { ...before, metadata: ending }).text;
        }
    }

    #judge(write: Write): Promise<void> | undefined {
        checkSchema(write);
        this.policies(write);
        return this.admission(write);
    }

    #checkNamespace(name: string, { resource }: Kind): void {
        const namespaces = kindsByPath.get("v1/namespaces");
        checkOpen(name, namespaces && this.store.get(namespaces, name)?.object, resource.plural);
    }

    #timestamp(afterSeconds = 0): string {
        return `${new Date(this.#time.wall + afterSeconds * 1000).toISOString().slice(0, 19)}Z`;
    }
}

function patchOf(patch: unknown, contentType: string): (before: KubeObject) => KubeObject {
    const isStrategic = contentType.includes("strategic");
    return (before) => merged(before, patch, isStrategic) as KubeObject;
}

/** The kind with this API version and plural name. Throws Refusal 404. */
export function kindOf(apiVersion: string, plural: string): Kind {
    const kind = kindsByPath.get(`${apiVersion}/${plural}`);
    if (kind === undefined) throw new Refusal(404, "the server could not find the requested resource");
    return kind;
}

/** The key of an object in the store. */
export function keyFor(namespace: string, name: string): string {
    return namespace === "" ? name : `${namespace}/${name}`;
}

/** Parses a path. Throws Refusal. */
export function target(path: string): Target {
    const [plain = "", search = ""] = path.split("?", 2);
    const parts = plain.split("/").map(decodeURIComponent);
    const isCore = parts[1] === "api";
    const rest = parts.slice(isCore ? 3 : 4);
    const apiVersion = isCore ? (parts[2] ?? "") : `${parts[2]}/${parts[3]}`;
    const isOfNamespace = rest.length === 3 && ["finalize", "status"].includes(rest[2] ?? "");
    const inNamespace = rest[0] === "namespaces" && rest.length > 2 && !isOfNamespace;
    const [plural = "", name = "", subresource = ""] = inNamespace ? rest.slice(2) : rest;
    const namespace = inNamespace ? (rest[1] ?? "") : "";
    return { kind: kindOf(apiVersion, plural), namespace, name, subresource, query: new URLSearchParams(search) };
}

function statusOf(object: { readonly status?: unknown }): { readonly status?: unknown } {
    return object.status === undefined ? {} : { status: object.status };
}

function defaultStatus({ resource }: Kind): unknown {
    return resource.plural === "pods" ? { phase: "Pending" } : undefined;
}

/** Deletion was requested, and the last finalizer was removed. */
function isOver({ metadata }: KubeObject, before: KubeObject): boolean {
    if (metadata?.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return false;
    return (before.metadata?.finalizers ?? []).length > 0;
}

function finalizersOf({ finalizers = [] }: Metadata, { propagationPolicy }: DeleteBody): readonly string[] {
    const wanted = { Orphan: "orphan", Foreground: "foregroundDeletion" }[propagationPolicy ?? ""];
    return wanted === undefined || finalizers.includes(wanted) ? finalizers : [...finalizers, wanted];
}

/** Seconds of graceful termination of a Pod; 0 if no kubelet is involved. */
function graceOf({ resource }: Kind, object: KubeObject, { gracePeriodSeconds }: DeleteBody): number {
    if (resource.plural !== "pods") return 0;
    const { nodeName = "" } = (object as { readonly spec?: { readonly nodeName?: string } }).spec ?? {};
    const { phase = "" } = (object as { readonly status?: { readonly phase?: string } }).status ?? {};
    if (nodeName === "" || phase === "Succeeded" || phase === "Failed") return 0;
    return gracePeriodSeconds ?? 30;
}
