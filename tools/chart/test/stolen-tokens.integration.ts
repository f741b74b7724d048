import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools } from "@antrea/crd";
import { configMaps, leases, namespaces, nodes, pods, secrets, type ApiClient, type KubeObject } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { allocation, pod, setAllocation } from "./allocations.ts";
import { render } from "./render.ts";

const namespace = "kube-system";
const [here, there] = ["node1", "node2"];
const kinds = [
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];
/** Every right that the chart can give is given. */
const values = [
    "featureGates.AntreaIPAM=true",
    "featureGates.SecondaryNetwork=true",
    "nodeIPAM.enable=true",
    "nodeIPAM.clusterCIDRs={10.244.0.0/16}",
];

interface Answer {
    readonly status: number;
    readonly message: string;
}

type Row = readonly [what: string, method: string, path: string, body?: object];

const core = "/api/v1";
const own = `${core}/namespaces/${namespace}`;
const crd = "/apis/crd.antrea.io";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const networks = "/apis/k8s.cni.cncf.io/v1";
const networkStatus = { metadata: { annotations: { "k8s.v1.cni.cncf.io/network-status": "[]" } } };
const tokenOf = (account: string) => `${own}/serviceaccounts/${account}/token`;
const tokenRequest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
const named = (kind: string, name: string, rest: object = {}, apiVersion = "v1") => ({
    apiVersion,
    kind,
    metadata: { namespace, name },
    ...rest,
});
const podObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "shop", name: "mine" },
    spec: { containers: [{ name: "main", image: "example.test/image:1" }] },
};
const pool = {
    apiVersion: "crd.antrea.io/v1alpha2",
    kind: "IPPool",
    metadata: { name: "mine" },
    spec: { ipVersion: 4, ipRanges: [{ cidr: "10.9.0.0/24", gateway: "10.9.0.1", prefixLength: 24 }] },
};

