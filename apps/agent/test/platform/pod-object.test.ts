import { describe, expect, it } from "@jest/globals";
import { configHashAnnotation, configMirrorAnnotation, type Pod } from "@antrea/kube";
import { isPodOf, isStaticPod, newSandboxStep } from "../../src/platform/pod-object.ts";

const pod: Pod = { metadata: { namespace: "default", name: "web-0", uid: "u1" } };
const withHash: Pod = { metadata: { ...pod.metadata, annotations: { [configHashAnnotation]: "hash" } } };
const mirrors = { [configHashAnnotation]: "hash", [configMirrorAnnotation]: "hash" };
const mirror: Pod = { metadata: { ...pod.metadata, annotations: mirrors } };
const named = { podNamespace: "default", podName: "web-0", podUid: "u1" };

describe("the Pod of an interface", () => {
    it.each([
        ["of the name and the UID", true, pod, named],
        ["of the name with another UID", false, pod, { ...named, podUid: "u2" }],
        ["of another name", false, pod, { ...named, podName: "web-1" }],
        ["in another Namespace", false, pod, { ...named, podNamespace: "other" }],
        ["of the name, while no UID is known", true, pod, { ...named, podUid: "" }],
        ["of another name, while no UID is known", false, pod, { ...named, podName: "web-1", podUid: "" }],
        ["that mirrors a static Pod with this hash", true, mirror, { ...named, podUid: "hash" }],
        ["on which a user set this hash", false, withHash, { ...named, podUid: "hash" }],
        ["that mirrors a static Pod with another hash", false, mirror, { ...named, podUid: "other" }],
    ])("is the one %s: %s", (_, expected, object, wanted) => {
        expect(isPodOf(object, wanted)).toBe(expected);
    });

    it("is none without metadata", () => {
        expect(isPodOf({}, named)).toBe(false);
    });
});

it("a Pod is static if it mirrors one, not if a user set the hash", () => {
    expect([pod, withHash, mirror].map(isStaticPod)).toEqual([false, false, true]);
});

it("a static Pod gets a new sandbox by its manifest, as the kubelet creates a deleted mirror Pod again for the same one", () => {
    expect([newSandboxStep(false, "delete it"), newSandboxStep(true, "delete it")]).toEqual([
        "delete it",
        "move the manifest of this static Pod out of its directory and back",
    ]);
});
