import { describe, expect, it } from "@jest/globals";
import { type ServiceExplanation, type ServiceSettings, type SliceObject } from "../src/index.ts";
import { endpoint, endpointTexts, indexOf, node, service, slice, type ServiceInput } from "./objects.ts";

const here = node("here", { zone: "a", podCidrs: ["10.1.0.0/24"] });
const there = node("there", { zone: "b", podCidrs: ["10.1.1.0/24"] });

interface Scene {
    readonly service?: ServiceInput;
    readonly slices: readonly SliceObject[];
    readonly settings?: Partial<ServiceSettings>;
    readonly on?: "here" | "there";
    readonly families?: readonly (4 | 6)[];
}

function explained({ service: input = {}, slices, settings = {}, on = "here", families = [4] }: Scene) {
    const index = indexOf({ services: [service(input)], slices, nodes: [here, there] }, { nodeName: "", ...settings });
    const found = index.explain("default/web", { node: on === "here" ? here : there, families, sctp: true });
    if (found === undefined) throw new TypeError("nothing is explained");
    return found;
}

/** `ADDRESS:PORT REASON of all|REASON of local` of each endpoint of the first port; "yes" if it is chosen. */
function reasons({ endpoints: [first = []] }: ServiceExplanation): readonly string[] {
    return first.map(
        ({ address, port, rejections: { cluster, local } }) =>
            `${address}:${port ?? "-"} ${cluster?.reason ?? "yes"}|${local?.reason ?? "yes"}`,
    );
}

const of = (...texts: readonly string[]): readonly SliceObject[] => [slice(texts.map(endpoint))];

