import { describe, expect, it } from "@jest/globals";
import {
    configHashAnnotation,
    configMirrorAnnotation,
    hasPodUid,
    podIdentity,
    podLookup,
    podUids,
    staticUidOf,
} from "../src/index.ts";

const podWith = (annotations: Readonly<Record<string, string>>): Parameters<typeof podUids>[0] => ({
    metadata: { uid: "u1", annotations },
});

describe("the UIDs of a Pod", () => {
    it("are its own and the hash of the manifest that it mirrors", () => {
        const mirror = podWith({ [configHashAnnotation]: "hash", [configMirrorAnnotation]: "hash" });
        expect(podUids(mirror)).toEqual(["u1", "hash"]);
        expect(staticUidOf(mirror)).toBe("hash");
        expect([hasPodUid(mirror, "u1"), hasPodUid(mirror, "hash"), hasPodUid(mirror, "u2")]).toEqual([
            true,
            true,
            false,
        ]);
    });

    it.each<[string, Readonly<Record<string, string>>]>([
        ["no annotations", {}],
        ["only the hash, which any user can set on a running Pod", { [configHashAnnotation]: "hash" }],
        ["another hash in the mirror annotation", { [configHashAnnotation]: "hash", [configMirrorAnnotation]: "h" }],
        ["only the mirror annotation", { [configMirrorAnnotation]: "hash" }],
    ])("are only its own with %s", (_, annotations) => {
        const pod = podWith(annotations);
        expect(podUids(pod)).toEqual(["u1"]);
        expect(staticUidOf(pod)).toBeUndefined();
        expect(hasPodUid(pod, "hash")).toBe(false);
    });

    it("are none without metadata", () => {
        expect(podUids({})).toEqual([""]);
        expect(hasPodUid({}, "u1")).toBe(false);
    });
});

describe("a Pod of a list", () => {
    const annotations = { [configHashAnnotation]: "hash", [configMirrorAnnotation]: "hash" };
    const find = podLookup(
        [
            { metadata: { namespace: "ns", name: "a", uid: "u1" } },
            { metadata: { namespace: "ns", name: "static", uid: "u2", annotations } },
            { metadata: { namespace: "ns", name: "again", uid: "u3" } },
            { metadata: { namespace: "ns", name: "unknown" } },
        ].map(podIdentity),
    );

    it.each([
        ["by name and UID", { namespace: "ns", name: "a", uid: "u1" }, "a"],
        ["by name and the hash of its manifest", { namespace: "ns", name: "static", uid: "hash" }, "static"],
        ["without a name, by UID", { namespace: "", name: "", uid: "u1" }, "a"],
        ["without a name, by the hash of its manifest", { namespace: "", name: "", uid: "hash" }, "static"],
        ["not by the UID alone", { namespace: "ns", name: "gone", uid: "u1" }, undefined],
        ["not by the hash of a mirror Pod of another name", { namespace: "ns", name: "gone", uid: "hash" }, undefined],
        [
            "not by the hash of a mirror Pod of another Namespace",
            { namespace: "other", name: "static", uid: "hash" },
            undefined,
        ],
        ["not with another UID", { namespace: "ns", name: "again", uid: "u1" }, undefined],
        ["not without a UID", { namespace: "ns", name: "a", uid: "" }, undefined],
        ["not by nothing at all, though one of the list has no UID", { namespace: "", name: "", uid: "" }, undefined],
    ])("is found %s", (_, pod, expected) => {
        expect(find(pod)?.name).toBe(expected);
    });

    it("is the one with that UID, before a mirror Pod with the same hash", () => {
        const byUid = podLookup(
            [
                { metadata: { namespace: "ns", name: "owner", uid: "hash" } },
                { metadata: { namespace: "ns", name: "mirror", uid: "u2", annotations } },
            ].map(podIdentity),
        );
        expect(byUid({ namespace: "", name: "", uid: "hash" })?.name).toBe("owner");
    });
});
