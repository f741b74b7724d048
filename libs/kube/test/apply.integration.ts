import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { configMaps, pods, type KubeObject, type Resource } from "../src/index.ts";
import { TestApiServer } from "../src/testing/index.ts";

const widgets: Resource<KubeObject> = {
    group: "example.com",
    version: "v1",
    plural: "widgets",
    kind: "Widget",
    namespaced: true,
};
const admission = "admissionregistration.k8s.io/v1";

const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [
            { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
            { name: "v0", served: false, storage: false, schema: { openAPIV3Schema: { type: "object" } } },
        ],
    },
};

/** Refuses objects of this kind whose name is "bad". */
const policy = (name: string, apiGroup: string, resource: string): readonly KubeObject[] => [
    {
        apiVersion: admission,
        kind: "ValidatingAdmissionPolicy",
        metadata: { name },
        spec: {
            matchConstraints: {
                resourceRules: [
                    { apiGroups: [apiGroup], apiVersions: ["*"], resources: [resource], operations: ["CREATE"] },
                ],
            },
            validations: [{ expression: "request.name != 'bad'" }],
        },
    } as KubeObject,
    {
        apiVersion: admission,
        kind: "ValidatingAdmissionPolicyBinding",
        metadata: { name },
        spec: { policyName: name, validationActions: ["Deny"] },
    } as KubeObject,
];

describe("TestApiServer", () => {
    let server: TestApiServer;

    beforeAll(async () => {
        server = await TestApiServer.start({ authorization: "RBAC" });
    });
    afterAll(() => server.stop());

    it("applies objects of any kind, which then are in force", async () => {
        const { api } = server.clients();
        const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "team", name: "robot" } };
        const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } };
        await server.apply([
            definition,
            ...policy("widgets", "example.com", "widgets"),
            ...policy("maps", "", "configmaps"),
            namespace,
            account,
        ]);
        const metadata = { namespace: "team", name: "good" };
        await api.create(widgets, { metadata });
        await expect(api.create(widgets, { metadata: { ...metadata, name: "bad" } })).rejects.toMatchObject({
            code: "INVALID",
        });
        await expect(api.create(configMaps, { metadata: { ...metadata, name: "bad" } })).rejects.toMatchObject({
            code: "INVALID",
        });
        expect(
            (await api.list(configMaps, { namespace: "default" })).items.map((one) => one.metadata?.name),
        ).not.toContain("bad");
        // again, changed
        await server.apply([
            { ...namespace, metadata: { name: "team", labels: { a: "b" } } } as KubeObject,
            definition,
        ]);
        await expect(
            server.apply([{ apiVersion: "v1", kind: "Nothing", metadata: { name: "x" } }]),
        ).rejects.toMatchObject({ code: "UNKNOWN_KIND" });
    });

    it("makes users of ServiceAccounts, with the Node of their Pod", async () => {
        const { api } = server.clients();
        const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name: "self" } };
        await server.apply([
            { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "default", name: "agent" } },
            { ...role, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] } as KubeObject,
            {
                ...role,
                kind: "ClusterRoleBinding",
                roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "self" },
                subjects: [{ kind: "ServiceAccount", namespace: "default", name: "agent" }],
            } as KubeObject,
        ]);
        await server.addNode("node1");
        const spec = { nodeName: "node1", serviceAccountName: "agent", containers: [{ name: "main", image: "x" }] };
        const metadata = { namespace: "default", name: "agent-1" };
        const { metadata: made } = await api.create(pods, { metadata, spec });
        const user = await server.addServiceAccountUser(
            { namespace: "default", name: "agent" },
            { name: "agent-1", uid: made?.uid },
        );
        const { api: agent } = server.clients(user);
        await agent.get(pods, metadata);
        await expect(agent.delete(pods, metadata)).rejects.toMatchObject({ code: "FORBIDDEN" });
        const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        const body = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });
        const review = await agent.request({ method: "POST", path, body });
        expect(review).toMatchObject({
            status: {
                userInfo: {
                    username: "system:serviceaccount:default:agent",
                    extra: { "authentication.kubernetes.io/node-name": ["node1"] },
                },
            },
        });
    });
});
