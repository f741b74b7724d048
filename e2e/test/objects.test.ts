import { describe, expect, it } from "@jest/globals";
import { parseQuery, pathOf } from "../fixture/objects.ts";

const pods = { path: "/api/v1", plural: "pods", namespaced: true };
const pools = { path: "/apis/crd.antrea.io/v1alpha2", plural: "ippools", namespaced: false };

describe("a query of objects", () => {
    it("is what kubectl get would be asked", () => {
        expect(parseQuery(["pods", "-n", "a", "-l", "app=b", "--field-selector", "spec.nodeName=c"])).toEqual({
            resource: "pods",
            namespace: "a",
            labelSelector: "app=b",
            fieldSelector: "spec.nodeName=c",
        });
        expect(parseQuery(["-n", "a", "statefulset", "web"])).toEqual({
            resource: "statefulset",
            name: "web",
            namespace: "a",
        });
    });

    it("with what is not known here is refused, not answered with something else", () => {
        expect(() => parseQuery(["pods", "-A"])).toThrow(/get pods -A ended with BAD_QUERY:\n-A is not known/);
        expect(() => parseQuery(["pods", "a", "b"])).toThrow(/BAD_QUERY/);
        expect(() => parseQuery([])).toThrow(/BAD_QUERY/);
    });

    it("has the path of the API server, in the Namespace default as with kubectl", () => {
        expect(pathOf(pods, { resource: "pods", namespace: "a", labelSelector: "app=b,c in (d)" })).toBe(
            "/api/v1/namespaces/a/pods?labelSelector=app%3Db%2Cc+in+%28d%29",
        );
        expect(pathOf(pods, { resource: "pod", name: "b" })).toBe("/api/v1/namespaces/default/pods/b");
        expect(pathOf(pools, { resource: "ippool", name: "b", namespace: "a" })).toBe(
            "/apis/crd.antrea.io/v1alpha2/ippools/b",
        );
    });
});