describe("why an endpoint is chosen or not", () => {
    it.each<[string, readonly string[], readonly string[]]>([
        [
            "ready, here or elsewhere",
            ["10.1.0.1 here", "10.1.1.1 there", "10.9.0.1"],
            ["10.1.0.1:8080 yes|yes", "10.1.1.1:8080 yes|NotLocal", "10.9.0.1:8080 yes|NotLocal"],
        ],
        [
            "not ready",
            ["10.1.0.1 here unready", "10.1.0.2 here stopped", "10.1.0.3 here"],
            ["10.1.0.1:8080 NotReady|NotReady", "10.1.0.2:8080 NotReady|NotReady", "10.1.0.3:8080 yes|yes"],
        ],
        [
            "terminating beside ready ones",
            ["10.1.0.1 here terminating", "10.1.0.2 here"],
            ["10.1.0.1:8080 Terminating|Terminating", "10.1.0.2:8080 yes|yes"],
        ],
        [
            "terminating, and the last one on the Node",
            ["10.1.0.1 here terminating", "10.1.1.2 there"],
            ["10.1.0.1:8080 Terminating|yes", "10.1.1.2:8080 yes|NotLocal"],
        ],
        [
            "hints for zones",
            ["10.1.0.1 here for-zone:a", "10.1.1.1 there for-zone:b", "10.1.1.2 there terminating"],
            ["10.1.0.1:8080 yes|yes", "10.1.1.1:8080 OtherZone|NotLocal", "10.1.1.2:8080 Terminating|NotLocal"],
        ],
        [
            "hints for Nodes",
            ["10.1.0.1 for-node:here for-zone:a", "10.1.0.2 for-node:there for-zone:a"],
            ["10.1.0.1:8080 yes|NotLocal", "10.1.0.2:8080 OtherNode|NotLocal"],
        ],
        [
            "unusable addresses",
            ["127.0.0.1 here", "fd00::1", "10.1.0.01", "10.1.0.1"],
            [
                "127.0.0.1:8080 InvalidAddress|InvalidAddress",
                "fd00::1:8080 InvalidAddress|InvalidAddress",
                "10.1.0.01:8080 InvalidAddress|InvalidAddress",
                "10.1.0.1:8080 yes|NotLocal",
            ],
        ],
    ])("%s", (_, endpoints, expected) => {
        const found = explained({ slices: of(...endpoints) });
        expect(reasons(found)).toEqual(expected);
        // the same as what is served
        const yes = found.endpoints[0]?.filter(({ rejections }) => rejections.cluster === undefined) ?? [];
        expect(yes.map(({ address, port }) => `${address}:${port}`)).toEqual(
            endpointTexts(found.served.ports[0], "cluster"),
        );
    });

    it("depends on the Node", () => {
        const slices = of("10.1.0.1 here for-zone:a", "10.1.1.1 there for-zone:b");
        expect(reasons(explained({ slices, on: "there" }))).toEqual([
            "10.1.0.1:8080 OtherZone|NotLocal",
            "10.1.1.1:8080 yes|yes",
        ]);
    });

    it("names the port that a slice lacks, and the entry that counts of two", () => {
        const ports = [{ name: "http", protocol: "TCP", port: 80 }];
        const found = explained({
            service: { ports },
            slices: [
                slice([endpoint("10.1.0.1 here")], { name: "a", ports: [{ name: "http", port: 8080 }] }),
                slice([endpoint("10.1.0.1 here"), endpoint("10.1.0.2")], {
                    name: "b",
                    ports: [{ name: "http", port: 8080 }],
                }),
                slice([endpoint("10.1.0.3")], { name: "c", ports: [{ name: "http", protocol: "UDP", port: 8080 }] }),
                slice([endpoint("10.1.0.4")], { name: "d", ports: [{ name: "http", port: 0 }] }),
            ],
        });
        expect(reasons(found)).toEqual([
            "10.1.0.1:8080 yes|yes",
            "10.1.0.1:8080 Repeated|Repeated",
            "10.1.0.2:8080 yes|NotLocal",
            "10.1.0.3:- NoPort|NoPort",
            "10.1.0.4:- NoPort|NoPort",
        ]);
        expect(found.endpoints[0]?.[3]?.rejections.cluster?.text).toBe(
            "has no TCP port of the name http in its EndpointSlice that can be used",
        );
    });

    it.each<[string, readonly string[], string]>([
        [
            "hints",
            ["10.1.0.1 for-zone:a", "10.1.0.2 for-zone:b for-zone:c"],
            "has hints for other zones: b, c; the zone of the Node is a",
        ],
        ["another Node", ["10.1.0.1", "10.1.0.2 for-node:x"], ""],
        [
            "an address",
            ["10.1.0.1", "0.0.0.0"],
            "cannot be used: the address must not be among the unspecified address",
        ],
    ])("has a text for %s", (_, endpoints, expected) => {
        const text = explained({ slices: of(...endpoints) }).endpoints[0]?.[1]?.rejections.cluster?.text ?? "";
        expect(text).toBe(expected);
    });
});

describe("EndpointSlices that are not used", () => {
    const slices = [
        slice([endpoint("10.1.0.1")]),
        slice([endpoint("fd00::1"), endpoint("fd00::2")], { name: "six", type: "IPv6" }),
        slice([endpoint("a.example")], { name: "names", type: "FQDN" }),
    ];
    const texts = (scene: Omit<Scene, "slices">): readonly string[] =>
        explained({ slices, ...scene }).unusedSlices.map(
            ({ name, endpoints, rejection }) => `${name} ${endpoints} ${rejection.text}`,
        );
    const dual = { clusterIPs: ["10.96.0.1", "fd00:96::1"] };

    it.each<[string, Omit<Scene, "slices">, readonly string[]]>([
        [
            "are those of a family that the Service has not, and of names",
            { families: [4, 6] },
            [
                "names 1 is of the type FQDN; only IPv4 and IPv6 are served",
                "six 2 is of IPv6, of which the Service has no ClusterIP",
            ],
        ],
        [
            "are those of a family that Pods of the Node have not",
            { service: dual },
            [
                "names 1 is of the type FQDN; only IPv4 and IPv6 are served",
                "six 2 is of IPv6, of which Pods of the Node have no address",
            ],
        ],
        [
            "are none of both families",
            { service: dual, families: [4, 6] },
            ["names 1 is of the type FQDN; only IPv4 and IPv6 are served"],
        ],
    ])("%s", (_, scene, expected) => {
        expect(texts(scene)).toEqual(expected);
    });
});

