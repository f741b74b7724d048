import { describe, expect, it } from "@jest/globals";
import {
    headlessLabel,
    loadBalancerModeAnnotation,
    serviceNameLabel,
    serviceProxyNameLabel,
    slimService,
    slimSlice,
    triggerTimeAnnotation,
    zoneLabel,
    type EndpointObject,
    type ServiceObject,
    type SliceObject,
} from "../src/index.ts";
import { indexOf, servedOf } from "./objects.ts";

const metadata = {
    name: "web",
    namespace: "default",
    uid: "u",
    resourceVersion: "7",
    creationTimestamp: "2026-01-01T00:00:00Z",
    deletionTimestamp: "2026-01-02T00:00:00Z",
};
const keptService: ServiceObject = {
    metadata: {
        ...metadata,
        labels: { [serviceProxyNameLabel]: "x", [headlessLabel]: "" },
        annotations: { [loadBalancerModeAnnotation]: "dsr" },
    },
    spec: {
        type: "LoadBalancer",
        clusterIPs: ["10.96.0.1"],
        externalIPs: ["203.0.113.1"],
        ports: [{ name: "http", protocol: "TCP", port: 80, nodePort: 30080 }],
        internalTrafficPolicy: "Local",
        externalTrafficPolicy: "Local",
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
        loadBalancerSourceRanges: ["10.0.0.0/8"],
        healthCheckNodePort: 31000,
    },
    status: { loadBalancer: { ingress: [{ ip: "198.51.100.1", ipMode: "VIP" }] } },
};
const wholeService = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
        ...keptService.metadata,
        labels: { ...keptService.metadata?.labels, app: "web" },
        annotations: { ...keptService.metadata?.annotations, large: "x" },
        managedFields: [{}],
    },
    spec: {
        ...keptService.spec,
        clusterIP: "10.96.0.1",
        selector: { app: "web" },
        trafficDistribution: "PreferClose",
        ports: [{ ...keptService.spec?.ports?.[0], port: 80, targetPort: "http", appProtocol: "http" }],
    },
    status: {
        conditions: [{}],
        loadBalancer: { ingress: [{ hostname: "lb.example" }, { ip: "198.51.100.1", ipMode: "VIP", ports: [] }] },
    },
};

const endpoints: readonly EndpointObject[] = [
    { addresses: ["10.1.0.1"], nodeName: "n", hints: { forNodes: [{ name: "n" }], forZones: [{ name: "z" }] } },
    { addresses: ["10.1.0.2"], conditions: { ready: false, serving: false } },
    { addresses: ["10.1.0.3"], conditions: { ready: false, terminating: true } },
    { addresses: ["10.1.0.4"], nodeName: "n" },
    { addresses: ["10.1.0.5"] },
];
const keptSlice: SliceObject = {
    metadata: {
        ...metadata,
        labels: { [serviceNameLabel]: "web", [headlessLabel]: "" },
        annotations: { [triggerTimeAnnotation]: "2026-01-01T00:00:00Z" },
    },
    addressType: "IPv4",
    endpoints,
    ports: [{ name: "http", protocol: "TCP", port: 8080 }],
};
const conditionsOf = [
    { ready: true, serving: true, terminating: false },
    { ready: false, serving: false, terminating: false },
    { ready: false, serving: true, terminating: true },
];
const wholeSlice = {
    ...keptSlice,
    apiVersion: "discovery.k8s.io/v1",
    metadata: {
        ...keptSlice.metadata,
        labels: { ...keptSlice.metadata?.labels, app: "web" },
        annotations: { ...keptSlice.metadata?.annotations, large: "x" },
        ownerReferences: [{}],
    },
    endpoints: endpoints.map((endpoint, at) => ({
        ...endpoint,
        addresses: [...endpoint.addresses, "10.1.0.9"],
        conditions: conditionsOf[at] ?? {},
        targetRef: { kind: "Pod" },
        zone: "z",
        hostname: "h",
    })),
    ports: [{ name: "http", protocol: "TCP", port: 8080, appProtocol: "http" }],
};

describe("labels and annotations", () => {
    it("are those of Kubernetes and Antrea", () => {
        expect([serviceNameLabel, headlessLabel, serviceProxyNameLabel, zoneLabel]).toEqual([
            "kubernetes.io/service-name",
            "service.kubernetes.io/headless",
            "service.kubernetes.io/service-proxy-name",
            "topology.kubernetes.io/zone",
        ]);
        expect([loadBalancerModeAnnotation, triggerTimeAnnotation]).toEqual([
            "service.antrea.io/load-balancer-mode",
            "endpoints.kubernetes.io/last-change-trigger-time",
        ]);
    });
});

describe("slim objects", () => {
    it("have the fields that decide what is served, and no others", () => {
        expect([slimService(wholeService), slimSlice(wholeSlice)]).toEqual([keptService, keptSlice]);
    });

    it("stay as they are", () => {
        expect([slimService(keptService), slimSlice(keptSlice)]).toEqual([keptService, keptSlice]);
    });

    it("leave absent what the object lacks", () => {
        expect(slimService({})).toEqual({ metadata: {}, spec: {} });
        expect(slimService({ spec: { clusterIP: "10.96.0.1" } }).spec).toEqual({ clusterIP: "10.96.0.1" });
        expect(slimSlice({ addressType: "IPv6" })).toEqual({ metadata: {}, addressType: "IPv6" });
    });

    it.each<[EndpointObject, EndpointObject]>([
        [{ addresses: [], hints: {}, conditions: {} }, { addresses: [] }],
        [
            { addresses: ["10.1.0.1"], conditions: { ready: true, serving: false } },
            { addresses: ["10.1.0.1"], conditions: { serving: false } },
        ],
        [
            { addresses: ["10.1.0.1"], conditions: { ready: false, serving: true } },
            { addresses: ["10.1.0.1"], conditions: { ready: false } },
        ],
        [
            { addresses: ["10.1.0.1"], hints: { forNodes: [{ name: "n" }] } },
            { addresses: ["10.1.0.1"], hints: { forNodes: [{ name: "n" }] } },
        ],
        [
            { addresses: ["10.1.0.1"], nodeName: "n", hints: { forZones: [{ name: "z" }] } },
            { addresses: ["10.1.0.1"], nodeName: "n", hints: { forZones: [{ name: "z" }] } },
        ],
    ])("keep of the endpoint %j: %j", (endpoint, expected) => {
        const { endpoints: kept } = slimSlice({ addressType: "IPv4", endpoints: [endpoint] });
        expect(kept).toStrictEqual([expected]);
    });

    it("give the same result as whole ones", () => {
        const plain = { labels: {}, annotations: {} };
        const services = [wholeService, slimService(wholeService)].map((one) => ({
            ...one,
            metadata: { ...one.metadata, ...plain },
        }));
        const slices = [wholeSlice, slimSlice(wholeSlice)].map((one) => ({
            ...one,
            metadata: { ...one.metadata, labels: { [serviceNameLabel]: "web" } },
        }));
        const [whole, slim] = services.map((one, at) =>
            servedOf(indexOf({ services: [one], slices: slices.slice(at, at + 1) })),
        );
        expect(whole?.ports[0]?.endpoints.cluster.length).toBe(3);
        expect(slim).toEqual(whole);
    });
});
