import { describe, expect, it } from "@jest/globals";
import { formatPrefix } from "@antrea/ip";
import { loadBalancerModeAnnotation, serviceProxyNameLabel, type ServiceSettings } from "../src/index.ts";
import { endpoint, indexOf, placesOf, service, servedOf, slice, type ServiceInput } from "./objects.ts";

const balanced: ServiceInput = {
    type: "LoadBalancer",
    ports: [{ port: 80, nodePort: 30080 }],
    externalIPs: ["203.0.113.1"],
    ingress: ["198.51.100.1"],
};

describe("where a Service is served, with the endpoints for clients inside and outside", () => {
    const cases: readonly (readonly [string, ServiceInput, Partial<ServiceSettings>, readonly string[]])[] = [
        ["a ClusterIP", {}, {}, ["cluster 10.96.0.1 TCP/80 cluster/cluster"]],
        [
            "a ClusterIP with internal policy Local",
            { internalTrafficPolicy: "Local", externalTrafficPolicy: "Cluster" },
            {},
            ["cluster 10.96.0.1 TCP/80 local/local"],
        ],
        [
            "all addresses",
            balanced,
            {},
            [
                "cluster 10.96.0.1 TCP/80 cluster/cluster",
                "loadBalancer 198.51.100.1 TCP/80 cluster/cluster",
                "external 203.0.113.1 TCP/80 cluster/cluster",
                "nodePort IPv4 TCP/30080 cluster/cluster",
            ],
        ],
        [
            "external policy Local: clients inside are subject to none at external addresses",
            { ...balanced, externalTrafficPolicy: "Local", internalTrafficPolicy: "Local" },
            {},
            [
                "cluster 10.96.0.1 TCP/80 local/local",
                "loadBalancer 198.51.100.1 TCP/80 cluster/local",
                "external 203.0.113.1 TCP/80 cluster/local",
                "nodePort IPv4 TCP/30080 cluster/local",
            ],
        ],
        [
            "ClusterIPs and addresses of load balancers without proxyAll",
            balanced,
            { proxyAll: false },
            ["cluster 10.96.0.1 TCP/80 cluster/cluster", "loadBalancer 198.51.100.1 TCP/80 cluster/cluster"],
        ],
        [
            "no address of load balancers if they are left to them",
            { ...balanced, externalIPs: [] },
            { proxyLoadBalancerIps: false },
            ["cluster 10.96.0.1 TCP/80 cluster/cluster", "nodePort IPv4 TCP/30080 cluster/cluster"],
        ],
        [
            "no ingress of mode Proxy, or with a host name only",
            {
                ...balanced,
                externalIPs: [],
                ingress: [
                    { ip: "198.51.100.1", ipMode: "Proxy" },
                    { ip: "198.51.100.2", ipMode: "VIP" },
                    { hostname: "lb.example" },
                    { ip: "" },
                ],
                ports: [{ port: 80 }],
            },
            {},
            ["cluster 10.96.0.1 TCP/80 cluster/cluster", "loadBalancer 198.51.100.2 TCP/80 cluster/cluster"],
        ],
        [
            "a load balancer without NodePorts (allocateLoadBalancerNodePorts: false)",
            { type: "LoadBalancer", ports: [{ port: 80, nodePort: 0 }] },
            {},
            ["cluster 10.96.0.1 TCP/80 cluster/cluster"],
        ],
        [
            "the first and the last port",
            {
                type: "NodePort",
                ports: [
                    { name: "a", port: 1, nodePort: 65_535 },
                    { name: "b", port: 65_535, nodePort: 65_536 },
                ],
            },
            {},
            [
                "cluster 10.96.0.1 TCP/1 cluster/cluster",
                "nodePort IPv4 TCP/65535 cluster/cluster",
                "cluster 10.96.0.1 TCP/65535 cluster/cluster",
            ],
        ],
        [
            "nothing of another type that is left in the object",
            { ...balanced, type: "ClusterIP", externalIPs: [] },
            {},
            ["cluster 10.96.0.1 TCP/80 cluster/cluster"],
        ],
        [
            "each address once: as ClusterIP, then of a load balancer",
            {
                type: "LoadBalancer",
                externalIPs: ["203.0.113.1", "203.0.113.1", "198.51.100.1", "10.96.0.1"],
                ingress: ["198.51.100.1"],
            },
            {},
            [
                "cluster 10.96.0.1 TCP/80 cluster/cluster",
                "loadBalancer 198.51.100.1 TCP/80 cluster/cluster",
                "external 203.0.113.1 TCP/80 cluster/cluster",
            ],
        ],
        [
            "both families, each with its own addresses",
            {
                type: "NodePort",
                clusterIPs: ["10.96.0.1", "fd00::1"],
                externalIPs: ["2001:db8::1", "203.0.113.1"],
                ports: [{ port: 53, protocol: "UDP", nodePort: 30053 }],
            },
            {},
            [
                "cluster 10.96.0.1 UDP/53 cluster/cluster",
                "external 203.0.113.1 UDP/53 cluster/cluster",
                "nodePort IPv4 UDP/30053 cluster/cluster",
                "cluster fd00::1 UDP/53 cluster/cluster",
                "external 2001:db8::1 UDP/53 cluster/cluster",
                "nodePort IPv6 UDP/30053 cluster/cluster",
            ],
        ],
        [
            "only the families of the Service",
            { clusterIPs: ["fd00::1"], externalIPs: ["203.0.113.1"] },
            {},
            ["cluster fd00::1 TCP/80 cluster/cluster"],
        ],
        [
            "only the families of the Node",
            { clusterIPs: ["fd00::1", "10.96.0.1"] },
            { families: [4] },
            ["cluster 10.96.0.1 TCP/80 cluster/cluster"],
        ],
        ["nothing while the API server allocates an address", { clusterIPs: [""] }, {}, []],
        ["nothing without ports", { ports: [] }, {}, []],
        [
            "every port",
            {
                ports: [
                    { name: "a", port: 80 },
                    { name: "b", port: 80, protocol: "UDP" },
                    { name: "c", port: 81, protocol: "SCTP" },
                ],
            },
            {},
            [
                "cluster 10.96.0.1 TCP/80 cluster/cluster",
                "cluster 10.96.0.1 UDP/80 cluster/cluster",
                "cluster 10.96.0.1 SCTP/81 cluster/cluster",
            ],
        ],
    ];
    it.each(cases)("%s", (_, input, changed, expected) => {
        const served = servedOf(indexOf({ services: [service(input)] }, changed));
        expect([placesOf(served), served.problems]).toEqual([expected, []]);
    });

    it("reads clusterIP of objects without clusterIPs", () => {
        const { clusterIPs: _, ...spec } = service().spec ?? {};
        const old = { ...service(), spec: { ...spec, clusterIP: "10.96.0.9" } };
        expect(placesOf(servedOf(indexOf({ services: [old] })))).toEqual(["cluster 10.96.0.9 TCP/80 cluster/cluster"]);
    });
});