describe("what is left to others", () => {
    const balanced: ServiceInput = {
        type: "LoadBalancer",
        clusterIPs: ["10.96.0.1", "fd00:96::1"],
        externalIPs: ["192.0.2.1"],
        ports: [
            { protocol: "TCP", port: 80, nodePort: 30080 },
            { protocol: "UDP", port: 80 },
        ],
        ingress: ["192.0.2.2", { ip: "192.0.2.3", ipMode: "Proxy" }, { hostname: "lb.example" }],
    };
    const texts = (scene: Omit<Scene, "slices">): readonly string[] =>
        explained({ slices: [], service: balanced, ...scene }).unserved.map(
            ({ field, value, reason }) => `${field} ${value} ${reason}`,
        );
    const byMode = "status.loadBalancer.ingress[1].ip 192.0.2.3 is left to the load balancer, as its ipMode is Proxy";
    const noPods = "spec.clusterIPs[1] fd00:96::1 is not served, as Pods of the Node have no IPv6 address";

    it.each<[string, Omit<Scene, "slices">, readonly string[]]>([
        ["with proxyAll", { settings: { proxyAll: true } }, [noPods, byMode]],
        [
            "without",
            { settings: { proxyAll: false }, families: [4, 6] },
            [
                byMode,
                "spec.externalIPs[0] 192.0.2.1 is left to kube-proxy, as antreaProxy.proxyAll is false",
                "spec.ports[0].nodePort 30080 is left to kube-proxy, as antreaProxy.proxyAll is false",
            ],
        ],
        [
            "with load balancers that are left alone",
            { settings: { proxyLoadBalancerIps: false }, families: [4, 6] },
            [
                "status.loadBalancer.ingress[0].ip 192.0.2.2 is left to the load balancer, as antreaProxy.proxyLoadBalancerIPs is false",
                byMode,
            ],
        ],
        [
            "with external addresses of a family that the Service has no ClusterIP of",
            {
                service: {
                    ...balanced,
                    clusterIPs: ["10.96.0.1"],
                    externalIPs: ["192.0.2.1", "2001:db8::1"],
                    ingress: ["2001:db8::2"],
                },
                settings: { proxyAll: true },
                families: [4, 6],
            },
            [
                "status.loadBalancer.ingress[0].ip 2001:db8::2 is not served, as the Service has no IPv6 ClusterIP",
                "spec.externalIPs[1] 2001:db8::1 is not served, as the Service has no IPv6 ClusterIP",
            ],
        ],
        [
            "with external addresses of a family that Pods of the Node do not have",
            { service: { ...balanced, externalIPs: ["2001:db8::1"], ingress: [] }, settings: { proxyAll: true } },
            [noPods, "spec.externalIPs[0] 2001:db8::1 is not served, as Pods of the Node have no IPv6 address"],
        ],
        [
            "of another type",
            { service: { type: "ClusterIP", ports: [{ port: 80, nodePort: 30080 }] }, settings: { proxyAll: false } },
            [],
        ],
    ])("%s", (_, scene, expected) => {
        expect(texts(scene)).toEqual(expected);
    });
});

it("explains nothing of what is unknown or ignored", () => {
    const index = indexOf({ services: [service({ clusterIPs: ["None"] })] });
    const view = { node: here, families: [4], sctp: true } as const;
    expect([index.explain("default/web", view), index.explain("default/nope", view)]).toEqual([undefined, undefined]);
});
