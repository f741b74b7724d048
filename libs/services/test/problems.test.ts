import { describe, expect, it } from "@jest/globals";
import { formatPrefix } from "@antrea/ip";
import {
    loadBalancerModeAnnotation,
    problemText,
    type EndpointObject,
    type NodeObject,
    type ServiceSettings,
    type SliceObject,
} from "../src/index.ts";
import {
    endpoint,
    endpointTexts,
    indexOf,
    node,
    placesOf,
    service,
    servedOf,
    slice,
    type ServiceInput,
} from "./objects.ts";

interface Context {
    readonly slices?: readonly SliceObject[];
    readonly nodes?: readonly NodeObject[];
    readonly others?: readonly ServiceInput[];
    readonly settings?: Partial<ServiceSettings>;
}

function problemsOf(
    input: ServiceInput,
    { slices = [], nodes = [], others = [], settings = {} }: Context = {},
): readonly string[] {
    const services = [service(input), ...others.map(service)];
    return servedOf(indexOf({ services, slices, nodes }, settings)).problems.map(
        (problem) => `${problem.reason} ${problemText(problem)}`,
    );
}

const external = (...externalIPs: readonly string[]): ServiceInput => ({ externalIPs });
const sliceOf = (...endpoints: readonly string[]): Context => ({ slices: [slice(endpoints.map(endpoint))] });
const use = "next: use an address that is outside of the cluster's own ranges";
const correct = "no connection goes to it; next: correct the EndpointSlice, or what writes it";