describe("what is ignored", () => {
    const name = (value: string): ServiceInput => ({ labels: { [serviceProxyNameLabel]: value } });
    it.each<[ServiceInput, Partial<ServiceSettings>, string | undefined]>([
        [{}, {}, undefined],
        [{ type: "ExternalName", clusterIPs: [] }, {}, "ExternalName"],
        [{ clusterIPs: ["None"] }, {}, "Headless"],
        [{ labels: { "service.kubernetes.io/headless": "" } }, {}, "Headless"],
        [name("other"), {}, "OtherProxy"],
        [name(""), {}, "OtherProxy"],
        [name("mine"), { serviceProxyName: "mine" }, undefined],
        [name("other"), { serviceProxyName: "mine" }, "OtherProxy"],
        [{}, { serviceProxyName: "mine" }, "OtherProxy"],
        [{}, { skipServices: ["default/web"] }, "Skipped"],
        [{}, { skipServices: ["default/other", "10.96.0.1"] }, "Skipped"],
        [{ clusterIPs: ["10.96.0.2", "fd00::1"] }, { skipServices: ["FD00:0::1"] }, "Skipped"],
        [{}, { skipServices: ["web", "10.96.0.2", "other/web", ""] }, undefined],
    ])("%j with %j: %s", (input, changed, reason) => {
        const index = indexOf({ services: [service(input)] }, changed);
        expect([index.ignored("default/web"), index.keys]).toEqual([
            reason,
            reason === undefined ? ["default/web"] : [],
        ]);
        expect(index.served("default/web") === undefined).toBe(reason !== undefined);
    });

    it("is neither ignored nor served while it is unknown", () => {
        const index = indexOf({ slices: [slice([])] });
        expect([index.ignored("default/web"), index.served("default/web"), index.keys]).toEqual([
            undefined,
            undefined,
            [],
        ]);
    });
});

