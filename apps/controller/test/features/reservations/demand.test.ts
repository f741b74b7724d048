import { describe, expect, it } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { type Namespace, type StatefulSet } from "@antrea/kube";
import {
    asksNamespace,
    demandOf,
    reachOf,
    slimNamespace,
    slimSet,
    type Demand,
} from "../../../src/features/reservations/demand.ts";

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

describe("reachOf", () => {
    it("is 256, or twice the Pods that there are, in steps that leave room for the next Pod", () => {
        expect([0, 1, 128, 129, 200, 1_000, 50_000].map(reachOf)).toEqual([256, 256, 256, 256, 384, 1_920, 98_304]);
        let steps = 0;
        for (let pods = 1; pods < 20_000; pods += 1) {
            const reach = reachOf(pods);
            expect(reach).toBeLessThanOrEqual(Math.max(256, 2 * pods));
            expect(reach).toBeGreaterThanOrEqual(Math.max(256, 1.75 * pods));
            if (reach !== reachOf(pods - 1)) steps += 1;
        }
        expect(steps).toBeLessThan(64);
    });

    it("is that of the Pods that the StatefulSet reports", () => {
        const of = (replicas: number): StatefulSet => ({ ...set({}), status: { replicas } });
        for (const object of [of(500), slimSet(of(500))]) expect(demandOf(object, namespace).reach).toBe(960);
    });
});

describe("demandOf", () => {
    const usual: Partial<Demand> = { reach: 256, hostNetwork: false, problems: [] };

    it.each<readonly [string, StatefulSet, object, number, number, object]>([
        ["its own pools", set({ [poolsAnnotation]: "a, b" }), { from: "Pod", names: ["a", "b"] }, 3, 0, {}],
        ["its Namespace's", set({}), { from: "Namespace", names: ["n"] }, 3, 0, {}],
        [
            "an empty value of its own",
            set({ [poolsAnnotation]: "" }),
            { from: "Pod", names: [] },
            3,
            0,
            { reach: 0, problems: ["ippools: it must name at least one IPPool"] },
        ],
        ["other ordinals", set({}, { ordinals: { start: 7 } }), { from: "Namespace" }, 3, 7, {}],
        ["no number of replicas", set({}, { replicas: undefined }), { from: "Namespace" }, 1, 0, {}],
        [
            "Pods in their Node's network",
            set({}, { template: { spec: { hostNetwork: true, containers: [] } } }),
            { from: "Namespace" },
            3,
            0,
            { hostNetwork: true, reach: 0 },
        ],
        [
            "broken annotations",
            set({ [poolsAnnotation]: "a,a", [podIpsAnnotation]: "10.0.0.300" }),
            { from: "Pod" },
            3,
            0,
            {
                reach: 0,
                problems: ['ippools: IPPool "a" is named more than once', expect.stringContaining("pod-ips: ")],
            },
        ],
    ])("%s", (_name, object, pools, replicas, start, more) => {
        // What is kept of the objects asks for the same.
        for (const [own, owner] of [
            [object, namespace],
            [slimSet(object), slimNamespace(namespace)],
        ] as const) {
            expect(demandOf(own, owner)).toMatchObject({
                ...usual,
                namespace: "ns",
                name: "web",
                uid: "u",
                pools,
                replicas,
                start,
                deleting: false,
                ...more,
            });
        }
    });

    it("minds no pod-ips where no pool is named", () => {
        const object = set({ [podIpsAnnotation]: "broken" });
        expect(demandOf(object, { metadata: { name: "ns" } })).toMatchObject({ problems: [], reach: 256 });
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

    it("keeps the annotation by which its Pods request networks", () => {
        const networks = "k8s.v1.cni.cncf.io/networks";
        const kept = (annotations: object): string => demandOf(slimSet(set({ ...annotations })), namespace).networks;
        expect([kept({}), kept({ [networks]: "blue@net7, red" })]).toEqual(["", "blue@net7, red"]);
    });

    it("keeps little of an object", () => {
        expect(JSON.stringify(slimSet(set({ [poolsAnnotation]: "a" }))).length).toBeLessThan(250);
        expect(slimNamespace(namespace).metadata?.annotations).toEqual({ [poolsAnnotation]: "n" });
    });
});
