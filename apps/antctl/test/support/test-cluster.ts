import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
    allocationName,
    blockText,
    ipAllocations,
    ipPools,
    type AllocationOwner,
    type IpPool,
    type IpRangeSpec,
} from "@antrea/crd";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { parseIp } from "@antrea/ip";
import {
    namespaces,
    networkAttachmentDefinitions,
    nodes,
    pods,
    type ApiClient,
    type KubeObject,
    type Pod,
} from "@antrea/kube";
import { TestApiServer, type TestApiServerOptions, networkDefinitionsCrd } from "@antrea/kube/testing";
import { antctl, type Exit } from "./antctl.ts";
import { makeClientCertificate, type ClientCertificate } from "./client-certificate.ts";
import { FakeKubelet } from "./kubelet.ts";
import { NodeOvs } from "./node-ovs.ts";

/** What stands where the container antrea-ovs of a Node does. */
export interface ContainerOvs extends AsyncDisposable {
    readonly env: NodeJS.ProcessEnv;
}

/**
 * A cluster to inspect with the compiled antctl: a real API server with our CRDs, and on each of its Nodes an agent Pod
 * whose antrea-ovs container is a real database.
 */
export class TestCluster implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    readonly kubelet: FakeKubelet;
    readonly certificate: ClientCertificate;
    readonly #folder: string;
    readonly #ovs: Map<string, ContainerOvs>;

    private constructor(parts: {
        readonly server: TestApiServer;
        readonly kubelet: FakeKubelet;
        readonly certificate: ClientCertificate;
        readonly folder: string;
        readonly ovs: Map<string, ContainerOvs>;
    }) {
        this.server = parts.server;
        this.kubelet = parts.kubelet;
        this.certificate = parts.certificate;
        this.#folder = parts.folder;
        this.#ovs = parts.ovs;
        this.api = parts.server.clients().api;
    }

    static async start(options: Pick<TestApiServerOptions, "authorization" | "users"> = {}): Promise<TestCluster> {
        const folder = await mkdtemp(join(tmpdir(), "antctl-"));
        const certificate = makeClientCertificate(folder);
        const args = [`--client-ca-file=${certificate.authority}`];
        const ovs = new Map<string, ContainerOvs>();
        const [server, kubelet] = await Promise.all([
            TestApiServer.start({ ...options, args }),
            FakeKubelet.start(({ pod, container }) =>
                container === "antrea-ovs" ? ovs.get(pod.replace(/^antrea-agent-/, ""))?.env : undefined,
            ),
        ]);
        await server.apply(customResourceDefinitions() as readonly KubeObject[]);
        const cluster = new TestCluster({ server, kubelet, certificate, folder, ovs });
        await cluster.api.create(namespaces, { metadata: { name: "shop" } });
        return cluster;
    }

    /** Runs antctl as this user, by default one who may do everything. */
    antctl(words: readonly string[], o: Parameters<typeof antctl>[1] & { readonly user?: string } = {}): Promise<Exit> {
        return antctl(words, { ...o, env: { KUBECONFIG: this.server.kubeconfig(o.user), ...o.env } });
    }

    /** A kubeconfig with a client certificate in place of a token. */
    async certificateKubeconfig(): Promise<string> {
        const authority = join(dirname(this.server.kubeconfig()), "certs/apiserver.crt");
        const { cert, key } = this.certificate;
        const path = join(this.#folder, "certificate.kubeconfig");
        const config = {
            apiVersion: "v1",
            kind: "Config",
            "current-context": "by-certificate",
            clusters: [{ name: "c", cluster: { server: this.server.url, "certificate-authority": authority } }],
            users: [{ name: "u", user: { "client-certificate": cert, "client-key": key } }],
            contexts: [{ name: "by-certificate", context: { cluster: "c", user: "u" } }],
        };
        await writeFile(path, JSON.stringify(config));
        return path;
    }

    path(name: string): string {
        return join(this.#folder, name);
    }

    /** A ready Node with an agent Pod, whose antrea-ovs container has a database. */
    async addNode(name: string, o: Parameters<TestCluster["addNodeWith"]>[2] = {}): Promise<NodeOvs> {
        const ovs = await NodeOvs.start();
        await this.addNodeWith(name, ovs, o);
        return ovs;
    }

    /** A ready Node with an agent Pod, whose antrea-ovs container has this OVS, which ends with the cluster. */
    async addNodeWith(
        name: string,
        ovs: ContainerOvs,
        o: { readonly podCidrs?: readonly string[]; readonly ready?: boolean } = {},
    ): Promise<void> {
        this.#ovs.set(name, ovs);
        await this.server.addNode(name, { internalIps: ["127.0.0.1"], ...(o.podCidrs && { podCidrs: o.podCidrs }) });
        const now = new Date().toISOString();
        const status = {
            daemonEndpoints: { kubeletEndpoint: { Port: this.kubelet.port } },
            declaredFeatures: ["ExtendWebSocketsToKubelet"],
            conditions: [
                {
                    type: "Ready",
                    status: o.ready === false ? "Unknown" : "True",
                    lastHeartbeatTime: now,
                    lastTransitionTime: now,
                },
            ],
        };
        await this.api.patch(nodes, { name }, { type: "merge", body: { status } }, { subresource: "status" });
        await this.addPod({
            namespace: "kube-system",
            name: `antrea-agent-${name}`,
            node: name,
            hostNetwork: true,
            labels: { app: "antrea", component: "antrea-agent" },
            containers: ["antrea-agent", "antrea-ovs"],
        });
    }

    async addPool(name: string, ranges: readonly IpRangeSpec[], ipVersion: 4 | 6 = 4): Promise<IpPool> {
        return this.api.create(ipPools, { metadata: { name }, spec: { ipVersion, ipRanges: ranges } });
    }

    /** A NetworkAttachmentDefinition of Namespace shop, and the definition of these if there is none yet. */
    async addNetwork(name: string, plugin: Readonly<Record<string, unknown>>): Promise<void> {
        await this.server.apply([networkDefinitionsCrd]);
        const config = JSON.stringify({ cniVersion: "1.0.0", type: "antrea", ...plugin });
        const object = { metadata: { namespace: "shop", name }, spec: { config } };
        await this.api.create(networkAttachmentDefinitions, object);
    }

    async addPod(o: {
        readonly namespace?: string;
        readonly name: string;
        readonly node?: string;
        readonly ips?: readonly string[];
        readonly annotations?: Readonly<Record<string, string>>;
        readonly hostNetwork?: boolean;
        readonly labels?: Readonly<Record<string, string>>;
        readonly containers?: readonly string[];
        readonly phase?: string;
        readonly ownerReferences?: NonNullable<Pod["metadata"]>["ownerReferences"];
    }): Promise<Pod> {
        const namespace = o.namespace ?? "shop";
        await this.api.create(pods, {
            metadata: {
                namespace,
                name: o.name,
                ...(o.annotations && { annotations: o.annotations }),
                ...(o.labels && { labels: o.labels }),
                ...(o.ownerReferences && { ownerReferences: o.ownerReferences }),
            },
            spec: {
                ...(o.node === undefined ? {} : { nodeName: o.node }),
                hostNetwork: o.hostNetwork ?? false,
                containers: (o.containers ?? ["c"]).map((name) => ({ name, image: "i" })),
            },
        });
        const podIPs = (o.ips ?? []).map((ip) => ({ ip }));
        const status = {
            phase: o.phase ?? (o.ips === undefined && o.hostNetwork !== true ? "Pending" : "Running"),
            ...(podIPs.length === 0 ? {} : { podIP: podIPs[0]?.ip, podIPs }),
        };
        const ref = { namespace, name: o.name };
        return this.api.patch(pods, ref, { type: "merge", body: { status } }, { subresource: "status" });
    }

    /** The allocation of a Pod, or, without one, a reservation for the owner. */
    async addAllocation(o: {
        readonly address: string;
        readonly pool: string;
        readonly pod?:
            Pod | { readonly namespace: string; readonly name: string; readonly uid: string; readonly node: string };
        readonly owner?: AllocationOwner;
    }): Promise<void> {
        const ip = parseIp(o.address);
        const pod = o.pod && holderOf(o.pod);
        await this.api.create(ipAllocations, {
            metadata: { name: allocationName(ip) },
            spec: {
                address: o.address,
                block: blockText(ip),
                pool: o.pool,
                state: pod === undefined ? "Reserved" : "Allocated",
                owner:
                    o.owner ??
                    ({ kind: "Pod", namespace: pod?.namespace, name: pod?.name, uid: pod?.uid } as AllocationOwner),
                ...(pod === undefined ? {} : { pod }),
            },
        });
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.server.stop();
        await this.kubelet[Symbol.asyncDispose]();
        for (const ovs of this.#ovs.values()) await ovs[Symbol.asyncDispose]();
        await rm(this.#folder, { recursive: true, force: true });
    }
}

function holderOf(
    pod: Pod | { readonly namespace: string; readonly name: string; readonly uid: string; readonly node: string },
) {
    const common = { containerID: "c0ffee", interface: "eth0" };
    if ("uid" in pod) return { namespace: pod.namespace, name: pod.name, uid: pod.uid, nodeName: pod.node, ...common };
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    return { namespace, name, uid, nodeName: pod.spec?.nodeName ?? "", ...common };
}

/** The external_ids of a Pod's port, as its agent writes them. */
export function recordOf(pod: Pod, address: string, pool?: string): Readonly<Record<string, string>> {
    return {
        "antrea-type": "container",
        "container-id": "c0ffee",
        "if-dev": "eth0",
        "pod-namespace": pod.metadata?.namespace ?? "",
        "pod-name": pod.metadata?.name ?? "",
        "pod-uid": pod.metadata?.uid ?? "",
        "ip-address": address,
        ...(pool === undefined ? {} : { "ip-pool": pool }),
    };
}
