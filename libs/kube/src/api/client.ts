import { sleep, systemClock, type Clock } from "@antrea/async";
import { KubeError, isKubeError } from "../errors.ts";
import { type Credentials } from "./credentials.ts";
import { patchContentTypes, type Patch } from "./patches.ts";
import { apiVersionOf, pathOf, type ObjectRef, type Resource } from "./resources.ts";
import { isRecord, parseRetryAfter, statusError } from "./status.ts";
import { readBody, send, type HttpRequest, type HttpResponse, type Send } from "./transport.ts";
import { type KubeObject } from "./types.ts";

export interface CallOptions {
    readonly signal?: AbortSignal | undefined;
    /** For the whole call with its repetitions, in milliseconds; the server is told too. Default 30000. */
    readonly timeoutMs?: number | undefined;
}

export interface WriteOptions extends CallOptions {
    /** `status` writes the status only. Default: the object. */
    readonly subresource?: string | undefined;
    /** Who owns the written fields. Default: the client's user agent up to "/". */
    readonly fieldManager?: string | undefined;
    /** With an `apply` patch: take fields from other managers. Default false. */
    readonly force?: boolean | undefined;
}

export interface DeleteOptions extends CallOptions {
    /** Delete only this very object, else CONFLICT. */
    readonly uid?: string | undefined;
    readonly resourceVersion?: string | undefined;
    readonly gracePeriodSeconds?: number | undefined;
}

export interface ListOptions extends CallOptions {
    /** Only this namespace. Default all. */
    readonly namespace?: string | undefined;
    readonly fieldSelector?: string | undefined;
    readonly labelSelector?: string | undefined;
    /** Objects per request. Default 500. */
    readonly pageSize?: number | undefined;
}

export interface ListResult<T> {
    readonly items: readonly T[];
    /** The state that all items together show; a watch goes on from here. */
    readonly resourceVersion: string;
}

export interface WatchOptions {
    readonly namespace?: string | undefined;
    readonly fieldSelector?: string | undefined;
    readonly labelSelector?: string | undefined;
    readonly resourceVersion: string;
    /** After this many seconds the server ends the watch. */
    readonly timeoutSeconds: number;
    readonly signal: AbortSignal;
}

/** `accept` of a list whose items are the objects' metadata alone. */
export const metadataOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

export interface ApiClientOptions {
    readonly userAgent: string;
    /** Longest answer that is read, in bytes. Default 128 MiB. */
    readonly maxBodyBytes?: number | undefined;
}

export interface ApiClientComponents {
    readonly credentials: Pick<Credentials, "connection" | "refused">;
    readonly clock?: Clock;
    /** How requests reach the server. Default: by HTTP/1.1. */
    readonly send?: Send;
}

/** Typed requests to the API server. Safe for concurrent use; holds no state but connections. */
export class ApiClient {
    readonly #credentials: ApiClientComponents["credentials"];
    readonly #transport: Send;
    readonly #clock: Clock;
    readonly #options: ApiClientOptions;
    #refusedSince: number | undefined;

    constructor(components: ApiClientComponents, options: ApiClientOptions) {
        this.#credentials = components.credentials;
        this.#transport = components.send ?? send;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
    }

    /**
     * By the monotonic clock, since when the server answers 401 and nothing that shows that it knows us. A watch that was
     * opened before goes on all the same.
     */
    get refusedSince(): number | undefined {
        return this.#refusedSince;
    }

