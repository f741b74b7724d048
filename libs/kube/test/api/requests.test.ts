import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ApiClient, type ApiClientOptions } from "../../src/api/client.ts";
import { annotationsPatch, onlyIf, pointer } from "../../src/api/patches.ts";
import { configMaps, leases, nodes, pathOf, pods } from "../../src/api/resources.ts";
import { type HttpRequest, type HttpResponse } from "../../src/api/transport.ts";
import { KubeError } from "../../src/errors.ts";

interface Answer {
    readonly status: number | undefined;
    readonly headers?: Readonly<Record<string, string | readonly string[]>>;
    readonly body?: string;
    readonly complete?: boolean;
}

function responseOf({ status, headers = {}, body = "", complete = true }: Answer): HttpResponse {
    return {
        statusCode: status,
        headers,
        complete,
        destroy: () => undefined,
        async *[Symbol.asyncIterator]() {
            await Promise.resolve();
            yield Buffer.from(body);
        },
    };
}

/** A client whose requests are kept, and answered in order, the last answer again and again. */
function make(answers: readonly Answer[], options: Partial<ApiClientOptions> = {}) {
    const clock = new ManualClock();
    const requests: HttpRequest[] = [];
    let refusals = 0;
    const api = new ApiClient(
        {
            clock,
            credentials: { connection: () => Promise.resolve({} as never), refused: () => void (refusals += 1) },
            send: (_connection, request) => {
                requests.push(request);
                return Promise.resolve(responseOf(answers[requests.length - 1] ?? answers.at(-1) ?? { status: 500 }));
            },
        },
        { userAgent: "antrea-test/1", ...options },
    );
    return { api, clock, requests, refusals: () => refusals };
}

const ok: Answer = { status: 200, body: JSON.stringify({ metadata: { name: "a" } }) };
const refusal = (status: number, reason: string, headers: Record<string, string> = {}): Answer => ({
    status,
    headers,
    body: JSON.stringify({ kind: "Status", reason, message: `because of ${reason}` }),
});
const timeout = "timeout=30000ms";

