import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import {
    daemonSets,
    deployments,
    pathOf,
    pods,
    replicaSets,
    statefulSets,
    type ApiClient,
    type KubeObject,
    type Resource,
} from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { outcome } from "./outcome.ts";
import { render } from "./render.ts";

type Annotations = Readonly<Record<string, string>>;

const namespace = "default";
const podSpec = { containers: [{ name: "main", image: "antrea" }], serviceAccountName: "default" };
const selector = { matchLabels: { app: "web" } };
const labels = selector.matchLabels;

interface Row {
    readonly kind: string;
    readonly resource: Resource<KubeObject>;
    /** Where the annotations are, in a message. */
    readonly path: string;
    make(name: string, annotations: Annotations): KubeObject;
    /** A merge patch that changes annotations. */
    annotate(annotations: Readonly<Record<string, string | null>>): Record<string, unknown>;
}

const template = (annotations: unknown): Record<string, unknown> => ({
    metadata: { labels, annotations },
    spec: podSpec,
});
const rows: readonly Row[] = [
    {
        kind: "Pod",
        resource: pods as Resource<KubeObject>,
        path: "metadata.annotations",
        make: (name, annotations) => ({ metadata: { namespace, name, annotations }, spec: podSpec }) as KubeObject,
        annotate: (annotations) => ({ metadata: { annotations } }),
    },
    ...(
        [
            ["Deployment", deployments],
            ["StatefulSet", statefulSets],
            ["DaemonSet", daemonSets],
            ["ReplicaSet", replicaSets],
        ] as const
    ).map(([kind, resource]): Row => ({
        kind,
        resource: resource as Resource<KubeObject>,
        path: "spec.template.metadata.annotations",
        make: (name, annotations) =>
            ({ metadata: { namespace, name }, spec: { selector, template: template(annotations) } }) as KubeObject,
        annotate: (annotations) => ({ spec: { template: { metadata: { annotations } } } }),
    })),
];

