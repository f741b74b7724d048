import { expect, it } from "@jest/globals";
import type { Node } from "@antrea/kube";
import { isLeaving } from "../../../src/platform/node/leaving.ts";

const taint = (key: string): Node => ({ spec: { taints: [{ key, effect: "NoSchedule" }] } });

it.each<[string, Node | undefined, boolean]>([
    ["is gone", undefined, true],
    ["is being deleted", { metadata: { deletionTimestamp: "2026-11-27T10:00:00Z" } }, true],
    ["is about to be deleted", taint("ToBeDeletedByClusterAutoscaler"), true],
    ["is cordoned", taint("node.kubernetes.io/unschedulable"), false],
    ["is out of service", taint("node.kubernetes.io/out-of-service"), false],
    ["runs", {}, false],
])("a Node that %s", (_, node, expected) => {
    expect(isLeaving(node)).toBe(expected);
});