describe("what the client asks the API server for", () => {
    const map = { metadata: { namespace: "n", name: "a" }, data: { k: "v" } };
    const typed = { ...map, apiVersion: "v1", kind: "ConfigMap" };
    const ref = { namespace: "n", name: "a" };
    const body = { metadata: { labels: { x: null } } };
    const path = "/api/v1/namespaces/n/configmaps";

    it.each<[string, (api: ApiClient) => Promise<unknown>, Partial<HttpRequest>, unknown]>([
        ["get", (api) => api.get(configMaps, ref), { method: "GET", path: `${path}/a` }, undefined],
        [
            "get of a cluster's object",
            (api) => api.get(nodes, { name: "a b" }),
            { path: "/api/v1/nodes/a%20b" },
            undefined,
        ],
        [
            "create",
            (api) => api.create(configMaps, map),
            { method: "POST", path: `${path}?fieldManager=antrea-test&${timeout}` },
            typed,
        ],
        [
            "create of a cluster's object by another manager",
            (api) => api.create(nodes, { metadata: { name: "a" } }, { fieldManager: "me" }),
            { method: "POST", path: `/api/v1/nodes?fieldManager=me&${timeout}` },
            { metadata: { name: "a" }, apiVersion: "v1", kind: "Node" },
        ],
        [
            "update",
            (api) => api.update(configMaps, map),
            { method: "PUT", path: `${path}/a?fieldManager=antrea-test&${timeout}` },
            typed,
        ],
        [
            "update of a status",
            (api) => api.update(nodes, { metadata: { name: "a" } }, { subresource: "status" }),
            { method: "PUT", path: `/api/v1/nodes/a/status?fieldManager=antrea-test&${timeout}` },
            { metadata: { name: "a" }, apiVersion: "v1", kind: "Node" },
        ],
        [
            "a merge patch",
            (api) => api.patch(configMaps, ref, { type: "merge", body }),
            {
                method: "PATCH",
                path: `${path}/a?fieldManager=antrea-test&${timeout}`,
                contentType: "application/merge-patch+json",
            },
            body,
        ],
        [
            "a strategic patch of a status",
            (api) => api.patch(nodes, { name: "a" }, { type: "strategic", body }, { subresource: "status" }),
            {
                path: `/api/v1/nodes/a/status?fieldManager=antrea-test&${timeout}`,
                contentType: "application/strategic-merge-patch+json",
            },
            body,
        ],
        [
            "a JSON patch",
            (api) =>
                api.patch(configMaps, ref, { type: "json", body: [{ op: "remove", path: pointer("data", "a/b~c") }] }),
            { contentType: "application/json-patch+json" },
            [{ op: "remove", path: "/data/a~1b~0c" }],
        ],
        [
            "server-side apply by force",
            (api) => api.patch(leases, ref, { type: "apply", body }, { force: true }),
            {
                path: `/apis/coordination.k8s.io/v1/namespaces/n/leases/a?fieldManager=antrea-test&force=true&${timeout}`,
                contentType: "application/apply-patch+yaml",
            },
            { ...body, apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
        ],
        [
            "annotations",
            (api) => api.patch(nodes, { name: "a" }, annotationsPatch({ x: "1", y: null })),
            { contentType: "application/merge-patch+json" },
            { metadata: { annotations: { x: "1", y: null } } },
        ],
        [
            "a merge patch of one state of an object",
            (api) =>
                api.patch(nodes, { name: "a" }, onlyIf({ type: "merge", body }, { uid: "7", resourceVersion: "8" })),
            { contentType: "application/merge-patch+json" },
            { metadata: { labels: { x: null }, uid: "7", resourceVersion: "8" } },
        ],
        [
            "a merge patch of a spec, of one version of an object",
            (api) =>
                api.patch(
                    nodes,
                    { name: "a" },
                    onlyIf({ type: "merge", body: { spec: {} } }, { resourceVersion: "8" }),
                ),
            { contentType: "application/merge-patch+json" },
            { spec: {}, metadata: { resourceVersion: "8" } },
        ],
        [
            "delete of one very object",
            (api) => api.delete(pods, ref, { uid: "7", resourceVersion: "8", gracePeriodSeconds: 0 }),
            { method: "DELETE", path: `/api/v1/namespaces/n/pods/a?${timeout}` },
            {
                apiVersion: "v1",
                kind: "DeleteOptions",
                gracePeriodSeconds: 0,
                preconditions: { uid: "7", resourceVersion: "8" },
            },
        ],
    ])("%s", async (_name, call, request, content) => {
        const { api, requests } = make([ok]);
        await call(api);
        expect(requests).toEqual([
            expect.objectContaining({ ...request, userAgent: "antrea-test/1", timeoutMs: 30_000 }),
        ]);
        expect(JSON.parse(requests[0]?.body ?? "null")).toEqual(content ?? null);
    });

    it("a list, of one namespace and by selectors, in pages of the wanted size", async () => {
        const { api, requests } = make([{ status: 200, body: '{"metadata":{"resourceVersion":"5"}}' }]);
        const options = { namespace: "n", fieldSelector: "spec.nodeName=w", labelSelector: "x=y", pageSize: 7 };
        expect(await api.list(pods, options)).toEqual({ items: [], resourceVersion: "5" });
        const query = "limit=7&fieldSelector=spec.nodeName%3Dw&labelSelector=x%3Dy";
        expect(requests.map((request) => request.path)).toEqual([`/api/v1/namespaces/n/pods?${query}`]);
    });

    it("a watch, of one namespace and by selectors, that holds a connection of its own", async () => {
        const { api, requests } = make([{ status: 200 }]);
        const { signal } = new AbortController();
        const options = { resourceVersion: "5", timeoutSeconds: 9, signal };
        await api.watch(pods, { ...options, namespace: "n", fieldSelector: "spec.nodeName=w", labelSelector: "x=y" });
        await api.watch(nodes, options);
        const query = "watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=9";
        expect(requests.map((request) => request.path)).toEqual([
            `/api/v1/namespaces/n/pods?${query}&fieldSelector=spec.nodeName%3Dw&labelSelector=x%3Dy`,
            `/api/v1/nodes?${query}`,
        ]);
        expect(requests[0]).toMatchObject({ method: "GET", stream: true, signal });
    });

    it("a collection of all namespaces has no namespace in its path, nor has a cluster's object", () => {
        expect(pathOf(pods)).toBe("/api/v1/pods");
        expect(pathOf(nodes, { namespace: "n", name: "a" })).toBe("/api/v1/nodes/a");
    });
});

describe("what the client makes of an answer", () => {
    it("gives the object of the answer", async () => {
        const { api } = make([{ ...ok, status: 201 }]);
        expect(await api.create(nodes, { metadata: { name: "x" } })).toEqual({ metadata: { name: "a" } });
        expect(await api.find(nodes, { name: "x" })).toEqual({ metadata: { name: "a" } });
    });

    it("finds nothing where nothing is, and does not take another refusal for that", async () => {
        expect(await make([refusal(404, "NotFound")]).api.find(nodes, { name: "a" })).toBeUndefined();
        const forbidden = make([refusal(403, "Forbidden")]).api.find(nodes, { name: "a" });
        await expect(forbidden).rejects.toMatchObject({ code: "FORBIDDEN", status: 403 });
    });

    it("reports what was asked and what the server answered, also where the answer is no JSON", async () => {
        const conflict = make([refusal(409, "Conflict")]).api.update(nodes, { metadata: { name: "a" } });
        await expect(conflict).rejects.toThrow(
            "PUT /api/v1/nodes/a?fieldManager=antrea-test: the API server answered 409 Conflict: because of Conflict",
        );
        const proxy = make([{ status: 502, body: "<html>" }]).api.get(nodes, { name: "a" });
        await expect(proxy).rejects.toMatchObject({ code: "SERVER_ERROR", status: 502, outcomeUnknown: false });
        const headless = make([{ status: undefined }]).api.get(nodes, { name: "a" });
        await expect(headless).rejects.toMatchObject({ code: "BAD_REQUEST", status: 0 });
    });

    it.each([199, 300])("takes status %i for no success", async (status) => {
        await expect(make([{ ...ok, status }]).api.get(nodes, { name: "a" })).rejects.toMatchObject({ status });
    });

    it("has the credentials read again after 401, and after nothing else", async () => {
        const { api, refusals } = make([refusal(403, "Forbidden"), refusal(401, "Unauthorized")]);
        await expect(api.get(nodes, { name: "a" })).rejects.toMatchObject({ code: "FORBIDDEN" });
        expect(refusals()).toBe(0);
        await expect(api.get(nodes, { name: "a" })).rejects.toMatchObject({ code: "UNAUTHORIZED" });
        expect(refusals()).toBe(1);
    });

    it("knows since when the server refuses its credentials, until an answer shows that it knows them", async () => {
        const { api, clock } = make([
            refusal(401, "Unauthorized"),
            { status: undefined },
            refusal(401, "Unauthorized"),
            refusal(500, "InternalError"),
            ok,
        ]);
        const get = (): Promise<unknown> => api.get(nodes, { name: "a" }).catch(() => undefined);
        expect(api.refusedSince).toBeUndefined();
        const since = clock.monotonic();
        await get();
        for (let turn = 0; turn < 3; turn += 1) {
            expect(api.refusedSince).toBe(since);
            await clock.advance(1_000);
            await get();
        }
        expect(api.refusedSince).toBe(since);
        await get();
        expect(api.refusedSince).toBeUndefined();
    });

    it.each([403, 404, 409, 410, 422])(
        "takes %i for the answer of a server that knows its credentials",
        async (status) => {
            const { api } = make([refusal(401, "Unauthorized"), refusal(status, "")]);
            for (let turn = 0; turn < 2; turn += 1) await api.get(nodes, { name: "a" }).catch(() => undefined);
            expect(api.refusedSince).toBeUndefined();
        },
    );

    it("hears from a watch, too, that its credentials are refused", async () => {
        const { api } = make([refusal(401, "Unauthorized"), ok]);
        const options = { resourceVersion: "5", timeoutSeconds: 9, signal: new AbortController().signal };
        await expect(api.watch(nodes, options)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
        expect(api.refusedSince).toBeDefined();
        await api.watch(nodes, options);
        expect(api.refusedSince).toBeUndefined();
    });

    it("opens no watch that the server refuses", async () => {
        const { api, refusals } = make([refusal(410, "Expired"), refusal(401, "Unauthorized")]);
        const options = { resourceVersion: "5", timeoutSeconds: 9, signal: new AbortController().signal };
        const watch = api.watch(nodes, options);
        await expect(watch).rejects.toMatchObject({ code: "EXPIRED", outcomeUnknown: false });
        await expect(watch).rejects.toThrow("GET /api/v1/nodes?watch=true");
        await expect(api.watch(nodes, options)).rejects.toMatchObject({ code: "UNAUTHORIZED" });
        expect(refusals()).toBe(1);
    });

    it.each<[string, Answer, Partial<ApiClientOptions>, string]>([
        ["is no JSON", { status: 200, body: "<html>" }, {}, "BAD_ANSWER"],
        ["ends too early", { ...ok, complete: false }, {}, "CONNECTION_FAILED"],
        ["is longer than the limit", { status: 200, body: '"1234"' }, { maxBodyBytes: 5 }, "TOO_LARGE"],
    ])("a write whose answer %s may have taken effect; a read has none", async (_name, answer, options, code) => {
        const { api } = make([answer], options);
        const write = api.create(nodes, { metadata: { name: "a" } });
        await expect(write).rejects.toMatchObject({ code, outcomeUnknown: true });
        await expect(api.get(nodes, { name: "a" })).rejects.toMatchObject({ code, outcomeUnknown: false });
    });

    it("takes an answer that is just as long as the limit", async () => {
        const { api } = make([{ status: 200, body: '"123"' }], { maxBodyBytes: 5 });
        expect(await api.request({ method: "GET", path: "/version" })).toBe("123");
    });

    it.each([
        ["no object", null],
        ["no metadata", { items: [] }],
        ["no version", { metadata: {}, items: [] }],
        ["items that are no list", { metadata: { resourceVersion: "1" }, items: {} }],
        ["an item that is no object", { metadata: { resourceVersion: "1" }, items: [7] }],
        ["an item without metadata", { metadata: { resourceVersion: "1" }, items: [{}] }],
        ["an item whose name is no text", { metadata: { resourceVersion: "1" }, items: [{ metadata: { name: 7 } }] }],
    ])("a list with %s is BAD_ANSWER and names the request", async (_name, list) => {
        const listed = make([{ status: 200, body: JSON.stringify(list) }]).api.list(nodes);
        await expect(listed).rejects.toMatchObject({
            code: "BAD_ANSWER",
            message: expect.stringMatching(/^GET \/api\/v1\/nodes\?limit=500: /),
        });
    });

    it("needs no more pages than the reader wants", async () => {
        const page = { metadata: { resourceVersion: "5", continue: "t" }, items: [{ metadata: { name: "a" } }] };
        const { api, requests } = make([{ status: 200, body: JSON.stringify(page) }]);
        for await (const { items } of api.pages(nodes)) {
            expect(items).toHaveLength(1);
            if (requests.length === 2) break;
        }
        expect(requests.map((request) => request.path)).toEqual([
            "/api/v1/nodes?limit=500",
            "/api/v1/nodes?limit=500&continue=t",
        ]);
    });
});

describe("when the client repeats a request", () => {
    const get = async (api: ApiClient, timeoutMs?: number): Promise<unknown> =>
        api.get(nodes, { name: "a" }, { timeoutMs });
    const create = async (api: ApiClient): Promise<unknown> => api.create(nodes, { metadata: { name: "a" } });

    it.each<[number, string, "read" | "write", number]>([
        [429, "TooManyRequests", "read", 2],
        [429, "TooManyRequests", "write", 2],
        [503, "ServiceUnavailable", "read", 2],
        [503, "ServiceUnavailable", "write", 1],
        [504, "Timeout", "read", 2],
        [504, "Timeout", "write", 1],
        [500, "InternalError", "read", 1],
        [409, "Conflict", "write", 1],
    ])("after %i %s with a time to wait: a %s asks %i times", async (status, reason, kind, times) => {
        const { api, clock, requests } = make([refusal(status, reason, { "retry-after": "2" }), ok]);
        const result = kind === "read" ? get(api) : create(api);
        result.catch(() => undefined);
        await clock.advance(1_999);
        expect(requests).toHaveLength(1);
        await clock.advance(1);
        expect(requests).toHaveLength(times);
        if (times === 2) await result;
        else await expect(result).rejects.toMatchObject({ status });
    });

    it("not when the server names no time", async () => {
        const { api, clock, requests } = make([refusal(429, "TooManyRequests"), ok]);
        const result = get(api);
        await expect(result).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS", retryAfterMs: undefined });
        await clock.advance(60_000);
        expect(requests).toHaveLength(1);
    });

    it("ten times at most, a tenth of a second apart when the server does not mind", async () => {
        const { api, clock, requests } = make([refusal(429, "TooManyRequests", { "retry-after": "0" })]);
        const result = get(api);
        result.catch(() => undefined);
        await clock.advance(99);
        expect(requests).toHaveLength(1);
        await clock.advance(1);
        expect(requests).toHaveLength(2);
        await clock.advance(10_000);
        expect(requests).toHaveLength(10);
        await expect(result).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS" });
    });

    it("only within the time of the call, of which each request has what is left", async () => {
        const { api, clock, requests } = make([refusal(429, "TooManyRequests", { "retry-after": "1" })]);
        const result = get(api, 2_500);
        result.catch(() => undefined);
        await clock.advance(10_000);
        await expect(result).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS" });
        expect(requests.map((request) => request.timeoutMs)).toEqual([2_500, 1_500, 500]);
    });

    it("not when the wait would end just with the time of the call", async () => {
        const { api, clock, requests } = make([refusal(429, "TooManyRequests", { "retry-after": "1" })]);
        await expect(get(api, 1_000)).rejects.toMatchObject({ code: "TOO_MANY_REQUESTS" });
        await clock.advance(10_000);
        expect(requests).toHaveLength(1);
    });

    it("not after the caller gave up", async () => {
        const { api, clock, requests } = make([refusal(429, "TooManyRequests", { "retry-after": "9" }), ok]);
        const stop = new AbortController();
        const result = api.get(nodes, { name: "a" }, { signal: stop.signal });
        const failed = Promise.all([
            expect(result).rejects.toBeInstanceOf(KubeError),
            expect(result).rejects.toMatchObject({
                code: "ABORTED",
                message: "GET /api/v1/nodes/a was aborted",
            }),
        ]);
        await clock.advance(1_000);
        stop.abort(new KubeError("ABORTED", "made up"));
        await failed;
        await clock.advance(60_000);
        expect(requests).toHaveLength(1);
        expect(clock.pending).toBe(0);
    });

    it("waits until the date that the server names", async () => {
        const date = new Date(new ManualClock().now() + 5_000).toUTCString();
        const { api, clock, requests } = make([refusal(503, "ServiceUnavailable", { "retry-after": date }), ok]);
        const result = get(api);
        await clock.advance(4_999);
        expect(requests).toHaveLength(1);
        await clock.advance(1);
        await result;
        expect(requests).toHaveLength(2);
    });
});
