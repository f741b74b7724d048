import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { MemoryLog } from "@antrea/runtime/testing";
import {
    EventRecorder,
    Informer,
    LeaderElection,
    TokenReviewAuthorizer,
    annotationsPatch,
    configMaps,
    createKubeClients,
    events,
    leases,
    metadataOnly,
    namespaces,
    nodes,
    onlyIf,
    pathOf,
    pods,
    referenceTo,
    type ApiClient,
    type Node,
} from "../src/index.ts";
import { splitLines } from "../src/api/lines.ts";
import { decodeWatchEvent } from "../src/informer/watch-events.ts";
import { TestApiServer, eventually } from "../src/testing/index.ts";

describe("against etcd and kube-apiserver", () => {
    const { logger } = new MemoryLog();
    let server: TestApiServer;
    let api: ApiClient;

    beforeAll(async () => {
        server = await TestApiServer.start({ authorization: "RBAC", users: ["nobody"] });
        ({ api } = server.clients());
    });
    afterAll(() => server.stop());

    describe("ApiClient", () => {
        it("creates, reads, changes and deletes", async () => {
            const metadata = { namespace: "default", name: "crud" };
            const created = await api.create(configMaps, { metadata, data: { a: "1" } });
            await expect(api.create(configMaps, { metadata })).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
            const { resourceVersion = "" } = created.metadata ?? {};
            const merged = await api.patch(configMaps, metadata, annotationsPatch({ "antrea.io/x": "y" }));
            expect(merged.metadata?.annotations).toEqual({ "antrea.io/x": "y" });
            await expect(api.update(configMaps, created)).rejects.toMatchObject({ code: "CONFLICT" });
            const stale = onlyIf({ type: "merge", body: { data: { a: "2" } } }, { resourceVersion });
            await expect(api.patch(configMaps, metadata, stale)).rejects.toMatchObject({ code: "CONFLICT" });
            const test = { type: "json", body: [{ op: "test", path: "/data/a", value: "9" }] } as const;
            await expect(api.patch(configMaps, metadata, test)).rejects.toMatchObject({ code: "INVALID" });
            const applied = { type: "apply", body: { metadata: { name: "crud" }, data: { b: "2" } } } as const;
            await api.patch(configMaps, metadata, applied);
            expect((await api.get(configMaps, metadata)).data).toEqual({ a: "1", b: "2" });
            await expect(api.delete(configMaps, metadata, { uid: "other" })).rejects.toMatchObject({
                code: "CONFLICT",
            });
            await api.delete(configMaps, metadata);
            expect(await api.find(configMaps, metadata)).toBeUndefined();
        });

        it("patches the annotations and the status of a Node", async () => {
            await server.addNode("patched", { internalIps: ["192.0.2.1"] });
            const ref = { name: "patched" };
            await api.patch(nodes, ref, annotationsPatch({ "node.antrea.io/mac-address": "02:00:00:00:00:01" }));
            const conditions = [{ type: "NetworkUnavailable", status: "False", reason: "AntreaIsUp" }];
            const patch = { type: "strategic", body: { status: { conditions } } } as const;
            const node = await api.patch(nodes, ref, patch, { subresource: "status" });
            expect(node.metadata?.annotations).toEqual({ "node.antrea.io/mac-address": "02:00:00:00:00:01" });
            expect(node.status?.addresses).toEqual([{ type: "InternalIP", address: "192.0.2.1" }]);
            expect(node.status?.conditions).toMatchObject(conditions);
        });

        it("reads the metadata of objects alone", async () => {
            await server.addNamespace("metadata");
            for (const name of ["a", "b", "c"]) {
                await api.create(configMaps, { metadata: { namespace: "metadata", name }, data: { large: "x" } });
            }
            const path = `${pathOf(configMaps, { namespace: "metadata" })}?limit=2`;
            const list = (await api.request({ method: "GET", path, accept: metadataOnly })) as {
                readonly items: readonly object[];
            };
            expect(list).toMatchObject({
                metadata: { remainingItemCount: 1 },
                items: [{ metadata: { name: "a", uid: expect.any(String) } }, { metadata: { name: "b" } }],
            });
            expect(list.items.every((item) => !("data" in item))).toBe(true);
        });

        it("lists in pages as of one moment", async () => {
            await server.addNamespace("paged");
            const names = Array.from({ length: 23 }, (_, index) => `cm-${String(index).padStart(2, "0")}`);
            for (const name of names) await api.create(configMaps, { metadata: { namespace: "paged", name } });
            const { items, resourceVersion } = await api.list(configMaps, { namespace: "paged", pageSize: 5 });
            expect(items.map((item) => item.metadata?.name)).toEqual(names);
            expect(Number(resourceVersion)).toBeGreaterThan(0);
        });

        it.each([
            ["who may not", "FORBIDDEN", (): ApiClient => server.clients("nobody").api, undefined],
            ["an aborted call", "ABORTED", (): ApiClient => api, AbortSignal.abort()],
        ] as const)("reports %s", async (_name, code, client, signal) => {
            await expect(client().list(nodes, { signal })).rejects.toMatchObject({ code });
        });

        it("reports that the outcome of a write without answer is not known", async () => {
            const silent = createServer(() => undefined);
            await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
            const { port } = silent.address() as { port: number };
            using clients = createKubeClients({
                kubeconfig: server.kubeconfig(),
                apiServerOverride: `127.0.0.1:${port}`,
                userAgent: "test/0",
            });
            const write = clients.api.create(namespaces, { metadata: { name: "x" } }, { timeoutMs: 200 });
            await expect(write).rejects.toMatchObject({ code: "TIMEOUT", outcomeUnknown: true });
            const read = clients.api.get(namespaces, { name: "x" }, { timeoutMs: 200 });
            await expect(read).rejects.toMatchObject({ code: "TIMEOUT", outcomeUnknown: false });
            silent.close();
        });

        it.each([
            ["a file that is not there", { kubeconfig: "/nonexistent" }, /cannot read kubeconfig \/nonexistent/],
            ["no Pod and no kubeconfig", {}, /give a kubeconfig/],
            ["an override that is no address", { apiServerOverride: "ftp://x" }, /"ftp:\/\/x" is no host:port/],
        ])("refuses %s", (_name, options, message) => {
            const kubeconfig = _name.startsWith("an override") ? { kubeconfig: server.kubeconfig() } : {};
            const act = () => createKubeClients({ userAgent: "test/0", ...kubeconfig, ...options });
            expect(act).toThrow(
                expect.objectContaining({ code: "BAD_CONFIG", message: expect.stringMatching(message) }),
            );
        });
    });

    describe("Informer", () => {
        function follow(options: { readonly idleTimeoutMs?: number; readonly pageSize?: number } = {}) {
            const changes: string[] = [];
            const informer = new Informer<Node>({ api, logger }, { resource: nodes, maxBackoffMs: 500, ...options });
            informer.onChange((type, key) => changes.push(`${type} ${key}`));
            informer.start(new AbortController().signal);
            return { informer, changes };
        }

        it("survives an outage of the API server and reports what changed", async () => {
            await server.addNode("kept");
            await server.addNode("removed");
            const { informer, changes } = follow({ pageSize: 1 });
            await using _informer = informer;
            await informer.synced();
            expect(changes).toEqual(expect.arrayContaining(["added kept", "added removed"]));
            changes.length = 0;
            await server.restart();
            await server.deleteNode("removed");
            await server.addNode("new");
            await eventually(() => changes.includes("added new"));
            expect(changes).toEqual(["deleted removed", "added new"]);
            expect(informer.get("kept")?.metadata?.managedFields).toBeUndefined();
        });

        it("understands how the API server reports that a version is too old", async () => {
            await server.restart();
            await server.addNode("later");
            const { signal } = new AbortController();
            const response = await api.watch(nodes, { resourceVersion: "1", timeoutSeconds: 5, signal });
            const read = async (): Promise<void> => {
                for await (const line of splitLines(response, 1 << 20)) decodeWatchEvent(line, "watch of nodes");
            };
            await expect(read()).rejects.toMatchObject({ code: "EXPIRED" });
        });

        it("notices a connection that is open and dead", async () => {
            const { informer, changes } = follow({ idleTimeoutMs: 500 });
            await using _informer = informer;
            await informer.synced();
            server.pause();
            await eventually(() => informer.state.kind === "waiting" && informer.state.lastError.code === "TIMEOUT");
            server.resume();
            await server.addNode("after-pause");
            await eventually(() => changes.includes("added after-pause"));
        });

        it("follows the Pods of one Node", async () => {
            const fieldSelector = "spec.nodeName=one";
            await using informer = new Informer({ api, logger }, { resource: pods, fieldSelector });
            informer.start(new AbortController().signal);
            await informer.synced();
            const pod = (name: string, nodeName: string) => ({
                metadata: { namespace: "default", name },
                spec: { nodeName, containers: [{ name: "c", image: "i" }] },
            });
            await api.create(pods, pod("theirs", "two"));
            await api.create(pods, pod("mine", "one"));
            await eventually(() => informer.get("default/mine"));
            expect(informer.list()).toHaveLength(1);
            await api.delete(pods, { namespace: "default", name: "mine" }, { gracePeriodSeconds: 0 });
            await eventually(() => informer.get("default/mine") === undefined);
        });
    });

    it("LeaderElection: one leads; after its release the other does", async () => {
        // The lease outlasts the test: only its release lets the other lead.
        const durations = { leaseDurationMs: 600_000, renewDeadlineMs: 500_000, retryPeriodMs: 200 };
        const leading: string[] = [];
        const candidates = ["a", "b"].map((identity) => {
            const stop = new AbortController();
            const options = { namespace: "default", name: "leader", identity, ...durations };
            const run = new LeaderElection({ api, logger }, options).run(stop.signal, async (signal) => {
                leading.push(identity);
                await new Promise((resolve) => signal.addEventListener("abort", resolve));
                leading.splice(leading.indexOf(identity), 1);
            });
            return { identity, stop, run };
        });
        await eventually(() => leading.length === 1);
        const first = leading[0];
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        expect(leading).toEqual([first]);
        const lease = await api.get(leases, { namespace: "default", name: "leader" });
        expect(lease.spec).toMatchObject({ holderIdentity: first, leaseDurationSeconds: 600 });
        candidates.find(({ identity }) => identity === first)?.stop.abort();
        await eventually(() => leading.length === 1 && leading[0] !== first);
        for (const { stop, run } of candidates) {
            stop.abort();
            await run;
        }
    });

    it("EventRecorder: events of Nodes and Pods are accepted, repetitions become a series", async () => {
        const node = await server.addNode("eventful");
        const recorder = new EventRecorder(
            { api, logger },
            { reportingController: "antrea-test", reportingInstance: "pod-1", seriesWriteMs: 100 },
        );
        recorder.start(new AbortController().signal);
        const input = { type: "Warning", reason: "Tested", action: "Test", note: "look" } as const;
        const regarding = referenceTo(nodes, node);
        recorder.record({ ...input, regarding });
        const pod = { apiVersion: "v1", kind: "Pod", name: "p", namespace: "kube-system" };
        recorder.record({ ...input, regarding: pod });
        const found = await eventually(async () => {
            const { items } = await api.list(events, { fieldSelector: "reason=Tested" });
            return items.length === 2 && items;
        });
        expect(found.map((event) => event.metadata?.namespace).sort()).toEqual(["default", "kube-system"]);
        recorder.record({ ...input, regarding });
        recorder.record({ ...input, regarding });
        await eventually(async () => {
            const { items } = await api.list(events, { namespace: "default", fieldSelector: "reason=Tested" });
            return items.length === 1 && items[0]?.series?.count === 3;
        });
        await recorder.close();
        expect(recorder.dropped).toBe(0);
    });

    it("TokenReviewAuthorizer: asks who it is and what it may", async () => {
        const authorizer = new TokenReviewAuthorizer({ api }, { path: "/metrics" });
        expect(await authorizer.authorize("token-admin")).toBe(true);
        expect(await authorizer.authorize("token-nobody")).toBe(false);
        expect(await authorizer.authorize("token-unknown")).toBe(false);
        expect(await new TokenReviewAuthorizer({ api }).authorize("token-nobody")).toBe(true);
    });
});

describe("TestApiServer", () => {
    it("reports how to get programs that are missing", async () => {
        const { programPath } = await import("../src/testing/programs.ts");
        expect(() => programPath("etcd", "/nonexistent")).toThrow(/run tools\/cluster\/build-programs.sh/);
    });
});
