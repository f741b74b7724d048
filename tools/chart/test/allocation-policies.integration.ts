import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { forceDeleteAnnotation, ipAllocations, type IpAllocation, type IpAllocationSpec } from "@antrea/crd";
import { pods, type ApiClient } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { allocation, allocationOf, pod, setAllocation } from "./allocations.ts";
import { outcome } from "./outcome.ts";
import { render } from "./render.ts";

const namespace = "kube-system";
const here = "node1";
const there = "node2";
const elsewhere = { ...pod, nodeName: there };
// The parts of the chart that decide who may write allocations.
const kinds = [
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

describe("who may write allocations", () => {
    let server: TestApiServer;
    let admin: ApiClient;
    /** With the token of the agent's Pod on node1. */
    let agent: ApiClient;
    let controller: ApiClient;
    let last = 0;

    const someAddress = (): string => `10.7.${(last += 1) >> 8}.${last & 255}`;
    /** Stores an allocation with the permissions of an administrator. */
    const stored = async (make: (address: string) => IpAllocation): Promise<IpAllocation> =>
        controller.create(ipAllocations, make(someAddress()));
    const changed = (object: IpAllocation, spec: Partial<IpAllocationSpec>): IpAllocation => ({
        ...object,
        spec: { ...object.spec, ...spec },
    });
    /** To Reserved, which has no Pod. */
    const reserved = (object: IpAllocation): IpAllocation => {
        const { pod: _, ...spec } = object.spec;
        return { ...object, spec: { ...spec, state: "Reserved" } };
    };
    const remove = (api: ApiClient, object: IpAllocation): Promise<string> =>
        outcome(api.delete(ipAllocations, { name: object.metadata?.name ?? "" }));

    async function userOf(account: string, nodeName: string): Promise<ApiClient> {
        const name = `${account}-${nodeName}`;
        const spec = { serviceAccountName: account, nodeName, containers: [{ name: "main", image: "antrea" }] };
        const { metadata } = await admin.create(pods, { metadata: { namespace, name }, spec });
        const user = await server.addServiceAccountUser({ namespace, name: account }, { name, uid: metadata?.uid });
        return server.clients(user).api;
    }

    beforeAll(async () => {
        server = await TestApiServer.start({ authorization: "RBAC" });
        admin = server.clients().api;
        const manifests = await render("--set", "featureGates.AntreaIPAM=true");
        await server.apply(manifests.filter(({ kind }) => kinds.includes(kind)));
        await server.addNode(here);
        agent = await userOf("antrea-agent", here);
        controller = await userOf("antrea-controller", there);
    });
    afterAll(() => server.stop());

    describe("the agent of a Node", () => {
        it.each<[string, (address: string) => IpAllocation]>([
            ["a Pod's there", (address) => allocation(address)],
            [
                "an ordinal's whose Pod runs there, lost by hand",
                (address) => setAllocation(address, { index: 3, nodeName: here }),
            ],
        ])("creates %s", async (_name, make) => {
            expect(await outcome(agent.create(ipAllocations, make(someAddress())))).toBe("ok");
        });

        it.each<[string, (address: string) => IpAllocation, string]>([
            [
                "of a Pod of another Node",
                (address) => allocation(address, { pod: elsewhere }),
                "it must be Allocated to a Pod of its own Node",
            ],
            [
                "of an ordinal on another Node",
                (address) => setAllocation(address, { index: 0, nodeName: there }),
                "it must be Allocated to a Pod of its own Node",
            ],
            [
                "that is Reserved",
                (address) => setAllocation(address, { index: 0 }),
                "it must be Allocated to a Pod of its own Node",
            ],
            [
                "of a Node",
                (address) =>
                    allocationOf(address, {
                        ...setAllocation(address, { index: 0 }).spec,
                        owner: { kind: "Node", name: here },
                    }),
                "it must be Allocated to a Pod of its own Node",
            ],
            [
                "with finalizers",
                (address) => ({
                    ...allocation(address),
                    metadata: { ...allocation(address).metadata, finalizers: ["antrea.io/x"] },
                }),
                "allocations have no finalizers and no ownerReferences",
            ],
            [
                "with ownerReferences",
                (address) => ({
                    ...allocation(address),
                    metadata: {
                        ...allocation(address).metadata,
                        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "u" }],
                    },
                }),
                "allocations have no finalizers and no ownerReferences",
            ],
        ])("does not create one %s", async (_name, make, message) => {
            expect(await outcome(agent.create(ipAllocations, make(someAddress())))).toContain(message);
        });

        it.each<[string, (address: string) => IpAllocation, (object: IpAllocation) => IpAllocation]>([
            [
                "a new sandbox",
                (address) => allocation(address),
                (object) => changed(object, { pod: { ...pod, containerID: "new" } }),
            ],
            [
                "a new sandbox, which another definition of the pool sets up",
                (address) => allocation(address, { poolUID: "one", poolGeneration: 3 }),
                (object) => changed(object, { poolUID: "two", poolGeneration: 1, pod: { ...pod, containerID: "new" } }),
            ],
            [
                "a new sandbox of an ordinal",
                (address) => setAllocation(address, { index: 0, nodeName: here }),
                (object) => changed(object, { pod: { ...object.spec.pod!, containerID: "new" } }),
            ],
            [
                "the next Pod of an ordinal",
                (address) => setAllocation(address, { index: 0, nodeName: here }),
                (object) => changed(object, { pod: { ...object.spec.pod!, uid: "next", containerID: "new" } }),
            ],
            [
                "a reservation that is taken up",
                (address) => setAllocation(address, { index: 0 }),
                (object) => ({
                    ...object,
                    spec: setAllocation(object.spec.address, { index: 0, nodeName: here }).spec,
                }),
            ],
            ["an ordinal whose Pod ended", (address) => setAllocation(address, { index: 0, nodeName: here }), reserved],
            [
                "an annotation",
                (address) => allocation(address),
                (object) => ({ ...object, metadata: { ...object.metadata, annotations: { a: "b" } } }),
            ],
        ])("writes %s", async (_name, make, change) => {
            const object = await stored(make);
            expect(await outcome(agent.update(ipAllocations, change(object)))).toBe("ok");
        });

        it.each<[string, (address: string) => IpAllocation, (object: IpAllocation) => IpAllocation]>([
            [
                "take a Pod's allocation from another Node",
                (address) => allocation(address, { pod: elsewhere }),
                (object) => changed(object, { pod }),
            ],
            [
                "take an ordinal's allocation from another Node",
                (address) => setAllocation(address, { index: 0, nodeName: there }),
                (object) => ({
                    ...object,
                    spec: setAllocation(object.spec.address, { index: 0, nodeName: here }).spec,
                }),
            ],
            [
                "give its allocation to another Node",
                (address) => allocation(address),
                (object) => changed(object, { pod: elsewhere }),
            ],
            [
                "give an ordinal's allocation to another Node",
                (address) => setAllocation(address, { index: 0, nodeName: here }),
                (object) => changed(object, { pod: { ...object.spec.pod!, nodeName: there } }),
            ],
            [
                "reserve an ordinal of another Node",
                (address) => setAllocation(address, { index: 0, nodeName: there }),
                reserved,
            ],
            ["reserve a Pod's address", (address) => allocation(address), reserved],
            [
                "take up a reservation for a Pod of another Node",
                (address) => setAllocation(address, { index: 0 }),
                (object) => ({
                    ...object,
                    spec: setAllocation(object.spec.address, { index: 0, nodeName: there }).spec,
                }),
            ],
            [
                "change a reservation",
                (address) => setAllocation(address, { index: 0 }),
                (object) => ({ ...object, metadata: { ...object.metadata, annotations: { a: "b" } } }),
            ],
            [
                "annotate the allocation of another Node",
                (address) => allocation(address, { pod: elsewhere }),
                (object) => ({
                    ...object,
                    metadata: { ...object.metadata, annotations: { [forceDeleteAnnotation]: "true" } },
                }),
            ],
            [
                "make another Pod the owner",
                (address) => allocation(address),
                (object) =>
                    changed(object, { owner: { ...object.spec.owner, uid: "other" }, pod: { ...pod, uid: "other" } }),
            ],
            [
                "make its Pod the owner of a reservation",
                (address) => setAllocation(address, { index: 0 }),
                (object) => changed(object, allocation(object.spec.address).spec),
            ],
            [
                "make a StatefulSet the owner",
                (address) => allocation(address, { pod: { ...pod, name: "db-0" } }),
                (object) => changed(object, { owner: setAllocation(object.spec.address, { index: 0 }).spec.owner }),
            ],
            [
                "take an address that its Node holds",
                (address) =>
                    allocationOf(address, {
                        ...setAllocation(address, { index: 0 }).spec,
                        owner: { kind: "Node", name: here },
                    }),
                (object) => changed(object, allocation(object.spec.address).spec),
            ],
        ])("does not %s", async (_name, make, change) => {
            const object = await stored(make);
            expect(await outcome(agent.update(ipAllocations, change(object)))).toContain(
                `the agent of Node ${here} cannot update the allocation of ${object.spec.address}: it may change those of its own Node`,
            );
        });

        it("keeps finalizers that others set, and adds none", async () => {
            const object = await stored(allocation);
            const withFinalizer = await admin.patch(
                ipAllocations,
                { name: object.spec.address },
                {
                    type: "merge",
                    body: { metadata: { finalizers: ["example.com/audit"] } },
                },
            );
            const next = changed(withFinalizer, { pod: { ...pod, containerID: "new" } });
            const kept = await agent.update(ipAllocations, next);
            const more = { ...kept, metadata: { ...kept.metadata, finalizers: ["example.com/audit", "antrea.io/x"] } };
            expect(await outcome(agent.update(ipAllocations, more))).toContain("allocations have no finalizers");
        });

        it.each<[string, (address: string) => IpAllocation, string]>([
            ["frees a Pod's there", (address) => allocation(address), "ok"],
            [
                "does not free a Pod's of another Node",
                (address) => allocation(address, { pod: elsewhere }),
                "it must be owned by, and Allocated to, a Pod of its own Node",
            ],
            [
                "does not free an ordinal's there",
                (address) => setAllocation(address, { index: 0, nodeName: here }),
                "it must be owned by, and Allocated to, a Pod of its own Node",
            ],
            [
                "does not free a reservation",
                (address) => setAllocation(address, { index: 0 }),
                "it must be owned by, and Allocated to, a Pod of its own Node",
            ],
        ])("%s", async (_name, make, message) => {
            expect(await remove(agent, await stored(make))).toContain(message);
        });

        it("is held to this also where the annotation breaks the glass", async () => {
            const object = await stored((address) => allocation(address, { pod: elsewhere }));
            const annotations = { [forceDeleteAnnotation]: "true" };
            await admin.patch(
                ipAllocations,
                { name: object.spec.address },
                { type: "merge", body: { metadata: { annotations } } },
            );
            expect(await remove(agent, object)).toContain("a Pod of its own Node");
        });

        it("is nobody without the token of its Pod", async () => {
            const user = await server.addServiceAccountUser({ namespace, name: "antrea-agent" });
            const { api } = server.clients(user);
            expect(await outcome(api.create(ipAllocations, allocation(someAddress())))).toContain(
                "the token is not bound to a Node",
            );
        });

        it("has no right to pools' specs and status, and to many allocations at once", async () => {
            const path = "/apis/crd.antrea.io/v1alpha1/ipallocations";
            await expect(agent.request({ method: "DELETE", path })).rejects.toMatchObject({ code: "FORBIDDEN" });
            const status = "/apis/crd.antrea.io/v1alpha2/ippools/pool1/status";
            await expect(agent.request({ method: "PUT", path: status, body: "{}" })).rejects.toMatchObject({
                code: "FORBIDDEN",
            });
        });
    });

    describe("the controller", () => {
        it.each<[string, (address: string) => IpAllocation]>([
            ["an allocation of a Node that is gone", (address) => allocation(address, { pod: elsewhere })],
            ["an ordinal's allocation in use", (address) => setAllocation(address, { index: 0, nodeName: here })],
            ["a reservation", (address) => setAllocation(address, { index: 0 })],
        ])("frees %s", async (_name, make) => {
            expect(await remove(controller, await stored(make))).toBe("ok");
        });

        it("hands an ordinal over from a dead Node, and renews the owner", async () => {
            const object = await stored((address) => setAllocation(address, { index: 0, nodeName: there }));
            const free = await controller.update(ipAllocations, reserved(object));
            const renewed = changed(free, { owner: { ...free.spec.owner, uid: "uid-living" } });
            expect(await outcome(controller.update(ipAllocations, renewed))).toBe("ok");
        });
    });

    describe("a person with all rights", () => {
        const force = (object: IpAllocation): Promise<IpAllocation> =>
            admin.patch(
                ipAllocations,
                { name: object.spec.address },
                {
                    type: "merge",
                    body: { metadata: { annotations: { [forceDeleteAnnotation]: "true" } } },
                },
            );

        it("does not delete an address in use by mistake", async () => {
            const object = await stored(allocation);
            expect(await remove(admin, object)).toBe(
                `address ${object.spec.address} is used by Pod shop/web on Node node1: delete the Pod, and the address is freed. ` +
                    "If it is no longer in use, first run: " +
                    `kubectl annotate ipallocation ${object.spec.address} ipam.antrea.io/force-delete=true`,
            );
            const path = `/apis/crd.antrea.io/v1alpha1/ipallocations?fieldSelector=metadata.name%3D${object.spec.address}`;
            expect(await outcome(admin.request({ method: "DELETE", path }))).toContain("is used by Pod shop/web");
        });

        it("breaks the glass with the annotation", async () => {
            const object = await stored(allocation);
            await force(object);
            expect(await remove(admin, object)).toBe("ok");
        });

        it.each(["false", "", "yes"])("does not break it with the value %j", async (value) => {
            const object = await stored(allocation);
            const annotations = { [forceDeleteAnnotation]: value };
            await admin.patch(
                ipAllocations,
                { name: object.spec.address },
                { type: "merge", body: { metadata: { annotations } } },
            );
            expect(await remove(admin, object)).toContain("is used by Pod");
        });

        it("does not free an address by a change either, unless the glass is broken", async () => {
            const object = await stored((address) => setAllocation(address, { index: 0, nodeName: here }));
            expect(await outcome(admin.update(ipAllocations, reserved(object)))).toContain("is used by Pod shop/db-0");
            const atOnce = reserved({
                ...object,
                metadata: { ...object.metadata, annotations: { [forceDeleteAnnotation]: "true" } },
            });
            expect(await outcome(admin.update(ipAllocations, atOnce))).toContain("is used by Pod shop/db-0");
            expect(await outcome(admin.update(ipAllocations, reserved(await force(object))))).toBe("ok");
        });

        it("may label allocations, delete reservations, and restore allocations from a backup", async () => {
            const object = await stored(allocation);
            const labelled = { ...object, metadata: { ...object.metadata, labels: { a: "b" } } };
            expect(await outcome(admin.update(ipAllocations, labelled))).toBe("ok");
            expect(await remove(admin, await stored((address) => setAllocation(address, { index: 0 })))).toBe("ok");
            expect(await outcome(admin.create(ipAllocations, allocation(someAddress())))).toBe("ok");
        });
    });
});