describe("affinity, mode, source ranges and health checks", () => {
    it.each<[ServiceInput, number | undefined]>([
        [{}, undefined],
        [{ sessionAffinity: "None" }, undefined],
        [{ sessionAffinity: "ClientIP" }, 10_800],
        [{ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } }, 1],
        [{ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 65_535 } } }, 65_535],
        [{ sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }, undefined],
    ])("affinity %j: %s s", (input, seconds) => {
        const served = servedOf(indexOf({ services: [service(input)] }));
        expect([served.affinitySeconds, served.problems]).toEqual([seconds, []]);
    });

    it.each<[string | undefined, Partial<ServiceSettings>, string]>([
        [undefined, {}, "nat nat"],
        [undefined, { defaultLoadBalancerMode: "dsr" }, "dsr nat"],
        [undefined, { defaultLoadBalancerMode: "dsr", dsr: false }, "nat nat"],
        ["dsr", {}, "dsr nat"],
        ["DSR", {}, "dsr nat"],
        ["nat", { defaultLoadBalancerMode: "dsr" }, "nat nat"],
    ])("annotation %s with %j: %s in IPv4 and IPv6", (text, changed, expected) => {
        const annotations = text === undefined ? {} : { [loadBalancerModeAnnotation]: text };
        const dual = service({ clusterIPs: ["10.96.0.1", "fd00::1"], annotations });
        const served = servedOf(indexOf({ services: [dual] }, changed));
        expect([served.ports.map(({ mode }) => mode).join(" "), served.problems]).toEqual([expected, []]);
    });

    it.each<[readonly string[] | undefined, string, readonly (readonly string[] | undefined)[]]>([
        [undefined, "LoadBalancer", [undefined, undefined]],
        [[], "LoadBalancer", [undefined, undefined]],
        [["10.0.0.0/8"], "NodePort", [undefined, undefined]],
        [
            ["10.0.0.0/8", " 192.0.2.7/24 ", "2001:db8::/32"],
            "LoadBalancer",
            [["10.0.0.0/8", "192.0.2.0/24"], ["2001:db8::/32"]],
        ],
        // a family without any is not restricted
        [["10.0.0.0/8", "10.0.0.5/8"], "LoadBalancer", [["10.0.0.0/8"], undefined]],
        [["2001:db8::/32"], "LoadBalancer", [undefined, ["2001:db8::/32"]]],
    ])("source ranges %j of type %s", (loadBalancerSourceRanges, type, expected) => {
        const dual = service({
            type,
            clusterIPs: ["10.96.0.1", "fd00::1"],
            ...(loadBalancerSourceRanges && { loadBalancerSourceRanges }),
        });
        const { ports, problems } = servedOf(indexOf({ services: [dual] }));
        expect(ports.map(({ sourceRanges }) => sourceRanges?.map(formatPrefix))).toEqual(expected);
        expect(problems).toEqual([]);
    });

    const local: ServiceInput = {
        type: "LoadBalancer",
        clusterIPs: ["10.96.0.1", "fd00::1"],
        externalTrafficPolicy: "Local",
        healthCheckNodePort: 31000,
        ports: [
            { name: "a", port: 80 },
            { name: "b", port: 81 },
        ],
    };
    const ports = [
        { name: "a", port: 8080 },
        { name: "b", port: 8081 },
    ];
    it.each<[string, readonly string[], number]>([
        ["no local endpoint", ["10.1.0.1 there"], 0],
        ["each once, whatever its number of ports", ["10.1.0.1 here", "10.1.0.2 here", "10.1.0.3"], 2],
        ["none that is terminating", ["10.1.0.1 here terminating"], 0],
        ["none that is not ready", ["10.1.0.1 here unready", "10.1.0.2 here"], 1],
    ])("a health check counts %s", (_, endpoints, localEndpoints) => {
        const slices = [
            slice(endpoints.map(endpoint), { ports }),
            slice([endpoint("fd00:2::1 there")], { name: "six", type: "IPv6", ports }),
        ];
        const { healthCheck } = servedOf(indexOf({ services: [service(local)], slices }));
        expect(healthCheck).toEqual({ port: 31000, localEndpoints });
    });

    it("a health check counts a Pod of two families once", () => {
        const slices = [
            slice([endpoint("10.1.0.1 here"), endpoint("10.1.0.2 here")], { ports }),
            slice([endpoint("fd00:2::1 here")], { name: "six", type: "IPv6", ports }),
        ];
        expect(servedOf(indexOf({ services: [service(local)], slices })).healthCheck?.localEndpoints).toBe(2);
    });

    it.each<[string, ServiceInput, Partial<ServiceSettings>]>([
        ["without a port", { ...local, healthCheckNodePort: 0 }, {}],
        ["with policy Cluster", { ...local, externalTrafficPolicy: "Cluster" }, {}],
        ["of another type", { ...local, type: "NodePort" }, {}],
        ["without proxyAll", local, { proxyAll: false }],
        ["of families that the Node lacks", { ...local, clusterIPs: ["fd00::1"] }, { families: [4] }],
    ])("no health check %s", (_, input, changed) => {
        expect(servedOf(indexOf({ services: [service(input)] }, changed)).healthCheck).toBeUndefined();
    });
});
