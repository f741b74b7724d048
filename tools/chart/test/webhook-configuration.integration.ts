import { createServer, type Server } from "node:https";
import { type AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ipPools, podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import {
    deployments,
    namespaces,
    pods,
    statefulSets,
    validatingWebhookConfigurations,
    type ApiClient,
    type Resource,
    type KubeObject,
} from "@antrea/kube";
import { eventually, TestApiServer } from "@antrea/kube/testing";
import { createSelfSigned } from "@antrea/runtime";
import { outcome } from "./outcome.ts";
import { chart, named, render, required, run } from "./render.ts";

const ipam = ["--set", "featureGates.AntreaIPAM=true"];
const namespace = "default";
const pool = { [poolsAnnotation]: "pool1" };
const range = { cidr: "10.2.0.0/24", gateway: "10.2.0.1", prefixLength: 24 };

/**
 * A webhook that allows everything and writes down what it was asked. An API server may ask twice about one change, when
 * it finds that it looked at an old state of the object: told once.
 */
class Recorder implements Disposable {
    readonly asked: string[] = [];
    readonly #server: Server;
    #last = "";

    private constructor(server: Server) {
        this.#server = server;
    }

    static async start(certificate: { readonly cert: string; readonly key: string }): Promise<Recorder> {
        const server = createServer(certificate);
        const recorder = new Recorder(server);
        server.on("request", (request, response) => {
            let text = "";
            request.on("data", (chunk: Buffer) => (text += chunk.toString()));
            request.on("end", () => {
                const review = JSON.parse(text) as {
                    readonly request: {
                        readonly uid: string;
                        readonly operation: string;
                        readonly resource: { readonly resource: string };
                        readonly subResource?: string;
                        readonly name?: string;
                        readonly object?: KubeObject & { readonly spec?: unknown };
                    };
                };
                const { uid, operation, resource, subResource, name, object } = review.request;
                const what = [resource.resource, ...(subResource === undefined ? [] : [subResource])].join("/");
                const asked = `${request.url?.split("?")[0]} ${operation} ${what}`;
                const { annotations, labels } = object?.metadata ?? {};
                const change = JSON.stringify([asked, name, annotations, labels, object?.spec]);
                if (change !== recorder.#last) recorder.asked.push(asked);
                recorder.#last = change;
                response.end(JSON.stringify({ ...review, response: { uid, allowed: true } }));
            });
        });
        const { promise, resolve } = Promise.withResolvers<void>();
        server.listen(0, "127.0.0.1", resolve);
        await promise;
        return recorder;
    }

    get url(): string {
        return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    }

    [Symbol.dispose](): void {
        this.#server.closeAllConnections();
        this.#server.close();
    }
}

describe("what the webhook is asked", () => {
    let server: TestApiServer;
    let api: ApiClient;
    let recorder: Recorder;
    let count = 0;

    const some = (): string => `one-${(count += 1)}`;
    const spec = { containers: [{ name: "main", image: "antrea" }], serviceAccountName: "default" };
    const workload = (name: string, annotations: object, replicas: number): KubeObject =>
        ({
            metadata: { namespace, name },
            spec: {
                replicas,
                selector: { matchLabels: { app: name } },
                template: { metadata: { labels: { app: name }, annotations }, spec },
            },
        }) as KubeObject;
    const merge = (
        body: Record<string, unknown>,
    ): { readonly type: "merge"; readonly body: Record<string, unknown> } => ({ type: "merge", body });

    beforeAll(async () => {
        const certificate = createSelfSigned({
            commonName: "recorder",
            names: ["127.0.0.1"],
            notBeforeMs: Date.now() - 60_000,
            validMs: 3_600_000,
        });
        recorder = await Recorder.start(certificate);
        server = await TestApiServer.start();
        api = server.clients().api;
        const manifests = await render(...ipam);
        const configuration = named(manifests, "ValidatingWebhookConfiguration", "antrea");
        const caBundle = Buffer.from(certificate.cert).toString("base64");
        const webhooks = configuration.webhooks?.map((one) => {
            const { service } = one.clientConfig as { readonly service: { readonly path: string } };
            return { ...one, clientConfig: { url: `${recorder.url}${service.path}`, caBundle } };
        });
        await server.apply([
            named(manifests, "CustomResourceDefinition", "ippools.crd.antrea.io"),
            { ...configuration, webhooks } as KubeObject,
        ]);
        const asked = async (): Promise<boolean> => {
            await api.create(pods, { metadata: { namespace, name: some(), annotations: pool }, spec });
            return recorder.asked.length > 0;
        };
        await eventually(asked, { what: "webhooks in force" });
    });
    beforeEach(() => {
        recorder.asked.splice(0);
    });
    afterAll(async () => {
        recorder[Symbol.dispose]();
        await server.stop();
    });

    it("is each change of the spec of a pool, and of nothing else of it", async () => {
        const metadata = { name: some() };
        await api.create(ipPools, { metadata, spec: { ipVersion: 4, ipRanges: [range] } });
        await api.patch(ipPools, metadata, merge({ metadata: { labels: { a: "b" } } }));
        await api.patch(ipPools, metadata, merge({ status: { freeBlocks: ["10.2.0.0/24"] } }), {
            subresource: "status",
        });
        expect(recorder.asked).toEqual(["/validate/ippool CREATE ippools"]);
        await api.patch(ipPools, metadata, merge({ spec: { ipRanges: [{ ...range, vlan: 7 }] } }));
        await api.delete(ipPools, metadata);
        expect(recorder.asked.slice(1)).toEqual(["/validate/ippool UPDATE ippools", "/validate/ippool DELETE ippools"]);
    });

    it.each([[poolsAnnotation], [podIpsAnnotation]])(
        "is the creation of a Pod with %s, and no change of it",
        async (key) => {
            const metadata = { namespace, name: some() };
            await api.create(pods, { metadata: { ...metadata, annotations: { [key]: "x" } }, spec });
            expect(recorder.asked).toEqual(["/validate/workload CREATE pods"]);
            await api.patch(pods, metadata, merge({ metadata: { labels: { a: "b" } } }));
            await api.patch(pods, metadata, merge({ status: { phase: "Running" } }), { subresource: "status" });
            await api.delete(pods, metadata);
            expect(recorder.asked).toHaveLength(1);
        },
    );

    it("is no Pod, template or Namespace without the annotations", async () => {
        const name = some();
        await api.create(pods, { metadata: { namespace, name, annotations: { other: "x" } }, spec });
        await api.create(pods, { metadata: { namespace, name: some() }, spec });
        for (const resource of [deployments, statefulSets] as readonly Resource<KubeObject>[]) {
            await api.create(resource, workload(name, { other: "x" }, 1));
            await api.patch(resource, { namespace, name }, merge({ spec: { replicas: 3 } }));
            await api.delete(resource, { namespace, name });
        }
        await api.create(namespaces, { metadata: { name } });
        await api.patch(namespaces, { name }, merge({ metadata: { annotations: { other: "x" } } }));
        expect(recorder.asked).toEqual([]);
    });

    it("is each Namespace that gets, changes or loses the annotation", async () => {
        const name = some();
        await api.create(namespaces, { metadata: { name } });
        await api.patch(namespaces, { name }, merge({ metadata: { annotations: pool } }));
        await api.patch(namespaces, { name }, merge({ metadata: { annotations: { [poolsAnnotation]: "pool2" } } }));
        await api.patch(namespaces, { name }, merge({ metadata: { labels: { a: "b" } } }));
        await api.patch(namespaces, { name }, merge({ metadata: { annotations: { [poolsAnnotation]: null } } }));
        await api.create(namespaces, { metadata: { name: some(), annotations: pool } });
        await api.delete(namespaces, { name });
        expect(recorder.asked).toEqual([
            ...Array.from({ length: 3 }, () => "/validate/workload UPDATE namespaces"),
            "/validate/workload CREATE namespaces",
        ]);
    });

    it.each([
        ["deployments", deployments],
        ["statefulsets", statefulSets],
    ] as readonly [string, Resource<KubeObject>][])(
        "is each annotated template of %s, when it may mean something else",
        async (plural, resource) => {
            const ref = { namespace, name: some() };
            await api.create(resource, workload(ref.name, pool, 1));
            await api.patch(
                resource,
                ref,
                merge({ metadata: { annotations: { "deployment.kubernetes.io/revision": "2" } } }),
            );
            await api.patch(resource, ref, merge({ status: { observedGeneration: 1 } }), { subresource: "status" });
            await api.patch(resource, ref, merge({ spec: { replicas: 2 } }));
            await api.delete(resource, ref);
            expect(recorder.asked).toEqual([
                `/validate/workload CREATE ${plural}`,
                `/validate/workload UPDATE ${plural}`,
            ]);
        },
    );

    it.each([
        ["deployments", deployments],
        ["statefulsets", statefulSets],
    ] as readonly [string, Resource<KubeObject>][])(
        "is each scale-up of %s to a second Pod or more",
        async (plural, resource) => {
            const ref = { namespace, name: some() };
            await api.create(resource, workload(ref.name, {}, 0));
            const scale = (replicas: number): Promise<unknown> =>
                api.patch(resource, ref, merge({ spec: { replicas } }), { subresource: "scale" });
            await scale(1);
            expect(recorder.asked).toEqual([]);
            for (const replicas of [2, 3, 3, 2, 0]) await scale(replicas);
            const up = `/validate/workload UPDATE ${plural}/scale`;
            expect(recorder.asked).toEqual([up, up]);
        },
    );

    it("is missed by pools only, when it is away", async () => {
        const away = await api.get(validatingWebhookConfigurations, { name: "antrea" });
        const webhooks = away.webhooks?.map((one) => ({
            ...one,
            clientConfig: { ...one.clientConfig, url: one.clientConfig.url?.replace(/:\d+/, ":1") ?? "" },
        }));
        await api.update(validatingWebhookConfigurations, { ...away, webhooks: webhooks ?? [] });
        const metadata = { name: some() };
        const refused = (): Promise<string> =>
            outcome(api.create(ipPools, { metadata: { name: some() }, spec: { ipVersion: 4, ipRanges: [range] } }));
        await eventually(async () => (await refused()).includes("ippools.antrea.io"), {
            what: "refused without a webhook",
        });
        expect(
            await outcome(api.create(pods, { metadata: { namespace, name: some(), annotations: pool }, spec })),
        ).toBe("ok");
        expect(await outcome(api.create(namespaces, { metadata: { ...metadata, annotations: pool } }))).toBe("ok");
        const set = workload(some(), pool, 1);
        expect(await outcome(api.create(statefulSets as Resource<KubeObject>, set))).toBe("ok");
        const ref = { namespace, name: set.metadata?.name ?? "" };
        const body = merge({ spec: { replicas: 2 } });
        expect(await outcome(api.patch(statefulSets, ref, body, { subresource: "scale" }))).toBe("ok");
    });
});

describe("helm upgrade", () => {
    it("keeps the certificates of authorities that the webhook wrote, and with the gate off removes the webhook, not the pools", async () => {
        await using server = await TestApiServer.start({ args: ["--allow-privileged=true"] });
        const { api } = server.clients();
        const helm = (...args: readonly string[]): Promise<unknown> =>
            run("helm", [...args, "--namespace", "kube-system", "--kubeconfig", server.kubeconfig()], {
                maxBuffer: 16 << 20,
            });
        const upgrade = (...values: readonly string[]): Promise<unknown> =>
            helm("upgrade", "--install", "antrea", chart.pathname, ...required, ...values);
        await upgrade(...ipam);
        const { cert } = createSelfSigned({
            commonName: "ca",
            names: ["ca"],
            notBeforeMs: Date.now(),
            validMs: 3_600_000,
        });
        const bundle = Buffer.from(cert).toString("base64");
        await api.patch(
            validatingWebhookConfigurations,
            { name: "antrea" },
            {
                type: "strategic",
                body: {
                    webhooks: ["ippools", "workloads", "scale"].map((name) => ({
                        name: `${name}.antrea.io`,
                        clientConfig: { caBundle: bundle },
                    })),
                },
            },
        );
        const bundles = async (): Promise<readonly (string | undefined)[]> =>
            ((await api.get(validatingWebhookConfigurations, { name: "antrea" })).webhooks ?? []).map(
                (one) => one.clientConfig.caBundle,
            );
        await upgrade(...ipam, "--set", "webhook.port=9555");
        expect(await bundles()).toEqual([bundle, bundle, bundle]);
        await upgrade();
        expect(await api.find(validatingWebhookConfigurations, { name: "antrea" })).toBeUndefined();
        await api.create(ipPools, { metadata: { name: "kept" }, spec: { ipVersion: 4, ipRanges: [range] } });
        await helm("uninstall", "antrea");
        expect(await api.get(ipPools, { name: "kept" })).toBeDefined();
        await upgrade(...ipam);
    }, 120_000);
});