    /** One object, live. Rejects with NOT_FOUND. */
    async get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, o: CallOptions = {}): Promise<T> {
        return (await this.request({ method: "GET", path: pathOf(resource, ref) }, o)) as T;
    }

    /** Like `get`, but undefined if there is none. */
    async find<T extends KubeObject>(
        resource: Resource<T>,
        ref: ObjectRef,
        o: CallOptions = {},
    ): Promise<T | undefined> {
        try {
            return await this.get(resource, ref, o);
        } catch (error) {
            if (isKubeError(error, "NOT_FOUND")) return undefined;
            throw error;
        }
    }

    /** All objects at one moment, read in pages; never older than an answer the server gave before. */
    async list<T extends KubeObject>(resource: Resource<T>, o: ListOptions = {}): Promise<ListResult<T>> {
        const items: T[] = [];
        let resourceVersion = "";
        for await (const page of this.pages(resource, o)) {
            for (const item of page.items) items.push(item);
            resourceVersion = page.resourceVersion;
        }
        return { items, resourceVersion };
    }

    /** Like `list`, a page at a time, for a reader that need not hold all objects or may stop early. */
    async *pages<T extends KubeObject>(resource: Resource<T>, o: ListOptions = {}): AsyncGenerator<ListResult<T>> {
        let token = "";
        do {
            const query = new URLSearchParams({ limit: String(o.pageSize ?? 500) });
            if (o.fieldSelector !== undefined) query.set("fieldSelector", o.fieldSelector);
            if (o.labelSelector !== undefined) query.set("labelSelector", o.labelSelector);
            if (token !== "") query.set("continue", token);
            const path = `${listPath(resource, o.namespace)}?${query.toString()}`;
            const page = decodePage<T>(await this.request({ method: "GET", path }, o), path);
            yield { items: page.items, resourceVersion: page.resourceVersion };
            token = page.next;
        } while (token !== "");
    }

    /** Rejects with ALREADY_EXISTS. `apiVersion` and `kind` are filled in. */
    async create<T extends KubeObject>(resource: Resource<T>, object: T, o: WriteOptions = {}): Promise<T> {
        const path = `${listPath(resource, object.metadata?.namespace)}?${this.#writeQuery(o)}`;
        const body = JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
        return (await this.request({ method: "POST", path, body }, o)) as T;
    }

    /** Replaces the object; a `metadata.resourceVersion` in it must be the current one, else CONFLICT. */
    async update<T extends KubeObject>(resource: Resource<T>, object: T, o: WriteOptions = {}): Promise<T> {
        const ref = { name: object.metadata?.name ?? "", ...namespaceOf(object) };
        const path = `${pathOf(resource, ref, o.subresource)}?${this.#writeQuery(o)}`;
        const body = JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
        return (await this.request({ method: "PUT", path, body }, o)) as T;
    }

    /** Changes parts of one object and gives the result. */
    async patch<T extends KubeObject>(
        resource: Resource<T>,
        ref: ObjectRef,
        patch: Patch,
        o: WriteOptions = {},
    ): Promise<T> {
        const content =
            patch.type === "apply"
                ? { ...patch.body, apiVersion: apiVersionOf(resource), kind: resource.kind }
                : patch.body;
        const path = `${pathOf(resource, ref, o.subresource)}?${this.#writeQuery(o)}`;
        const request = {
            method: "PATCH",
            path,
            body: JSON.stringify(content),
            contentType: patchContentTypes[patch.type],
        } as const;
        return (await this.request(request, o)) as T;
    }

    /** Asks for deletion; resolves when the server accepted it. Rejects with NOT_FOUND, or CONFLICT if a precondition fails. */
    async delete<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, o: DeleteOptions = {}): Promise<void> {
        const body = JSON.stringify({
            apiVersion: "v1",
            kind: "DeleteOptions",
            gracePeriodSeconds: o.gracePeriodSeconds,
            preconditions: { uid: o.uid, resourceVersion: o.resourceVersion },
        });
        await this.request({ method: "DELETE", path: pathOf(resource, ref), body }, o);
    }

    /** Opens a watch; the lines of the answer are still to be read. */
    async watch(resource: Resource<KubeObject>, o: WatchOptions): Promise<HttpResponse> {
        const query = new URLSearchParams({
            watch: "true",
            allowWatchBookmarks: "true",
            resourceVersion: o.resourceVersion,
            timeoutSeconds: String(o.timeoutSeconds),
        });
        if (o.fieldSelector !== undefined) query.set("fieldSelector", o.fieldSelector);
        if (o.labelSelector !== undefined) query.set("labelSelector", o.labelSelector);
        const path = `${listPath(resource, o.namespace)}?${query.toString()}`;
        const response = await this.#send({ method: "GET", path, stream: true, signal: o.signal }, 30_000);
        if (response.statusCode === 200) return response;
        throw await this.#failure(response, `GET ${path}`, false, o.signal);
    }

    /**
     * One request with an answer in JSON. 429 (and 503 of a read) is repeated after the time that the server asks for,
     * as long as the call's time allows.
     */
    async request(
        request: Pick<HttpRequest, "method" | "path" | "body" | "contentType" | "accept">,
        o: CallOptions = {},
    ): Promise<unknown> {
        const timeoutMs = o.timeoutMs ?? 30_000;
        const end = this.#clock.monotonic() + timeoutMs;
        for (let attempt = 1; ; attempt += 1) {
            const leftMs = Math.max(1, end - this.#clock.monotonic());
            try {
                return await this.#once(request, leftMs, o.signal);
            } catch (error) {
                const waitMs = repeatAfterMs(error, request.method, attempt);
                if (waitMs === undefined || this.#clock.monotonic() + waitMs >= end) throw error;
                await sleep(waitMs, o.signal, this.#clock);
            }
        }
    }

    async #once(
        request: Pick<HttpRequest, "method" | "path" | "body" | "contentType" | "accept">,
        timeoutMs: number,
        signal: AbortSignal | undefined,
    ): Promise<unknown> {
        const write = request.method !== "GET";
        // The server ends work on a write that nobody waits for any more.
        const path = write
            ? `${request.path}${request.path.includes("?") ? "&" : "?"}timeout=${Math.ceil(timeoutMs)}ms`
            : request.path;
        const what = `${request.method} ${request.path}`;
        const response = await this.#send({ ...request, path, signal }, timeoutMs);
        if (response.statusCode === undefined || response.statusCode < 200 || response.statusCode > 299) {
            throw await this.#failure(response, what, write, signal);
        }
        try {
            const body = await readBody(response, what, { maxBytes: this.#maxBodyBytes, timeoutMs, signal });
            return parseJson(body, what);
        } catch (error) {
            // The status line said that the write was done, only its result is lost.
            if (!write || !(error instanceof KubeError)) throw error;
            throw new KubeError(error.code, error.message, { cause: error, outcomeUnknown: true });
        }
    }

    async #send(request: Omit<HttpRequest, "userAgent" | "timeoutMs">, timeoutMs: number): Promise<HttpResponse> {
        const connection = await this.#credentials.connection();
        const response = await this.#transport(connection, {
            ...request,
            userAgent: this.#options.userAgent,
            timeoutMs,
        });
        if (response.statusCode === 401) this.#refusedSince ??= this.#clock.monotonic();
        else if (isAuthenticated(response.statusCode ?? 0)) this.#refusedSince = undefined;
        return response;
    }

    async #failure(response: HttpResponse, what: string, write: boolean, signal?: AbortSignal): Promise<KubeError> {
        const status = response.statusCode ?? 0;
        if (status === 401) this.#credentials.refused();
        const retryAfter = response.headers["retry-after"];
        const retryAfterMs = parseRetryAfter(
            typeof retryAfter === "string" ? retryAfter : undefined,
            this.#clock.now(),
        );
        const body = await readBody(response, what, { maxBytes: 1 << 20, timeoutMs: 5_000, signal }).catch(() => "");
        let decoded: unknown;
        try {
            decoded = JSON.parse(body);
        } catch {
            decoded = undefined;
        }
        return statusError(what, status, decoded, { write, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
    }

    #writeQuery(o: WriteOptions): string {
        const manager = o.fieldManager ?? this.#options.userAgent.split("/")[0] ?? "antrea";
        const query = new URLSearchParams({ fieldManager: manager });
        if (o.force === true) query.set("force", "true");
        return query.toString();
    }

    get #maxBodyBytes(): number {
        return this.#options.maxBodyBytes ?? 128 << 20;
    }
}

