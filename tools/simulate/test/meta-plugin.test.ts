import { describe, expect, it } from "@jest/globals";
import { type KubeObject } from "@antrea/kube";
import { isReadAs } from "../cluster/meta-plugin.ts";
import { hashAnnotation, mirrorAnnotation } from "../cluster/mirror-pods.ts";

const pod: KubeObject = { metadata: { name: "web", uid: "uid" } };
const mirrorOf = (hash: string): KubeObject => ({
    metadata: { ...pod.metadata, annotations: { [mirrorAnnotation]: hash, [hashAnnotation]: hash } },
});

describe("a meta plugin", () => {
    it.each([
        ["its Pod", pod, "uid", true],
        ["another Pod of the name", pod, "earlier", false],
        ["the mirror Pod of its static Pod", mirrorOf("hash"), "hash", true],
        ["that of the next manifest", mirrorOf("next"), "hash", true],
    ] as const)("that is called for a Pod judges %s", (_, object, uid, isRead) => {
        expect(isReadAs(object, uid)).toBe(isRead);
    });
});
