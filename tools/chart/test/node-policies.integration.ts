import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { macAnnotation, secondaryBridgeCondition, transportAnnotation, uplinkCondition } from "@antrea/crd";
import { nodes, pods, type ApiClient, type Node } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { outcome } from "./outcome.ts";
import { render } from "./render.ts";

const namespace = "kube-system";
const [here, there] = ["node1", "node2"];
const kinds = [
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/** Of the status: what an API server takes out of every request that brings it, before any policy sees it. */
const takenOut: readonly string[] = ["config"];

describe("what an agent may change of Nodes", () => {
    let server: TestApiServer;
    let admin: ApiClient;
    /** With the token of the agent's Pod on node1. */
    let agent: ApiClient;

    const change = (name: string, body: Readonly<Record<string, unknown>>): Promise<string> =>
        outcome(agent.patch(nodes, { name }, { type: "merge", body }));
    const annotated = (annotations: Readonly<Record<string, string | null>>): Record<string, unknown> => ({
        metadata: { annotations },
    });

    beforeAll(async () => {
        server = await TestApiServer.start({ authorization: "RBAC" });
        admin = server.clients().api;
        // the gate of the IPPools is off
        await server.apply((await render()).filter(({ kind }) => kinds.includes(kind)));
        for (const name of [here, there]) await server.addNode(name);
        await admin.patch(nodes, { name: here }, { type: "merge", body: annotated({ theirs: "1" }) });
        const spec = { serviceAccountName: "antrea-agent", nodeName: here, containers: [{ name: "a", image: "a" }] };
        const { metadata } = await admin.create(pods, { metadata: { namespace, name: "agent" }, spec });
        const account = { namespace, name: "antrea-agent" };
        const user = await server.addServiceAccountUser(account, { name: "agent", uid: metadata?.uid });
        agent = server.clients(user).api;
    });
    afterAll(() => server.stop());

    it("the transport addresses of its own", async () => {
        const of = async (): Promise<Node["metadata"]> => (await admin.get(nodes, { name: here })).metadata;
        for (const value of ["192.0.2.7", "192.0.2.8,2001:db8::8"]) {
            expect(await change(here, annotated({ [transportAnnotation]: value }))).toBe("ok");
            expect((await of())?.annotations).toMatchObject({ [transportAnnotation]: value, theirs: "1" });
        }
        expect(await change(here, annotated({ [transportAnnotation]: null }))).toBe("ok");
        expect((await of())?.annotations).not.toHaveProperty([transportAnnotation]);
    });

    it("its own MAC address, and the condition of its uplink", async () => {
        const mac = "02:00:00:00:00:07";
        expect(await change(here, annotated({ [macAnnotation]: mac }))).toBe("ok");
        const set = (name: string, type: string, rest: object): Promise<string> => {
            const body = { status: { conditions: [{ type, ...rest }] } };
            return outcome(agent.patch(nodes, { name }, { type: "strategic", body }, { subresource: "status" }));
        };
        const bridged = { status: "True", reason: "UplinkBridged", message: "eth0" };
        expect(await set(here, uplinkCondition, bridged)).toBe("ok");
        expect((await admin.get(nodes, { name: here })).status?.conditions).toMatchObject([
            { type: uplinkCondition, ...bridged },
        ]);
        expect(await set(there, uplinkCondition, bridged)).toContain("it is not its own");
        expect(await set(here, "Ready", { status: "True", reason: "a", message: "b" })).toContain(
            "nothing of its Node but",
        );
        expect(await set(here, uplinkCondition, { $patch: "delete" })).toBe("ok");
        expect((await admin.get(nodes, { name: here })).status?.conditions ?? []).toEqual([]);
        const addresses = { status: { addresses: [{ type: "InternalIP", address: "192.0.2.9" }] } };
        const moved = agent.patch(
            nodes,
            { name: here },
            { type: "strategic", body: addresses },
            { subresource: "status" },
        );
        expect(await outcome(moved)).toContain("nothing of its Node but");
    });

    it("the condition of its secondary bridge, and of it alone", async () => {
        const ready = { type: secondaryBridgeCondition, status: "True", reason: "BridgeReady", message: "eth1" };
        const set = (name: string, ...conditions: readonly object[]): Promise<string> =>
            outcome(
                agent.patch(
                    nodes,
                    { name },
                    { type: "strategic", body: { status: { conditions } } },
                    { subresource: "status" },
                ),
            );
        expect(await set(here, ready)).toBe("ok");
        expect((await admin.get(nodes, { name: here })).status?.conditions).toMatchObject([ready]);
        expect(await set(here, { ...ready, status: "False", reason: "NICNotConnected" })).toBe("ok");
        expect(await set(there, ready)).toContain("it is not its own");
        expect(await set(here, ready, { ...ready, type: "Ready" })).toContain("nothing of its Node but");
        expect(await set(here, { ...ready, type: `${secondaryBridgeCondition}2` })).toContain(
            "nothing of its Node but",
        );
        expect(await set(here, { type: secondaryBridgeCondition, $patch: "delete" })).toBe("ok");
        expect((await admin.get(nodes, { name: here })).status?.conditions ?? []).toEqual([]);
    });

    it.each<[string, string, Readonly<Record<string, unknown>>, string]>([
        ["another Node's addresses", there, annotated({ [transportAnnotation]: "192.0.2.7" }), "it is not its own"],
        ["another annotation", here, annotated({ mine: "1" }), "nothing of its Node but the annotation"],
        ["what others wrote", here, annotated({ theirs: "2" }), "nothing of its Node but the annotation"],
        ["what others wrote, away", here, annotated({ theirs: null }), "nothing of its Node but the annotation"],
        ["a label", here, { metadata: { labels: { a: "b" } } }, "nothing of its Node but the annotation"],
        ["a taint", here, { spec: { taints: [{ key: "a", effect: "NoExecute" }] } }, "nothing of its Node but"],
        ["a finalizer", here, { metadata: { finalizers: ["antrea.io/x"] } }, "nothing of its Node but the annotation"],
    ])("not %s", async (_name, node, body, message) => {
        expect(await change(node, body)).toContain(message);
    });

    describe("of the status of its own", () => {
        /** What kubelet and the controllers of Kubernetes write there. */
        const written = {
            addresses: [{ type: "InternalIP", address: "192.0.2.9" }],
            // Without it the API server would say that it is the capacity.
            allocatable: { cpu: "63" },
            capacity: { cpu: "64" },
            config: { error: "none" },
            daemonEndpoints: { kubeletEndpoint: { Port: 10260 } },
            declaredFeatures: ["Invented"],
            features: { supplementalGroupsPolicy: true },
            images: [{ names: ["registry.example.org/a:1"], sizeBytes: 1 }],
            nodeInfo: { kubeletVersion: "v9.9.9" },
            phase: "Terminated",
            runtimeHandlers: [{ name: "runc", features: { recursiveReadOnlyMounts: true } }],
            volumesAttached: [{ name: "kubernetes.io/a", devicePath: "/dev/a" }],
            volumesInUse: ["kubernetes.io/a"],
        } as const;
        const fields = Object.entries(written);
        const patch = (api: ApiClient, status: unknown): Promise<string> =>
            outcome(api.patch(nodes, { name: here }, { type: "merge", body: { status } }, { subresource: "status" }));
        const stored = async (): Promise<Node["status"]> => (await admin.get(nodes, { name: here })).status;

        it.each(fields)("not %s", async (field, value) => {
            const before = await stored();
            const answer = await patch(agent, { [field]: value });
            expect(await stored()).toEqual(before);
            expect(answer).toContain(takenOut.includes(field) ? "ok" : "nothing of its Node but");
        });

        it("nothing that is there, away, be it beside its condition", async () => {
            expect(await patch(admin, written)).toBe("ok");
            const before = await stored();
            const there = fields.map(([field]) => field).filter((field) => before !== undefined && field in before);
            expect(there).toEqual(fields.map(([field]) => field).filter((field) => !takenOut.includes(field)));
            const conditions = [{ type: uplinkCondition, status: "True", reason: "UplinkBridged", message: "eth0" }];
            for (const field of there) {
                expect([field, await patch(agent, { [field]: null, conditions })]).toEqual([
                    field,
                    expect.stringContaining("nothing of its Node but"),
                ]);
            }
            expect(await stored()).toEqual(before);
            expect(await patch(agent, { conditions })).toBe("ok");
            expect(await stored()).toMatchObject({ ...before, conditions });
        });

        it("its condition, also of a Node with as many images as a kubelet reports", async () => {
            const names = (at: number) =>
                Array.from({ length: 5 }, (_, of) => `registry.example.org/${"a".repeat(200)}:${at}-${of}`);
            const images = Array.from({ length: 50 }, (_, at) => ({ names: names(at), sizeBytes: at + 1 }));
            expect(await patch(admin, { images })).toBe("ok");
            const conditions = [{ type: uplinkCondition, status: "False", reason: "UplinkLost", message: "eth0" }];
            expect(await patch(agent, { conditions })).toBe("ok");
        });
    });

    it("others are not held up by it", async () => {
        const label = { metadata: { labels: { a: "b" } } };
        expect(await outcome(admin.patch(nodes, { name: there }, { type: "merge", body: label }))).toBe("ok");
    });
});