describe("problems name the field, its value, the rule, the effect and the next step", () => {
    it.each<[string, ServiceInput, Context, string]>([
        [
            "leading zeros in an externalIP",
            external("010.0.0.1"),
            {},
            'InvalidExternalIp spec.externalIPs[0]: "010.0.0.1" is not an IP address: a decimal part must not start with 0: some programs read it as octal; it is not served; next: correct or remove the address',
        ],
        [
            "an externalIP of loopback",
            external("203.0.113.1", "127.0.0.1", "::1"),
            {},
            'InvalidExternalIp spec.externalIPs[1]: "127.0.0.1" must not be among loopback addresses; it is not served (and 1 more); next: correct or remove the address',
        ],
        [
            "an externalIP in a podCIDR",
            external("10.1.7.9"),
            {
                nodes: [
                    node("n2", { podCidrs: ["10.1.7.0/24"] }),
                    node("n1", { podCidrs: ["bad", "fd00::/64", "10.1.0.5/16"] }),
                ],
            },
            `ExternalAddressInPodCidr spec.externalIPs[0]: 10.1.7.9 is in the podCIDR of the Node n1; it is not served; ${use}`,
        ],
        [
            "an externalIP in the podCIDR of a Node without a list of them",
            external("10.1.7.9"),
            { nodes: [{ metadata: { name: "n" }, spec: { podCIDR: "10.1.7.0/24" } }] },
            `ExternalAddressInPodCidr spec.externalIPs[0]: 10.1.7.9 is in the podCIDR of the Node n; it is not served; ${use}`,
        ],
        [
            "an externalIP that is another Service's ClusterIP, though on another port",
            { ...external("10.96.0.2"), ports: [{ port: 443 }] },
            { others: [{ name: "other", clusterIPs: ["10.96.0.2"] }] },
            `ExternalAddressIsClusterIp spec.externalIPs[0]: 10.96.0.2 is the ClusterIP of the Service default/other; it is not served; ${use}`,
        ],
        [
            "an externalIP that is the ClusterIP of a Service which is not served here",
            external("10.96.0.2"),
            { others: [{ name: "other", clusterIPs: ["10.96.0.2"] }], settings: { skipServices: ["10.96.0.2"] } },
            `ExternalAddressIsClusterIp spec.externalIPs[0]: 10.96.0.2 is the ClusterIP of the Service default/other; it is not served; ${use}`,
        ],
        [
            "an address of a load balancer that is another Service's ClusterIP",
            { type: "LoadBalancer", ingress: ["10.96.0.2"] },
            { others: [{ name: "other", clusterIPs: ["10.96.0.2"] }] },
            `ExternalAddressIsClusterIp status.loadBalancer.ingress[0].ip: 10.96.0.2 is the ClusterIP of the Service default/other; it is not served; ${use}`,
        ],
        [
            "an unreadable address of a load balancer",
            { type: "LoadBalancer", ingress: ["x", "224.0.0.1", "0.0.0.0"] },
            {},
            'InvalidLoadBalancerIp status.loadBalancer.ingress[0].ip: "x" is not an IP address: it must be an IPv4 or IPv6 address; it is not served (and 2 more); next: correct the address in the controller of the load balancer',
        ],
        [
            "an unreadable ClusterIP",
            { clusterIPs: ["10.96.0.1", "fe80::1"] },
            {},
            'InvalidClusterIp spec.clusterIPs[1]: "fe80::1" must not be among link-local addresses, which no router forwards; it is not served; next: create the Service anew so that the API server allocates an address',
        ],
        [
            "an externalIP that leads to NodePorts or to the externalIPs of others",
            { externalIPs: ["fc01::aabb:ccde:c9c7", "fc01::aabb:ccdd:eefe", "fc01::aabb:ccdd:eeff"] },
            {},
            'InvalidExternalIp spec.externalIPs[0]: "fc01::aabb:ccde:c9c7" must not be among addresses that serve Services within each Node; it is not served (and 2 more); next: correct or remove the address',
        ],
        [
            "port 0",
            { ports: [{ port: 80 }, { name: "b", port: 0 }, { name: "c", port: 65_536 }] },
            {},
            "InvalidServicePort spec.ports[1]: 0 must have a protocol TCP, UDP or SCTP and a port from 1 to 65535; it is not served (and 1 more); next: correct the port",
        ],
        [
            "an unknown protocol",
            { ports: [{ port: 80 }, { name: "b", port: 81, protocol: "DCCP" }] },
            {},
            'InvalidServicePort spec.ports[1]: "DCCP" must have a protocol TCP, UDP or SCTP and a port from 1 to 65535; it is not served; next: correct the port',
        ],
        [
            "SCTP in userspace",
            { ports: [{ port: 80 }, { name: "b", port: 81, protocol: "SCTP" }] },
            { settings: { sctp: false } },
            "SctpNotSupported spec.ports[1].protocol: SCTP is not translated by the userspace datapath of OVS; the port is not served; next: use Nodes with the kernel datapath of OVS, or TCP or UDP",
        ],
        [
            "a long affinity",
            { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 65_536 } } },
            {},
            "AffinityTimeoutCapped spec.sessionAffinityConfig.clientIP.timeoutSeconds: 65536 is more than 65535, the longest idle timeout of a flow; 65535 is used; next: set at most 65535",
        ],
        [
            "an unknown mode",
            { annotations: { [loadBalancerModeAnnotation]: "fast" } },
            { settings: { defaultLoadBalancerMode: "dsr" } },
            'UnknownLoadBalancerMode metadata.annotations[service.antrea.io/load-balancer-mode]: "fast" must be nat or dsr; dsr is used; next: correct the annotation',
        ],
        [
            "direct server return without its gate",
            { annotations: { [loadBalancerModeAnnotation]: "dsr" } },
            { settings: { dsr: false } },
            'DsrNotAvailable metadata.annotations[service.antrea.io/load-balancer-mode]: "dsr" is not available in this version; nat is used; next: remove the annotation',
        ],
        [
            "an unreadable source range",
            { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8", "10.0.0.0/33"] },
            {},
            'InvalidSourceRange spec.loadBalancerSourceRanges[1]: "10.0.0.0/33" is not a CIDR: its length must be a whole number from 0 to 32 without leading zeros; it admits no client; next: correct or remove the range',
        ],
        [
            "unreadable addresses of endpoints, counted",
            {},
            sliceOf("10.1.0.1", "x", "127.0.0.1", "224.0.0.1", "0.0.0.0", "169.254.0.1"),
            `InvalidEndpoint EndpointSlice web-1: endpoints[1].addresses[0]: "x" is not an IP address: it must be an IPv4 or IPv6 address; ${correct.replace(";", " (and 4 more);")}`,
        ],
        [
            "an endpoint of the other family",
            {},
            sliceOf("fd00::1"),
            `InvalidEndpoint EndpointSlice web-1: endpoints[0].addresses[0]: "fd00::1" must be an IPv4 address, as addressType requires; ${correct}`,
        ],
        [
            "an endpoint without an address",
            {},
            { slices: [slice([{ addresses: [] }])] },
            `InvalidEndpoint EndpointSlice web-1: endpoints[0].addresses[0]: "" is not an IP address: an IPv4 address has four decimal parts from 0 to 255; ${correct}`,
        ],
        [
            "port 0 of a slice",
            {},
            {
                slices: [
                    slice([], {
                        ports: [{ port: 80 }, { name: "b", port: 0 }, { name: "c" }, { port: 1, protocol: "X" }],
                    }),
                ],
            },
            `InvalidEndpointPort EndpointSlice web-1: ports[1]: 0 must have a protocol TCP, UDP or SCTP and a port from 1 to 65535; ${correct.replace(";", " (and 2 more);")}`,
        ],
    ])("%s", (_, input, context, expected) => {
        expect(problemsOf(input, context)).toEqual([expected]);
    });

    it("limit the flows that one object can ask for", () => {
        const externalIPs = Array.from({ length: 20 }, (_, at) => `203.0.113.${at}`);
        const ports = Array.from({ length: 1000 }, (_, at) => ({ name: `p${at}`, port: at + 1 }));
        const served = servedOf(indexOf({ services: [service({ externalIPs, ports })] }));
        expect(served.problems.map(problemText)).toEqual([
            "spec.externalIPs[15]: 203.0.113.15 is beyond the 16 addresses that a Service with so many ports and source ranges may have; it is not served (and 4 more); next: divide the Service into several",
        ]);
        expect([served.ports.length, served.ports[0]?.addresses.length]).toEqual([1000, 16]);
        const many = Array.from({ length: 20_000 }, (_, at) => ({ name: `p${at}`, port: at + 1 }));
        expect(servedOf(indexOf({ services: [service({ ports: many })] })).ports.length).toBe(20_000);
    });

    it("limit them with source ranges too, whose addresses are the host's then", () => {
        const loadBalancerSourceRanges = Array.from({ length: 160 }, (_, at) => `10.0.${at}.0/24`);
        const served = (count: number): readonly [number, readonly string[]] => {
            const ports = Array.from({ length: count }, (_, at) => ({ name: `p${at}`, port: at + 1 }));
            const spec = { type: "LoadBalancer", ingress: ["203.0.113.1"], loadBalancerSourceRanges, ports };
            const { ports: all, problems } = servedOf(indexOf({ services: [service(spec)] }));
            return [all[0]?.addresses.length ?? 0, problems.map(problemText)];
        };
        expect(served(101)).toEqual([2, []]);
        expect(served(102)).toEqual([
            1,
            [
                "status.loadBalancer.ingress[0].ip: 203.0.113.1 is beyond the 1 addresses that a Service with so many ports and source ranges may have; it is not served; next: divide the Service into several",
            ],
        ]);
    });

    it("limit the endpoints of all ports together, for each family, but not those of one port", () => {
        const ports = ["a", "b", "c", "d"].map((name, at) => ({ name, port: 81 + at }));
        const web = service({ clusterIPs: ["10.96.0.1", "fd00:96::1"], ports });
        const addresses = (count: number): readonly EndpointObject[] =>
            Array.from({ length: count }, (_, at) => endpoint(`10.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`));
        const served = (...counts: readonly number[]): readonly [number, string][] => {
            const slices = counts.map((count, at) =>
                slice(addresses(count), { name: `web-${at}`, ports: [{ name: ports[at]?.name ?? "", port: 8080 }] }),
            );
            const { ports: all, problems } = servedOf(indexOf({ services: [web], slices }));
            expect(problems.map(problemText)).toEqual(
                all.length === 8 ? [] : [expect.stringContaining("it is not served, unless another proxy serves it")],
            );
            return all.map(({ name, family, serving }) => [serving.length, `${name}${family}`]);
        };
        const of6 = ["a6", "b6", "c6", "d6"].map((name) => [0, name]);
        expect(served(32_766, 1, 1)).toEqual([[32_766, "a4"], [1, "b4"], [1, "c4"], [0, "d4"], ...of6]);
        // those that follow are not looked for
        expect(served(32_766, 1, 2, 1)).toEqual([[32_766, "a4"], [1, "b4"], ...of6]);
        expect(served(40_000, 0, 1)).toEqual([[40_000, "a4"], ...of6]);
        const slices = [slice(addresses(20_000), { ports: ports.map(({ name }) => ({ name, port: 8080 })) })];
        const texts = [true, false].flatMap((proxyAll) =>
            servedOf(indexOf({ services: [web], slices }, { proxyAll })).problems.map(problemText),
        );
        const rule = "is beyond the 32768 endpoints that the ports of a Service may have together";
        const next = "(and 2 more); next: divide the Service into several";
        expect(texts).toEqual([
            `spec.ports[1]: TCP 82 ${rule}; it is not served, unless another proxy serves it ${next}`,
            `spec.ports[1]: TCP 82 ${rule}; it is left to kube-proxy ${next}`,
        ]);
    });

    it("name the field of an object without clusterIPs", () => {
        const { clusterIPs: _, ...spec } = service().spec ?? {};
        const old = { ...service(), spec: { ...spec, clusterIP: "x" } };
        expect(servedOf(indexOf({ services: [old] })).problems.map(({ field }) => field)).toEqual(["spec.clusterIP"]);
    });

    it("are sorted by reason, one each", () => {
        const reasons = problemsOf({
            externalIPs: ["x", "y"],
            annotations: { [loadBalancerModeAnnotation]: "" },
            ports: [{ port: 80 }, { port: 0 }],
            sessionAffinity: "ClientIP",
            sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } },
        }).map((text) => text.split(" ")[0]);
        expect(reasons).toEqual([
            "AffinityTimeoutCapped",
            "InvalidExternalIp",
            "InvalidServicePort",
            "UnknownLoadBalancerMode",
        ]);
    });

    it("leave out what they concern, and nothing else", () => {
        const index = indexOf({
            services: [
                service({
                    externalIPs: ["127.0.0.1", "203.0.113.1"],
                    ports: [
                        { name: "a", port: 80 },
                        { name: "b", port: 0 },
                    ],
                }),
            ],
            slices: [
                slice([endpoint("x"), endpoint("10.1.0.1")], {
                    ports: [
                        { name: "a", port: 0 },
                        { name: "a", port: 8080 },
                    ],
                }),
            ],
        });
        const served = servedOf(index);
        expect(placesOf(served)).toEqual([
            "cluster 10.96.0.1 TCP/80 cluster/cluster",
            "external 203.0.113.1 TCP/80 cluster/cluster",
        ]);
        expect(endpointTexts(served.ports[0], "cluster")).toEqual(["10.1.0.1:8080"]);
    });

    it("cap affinity and admit nobody by a range that cannot be read", () => {
        const capped = { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } } };
        const clusterIPs = ["10.96.0.1", "fd00:96::1"];
        const rangesWith = (...loadBalancerSourceRanges: readonly string[]): readonly unknown[] => {
            const web = service({ ...capped, type: "LoadBalancer", clusterIPs, loadBalancerSourceRanges });
            const { affinitySeconds, ports } = servedOf(indexOf({ services: [web] }));
            return [affinitySeconds, ...ports.map(({ sourceRanges }) => sourceRanges?.map(formatPrefix))];
        };
        expect(rangesWith("x")).toEqual([65_535, [], []]);
        // it may be of the family that has no other
        expect(rangesWith("10.0.0.0/8", "2001:db8::/200")).toEqual([65_535, ["10.0.0.0/8"], []]);
    });

    it.each<[string, Partial<ServiceSettings>, string]>([
        ["fast", { defaultLoadBalancerMode: "dsr" }, "dsr"],
        ["fast", { defaultLoadBalancerMode: "dsr", dsr: false }, "nat"],
        ["dsr", { dsr: false }, "nat"],
    ])("replace the mode %s with %j by %s", (mode, changed, expected) => {
        const annotations = { [loadBalancerModeAnnotation]: mode };
        expect(servedOf(indexOf({ services: [service({ annotations })] }, changed)).ports[0]?.mode).toBe(expected);
    });

    it("shorten hostile values", () => {
        const [text = ""] = problemsOf(external("9".repeat(10_000)));
        expect(text.length < 400).toBe(true);
    });
});
