import { createServer, type Server } from "node:https";
import { type AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { ipPools, podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import {
    cronJobs,
    daemonSets,
    deployments,
    namespaces,
    networkAttachmentDefinitions,
    pods,
    replicaSets,
    statefulSets,
    validatingWebhookConfigurations,
    type ApiClient,
    type Resource,
    type KubeObject,
    type ObjectRef,
} from "@antrea/kube";
import { eventually, networkDefinitionsCrd, TestApiServer } from "@antrea/kube/testing";
import { createSelfSigned } from "@antrea/serving";
import { outcome } from "./outcome.ts";
import { chart, named, render, required, run } from "./render.ts";

const ipam = ["--set", "featureGates.AntreaIPAM=true"];
const namespace = "default";
const pool = { [poolsAnnotation]: "pool1" };
const networks = "k8s.v1.cni.cncf.io/networks";
const range = { cidr: "10.2.0.0/24", gateway: "10.2.0.1", prefixLength: 24 };

/** A webhook that allows everything and writes down what it was asked. */
class Recorder implements Disposable {
    readonly asked: string[] = [];
    readonly #server: Server;

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
                    };
                };
                const { uid, operation, resource, subResource } = review.request;
                const what = [resource.resource, ...(subResource === undefined ? [] : [subResource])].join("/");
                recorder.asked.push(`${request.url?.split("?")[0]} ${operation} ${what}`);
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
    // A request that names the object's state is judged on that one only. Of any other the API server may ask twice: first
    // about an older state that it remembers, then about the real one.
    const stateOf = async <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<string> =>
        (await api.get(resource, ref)).metadata?.resourceVersion ?? "";
    const merge = async <T extends KubeObject>(
        resource: Resource<T>,
        ref: ObjectRef,
        { metadata, ...rest }: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
        subresource?: "status" | "scale",
    ): Promise<unknown> => {
        const body = { ...rest, metadata: { ...metadata, resourceVersion: await stateOf(resource, ref) } };
        return api.patch(resource, ref, { type: "merge", body }, { subresource });
    };
    const remove = async <T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<void> =>
        api.delete(resource, ref, { resourceVersion: await stateOf(resource, ref) });

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
            networkDefinitionsCrd,
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
        await merge(ipPools, metadata, { metadata: { labels: { a: "b" } } });
        await merge(ipPools, metadata, { status: { freeBlocks: ["10.2.0.0/24"] } }, "status");
        expect(recorder.asked).toEqual(["/validate/ippool CREATE ippools"]);
        await merge(ipPools, metadata, { spec: { ipRanges: [{ ...range, vlan: 7 }] } });
        await remove(ipPools, metadata);
        expect(recorder.asked.slice(1)).toEqual(["/validate/ippool UPDATE ippools", "/validate/ippool DELETE ippools"]);
    });

    it("is each network with a plugin or addresses of Antrea, when it may mean something else", async () => {
        const ref = { namespace, name: some() };
        const config = JSON.stringify({ type: "antrea", networkType: "vlan" });
        await api.create(networkAttachmentDefinitions, { metadata: ref, spec: { config } });
        await merge(networkAttachmentDefinitions, ref, {
            metadata: { labels: { a: "b" }, annotations: { other: "x" } },
        });
        expect(recorder.asked.splice(0)).toEqual(["/validate/network CREATE network-attachment-definitions"]);
        const annotations = { "k8s.v1.cni.cncf.io/resourceName": "intel.com/sriov" };
        await merge(networkAttachmentDefinitions, ref, { metadata: { annotations } });
        await merge(networkAttachmentDefinitions, ref, { spec: { config: config.replace("vlan", "sriov") } });
        const update = "/validate/network UPDATE network-attachment-definitions";
        expect(recorder.asked.splice(0)).toEqual([update, update]);
        // no longer ours
        await merge(networkAttachmentDefinitions, ref, { spec: { config: "{}" } });
        await remove(networkAttachmentDefinitions, ref);
        const others = [{ config: JSON.stringify({ type: "macvlan" }) }, { config: "" }, {}, undefined];
        for (const spec of others) {
            const metadata = { namespace, name: some() };
            await api.create(networkAttachmentDefinitions, { metadata, ...(spec !== undefined && { spec }) });
        }
        expect(recorder.asked).toEqual([]);
    });

    it.each([[poolsAnnotation], [podIpsAnnotation], [networks]])(
        "is the creation of a Pod with %s, and no change of it",
        async (key) => {
            const metadata = { namespace, name: some() };
            await api.create(pods, { metadata: { ...metadata, annotations: { [key]: "x" } }, spec });
            expect(recorder.asked).toEqual(["/validate/workload CREATE pods"]);
            await merge(pods, metadata, { metadata: { labels: { a: "b" } } });
            await merge(pods, metadata, { status: { phase: "Running" } }, "status");
            await remove(pods, metadata);
            expect(recorder.asked).toHaveLength(1);
        },
    );

    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1", controller: true };

    it("is no Pod, template or Namespace without the annotations, but what a person creates", async () => {
        const name = some();
        await api.create(pods, { metadata: { namespace, name, annotations: { other: "x" } }, spec });
        await api.create(pods, { metadata: { namespace, name: some() }, spec });
        expect(recorder.asked.splice(0)).toEqual(Array.from({ length: 2 }, () => "/validate/workload CREATE pods"));
        await api.create(pods, { metadata: { namespace, name: some(), ownerReferences: [owner] }, spec });
        await api.create(pods, { metadata: { namespace, name: some() }, spec: { ...spec, hostNetwork: true } });
        for (const resource of [deployments, statefulSets] as readonly Resource<KubeObject>[]) {
            await api.create(resource, workload(name, { other: "x" }, 1));
            expect(recorder.asked.splice(0)).toEqual([`/validate/workload CREATE ${resource.plural}`]);
            await merge(resource, { namespace, name }, { spec: { replicas: 3 } });
            await remove(resource, { namespace, name });
        }
        await api.create(namespaces, { metadata: { name } });
        await merge(namespaces, { name }, { metadata: { annotations: { other: "x" } } });
        expect(recorder.asked).toEqual([]);
    });

    it("is each Pod and template that requests networks, whoever creates it, and each that comes to do so", async () => {
        const annotations = { [networks]: "net1" };
        const owned = { namespace, name: some(), ownerReferences: [owner] };
        await api.create(pods, { metadata: { ...owned, annotations }, spec });
        expect(recorder.asked.splice(0)).toEqual(["/validate/workload CREATE pods"]);
        const ref = { namespace, name: some() };
        const resource = deployments as Resource<KubeObject>;
        const made = workload(ref.name, {}, 1);
        await api.create(resource, { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } });
        expect(recorder.asked).toEqual([]);
        await merge(resource, ref, { spec: { template: { metadata: { annotations } } } });
        await merge(resource, ref, { metadata: { labels: { a: "b" } } });
        await merge(resource, ref, { spec: { template: { metadata: { annotations: { [networks]: null } } } } });
        const update = "/validate/workload UPDATE deployments";
        expect(recorder.asked).toEqual([update, update]);
    });

    it("is what resembles the annotations, when it comes", async () => {
        const name = some();
        const wrong = { "antrea.io/ippools": "pool1" };
        await api.create(namespaces, { metadata: { name, annotations: { "ipam.antra.io/ippool": "pool1" } } });
        await merge(namespaces, { name }, { metadata: { annotations: wrong } });
        await merge(namespaces, { name }, { metadata: { labels: { a: "b" } } });
        const resource = deployments as Resource<KubeObject>;
        await api.create(resource, workload(name, {}, 1));
        await merge(resource, { namespace, name }, { metadata: { annotations: wrong } });
        await merge(resource, { namespace, name }, { spec: { template: { metadata: { annotations: wrong } } } });
        await merge(resource, { namespace, name }, { metadata: { labels: { a: "b" } } });
        expect(recorder.asked.map((text) => text.replace("/validate/workload ", ""))).toEqual([
            "CREATE namespaces",
            "UPDATE namespaces",
            "CREATE deployments",
            "UPDATE deployments",
            "UPDATE deployments",
        ]);
    });

    it.each([
        ["daemonsets", daemonSets, "apps/v1", "DaemonSet"],
        ["replicasets", replicaSets, "apps/v1", "ReplicaSet"],
        ["jobs", { ...cronJobs, plural: "jobs", kind: "Job" }, "batch/v1", "Job"],
        ["cronjobs", cronJobs, "batch/v1", "CronJob"],
    ] as unknown as readonly [string, Resource<KubeObject>, string, string][])(
        "is each annotated template of %s",
        async (plural, resource) => {
            const ref = { namespace, name: some() };
            const made = (annotations: object, metadata: object = {}): KubeObject => {
                const labels = { app: ref.name };
                const isJob = resource.group === "batch";
                const podSpec = isJob ? { ...spec, restartPolicy: "Never" } : spec;
                const template = { metadata: { ...(!isJob && { labels }), annotations }, spec: podSpec };
                const inner = isJob ? { template } : { template, selector: { matchLabels: labels } };
                const outer = plural === "cronjobs" ? { schedule: "* * * * *", jobTemplate: { spec: inner } } : inner;
                return { metadata: { ...ref, ...metadata }, spec: outer } as KubeObject;
            };
            await api.create(resource, made(pool));
            expect(recorder.asked.splice(0)).toEqual([`/validate/workload CREATE ${plural}`]);
            await merge(resource, ref, { metadata: { labels: { a: "b" } } });
            await merge(resource, ref, { status: {} }, "status");
            expect(recorder.asked).toEqual([]);
            const owned = { name: some(), ownerReferences: [owner] };
            await api.create(resource, made(pool, owned));
            const isJudgedByOwner = plural === "replicasets" || plural === "jobs";
            expect(recorder.asked).toEqual(isJudgedByOwner ? [] : [`/validate/workload CREATE ${plural}`]);
        },
    );

    it("is each Namespace that gets, changes or loses the annotation", async () => {
        const name = some();
        await api.create(namespaces, { metadata: { name } });
        await merge(namespaces, { name }, { metadata: { annotations: pool } });
        await merge(namespaces, { name }, { metadata: { annotations: { [poolsAnnotation]: "pool2" } } });
        await merge(namespaces, { name }, { metadata: { labels: { a: "b" } } });
        await merge(namespaces, { name }, { metadata: { annotations: { [poolsAnnotation]: null } } });
        await api.create(namespaces, { metadata: { name: some(), annotations: pool } });
        await remove(namespaces, { name });
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
            await merge(resource, ref, { metadata: { annotations: { "deployment.kubernetes.io/revision": "2" } } });
            await merge(resource, ref, { status: { observedGeneration: 1 } }, "status");
            await merge(resource, ref, { spec: { replicas: 2 } });
            await remove(resource, ref);
            expect(recorder.asked).toEqual([
                `/validate/workload CREATE ${plural}`,
                `/validate/workload UPDATE ${plural}`,
            ]);
        },
    );

    it.each([
        ["deployments", deployments],
        ["statefulsets", statefulSets],
        ["replicasets", replicaSets],
    ] as readonly [string, Resource<KubeObject>][])(
        "is each scale-up of %s to a second Pod or more",
        async (plural, resource) => {
            const ref = { namespace, name: some() };
            await api.create(resource, workload(ref.name, {}, 0));
            recorder.asked.splice(0);
            const scale = (replicas: number): Promise<unknown> => merge(resource, ref, { spec: { replicas } }, "scale");
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
        expect(await outcome(merge(statefulSets, ref, { spec: { replicas: 2 } }, "scale"))).toBe("ok");
        const network = { metadata: { namespace, name: some() }, spec: { config: '{"type": "antrea"}' } };
        expect(await outcome(api.create(networkAttachmentDefinitions, network))).toBe("ok");
    });
});

describe("helm upgrade", () => {
    it("keeps the certificates of authorities that the webhook wrote, with the gate off too, and the pools when it is gone", async () => {
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
                    webhooks: ["ippools", "workloads", "scale", "networks"].map((name) => ({
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
        expect(await bundles()).toEqual([bundle, bundle, bundle, bundle]);
        await upgrade();
        expect(await bundles()).toEqual([bundle, bundle, bundle, bundle]);
        await helm("uninstall", "antrea");
        await api.create(ipPools, { metadata: { name: "kept" }, spec: { ipVersion: 4, ipRanges: [range] } });
        await upgrade();
        await helm("uninstall", "antrea");
        expect(await api.get(ipPools, { name: "kept" })).toBeDefined();
        await upgrade(...ipam);
    });
});
