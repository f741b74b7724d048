import { describe, expect, it } from "@jest/globals";
import { configHashAnnotation, configMirrorAnnotation, hasPodUid, podUids, staticUidOf } from "../src/index.ts";

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
