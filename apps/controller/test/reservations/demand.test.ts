import { describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { type Namespace, type StatefulSet } from "@antrea/kube";
import { asksNamespace, demandOf, slimNamespace, slimSet } from "../../src/reservations/demand.ts";

const set = (annotations: Readonly<Record<string, string>>, spec: object = {}): StatefulSet => ({
    metadata: { namespace: "ns", name: "web", uid: "u", resourceVersion: "1", annotations: { large: "x".repeat(100) } },
    spec: {
        selector: { matchLabels: { app: "web" } },
        replicas: 3,
        template: { metadata: { annotations: { other: "y", ...annotations } }, spec: { containers: [] } },
        ...spec,
    },
    status: { replicas: 3 },
});
const namespace: Namespace = { metadata: { name: "ns", annotations: { [poolsAnnotation]: "n", other: "z" } } };

describe("demandOf", () => {
    it.each([
        ["its own pools", set({ [poolsAnnotation]: "a, b" }), { from: "Pod", names: ["a", "b"] }, 3, 0],
        ["its Namespace's", set({}), { from: "Namespace", names: ["n"] }, 3, 0],
        ["an empty value of its own", set({ [poolsAnnotation]: "" }), { from: "Pod", names: [] }, 3, 0],
        ["other ordinals", set({}, { ordinals: { start: 7 } }), { from: "Namespace" }, 3, 7],
        ["no number of replicas", set({}, { replicas: undefined }), { from: "Namespace" }, 1, 0],
        [
            "Pods in their Node's network",
            set({}, { template: { spec: { hostNetwork: true, containers: [] } } }),
            { from: "Namespace" },
            0,
            0,
        ],
    ])("%s", (_name, object, pools, replicas, start) => {
        // What is kept of the objects asks for the same.
        for (const [own, owner] of [
            [object, namespace],
            [slimSet(object), slimNamespace(namespace)],
        ] as const) {
            expect(demandOf(own, owner)).toMatchObject({
                namespace: "ns",
                name: "web",
                uid: "u",
                pools,
                replicas,
                start,
                deleting: false,
            });
        }
    });

    it("reads fixed addresses and deletion", () => {
        const object = set({ [poolsAnnotation]: "a", [podIpsAnnotation]: "10.0.0.5" });
        const deleting = { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
        expect(demandOf(slimSet(deleting), undefined)).toMatchObject({
            fixed: [{ family: 4, value: 0x0a000005n }],
            deleting: true,
        });
        expect(asksNamespace(slimSet(object))).toBe(false);
        expect(asksNamespace(slimSet(set({})))).toBe(true);
    });

    it("keeps little of an object", () => {
        expect(JSON.stringify(slimSet(set({ [poolsAnnotation]: "a" }))).length).toBeLessThan(250);
        expect(slimNamespace(namespace).metadata?.annotations).toEqual({ [poolsAnnotation]: "n" });
    });
});
