import { describe, expect, it } from "@jest/globals";
import { decodeReview, encodeReview } from "../../src/review/index.ts";
import { reviewOf } from "../support/review.ts";

describe("an AdmissionReview", () => {
    it("is read", () => {
        const review = reviewOf({ dryRun: true, subResource: "scale", namespace: "ns" });
        expect(decodeReview(review)).toEqual({
            uid: "1234",
            kind: "IPPool",
            apiVersion: "crd.antrea.io/v1alpha2",
            resource: "ippools",
            subResource: "scale",
            name: "pool1",
            namespace: "ns",
            operation: "UPDATE",
            object: { metadata: { name: "pool1" } },
            oldObject: {},
            dryRun: true,
        });
    });

    it("of a deletion has the old object only, of a creation the new one", () => {
        const old = { metadata: { name: "old" } };
        expect(decodeReview(reviewOf({ operation: "DELETE", object: null, oldObject: old }))).toMatchObject({
            object: undefined,
            oldObject: old,
        });
        expect(decodeReview(reviewOf({ operation: "CREATE", oldObject: null })).oldObject).toBeUndefined();
    });

    it("of the core group has the version alone", () => {
        const kind = { group: "", version: "v1", kind: "Pod" };
        expect(decodeReview(reviewOf({ kind })).apiVersion).toBe("v1");
    });

    it.each<[string, unknown, string]>([
        ["nothing", undefined, "the body must be an object"],
        ["a list", [], "the body must be an object"],
        ["another kind", { ...reviewOf(), kind: "Pod" }, "AdmissionReview"],
        ["the beta version", { ...reviewOf(), apiVersion: "admission.k8s.io/v1beta1" }, "admission.k8s.io/v1"],
        ["no request", { ...reviewOf(), request: undefined }, "request must be an object"],
        ["no uid", reviewOf({ uid: "" }), "request.uid must be text"],
        ["a number as name", reviewOf({ name: 5 }), "request.name must be text"],
        ["no kind", reviewOf({ kind: null }), "request.kind must be an object"],
        ["an unknown operation", reviewOf({ operation: "PATCH" }), "request.operation must be CREATE"],
        ["no object", reviewOf({ object: null }), "request.object must be an object"],
    ])("is not %s", (_name, body, rule) => {
        expect(() => decodeReview(body)).toThrow(
            expect.objectContaining({ code: "BAD_REVIEW", message: expect.stringContaining(rule) }),
        );
    });
});

describe("the answer", () => {
    it("is yes, with warnings if there are any", () => {
        const head = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
        expect(encodeReview("1", { warnings: [] })).toEqual({ ...head, response: { uid: "1", allowed: true } });
        expect(encodeReview("1", { warnings: ["a"] })).toEqual({
            ...head,
            response: { uid: "1", allowed: true, warnings: ["a"] },
        });
    });

    it.each([
        ["Invalid", 422],
        ["Forbidden", 403],
    ] as const)("is no: %s is status %d", (reason, code) => {
        expect(encodeReview("1", { refused: { message: "no", reason }, warnings: [] })).toMatchObject({
            response: { uid: "1", allowed: false, status: { status: "Failure", message: "no", reason, code } },
        });
    });
});