/** What no program of ours may do, whoever has its token. */
const everyone: readonly Row[] = [
    ["read all Secrets", "GET", `${core}/secrets`],
    ["read the Secrets of its Namespace", "GET", `${own}/secrets`],
    ["read a Secret", "GET", `${own}/secrets/other`],
    ["read all ConfigMaps", "GET", `${core}/configmaps`],
    ["read who may ask extension servers", "GET", `${own}/configmaps/extension-apiserver-authentication`],
    ["write who may ask extension servers", "PATCH", `${own}/configmaps/extension-apiserver-authentication`, {}],
    ["take the lease of the scheduler", "PATCH", `${own}/leases/kube-scheduler`, {}],
    ["get a token of its own account", "POST", tokenOf("antrea-agent"), tokenRequest],
    ["get a token of another account", "POST", tokenOf("generic-garbage-collector"), tokenRequest],
    ["make a Pod", "POST", `${core}/namespaces/shop/pods`, podObject],
    ["delete a Pod", "DELETE", `${core}/namespaces/shop/pods/web`],
    ["change a Pod", "PATCH", `${core}/namespaces/shop/pods/web`, { metadata: { labels: { a: "b" } } }],
    [
        "change the status of a Pod",
        "PATCH",
        `${core}/namespaces/shop/pods/web/status`,
        { status: { podIP: "10.7.7.7" } },
    ],
    ["run a command in a Pod", "POST", `${core}/namespaces/shop/pods/web/exec?command=id`],
    ["evict a Pod", "POST", `${core}/namespaces/shop/pods/web/eviction`, named("Eviction", "web", {}, "policy/v1")],
    ["make a Node", "POST", `${core}/nodes`, { apiVersion: "v1", kind: "Node", metadata: { name: "node9" } }],
    ["delete a Node", "DELETE", `${core}/nodes/${there}`],
    ["ask a kubelet", "GET", `${core}/nodes/${there}/proxy/pods`],
    ["change a Namespace", "PATCH", `${core}/namespaces/shop`, { metadata: { labels: { a: "b" } } }],
    ["make an IPPool", "POST", `${crd}/v1alpha2/ippools`, pool],
    ["change an IPPool", "PATCH", `${crd}/v1alpha2/ippools/pool1`, { metadata: { labels: { a: "b" } } }],
    ["delete an IPPool", "DELETE", `${crd}/v1alpha2/ippools/pool1`],
    ["delete all IPPools", "DELETE", `${crd}/v1alpha2/ippools`],
    ["delete many allocations at once", "DELETE", `${crd}/v1alpha1/ipallocations`],
    ["patch an allocation", "PATCH", `${crd}/v1alpha1/ipallocations/10.7.0.1`, { metadata: { labels: { a: "b" } } }],
    ["read roles", "GET", `${rbac}/clusterroles`],
    [
        "give itself a role",
        "POST",
        `${rbac}/clusterrolebindings`,
        named("ClusterRoleBinding", "mine", {}, "rbac.authorization.k8s.io/v1"),
    ],
    ["change its role", "PATCH", `${rbac}/clusterroles/antrea-agent`, { rules: [] }],
    ["take a policy away", "DELETE", `${admission}/validatingadmissionpolicies/antrea-agent-ipallocations`],
    ["unbind a policy", "DELETE", `${admission}/validatingadmissionpolicybindings/antrea-own-objects`],
    [
        "add a webhook",
        "POST",
        `${admission}/mutatingwebhookconfigurations`,
        named("MutatingWebhookConfiguration", "mine", {}, "admissionregistration.k8s.io/v1"),
    ],
    [
        "change a definition",
        "PATCH",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ippools.crd.antrea.io",
        {},
    ],
    ["change its own workload", "PATCH", `/apis/apps/v1/namespaces/${namespace}/daemonsets/antrea-agent`, {}],
    [
        "ask for a certificate",
        "POST",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        named("CertificateSigningRequest", "mine", {}, "certificates.k8s.io/v1"),
    ],
    ["read events", "GET", "/apis/events.k8s.io/v1/events"],
    ["change a Service", "PATCH", `${core}/namespaces/shop/services/web`, { metadata: { labels: { a: "b" } } }],
    ["write the status of a Service", "PATCH", `${core}/namespaces/shop/services/web/status`, { status: {} }],
    ["change endpoints", "PATCH", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web", { endpoints: [] }],
];

describe("with a stolen token", () => {
    let server: TestApiServer;
    let admin: ApiClient;
    const users = new Map<string, string>();
    let last = 0;

    /** A request as a thief would send it: any method, any header. */
    async function ask(
        who: string,
        [, method, path, body]: Row,
        headers: Readonly<Record<string, string>> = {},
    ): Promise<Answer> {
        const connection = await server.clients(users.get(who) ?? who).connection();
        const { promise, resolve, reject } = Promise.withResolvers<Answer>();
        const text = body === undefined ? "" : JSON.stringify(body);
        const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
        const { agent } = connection;
        request(
            new URL(path, connection.server),
            { method, agent, headers: { ...connection.headers, "content-type": type, ...headers } },
            (response) => {
                let answer = "";
                response.on("data", (chunk: Buffer) => (answer += chunk.toString()));
                response.on("end", () => resolve({ status: response.statusCode ?? 0, message: answer }));
            },
        )
            .on("error", reject)
            .end(text);
        return promise;
    }
    const someAddress = (): string => `10.7.${(last += 1) >> 8}.${last & 255}`;
    const allocations = `${crd}/v1alpha1/ipallocations`;
    const typed = (object: KubeObject) => ({ apiVersion: "crd.antrea.io/v1alpha1", kind: "IPAllocation", ...object });

    beforeAll(async () => {
        const manifests = await render(...values.flatMap((value) => ["--set", value]));
        server = await TestApiServer.start({ authorization: "RBAC" });
        admin = server.clients().api;
        await server.apply(manifests.filter(({ kind }) => kinds.includes(kind)));
        for (const name of [here, there]) await server.addNode(name, { podCidrs: ["10.10.0.0/24"] });
        await server.addNode("bare");
        await admin.create(namespaces, { metadata: { name: "shop" } });
        await admin.create(pods, { ...podObject, metadata: { namespace: "shop", name: "web" } });
        for (const nodeName of [here, there]) {
            const metadata = { namespace: "shop", name: `on-${nodeName}` };
            await admin.create(pods, { ...podObject, metadata, spec: { ...podObject.spec, nodeName } });
        }
        for (const name of ["other", "antrea-webhook-ca"])
            await admin.create(secrets, { metadata: { namespace, name } });
        await admin.create(leases, { metadata: { namespace, name: "kube-scheduler" }, spec: {} });
        await admin.create(ipPools, { metadata: { name: "pool1" }, spec: pool.spec } as never);
        const at = [["agent", here] as const, ["controller", there] as const, ["webhook", there] as const];
        for (const [daemon, nodeName] of at) {
            const account = { namespace, name: `antrea-${daemon}` };
            const spec = { ...podObject.spec, serviceAccountName: account.name, nodeName };
            const { metadata } = await admin.create(pods, { metadata: { ...account }, spec });
            users.set(daemon, await server.addServiceAccountUser(account, { name: account.name, uid: metadata?.uid }));
        }
        users.set("unbound agent", await server.addServiceAccountUser({ namespace, name: "antrea-agent" }));
    });
    afterAll(() => server?.stop());

    describe.each(["agent", "unbound agent", "controller", "webhook"])("of the %s, nobody can", (who) => {
        it.each(everyone)("%s", async (...row) => {
            expect(await ask(who, row)).toMatchObject({ status: 403 });
        });

        it("be somebody else", async () => {
            const row: Row = ["", "GET", `${own}/secrets`];
            for (const headers of [
                { "impersonate-user": "admin" },
                { "impersonate-user": `system:serviceaccount:${namespace}:antrea-controller` },
                { "impersonate-user": "a", "impersonate-group": "system:masters" },
                { "impersonate-user": "a", "impersonate-extra-authentication.kubernetes.io%2fnode-name": there },
            ]) {
                const { status, message } = await ask(who, row, headers);
                expect([status, message]).toEqual([403, expect.stringContaining("impersonate")]);
            }
        });
    });

    describe("of the agent of a Node, nobody can", () => {
        it.each<[string, (address: string) => KubeObject]>([
            ["a Pod of another Node", (address) => allocation(address, { pod: { ...pod, nodeName: there } })],
            ["an ordinal on another Node", (address) => setAllocation(address, { index: 0, nodeName: there })],
            [
                "a Node",
                (address) => ({
                    ...allocation(address),
                    spec: { ...allocation(address).spec, owner: { kind: "Node", name: here } },
                }),
            ],
        ])("claim for %s", async (_name, make) => {
            const row: Row = ["", "POST", allocations, typed(make(someAddress()))];
            expect((await ask("agent", row)).status).toBeGreaterThanOrEqual(403);
        });

        it.each([
            ["another Pod's", { pod: { ...pod, nodeName: there } }],
            ["an ordinal's", undefined],
        ])("free or take over %s allocation of another Node", async (_name, spec) => {
            const address = someAddress();
            const stored = await admin.create(
                ipAllocations,
                spec === undefined ? setAllocation(address, { index: 1, nodeName: there }) : allocation(address, spec),
            );
            const path = `${allocations}/${address}`;
            expect(await ask("agent", ["", "DELETE", path])).toMatchObject({ status: 403 });
            const mine = typed({ ...stored, spec: { ...stored.spec, pod: { ...pod, nodeName: here } } } as KubeObject);
            expect((await ask("agent", ["", "PUT", path, mine])).status).toBeGreaterThanOrEqual(403);
            expect((await admin.get(ipAllocations, { name: address })).spec).toEqual(stored.spec);
        });

        it("change its allocation to another address, block or owner", async () => {
            const address = someAddress();
            const stored = await admin.create(ipAllocations, allocation(address));
            for (const change of [
                { address: "10.7.9.9" },
                { block: "10.7.9.0/24" },
                { owner: { ...stored.spec.owner, name: "other" } },
            ]) {
                const body = typed({ ...stored, spec: { ...stored.spec, ...change } } as KubeObject);
                expect(
                    (await ask("agent", ["", "PUT", `${allocations}/${address}`, body])).status,
                ).toBeGreaterThanOrEqual(403);
            }
            expect((await admin.get(ipAllocations, { name: address })).spec).toEqual(stored.spec);
        });

        it.each<Row>([
            [
                "change another Node",
                "PATCH",
                `${core}/nodes/${there}`,
                { metadata: { annotations: { "node.antrea.io/mac-address": "02:00:00:00:00:01" } } },
            ],
            [
                "change the status of another Node",
                "PATCH",
                `${core}/nodes/${there}/status`,
                { status: { conditions: [] } },
            ],
            [
                "taint its own Node",
                "PATCH",
                `${core}/nodes/${here}`,
                { spec: { taints: [{ key: "a", effect: "NoExecute" }] } },
            ],
            [
                "write the networks of a Pod on another Node",
                "PATCH",
                `${core}/namespaces/shop/pods/on-${there}/status`,
                networkStatus,
            ],
            [
                "write the addresses of a Pod on its own Node",
                "PATCH",
                `${core}/namespaces/shop/pods/on-${here}/status`,
                { ...networkStatus, status: { podIP: "10.7.7.7" } },
            ],
            [
                "label a Pod on its own Node",
                "PATCH",
                `${core}/namespaces/shop/pods/on-${here}/status`,
                { metadata: { labels: { a: "b" } } },
            ],
            ["list networks", "GET", `${networks}/network-attachment-definitions`],
            [
                "change a network",
                "PATCH",
                `${networks}/namespaces/shop/network-attachment-definitions/vlan`,
                { metadata: { labels: { a: "b" } } },
            ],
            ["write the status of an IPPool", "PATCH", `${crd}/v1alpha2/ippools/pool1/status`, { status: {} }],
            ["read the authority of the webhook", "GET", `${own}/secrets/antrea-webhook-ca`],
            ["write a ConfigMap", "POST", `${own}/configmaps`, named("ConfigMap", "antrea-node-ipam")],
            ["read StatefulSets", "GET", "/apis/apps/v1/statefulsets"],
        ])("%s", async (...row) => {
            expect(await ask("agent", row)).toMatchObject({ status: 403 });
        });

        it("do anything to Nodes, Pods and allocations with a token that names no Node", async () => {
            const address = someAddress();
            await admin.create(ipAllocations, allocation(address));
            const annotations = { metadata: { annotations: { "node.antrea.io/mac-address": "02:00:00:00:00:01" } } };
            for (const row of [
                ["", "POST", allocations, typed(allocation(someAddress()))],
                ["", "DELETE", `${allocations}/${address}`],
                ["", "PATCH", `${core}/nodes/${here}`, annotations],
                ["", "PATCH", `${core}/namespaces/shop/pods/on-${here}/status`, networkStatus],
                ["", "PATCH", `${core}/namespaces/shop/pods/web/status`, networkStatus],
            ] as const) {
                expect(await ask("unbound agent", row)).toMatchObject({ status: 403 });
            }
        });

        // What it can do to others, as docs/security.md lists.
        it.each<Row>([
            ["reads all Pods", "GET", `${core}/pods`],
            ["reads all Namespaces, Nodes", "GET", `${core}/nodes`],
            ["reads all Services", "GET", `${core}/services`],
            ["reads all endpoints", "GET", "/apis/discovery.k8s.io/v1/endpointslices"],
            ["reads all pools", "GET", `${crd}/v1alpha2/ippools`],
            ["reads all allocations", "GET", allocations],
            [
                "writes events in any Namespace",
                "POST",
                "/apis/events.k8s.io/v1/namespaces/shop/events",
                {
                    ...named("Event", "mine", {}, "events.k8s.io/v1"),
                    metadata: { namespace: "shop", name: "mine" },
                    eventTime: "2026-01-01T00:00:00.000000Z",
                    reportingController: "a",
                    reportingInstance: "b",
                    type: "Normal",
                    reason: "R",
                    action: "A",
                    regarding: { kind: "Pod", namespace: "shop", name: "web" },
                },
            ],
            [
                "writes any state of the networks of Pods on its Node",
                "PATCH",
                `${core}/namespaces/shop/pods/on-${here}/status`,
                networkStatus,
            ],
            ["claims for a Pod of its Node that is not there", "POST", allocations, typed(allocation("10.7.200.1"))],
        ])("but: %s", async (...row) => {
            expect((await ask("agent", row)).status).toBeLessThan(300);
        });

        it("but: reads every network", async () => {
            const row: Row = ["", "GET", `${networks}/namespaces/shop/network-attachment-definitions/vlan`];
            // It may ask, but nobody has installed the definition of this kind.
            expect(await ask("agent", row)).toMatchObject({ status: 404 });
        });

        it("but: takes up what is reserved for any StatefulSet", async () => {
            const address = someAddress();
            const stored = await admin.create(ipAllocations, setAllocation(address, { index: 7 }));
            const { spec } = setAllocation(address, { index: 7, nodeName: here });
            expect(
                await ask("agent", ["", "PUT", `${allocations}/${address}`, typed({ ...stored, spec } as KubeObject)]),
            ).toMatchObject({
                status: 200,
            });
        });
    });

    describe("of the controller, nobody can", () => {
        it.each<Row>([
            ["label a Node", "PATCH", `${core}/nodes/bare`, { metadata: { labels: { a: "b" } } }],
            ["annotate a Node", "PATCH", `${core}/nodes/bare`, { metadata: { annotations: { a: "b" } } }],
            ["taint a Node", "PATCH", `${core}/nodes/bare`, { spec: { taints: [{ key: "a", effect: "NoExecute" }] } }],
            ["close a Node to Pods", "PATCH", `${core}/nodes/bare`, { spec: { unschedulable: true } }],
            ["say what machine a Node is", "PATCH", `${core}/nodes/bare`, { spec: { providerID: "a://b" } }],
            ["keep a Node from being deleted", "PATCH", `${core}/nodes/bare`, { metadata: { finalizers: ["a.io/b"] } }],
            ["write the status of a Node", "PATCH", `${core}/nodes/bare/status`, { status: { phase: "Running" } }],
            ["make another ConfigMap", "POST", `${own}/configmaps`, named("ConfigMap", "mine")],
            [
                "make a ConfigMap of any name",
                "POST",
                `${own}/configmaps`,
                { ...named("ConfigMap", ""), metadata: { generateName: "antrea-node-ipam" } },
            ],
            [
                "make another lease",
                "POST",
                `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`,
                named("Lease", "mine", {}, "coordination.k8s.io/v1"),
            ],
            ["make a Secret", "POST", `${own}/secrets`, named("Secret", "antrea-webhook-ca")],
            ["change a StatefulSet", "PATCH", "/apis/apps/v1/namespaces/shop/statefulsets/db", {}],
            ["read Services", "GET", `${core}/services`],
            ["change what the webhook is asked", "PATCH", `${admission}/validatingwebhookconfigurations/antrea`, {}],
        ])("%s", async (...row) => {
            expect(await ask("controller", row)).toMatchObject({ status: 403 });
        });

        it("but: gives a Node podCIDRs that has none, once", async () => {
            const given = { spec: { podCIDR: "10.66.0.0/24", podCIDRs: ["10.66.0.0/24"] } };
            expect(await ask("controller", ["", "PATCH", `${core}/nodes/bare`, given])).toMatchObject({ status: 200 });
            const other = { spec: { podCIDR: "10.67.0.0/24", podCIDRs: ["10.67.0.0/24"] } };
            expect((await ask("controller", ["", "PATCH", `${core}/nodes/bare`, other])).status).toBeGreaterThanOrEqual(
                403,
            );
            expect((await admin.get(nodes, { name: "bare" })).spec).toMatchObject(given.spec);
        });

        it("but: writes the objects that are its own", async () => {
            expect(
                await ask("controller", ["", "POST", `${own}/configmaps`, named("ConfigMap", "antrea-node-ipam")]),
            ).toMatchObject({ status: 201 });
            const lease = named("Lease", "antrea-controller", {}, "coordination.k8s.io/v1");
            const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
            expect(await ask("controller", ["", "POST", path, lease])).toMatchObject({ status: 201 });
            expect(await admin.get(configMaps, { namespace, name: "antrea-node-ipam" })).toBeDefined();
        });

        it("but: frees the allocation of any Pod", async () => {
            const address = someAddress();
            await admin.create(ipAllocations, allocation(address));
            expect(await ask("controller", ["", "DELETE", `${allocations}/${address}`])).toMatchObject({ status: 200 });
        });
    });

    describe("of the webhook, nobody can", () => {
        it.each<Row>([
            ["read Services", "GET", `${core}/services`],
            ["make another Secret", "POST", `${own}/secrets`, named("Secret", "mine")],
            [
                "make a Secret of any name",
                "POST",
                `${own}/secrets`,
                { ...named("Secret", ""), metadata: { generateName: "antrea-webhook-ca" } },
            ],
            ["delete its Secret", "DELETE", `${own}/secrets/antrea-webhook-ca`],
            ["claim an address", "POST", allocations, typed(allocation("10.7.99.1"))],
            ["free an address", "DELETE", `${allocations}/10.7.200.1`],
            ["change a Node", "PATCH", `${core}/nodes/${there}`, { metadata: { labels: { a: "b" } } }],
            ["change a Deployment", "PATCH", "/apis/apps/v1/namespaces/shop/deployments/d", {}],
            ["change another webhook", "PATCH", `${admission}/validatingwebhookconfigurations/other`, {}],
            ["delete its webhooks", "DELETE", `${admission}/validatingwebhookconfigurations/antrea`],
        ])("%s", async (...row) => {
            expect(await ask("webhook", row)).toMatchObject({ status: 403 });
        });

        it("have its Secret filled with the token of another account", async () => {
            await admin.delete(secrets, { namespace, name: "antrea-webhook-ca" });
            const annotations = { "kubernetes.io/service-account.name": "generic-garbage-collector" };
            const metadata = { namespace, name: "antrea-webhook-ca", annotations };
            const wanted = { ...named("Secret", ""), type: "kubernetes.io/service-account-token", metadata };
            expect(await ask("webhook", ["", "POST", `${own}/secrets`, wanted])).toMatchObject({
                status: 403,
                message: expect.stringContaining("the type of the Secret must be Opaque"),
            });
            expect(
                await ask("webhook", ["", "POST", `${own}/secrets`, named("Secret", "antrea-webhook-ca")]),
            ).toMatchObject({ status: 201 });
        });
    });
});
