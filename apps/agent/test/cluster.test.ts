import { describe, expect, it } from "@jest/globals";
import { formatIp } from "@antrea/ip";
import { KubeError, type ApiClient, type Node } from "@antrea/kube";
import { changesPodCidrs, changesRoutes, leavesForGood, podsOf, slimNode } from "../src/cluster.ts";
import { silentLogger } from "./support/logger.ts";

const node: Node = {
    metadata: { name: "n", uid: "u", resourceVersion: "5", annotations: { heavy: "x".repeat(100) } },
    spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"], providerID: "cloud" },
    status: {
        addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
        conditions: [{ type: "Ready", status: "True" }],
    },
} as Node;

describe("Nodes", () => {
    it("are kept without what nobody reads", () => {
        expect(slimNode(node)).toEqual({
            metadata: { name: "n", uid: "u", resourceVersion: "5" },
            spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] },
            status: { addresses: [{ type: "InternalIP", address: "192.0.2.1" }] },
        });
        const outOfService = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
        const taints = [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }, outOfService];
        expect(slimNode({ spec: { taints } }).spec).toEqual({ taints: [outOfService] });
        expect(slimNode({})).toEqual({ metadata: {}, spec: {}, status: {} });
    });

    it("concern the routes when podCIDRs or addresses change, not with every heartbeat", () => {
        const slim = slimNode(node);
        const heartbeat = slimNode({ ...node, metadata: { ...node.metadata, resourceVersion: "6" } });
        expect(changesRoutes("updated", heartbeat, slim)).toBe(false);
        expect(changesRoutes("updated", { ...slim, spec: { podCIDRs: ["10.2.0.0/24"] } }, slim)).toBe(true);
        expect(changesRoutes("updated", { ...slim, status: { addresses: [] } }, slim)).toBe(true);
        expect(changesRoutes("added", slim, undefined)).toBe(true);
        expect(changesPodCidrs("updated", { ...slim, status: { addresses: [] } }, slim)).toBe(false);
        expect(changesPodCidrs("updated", { ...slim, spec: { podCIDRs: ["10.2.0.0/24"] } }, slim)).toBe(true);
        expect(changesPodCidrs("deleted", heartbeat, slim)).toBe(true);
        // A deletion brings the object as it was last, often as it is known.
        expect(changesRoutes("deleted", heartbeat, slim)).toBe(true);
    });
});

describe("Pods", () => {
    it("of the Node are asked for, with what tells whether their addresses are in use", async () => {
        const asked: unknown[] = [];
        const items = [
            {
                metadata: { uid: "u1", namespace: "ns", name: "web" },
                status: { phase: "Running", podIPs: [{ ip: "10.1.0.5" }, { ip: "fd00::5" }, { ip: "" }, {}] },
            },
            { metadata: { uid: "u2" }, spec: { hostNetwork: true } },
            { metadata: { uid: "u3" }, status: { phase: "Succeeded", podIPs: [{ ip: "10.1.0.6" }] } },
            { metadata: { uid: "u4" }, status: { phase: "Failed" } },
        ];
        const api = {
            list: (...args: readonly unknown[]) => {
                asked.push(args[1]);
                return Promise.resolve({ items });
            },
        } as unknown as ApiClient;
        const { signal } = new AbortController();
        const found = await podsOf(api, "n", signal);
        expect(asked).toEqual([{ fieldSelector: "spec.nodeName=n", signal }]);
        expect(found.map((pod) => ({ ...pod, podIps: pod.podIps.map(formatIp) }))).toEqual([
            {
                uid: "u1",
                namespace: "ns",
                name: "web",
                hostNetwork: false,
                ended: false,
                podIps: ["10.1.0.5", "fd00::5"],
            },
            { uid: "u2", namespace: "", name: "", hostNetwork: true, ended: false, podIps: [] },
            { uid: "u3", namespace: "", name: "", hostNetwork: false, ended: true, podIps: ["10.1.0.6"] },
            { uid: "u4", namespace: "", name: "", hostNetwork: false, ended: true, podIps: [] },
        ]);
    });
});

describe("the agent leaves for good", () => {
    const apiWith = (answer: () => Promise<unknown>): ApiClient => ({ find: answer }) as unknown as ApiClient;

    it.each<[string, () => Promise<unknown>, boolean]>([
        ["when its DaemonSet is gone", () => Promise.resolve(undefined), true],
        ["when it is being deleted", () => Promise.resolve({ metadata: { deletionTimestamp: "2026-01-01" } }), true],
        ["not while it is there", () => Promise.resolve({ metadata: { name: "antrea-agent" } }), false],
        ["when its rights are gone", () => Promise.reject(new KubeError("FORBIDDEN", "no")), true],
        ["when its account is gone", () => Promise.reject(new KubeError("UNAUTHORIZED", "no")), true],
        ["not when nobody can tell", () => Promise.reject(new Error("API server away")), false],
    ])("%s", async (_, answer, expected) => {
        expect(await leavesForGood(apiWith(answer), "kube-system", silentLogger)).toBe(expected);
    });
});
