import { sleep, systemClock, type Clock } from "@antrea/async";
import { isKubeError, KubeError, throwIfAborted } from "../errors.ts";
import {
    type CallOptions,
    type DeleteOptions,
    type ListOptions,
    type ListResult,
    type ReducedListOptions,
    type WatchOptions,
    type WriteOptions,
} from "./call-options.ts";
import { type Credentials } from "./credentials.ts";
import { patchContentTypes, type Patch } from "./patches.ts";
import { apiVersionOf, pathOf, type ObjectRef, type Resource } from "./resources.ts";
import { parseRetryAfter } from "./retry-after.ts";
import { isRecord, statusError } from "./status.ts";
import { readBody, send, type HttpRequest, type HttpResponse, type Send } from "./transport.ts";
import { type KubeObject } from "./types.ts";

/**
 * Value of `accept` of `request` for a list whose items contain only the metadata of the objects
 * (PartialObjectMetadataList).
 */
export const metadataOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/** Options of ApiClient: user agent and limit of answers. */
export interface ApiClientOptions {
    /** User-Agent header; the part before "/" is the default field manager. */
    readonly userAgent: string;
    /** Longest answer that is read, in bytes. Default 128 MiB. */
    readonly maxBodyBytes?: number | undefined;
}

/** Dependencies of ApiClient: credentials, which it does not close, clock and transport. */
export interface ApiClientComponents {
    readonly credentials: Pick<Credentials, "connection" | "refused">;
    /**
     * For retries and `refusedSince`. Default: `systemClock`. Limits of requests are always measured by the operating
     * system's timers.
     */
    readonly clock?: Clock;
    /** Sends the requests. Default: HTTP/1.1. */
    readonly send?: Send;
}

/**
 * Client of the Kubernetes API server. Every method rejects with KubeError, whose code is the server's reason, or
 * `TIMEOUT`, `CONNECTION_FAILED`, `BAD_ANSWER`, `TOO_LARGE`, `BAD_CONFIG` or `ABORTED`. Safe for concurrent use. All
 * requests but `watch` are retried as `request` describes. It has nothing to close: its credentials own the
 * connections.
 */
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
     * Monotonic time (ms) of the first of the 401 answers since the last answer that proves that the credentials were
     * accepted; undefined if there was none. Watches opened before may continue all the same.
     */
    get refusedSince(): number | undefined {
        return this.#refusedSince;
    }

    /**
     * Reads one object from the server; its type is not checked. Rejects with NOT_FOUND if it does not exist, or if the
     * server does not serve the kind.
     */
    async get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, o: CallOptions = {}): Promise<T> {
        return (await this.request({ method: "GET", path: pathOf(resource, ref) }, o)) as T;
    }

    /** Like `get`, but resolves with undefined instead of rejecting with NOT_FOUND. */
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

    /**
     * Lists all objects at one resourceVersion, read in pages. The request sets no resourceVersion, so the answer is at
     * least as new as any earlier one. Rejects with EXPIRED if the server drops that version before the last page.
     */
    async list<T extends KubeObject>(resource: Resource<T>, o: ReducedListOptions<T> = {}): Promise<ListResult<T>> {
        const { transform = (item: T): T | undefined => item } = o;
        const items: T[] = [];
        let resourceVersion = "";
        for await (const page of this.pages(resource, o)) {
            for (const item of page.items) {
                const kept = transform(item);
                if (kept !== undefined) items.push(kept);
            }
            resourceVersion = page.resourceVersion;
        }
        return { items, resourceVersion };
    }

    /**
     * Like `list`, but yields the pages one by one, for a reader that does not hold all objects or stops early; pages
     * before a rejection are valid.
     */
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

    /**
     * Creates an object and returns it as stored; `apiVersion` and `kind` are set from the resource. Rejects with
     * ALREADY_EXISTS.
     */
    async create<T extends KubeObject>(resource: Resource<T>, object: T, o: WriteOptions = {}): Promise<T> {
        const path = `${listPath(resource, object.metadata?.namespace)}?${this.#writeQuery(o)}`;
        const body = JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
        return (await this.request({ method: "POST", path, body }, o)) as T;
    }

    /**
     * Replaces an object and returns it as stored. Rejects with CONFLICT if its `metadata.resourceVersion`, when set,
     * is not the current one, and with NOT_FOUND.
     */
    async update<T extends KubeObject>(resource: Resource<T>, object: T, o: WriteOptions = {}): Promise<T> {
        const ref = { name: object.metadata?.name ?? "", ...namespaceOf(object) };
        const path = `${pathOf(resource, ref, o.subresource)}?${this.#writeQuery(o)}`;
        const body = JSON.stringify({ ...object, apiVersion: apiVersionOf(resource), kind: resource.kind });
        return (await this.request({ method: "PUT", path, body }, o)) as T;
    }

    /**
     * Applies a patch to one object and returns it as stored. Rejects with NOT_FOUND, except of type `apply`, and with
     * CONFLICT or INVALID as described at {@link Patch}.
     */
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

    /**
     * Deletes an object; resolves when the server has accepted the request, which may be before the object is gone.
     * Rejects with NOT_FOUND, or CONFLICT if a precondition fails.
     */
    async delete<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, o: DeleteOptions = {}): Promise<void> {
        const body = JSON.stringify({
            apiVersion: "v1",
            kind: "DeleteOptions",
            gracePeriodSeconds: o.gracePeriodSeconds,
            preconditions: { uid: o.uid, resourceVersion: o.resourceVersion },
        });
        await this.request({ method: "DELETE", path: pathOf(resource, ref), body }, o);
    }

    /**
     * Opens a watch with bookmarks and resolves with the head of the answer; the body, one JSON event per line, is to
     * be read by the caller, who ends it by the signal or `destroy`. Rejects if the status is not 200, and with TIMEOUT
     * after 30 s without an answer.
     */
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
     * Sends one request and returns the decoded JSON of the answer, unchecked. It is retried up to nine times after the
     * time in Retry-After (at least 100 ms) on status 429, and a GET on 503 and 504 too, if the limit of the call
     * allows.
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
                // It rejects only when the signal aborts.
                await sleep(waitMs, o.signal, this.#clock).catch(() => undefined);
                throwIfAborted(o.signal, `${request.method} ${request.path}`);
            }
        }
    }

    async #once(
        request: Pick<HttpRequest, "method" | "path" | "body" | "contentType" | "accept">,
        timeoutMs: number,
        signal: AbortSignal | undefined,
    ): Promise<unknown> {
        const write = request.method !== "GET";
        // With the timeout, the server stops working on a write whose client has given up.
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
            // The status line reported that the write was done; only its result is lost.
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
        return statusError(what, status, decoded, { write, retryAfterMs });
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

/**
 * True if only a server that accepted the credentials answers with this status; 429 and 5xx may precede authentication.
 */
function isAuthenticated(status: number): boolean {
    return (status >= 200 && status < 400) || [403, 404, 409, 410, 422].includes(status);
}

function repeatAfterMs(error: unknown, method: string, attempt: number): number | undefined {
    if (!(error instanceof KubeError) || error.retryAfterMs === undefined || attempt >= 10) return undefined;
    // 429 is sent before any work is done, so a write may be retried too.
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
