import { describe, expect, it } from "@jest/globals";
import { type Node } from "../src/index.ts";
import { slimNode } from "../src/slim-node.ts";

describe("slimNode", () => {
    const kept: Node = {
        metadata: {
            name: "n",
            uid: "u",
            resourceVersion: "7",
            deletionTimestamp: "2026-01-01T00:00:00Z",
            labels: { zone: "a" },
            annotations: { mac: "02:00:00:00:00:01" },
        },
        spec: {
            podCIDR: "10.0.0.0/24",
            podCIDRs: ["10.0.0.0/24", "fd00::/64"],
            taints: [{ key: "out-of-service", effect: "NoExecute" }],
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
        metadata: {
            ...kept.metadata,
            labels: { zone: "a", other: "b" },
            annotations: { ...kept.metadata?.annotations, large: "x" },
        },
        spec: {
            ...kept.spec,
            providerID: "p",
            taints: [...(kept.spec?.taints ?? []), { key: "other", effect: "NoSchedule" }],
        },
        status: {
            addresses: [...(kept.status?.addresses ?? []), { type: "Hostname", address: "n" }],
            conditions: [{ type: "Ready", status: "True" }],
            images: [{ names: ["large"], sizeBytes: 1 }],
        },
    } as Node;

    it("keeps podCIDRs, addresses, and the labels, annotations and taints in use", () => {
        const inUse = { labels: ["zone"], annotations: ["mac", "transport"], taints: ["out-of-service"] };
        expect(slimNode(whole, inUse)).toEqual(kept);
    });

    it("leaves absent what the Node lacks, or nobody uses", () => {
        expect(slimNode({})).toEqual({ metadata: {}, spec: {} });
        const { metadata, spec } = slimNode(whole);
        expect([metadata?.labels, metadata?.annotations, spec?.taints]).toEqual([undefined, undefined, undefined]);
    });
});