/** Whether only a server that accepted our credentials answers so; 429 and 5xx may come before it looks at them. */
function isAuthenticated(status: number): boolean {
    return (status >= 200 && status < 400) || [403, 404, 409, 410, 422].includes(status);
}

function repeatAfterMs(error: unknown, method: string, attempt: number): number | undefined {
    if (!(error instanceof KubeError) || error.retryAfterMs === undefined || attempt >= 10) return undefined;
    // 429 is said before any work is done, so a write may be repeated too.
    const safe = error.status === 429 || (method === "GET" && (error.status === 503 || error.status === 504));
    return safe ? Math.max(error.retryAfterMs, 100) : undefined;
}

function listPath(resource: Resource<KubeObject>, namespace: string | undefined): string {
    return pathOf(resource, namespace === undefined ? {} : { namespace });
}

function namespaceOf(object: KubeObject): { readonly namespace?: string } {
    const namespace = object.metadata?.namespace;
    return namespace === undefined ? {} : { namespace };
}

function parseJson(text: string, what: string): unknown {
    try {
        return JSON.parse(text) as unknown;
    } catch (cause) {
        throw new KubeError("BAD_ANSWER", `${what}: the answer is no JSON`, { cause });
    }
}

function decodePage<T>(
    body: unknown,
    what: string,
): { readonly items: readonly T[]; readonly next: string; readonly resourceVersion: string } {
    const metadata = isRecord(body) ? body.metadata : undefined;
    const items = isRecord(body) ? (body.items ?? []) : undefined;
    if (!isRecord(metadata) || !Array.isArray(items) || typeof metadata.resourceVersion !== "string") {
        throw new KubeError("BAD_ANSWER", `GET ${what}: the answer is no list of objects`);
    }
    for (const item of items) {
        const name: unknown = isRecord(item) && isRecord(item.metadata) ? item.metadata.name : undefined;
        if (typeof name !== "string") throw new KubeError("BAD_ANSWER", `GET ${what}: an item has no metadata.name`);
    }
    const next = typeof metadata.continue === "string" ? metadata.continue : "";
    return { items: items as readonly T[], next, resourceVersion: metadata.resourceVersion };
}
