/** A request of the API server about an IPPool, parts of it replaced. */
export function reviewOf(request: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    return {
        apiVersion: "admission.k8s.io/v1",
        kind: "AdmissionReview",
        request: {
            uid: "1234",
            kind: { group: "crd.antrea.io", version: "v1alpha2", kind: "IPPool" },
            resource: { group: "crd.antrea.io", version: "v1alpha2", resource: "ippools" },
            name: "pool1",
            operation: "UPDATE",
            userInfo: { username: "kubernetes-admin" },
            object: { metadata: { name: "pool1" } },
            oldObject: {},
            dryRun: false,
            options: null,
            ...request,
        },
    };
}
