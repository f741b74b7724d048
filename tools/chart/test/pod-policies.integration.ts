import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { pods, type ApiClient, type Pod } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { outcome } from "./outcome.ts";
import { render } from "./render.ts";

const namespace = "kube-system";
const statusAnnotation = "k8s.v1.cni.cncf.io/network-status";
const [here, there] = ["node1", "node2"];
const kinds = [
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];
const nothingElse = `an agent changes nothing of a Pod but the annotation ${statusAnnotation}`;

describe("what an agent may change of Pods", () => {
    let server: TestApiServer;
    let admin: ApiClient;
    /** With the token of the agent's Pod on node1. */
    let agent: ApiClient;
    /** With a token of the agent's account that is bound to no Pod. */
    let unbound: ApiClient;
    let last = 0;

    const spec = { serviceAccountName: "antrea-agent", containers: [{ name: "main", image: "example.test/image:1" }] };
    const annotated = (annotations: Readonly<Record<string, string | null>>): Record<string, unknown> => ({
        metadata: { annotations },
    });
    const created = async (nodeName: string | undefined, metadata: object = {}): Promise<string> => {
        const name = `pod${(last += 1)}`;
        await admin.create(pods, { metadata: { namespace, name, ...metadata }, spec: { ...spec, nodeName } } as Pod);
        return name;
    };
    const change = (api: ApiClient, name: string, body: Readonly<Record<string, unknown>>): Promise<string> =>
        outcome(api.patch(pods, { namespace, name }, { type: "merge", body }, { subresource: "status" }));
    const stored = (name: string): Promise<Pod> => admin.get(pods, { namespace, name });

    beforeAll(async () => {
        server = await TestApiServer.start({ authorization: "RBAC" });
        admin = server.clients().api;
        const manifests = await render("--set", "featureGates.SecondaryNetwork=true");
        await server.apply(manifests.filter(({ kind }) => kinds.includes(kind)));
        for (const name of [here, there]) await server.addNode(name);
        const { metadata } = await stored(await created(here));
        const account = { namespace, name: "antrea-agent" };
        const bound = { name: metadata?.name ?? "", uid: metadata?.uid };
        agent = server.clients(await server.addServiceAccountUser(account, bound)).api;
        unbound = server.clients(await server.addServiceAccountUser(account)).api;
    });
    afterAll(() => server.stop());

    /** What kubelet and others write of a running Pod. */
    const running = {
        phase: "Running",
        conditions: [
            { type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: "2026-01-01T00:00:00Z" },
        ],
        hostIP: "192.0.2.9",
        hostIPs: [{ ip: "192.0.2.9" }],
        podIP: "10.10.0.7",
        podIPs: [{ ip: "10.10.0.7" }],
        startTime: "2026-01-01T00:00:00Z",
        containerStatuses: [
            {
                name: "main",
                image: "example.test/image:1",
                imageID: "example.test/image@sha256:1",
                containerID: "containerd://1",
                ready: true,
                restartCount: 0,
                state: { running: { startedAt: "2026-01-01T00:00:00Z" } },
            },
        ],
        message: "of kubelet",
    } as const;

    it("the state of the networks of one on its Node, and that again, and away", async () => {
        const name = await created(here, { annotations: { theirs: "1" } });
        expect(await change(admin, name, { status: running })).toBe("ok");
        const { status } = await stored(name);
        expect(status?.podIPs).toEqual(running.podIPs);
        for (const value of ["[]", '[{"name":"default/vlan","interface":"net1"}]']) {
            expect(await change(agent, name, annotated({ [statusAnnotation]: value }))).toBe("ok");
            const { metadata, status: after } = await stored(name);
            expect([metadata?.annotations, after]).toEqual([{ theirs: "1", [statusAnnotation]: value }, status]);
        }
        expect(await change(agent, name, annotated({ [statusAnnotation]: null }))).toBe("ok");
        expect((await stored(name)).metadata?.annotations).toEqual({ theirs: "1" });
    });

    it("of one with as many annotations as there may be", async () => {
        const annotations = Object.fromEntries(
            Array.from({ length: 2000 }, (_, at) => [`example.test/annotation-${at}`, "x".repeat(90)]),
        );
        const name = await created(here, { annotations });
        expect(await change(agent, name, annotated({ [statusAnnotation]: "[]" }))).toBe("ok");
    });

    it.each<[string, string | undefined, string]>([
        ["on another Node", there, `the agent of Node ${here} cannot change Pod `],
        ["on no Node", undefined, `the agent of Node ${here} cannot change Pod `],
    ])("nothing of one %s", async (_name, nodeName, message) => {
        const name = await created(nodeName);
        const answer = await change(agent, name, annotated({ [statusAnnotation]: "[]" }));
        expect(answer).toContain(`${message}${namespace}/${name}: it is not on its Node`);
        expect((await stored(name)).metadata?.annotations).toBeUndefined();
    });

    it.each([
        ["a Node", here],
        ["no Node", undefined],
    ])("nothing of one on %s, with a token that is bound to none", async (_name, nodeName) => {
        const name = await created(nodeName);
        expect(await change(unbound, name, annotated({ [statusAnnotation]: "[]" }))).toContain("it is not on its Node");
        expect((await stored(name)).metadata?.annotations).toBeUndefined();
    });

    it.each<[string, Readonly<Record<string, unknown>>]>([
        ["another annotation", annotated({ mine: "1" })],
        ["another annotation beside its own", annotated({ [statusAnnotation]: "[]", mine: "1" })],
        ["what others wrote", annotated({ theirs: "2" })],
        ["what others wrote, away", annotated({ theirs: null })],
        ["a label", { metadata: { labels: { app: "other" } } }],
        ["a label, away", { metadata: { labels: null } }],
        ["a finalizer", { metadata: { finalizers: ["antrea.io/x"] } }],
        ...[
            { phase: "Failed" },
            { conditions: [{ ...running.conditions[0], status: "False" }] },
            { conditions: null },
            // The API server compares the first address with the one alone.
            { hostIP: "192.0.2.10", hostIPs: [{ ip: "192.0.2.10" }] },
            { hostIPs: [...running.hostIPs, { ip: "2001:db8::9" }] },
            { podIP: "10.10.0.8", podIPs: [{ ip: "10.10.0.8" }] },
            { podIP: "10.10.0.8" },
            { podIPs: [...running.podIPs, { ip: "2001:db8::7" }] },
            { startTime: "2026-01-02T00:00:00Z" },
            { containerStatuses: [{ ...running.containerStatuses[0], ready: false }] },
            { containerStatuses: null },
            { ephemeralContainerStatuses: [{ ...running.containerStatuses[0], name: "debug" }] },
            { message: "of the agent" },
            { reason: "Evicted" },
            { observedGeneration: 7 },
        ].map((status): [string, Readonly<Record<string, unknown>>] => [
            `in the status ${JSON.stringify(status)}`,
            { status },
        ]),
        ["all of the status, away", { status: null }],
    ])("not %s", async (what, body) => {
        const name = await created(here, { annotations: { theirs: "1" }, labels: { app: "web" } });
        expect(await change(admin, name, { status: running })).toBe("ok");
        const before = await stored(name);
        const answer = await change(agent, name, body);
        const after = await stored(name);
        expect(after).toEqual(before);
        expect([what, answer]).toEqual([what, expect.stringContaining(nothingElse)]);
    });

    // The API server takes these out of every update of a status, before any policy sees it.
    it.each<[string, Readonly<Record<string, unknown>>]>([
        ["the spec", { spec: { activeDeadlineSeconds: 1, tolerations: null } }],
        ["an owner", { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: here, uid: "1-2-3" }] } }],
    ])("nor %s, in silence", async (_name, body) => {
        const name = await created(here);
        const before = await stored(name);
        expect(await change(agent, name, body)).toBe("ok");
        expect(await stored(name)).toEqual(before);
    });

    it("nothing but by the status, as its role allows", async () => {
        const name = await created(here);
        const body = annotated({ [statusAnnotation]: "[]" });
        const patched = agent.patch(pods, { namespace, name }, { type: "merge", body });
        expect(await outcome(patched)).toContain('cannot patch resource "pods" in API group');
    });

    it("others are not held up by it", async () => {
        for (const nodeName of [here, there, undefined]) {
            const name = await created(nodeName);
            expect(await change(admin, name, { ...annotated({ theirs: "1" }), status: running })).toBe("ok");
        }
    });
});