describe.each(rows)("the annotations of a $kind", ({ kind, resource, path, make, annotate }) => {
    let server: TestApiServer;
    let api: ApiClient;
    let count = 0;

    const stored = async (annotations: Annotations): Promise<{ readonly namespace: string; readonly name: string }> => {
        const name = `one-${(count += 1)}`;
        await api.create(resource, make(name, annotations));
        return { namespace, name };
    };
    const change = async (
        from: Annotations,
        to: Readonly<Record<string, string | null>>,
        options?: { readonly subresource: string },
    ): Promise<string> =>
        outcome(api.patch(resource, await stored(from), { type: "merge", body: annotate(to) }, options));

    beforeAll(async () => {
        server = await TestApiServer.start();
        api = server.clients().api;
        const manifests = await render("--set", "featureGates.AntreaIPAM=true");
        await server.apply(manifests.filter((one) => one.kind.startsWith("ValidatingAdmissionPolicy")));
    });
    afterAll(() => server.stop());

    it.each<[string, Annotations, Readonly<Record<string, string | null>>, string]>([
        ["another pool", { [poolsAnnotation]: "pool1" }, { [poolsAnnotation]: "pool2" }, `${poolsAnnotation}] of`],
        [
            "a further pool",
            { [poolsAnnotation]: "pool1" },
            { [poolsAnnotation]: "pool1,pool2" },
            'from "pool1" to "pool1,pool2"',
        ],
        [
            "a first pool",
            {},
            { [poolsAnnotation]: "pool1" },
            'from nothing to "pool1"; delete the object and create it again',
        ],
        ["an empty list of pools", { [poolsAnnotation]: "pool1" }, { [poolsAnnotation]: "" }, 'from "pool1" to ""'],
        [
            "another address",
            { [podIpsAnnotation]: "10.2.0.12" },
            { [podIpsAnnotation]: "10.2.0.13" },
            `${podIpsAnnotation}] of`,
        ],
        [
            "a first address",
            { [poolsAnnotation]: "pool1" },
            { [podIpsAnnotation]: "10.2.0.13" },
            'from nothing to "10.2.0.13"',
        ],
    ])("are not changed to %s", async (_name, from, to, message) => {
        const answer = await change(from, to);
        expect(answer).toContain(message);
        expect(answer).toContain(path);
        // A template is not written through the status; a Pod's annotations are.
        const throughStatus = await change(from, to, { subresource: "status" });
        if (kind === "Pod") expect(throughStatus).toContain(message);
        else expect(throughStatus).toBe("ok");
    });

    it.each<[string, Annotations, string]>([
        [poolsAnnotation, { [poolsAnnotation]: "pool1" }, 'from "pool1" to nothing'],
        [podIpsAnnotation, { [podIpsAnnotation]: "10.2.0.12" }, 'from "10.2.0.12" to nothing'],
        [podIpsAnnotation, { [podIpsAnnotation]: "no address" }, 'from "no address" to nothing'],
    ])("lose %s on a template only", async (key, from, message) => {
        const answer = await change(from, { [key]: null });
        if (kind === "Pod") expect(answer).toContain(message);
        else expect(answer).toBe("ok");
    });

    it.each<[string, Annotations]>([
        ["without them", {}],
        ["with them", { [poolsAnnotation]: "pool1", [podIpsAnnotation]: "10.2.0.12" }],
        ["with bad ones", { [poolsAnnotation]: ",,", [podIpsAnnotation]: "no address" }],
    ])("let every other change of an object %s pass, and its end", async (_name, annotations) => {
        expect(await change(annotations, { other: "changed" })).toBe("ok");
        const ref = await stored(annotations);
        const label = {
            type: "merge",
            body: { metadata: { labels: { a: "b" }, finalizers: ["example.com/x"] } },
        } as const;
        expect(await outcome(api.patch(resource, ref, label))).toBe("ok");
        const status = { type: "merge", body: { status: { observedGeneration: 1 } } } as const;
        expect(await outcome(api.patch(resource, ref, status, { subresource: "status" }))).toBe("ok");
        // as Multus writes what it gave
        const ofOther = { type: "merge", body: annotate({ "k8s.v1.cni.cncf.io/network-status": "[]" }) } as const;
        expect(await outcome(api.patch(resource, ref, ofOther, { subresource: "status" }))).toBe("ok");
        const spec = kind === "Pod" ? { activeDeadlineSeconds: 60 } : { replicas: 5 };
        expect(await outcome(api.patch(resource, ref, { type: "merge", body: { spec } }))).toBe("ok");
        expect(await outcome(api.delete(resource, ref))).toBe("ok");
        const free = { type: "merge", body: { metadata: { finalizers: null } } } as const;
        expect(await outcome(api.patch(resource, ref, free))).toBe("ok");
    });
});

// What docs/security.md says of who else may write annotations of Pods.
describe("the annotations of a Pod", () => {
    let server: TestApiServer;
    let api: ApiClient;

    beforeAll(async () => {
        server = await TestApiServer.start({ authorization: "RBAC" });
        api = server.clients().api;
        const manifests = await render("--set", "featureGates.AntreaIPAM=true");
        await server.apply(manifests.filter((one) => one.kind.startsWith("ValidatingAdmissionPolicy")));
    });
    afterAll(() => server.stop());

    it("may be set by who binds it to a Node", async () => {
        const ref = { namespace, name: "bound" };
        await api.create(pods, { metadata: ref, spec: podSpec } as never);
        const body = JSON.stringify({
            apiVersion: "v1",
            kind: "Binding",
            metadata: { ...ref, annotations: { [poolsAnnotation]: "pool1" } },
            target: { apiVersion: "v1", kind: "Node", name: "n1" },
        });
        await api.request({ method: "POST", path: pathOf(pods, ref, "binding"), body });
        const { metadata, spec } = await api.get(pods, ref);
        expect([spec?.nodeName, metadata?.annotations?.[poolsAnnotation]]).toEqual(["n1", "pool1"]);
    });

    it.each(["view", "edit", "admin"])("are not written through status or binding by role %s", async (role) => {
        const { rules } = (await api.request({
            method: "GET",
            path: `/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregate-to-${role}`,
        })) as {
            readonly rules: readonly { readonly resources?: readonly string[]; readonly verbs: readonly string[] }[];
        };
        const writes = rules
            .filter(({ resources = [] }) =>
                resources.some((one) => ["pods/status", "pods/binding", "bindings", "*"].includes(one)),
            )
            .flatMap(({ verbs }) => verbs)
            .filter((verb) => !["get", "list", "watch"].includes(verb));
        expect(rules.length).toBeGreaterThan(0);
        expect(writes).toEqual([]);
    });
});
