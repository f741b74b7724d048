import { describe, expect, it } from "@jest/globals";
import { type Node } from "@antrea/kube";
import { slimNode } from "../../src/platform/nodes.ts";

describe("slimNode", () => {
    it("keeps what NodeIPAM and IPPools are about", () => {
        const kept: Node = {
            metadata: { name: "n", uid: "u", resourceVersion: "7", deletionTimestamp: "2026-01-01T00:00:00Z" },
            spec: {
                podCIDR: "10.0.0.0/24",
                podCIDRs: ["10.0.0.0/24", "fd00::/64"],
                taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }],
            },
            status: {
                addresses: [
                    { type: "InternalIP", address: "192.168.0.1" },
                    { type: "ExternalIP", address: "203.0.113.1" },
                    { type: "Hostname", address: "192.168.0.1" },
                    { type: "InternalDNS", address: "fd00::1" },
                ],
            },
        };
        const whole: Node = {
            metadata: { ...kept.metadata, labels: { zone: "a" }, annotations: { large: "x" } },
            spec: {
                ...kept.spec,
                providerID: "p",
                taints: [...(kept.spec?.taints ?? []), { key: "other", effect: "NoSchedule" }],
            },
            status: {
                addresses: [...(kept.status?.addresses ?? []), { type: "Hostname", address: "n" }],
                images: [{ names: ["large"], sizeBytes: 1 }],
            },
        };
        expect(slimNode(whole)).toEqual(kept);
        expect(slimNode({})).toEqual({ metadata: {}, spec: {} });
    });
});
