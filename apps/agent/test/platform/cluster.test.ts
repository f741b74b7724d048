import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { formatIp, parseIp } from "@antrea/ip";
import { KubeError, slimNode, type ApiClient, type Node } from "@antrea/kube";
import { leavesForGood } from "../../src/features/cni-server/leaves-for-good.ts";
import { podsOf, unwiredEvent } from "../../src/features/pod-network/node-pods.ts";
import { changesPodCidrs, changesRoutes } from "../../src/platform/node/node-changes.ts";
import { silentLogger } from "../support/logger.ts";

const node: Node = {
    metadata: { name: "n", uid: "u", resourceVersion: "5", annotations: { heavy: "x".repeat(100) } },
    spec: { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"], providerID: "cloud" },
    status: {
        addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
        conditions: [{ type: "Ready", status: "True" }],
    },
} as Node;

describe("Nodes", () => {
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
    it("of the Node are asked for, with what reports whether their addresses are in use", async () => {
        const asked: unknown[] = [];
        const mirrors = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
        const items = [
            {
                metadata: { uid: "u1", namespace: "ns", name: "web" },
                status: { phase: "Running", podIPs: [{ ip: "10.1.0.5" }, { ip: "fd00::5" }, { ip: "" }, {}] },
            },
            { metadata: { uid: "u2" }, spec: { hostNetwork: true } },
            { metadata: { uid: "u3" }, status: { phase: "Succeeded", podIPs: [{ ip: "10.1.0.6" }] } },
            { metadata: { uid: "u4" }, status: { phase: "Failed" } },
            {
                metadata: { uid: "u5" },
                status: { conditions: [{ type: "PodReadyToStartContainers", status: "False" }] },
            },
            { metadata: { uid: "u6", annotations: mirrors } },
            { metadata: { uid: "u7", annotations: { "kubernetes.io/config.hash": "hash" } } },
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
                hasSandbox: true,
                podIps: ["10.1.0.5", "fd00::5"],
            },
            { uid: "u2", namespace: "", name: "", hostNetwork: true, ended: false, hasSandbox: true, podIps: [] },
            {
                uid: "u3",
                namespace: "",
                name: "",
                hostNetwork: false,
                ended: true,
                hasSandbox: true,
                podIps: ["10.1.0.6"],
            },
            { uid: "u4", namespace: "", name: "", hostNetwork: false, ended: true, hasSandbox: true, podIps: [] },
            { uid: "u5", namespace: "", name: "", hostNetwork: false, ended: false, hasSandbox: false, podIps: [] },
            {
                uid: "u6",
                staticUid: "hash",
                namespace: "",
                name: "",
                hostNetwork: false,
                ended: false,
                hasSandbox: true,
                podIps: [],
            },
            // That hash anybody may write on a Pod.
            { uid: "u7", namespace: "", name: "", hostNetwork: false, ended: false, hasSandbox: true, podIps: [] },
        ]);
    });

    it("that run without an interface are reported why, and what to do", () => {
        const pod = { uid: "u1", namespace: "ns", name: "web", hostNetwork: false, ended: false, hasSandbox: true };
        const ips = [parseIp("10.1.0.5"), parseIp("fd00::5")];
        const event = unwiredEvent({ pod: { ...pod, podIps: ips }, ips });
        expect(event).toMatchObject({
            type: "Warning",
            reason: "PodWithoutInterface",
            regarding: { kind: "Pod", namespace: "ns", name: "web", uid: "u1" },
        });
        expect(event.note).toMatch(
            /^has 10\.1\.0\.5 and fd00::5 by its status, and no interface .* delete it, so that/,
        );
        const ofStatic = unwiredEvent({ pod: { ...pod, staticUid: "hash", podIps: ips }, ips });
        expect(ofStatic.regarding).toMatchObject({ uid: "u1" });
        expect(ofStatic.note).toMatch(
            /removed; move the manifest of this static Pod out of its directory and back, so that it is made again$/,
        );
    });
});

describe("the agent leaves for good", () => {
    const there = (): Promise<unknown> => Promise.resolve({ metadata: { name: "antrea-agent" } });
    const gone = (): Promise<unknown> => Promise.resolve(undefined);
    const ending = (): Promise<unknown> => Promise.resolve({ metadata: { deletionTimestamp: "2026-01-01" } });
    const forbidden = (): Promise<unknown> => Promise.reject(new KubeError("FORBIDDEN", "no"));
    const unauthorized = (): Promise<unknown> => Promise.reject(new KubeError("UNAUTHORIZED", "no"));
    const away = (): Promise<unknown> => Promise.reject(new KubeError("TIMEOUT", "API server away"));

    /** What the API server answers, the last answer again and again; when it is asked, in ms; and the outcome. */
    it.each<[string, readonly (() => Promise<unknown>)[], readonly number[], boolean]>([
        ["when its DaemonSet is gone", [gone], [0], true],
        ["when it is being deleted", [ending], [0], true],
        ["not while it is there", [there], [0], false],
        ["when an answer comes after requests without one", [away, away, gone], [0, 500, 1_000], true],
        ["not when it is unknown for 10 s", [away], Array.from({ length: 21 }, (_, at) => at * 500), false],
        ["when its rights are gone, and are still gone some seconds later", [forbidden], [0, 4_000], true],
        ["when its account is gone, and is still gone some seconds later", [unauthorized], [0, 4_000], true],
        ["when its account goes after its rights", [forbidden, unauthorized], [0, 4_000], true],
        ["when it sees after a refusal that its DaemonSet is gone", [forbidden, gone], [0, 4_000], true],
        ["when it sees after a refusal that it is being deleted", [forbidden, ending], [0, 4_000], true],
        [
            "when it is refused again after a request without an answer",
            [forbidden, away, forbidden],
            [0, 4_000, 4_500],
            true,
        ],
        [
            "not when an API server that has just started refuses until it knows the roles",
            [forbidden, there],
            [0, 4_000],
            false,
        ],
        ["not when it begins with 401 and knows the agent then", [unauthorized, there], [0, 4_000], false],
        [
            "not when the API server goes away after a refusal",
            [forbidden, away],
            [0, ...Array.from({ length: 13 }, (_, at) => 4_000 + at * 500)],
            false,
        ],
    ])("%s", async (_, answers, times, expected) => {
        const clock = new ManualClock();
        const asked: number[] = [];
        let closed = 0;
        const find = (): Promise<unknown> | undefined => {
            asked.push(clock.monotonic());
            return answers[Math.min(asked.length, answers.length) - 1]?.();
        };
        const kube = { api: { find } as unknown as ApiClient, close: () => void (closed += 1) };
        const left = leavesForGood(kube, "kube-system", { logger: silentLogger, clock });
        for (let passed = 0; passed < 15_000; passed += 500) await clock.advance(500);
        expect(await left).toBe(expected);
        expect(asked).toEqual(times);
        const failed = asked.filter((_, at) => answers[Math.min(at + 1, answers.length) - 1] === away);
        expect(closed).toBe(failed.length);
        expect(clock.pending).toBe(0);
    });
});
