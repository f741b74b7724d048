import { describe, expect, it } from "@jest/globals";
import { keyOf, refOf } from "../../src/api/object-key.ts";
import * as resources from "../../src/api/resources.ts";

describe("where the API server has the objects of a kind", () => {
    // As `kubectl api-resources` and the reference of the Kubernetes API have them.
    it.each([
        {
            type: "k8s.cni.cncf.io/v1 NetworkAttachmentDefinition",
            resource: resources.networkAttachmentDefinitions,
            path: "/apis/k8s.cni.cncf.io/v1/namespaces/n/network-attachment-definitions/x",
        },
        { type: "v1 Node", resource: resources.nodes, path: "/api/v1/nodes/x" },
        { type: "v1 Namespace", resource: resources.namespaces, path: "/api/v1/namespaces/x" },
        { type: "v1 Pod", resource: resources.pods, path: "/api/v1/namespaces/n/pods/x" },
        { type: "v1 Service", resource: resources.services, path: "/api/v1/namespaces/n/services/x" },
        { type: "v1 ConfigMap", resource: resources.configMaps, path: "/api/v1/namespaces/n/configmaps/x" },
        { type: "v1 Secret", resource: resources.secrets, path: "/api/v1/namespaces/n/secrets/x" },
        { type: "apps/v1 DaemonSet", resource: resources.daemonSets, path: "/apis/apps/v1/namespaces/n/daemonsets/x" },
        {
            type: "apps/v1 Deployment",
            resource: resources.deployments,
            path: "/apis/apps/v1/namespaces/n/deployments/x",
        },
        {
            type: "apps/v1 ReplicaSet",
            resource: resources.replicaSets,
            path: "/apis/apps/v1/namespaces/n/replicasets/x",
        },
        {
            type: "apps/v1 StatefulSet",
            resource: resources.statefulSets,
            path: "/apis/apps/v1/namespaces/n/statefulsets/x",
        },
        { type: "batch/v1 CronJob", resource: resources.cronJobs, path: "/apis/batch/v1/namespaces/n/cronjobs/x" },
        {
            type: "coordination.k8s.io/v1 Lease",
            resource: resources.leases,
            path: "/apis/coordination.k8s.io/v1/namespaces/n/leases/x",
        },
        {
            type: "events.k8s.io/v1 Event",
            resource: resources.events,
            path: "/apis/events.k8s.io/v1/namespaces/n/events/x",
        },
        {
            type: "authentication.k8s.io/v1 TokenReview",
            resource: resources.tokenReviews,
            path: "/apis/authentication.k8s.io/v1/tokenreviews/x",
        },
        {
            type: "authorization.k8s.io/v1 SubjectAccessReview",
            resource: resources.subjectAccessReviews,
            path: "/apis/authorization.k8s.io/v1/subjectaccessreviews/x",
        },
        {
            type: "discovery.k8s.io/v1 EndpointSlice",
            resource: resources.endpointSlices,
            path: "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices/x",
        },
        {
            type: "networking.k8s.io/v1 ServiceCIDR",
            resource: resources.serviceCidrs,
            path: "/apis/networking.k8s.io/v1/servicecidrs/x",
        },
        {
            type: "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
            resource: resources.validatingWebhookConfigurations,
            path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/x",
        },
    ])("$type", ({ resource, type, path }) => {
        expect(`${resources.apiVersionOf(resource)} ${resource.kind}`).toBe(type);
        expect(resources.pathOf(resource, { namespace: "n", name: "x" })).toBe(path);
    });
});

describe("keyOf", () => {
    it.each([
        [{ metadata: { name: "a" } }, "a"],
        [{ metadata: { name: "a", namespace: "" } }, "a"],
        [{ metadata: { name: "a", namespace: "n" } }, "n/a"],
        [{}, ""],
    ])("of %j is %p", (object, key) => {
        expect(keyOf(object)).toBe(key);
    });
});

describe("refOf", () => {
    it.each([
        ["n/a", { namespace: "n", name: "a" }],
        ["a", { namespace: "", name: "a" }],
        ["", { namespace: "", name: "" }],
    ])("of %j is %j", (key, ref) => {
        expect(refOf(key)).toEqual(ref);
    });
});
