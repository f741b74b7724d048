import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    ServiceIndex,
    zoneLabel,
    type NodeObject,
    type ServedService,
    type ServiceObject,
    type SliceObject,
} from "../src/index.ts";
import { endpoint, endpointTexts, indexOf, node, service, servedOf, settings, slice } from "./objects.ts";

/** All objects of a small cluster, by kind and key. */
interface Cluster {
    readonly services: Map<string, ServiceObject>;
    readonly slices: Map<string, SliceObject>;
    readonly nodes: Map<string, NodeObject>;
}

type Step =
    | { readonly kind: "services"; readonly name: string; readonly object: ServiceObject | undefined }
    | { readonly kind: "slices"; readonly name: string; readonly object: SliceObject | undefined }
    | { readonly kind: "nodes"; readonly name: string; readonly object: NodeObject | undefined };

const names = ["a", "b", "c"];
const some = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const upTo = (max: number, ...values: readonly string[]): fc.Arbitrary<readonly string[]> =>
    fc.uniqueArray(some(...values), { maxLength: max });

const serviceStep: fc.Arbitrary<Step> = some(...names).chain((name) =>
    fc
        .record({
            name: fc.constant(name),
            created: some("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
            type: some("ClusterIP", "LoadBalancer", "NodePort", "ExternalName"),
            clusterIPs: some(["10.96.0.1"], ["10.96.0.2"], ["10.96.0.3", "fd00::1"], ["None"], []),
            externalIPs: upTo(2, "10.96.0.1", "10.96.0.2", "10.1.1.1", "203.0.113.1", "bad"),
            ingress: upTo(1, "10.96.0.2", "10.1.2.1", "203.0.113.1"),
            ports: some(
                [{ port: 80, nodePort: 30080 }],
                [
                    { name: "x", port: 80, nodePort: 30081 },
                    { name: "y", port: 81, nodePort: 30080 },
                ],
                [{ port: 80, protocol: "UDP" }],
                [{ port: 0 }],
                [],
            ),
            internalTrafficPolicy: some("Cluster", "Local"),
            externalTrafficPolicy: some("Cluster", "Local"),
            healthCheckNodePort: some(0, 31000),
        })
        .map((input) => ({ kind: "services" as const, name, object: service(input) })),
);
const sliceStep: fc.Arbitrary<Step> = fc
    .record({
        name: some("s1", "s2", "s3"),
        of: some(...names),
        endpoints: upTo(
            3,
            "10.1.1.1 here for-zone:z1",
            "10.1.1.1 here terminating",
            "10.1.2.1 there for-zone:z2 for-node:there",
            "10.1.1.2 here for-zone:z1 for-node:here",
            "192.168.0.1 here",
            "bad",
        ),
        ports: some(
            [{ port: 8080 }],
            [
                { name: "x", port: 8081 },
                { name: "y", port: 8082 },
            ],
            [{ port: 0 }],
        ),
        type: some("IPv4", "IPv4", "FQDN"),
        headless: some(false, false, true),
    })
    .map(({ endpoints, ...input }) => ({
        kind: "slices" as const,
        name: input.name,
        object: slice(endpoints.map(endpoint), input),
    }));
const nodeStep: fc.Arbitrary<Step> = fc
    .record({
        name: some("here", "there"),
        zone: some("z1", "z2"),
        podCidrs: some(["10.1.1.0/24"], ["10.1.2.0/24"], ["10.1.0.0/16", "fd00:1::/64"], []),
        addresses: upTo(2, "192.168.0.1", "203.0.113.1", "fd00:9::1"),
    })
    .map(({ name, ...input }) => ({ kind: "nodes" as const, name, object: node(name, input) }));
const removal: fc.Arbitrary<Step> = fc.oneof(
    some(...names).map((name) => ({ kind: "services" as const, name, object: undefined })),
    some("s1", "s2", "s3").map((name) => ({ kind: "slices" as const, name, object: undefined })),
    some("here", "there").map((name) => ({ kind: "nodes" as const, name, object: undefined })),
);
const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 4, arbitrary: serviceStep },
    { weight: 3, arbitrary: sliceStep },
    { weight: 1, arbitrary: nodeStep },
    { weight: 2, arbitrary: removal },
);

function apply(index: ServiceIndex, { kind, name, object }: Step): ReadonlySet<string> {
    if (kind === "nodes") return object === undefined ? index.deleteNode(name) : index.setNode(object);
    const key = `default/${name}`;
    if (kind === "slices") return object === undefined ? index.deleteSlice(key) : index.setSlice(object);
    return object === undefined ? index.deleteService(key) : index.setService(object);
}

function record(cluster: Cluster, { kind, name, object }: Step): void {
    const objects = cluster[kind] as Map<string, unknown>;
    if (object === undefined) objects.delete(name);
    else objects.set(name, object);
}

/** What is served of each Service, as text. What is in the way of a problem may change without the rest. */
function results(index: ServiceIndex): ReadonlyMap<string, string> {
    const text = (served: ServedService | undefined): string =>
        JSON.stringify(
            served && { ...served, problems: served.problems.map(({ rule: _, ...problem }) => problem) },
            (_, value: unknown) => (typeof value === "bigint" ? String(value) : value),
        ) ?? "nothing";
    return new Map(names.map((name) => [`default/${name}`, text(index.served(`default/${name}`))]));
}

function fresh({ services, slices, nodes }: Cluster, reversed: boolean): ServiceIndex {
    const index = new ServiceIndex(settings);
    const additions = [
        ...services.values().map((one) => () => index.setService(one)),
        ...slices.values().map((one) => () => index.setSlice(one)),
        ...nodes.values().map((one) => () => index.setNode(one)),
    ];
    for (const add of reversed ? additions.reverse() : additions) add();
    return index;
}

/** The Services to which an object of the step belongs, and all for a change of the own Node's zone or addresses. */
function ownOf(cluster: Cluster, { kind, name, object }: Step): readonly string[] {
    if (kind === "services") return [`default/${name}`];
    if (kind === "nodes") return name === "here" ? names.map((one) => `default/${one}`) : [];
    const labels = [cluster.slices.get(name), object].map(
        (one) => one?.metadata?.labels?.["kubernetes.io/service-name"],
    );
    return labels.map((one) => `default/${one ?? ""}`);
}

describe("ServiceIndex", () => {
    it("serves after any changes in any order what one serves that begins with the objects of then", () => {
        fc.assert(
            fc.property(fc.array(step, { maxLength: 25 }), fc.boolean(), (steps, reversed) => {
                const cluster: Cluster = { services: new Map(), slices: new Map(), nodes: new Map() };
                const index = new ServiceIndex(settings);
                for (const one of steps) {
                    apply(index, one);
                    record(cluster, one);
                }
                const anew = fresh(cluster, reversed);
                for (const name of names) {
                    expect(index.served(`default/${name}`)).toEqual(anew.served(`default/${name}`));
                    expect(index.ignored(`default/${name}`)).toEqual(anew.ignored(`default/${name}`));
                }
                expect([...index.keys].sort()).toEqual([...anew.keys].sort());
            }),
            { numRuns: 500 },
        );
    });

    it("touches every Service whose result changes; others than the object's own only then", () => {
        fc.assert(
            fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
                const cluster: Cluster = { services: new Map(), slices: new Map(), nodes: new Map() };
                const index = new ServiceIndex(settings);
                for (const one of steps) {
                    const before = results(index);
                    const own = ownOf(cluster, one);
                    const touched = apply(index, one);
                    record(cluster, one);
                    const after = results(index);
                    for (const [key, result] of after) {
                        const changed = before.get(key) !== result;
                        if (changed) expect([key, [...touched]]).toEqual([key, expect.arrayContaining([key])]);
                        else if (!own.includes(key)) expect([...touched]).not.toContain(key);
                        // nothing is done for what is not served before or after
                        if (before.get(key) === "nothing" && result === "nothing")
                            expect([...touched]).not.toContain(key);
                    }
                }
            }),
            { numRuns: 500 },
        );
    });

    it("touches nothing when an object comes again, alone or with all others", () => {
        fc.assert(
            fc.property(fc.array(step, { maxLength: 15 }), (steps) => {
                const index = new ServiceIndex(settings);
                const cluster: Cluster = { services: new Map(), slices: new Map(), nodes: new Map() };
                for (const one of steps) {
                    apply(index, one);
                    record(cluster, one);
                    expect([...apply(index, structuredClone(one))]).toEqual([]);
                }
                for (const one of cluster.nodes.values()) expect([...index.setNode(one)]).toEqual([]);
                for (const one of cluster.services.values()) expect([...index.setService(one)]).toEqual([]);
                for (const one of cluster.slices.values()) expect([...index.setSlice(one)]).toEqual([]);
            }),
        );
    });

    it("never throws, whatever texts and numbers an object has", () => {
        const text = fc.oneof(
            fc.string({ maxLength: 12 }),
            some("10.96.0.1", "fd00::1", "::ffff:10.0.0.1", "1e3", "10.0.0.0/8"),
        );
        const number = fc.oneof(fc.integer(), fc.double(), some(0, 80, 65_535));
        const texts = fc.array(text, { maxLength: 3 });
        const anyService = fc.record({
            type: some("ClusterIP", "LoadBalancer", "NodePort", "x"),
            clusterIPs: texts,
            externalIPs: texts,
            ingress: texts,
            loadBalancerSourceRanges: texts,
            ports: fc.array(fc.record({ name: text, port: number, protocol: some("TCP", "x"), nodePort: number }), {
                maxLength: 3,
            }),
            sessionAffinity: some("ClientIP", "x"),
            sessionAffinityConfig: fc.record({ clientIP: fc.record({ timeoutSeconds: number }) }),
            annotations: fc.dictionary(some("service.antrea.io/load-balancer-mode", "x"), text),
        });
        const anySlice = fc.record({
            endpoints: fc.array(fc.record({ addresses: texts, nodeName: text }), { maxLength: 3 }),
            ports: fc.array(fc.record({ name: text, port: number, protocol: text }), { maxLength: 3 }),
            type: some("IPv4", "IPv6", "x"),
        });
        fc.assert(
            fc.property(anyService, anySlice, texts, (input, { endpoints, ...more }, podCidrs) => {
                const index = indexOf({
                    services: [service(input)],
                    slices: [slice(endpoints, more)],
                    nodes: [node("here", { podCidrs, addresses: podCidrs })],
                });
                servedOf(index);
                expect(index.deleteService("default/web").has("default/web")).toBe(true);
            }),
        );
        const empty = new ServiceIndex(settings);
        expect([...empty.setService({}), ...empty.setSlice({ addressType: "IPv4" }), ...empty.setNode({})]).toEqual([
            "",
        ]);
        expect(empty.served("")?.ports).toEqual([]);
    });
});

it("returns the objects of Services of which something is served", () => {
    const [web, endpoints] = [service(), slice([endpoint("10.10.0.1")])];
    const index = indexOf({ services: [web, service({ name: "none", clusterIPs: ["None"] })], slices: [endpoints] });
    expect(index.objects("default/web")).toEqual({ service: web, slices: [endpoints] });
    index.deleteSlice("default/web-1");
    expect(index.objects("default/web")).toEqual({ service: web, slices: [] });
    expect([index.objects("default/none"), index.objects("default/unknown")]).toEqual([undefined, undefined]);
});

describe("a change touches", () => {
    const index = (): ServiceIndex =>
        indexOf({
            services: [service(), service({ name: "other", clusterIPs: ["10.96.0.2"] })],
            slices: [
                slice([endpoint("10.1.0.1 for-zone:a"), endpoint("10.1.0.2 for-zone:b")]),
                slice([endpoint("192.168.0.9 here"), endpoint("FD00:9::0:1")], { of: "other" }),
            ],
            nodes: [node("here", { zone: "a" })],
        });
    const withMetadata = <T extends ServiceObject | SliceObject>(object: T, metadata: object): T => ({
        ...object,
        metadata: { ...object.metadata, ...metadata },
    });

    it.each<[string, (index: ServiceIndex) => ReadonlySet<string>, readonly string[]]>([
        ["its Service", (one) => one.setService(service({ sessionAffinity: "ClientIP" })), ["default/web"]],
        [
            "nothing by a version of a Service",
            (one) => one.setService(withMetadata(service(), { resourceVersion: "9" })),
            [],
        ],
        [
            "nothing by a deletion that has begun",
            (one) => one.setService(withMetadata(service(), { deletionTimestamp: "x" })),
            [],
        ],
        [
            "a Service that is created anew",
            (one) => one.setService(withMetadata(service(), { uid: "new" })),
            ["default/web"],
        ],
        [
            "a Service of another age",
            (one) => one.setService(service({ created: "2026-03-01T00:00:00Z" })),
            ["default/web"],
        ],
        ["the Service of a slice", (one) => one.setSlice(slice([endpoint("10.1.0.1")])), ["default/web"]],
        [
            "the Service of a slice with another port",
            (one) => one.setSlice({ ...slice([]), ports: [{ port: 1 }] }),
            ["default/web"],
        ],
        [
            "nothing by another time in a slice",
            (one) =>
                one.setSlice(
                    withMetadata(slice([endpoint("10.1.0.1 for-zone:a"), endpoint("10.1.0.2 for-zone:b")]), {
                        annotations: { "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z" },
                    }),
                ),
            [],
        ],
        [
            "both Services of a slice that moves",
            (one) => one.setSlice(slice([], { name: "web-1", of: "other" })),
            ["default/other", "default/web"],
        ],
        [
            "both Services of a slice that moves as it is",
            (one) =>
                one.setSlice(
                    slice([endpoint("10.1.0.1 for-zone:a"), endpoint("10.1.0.2 for-zone:b")], {
                        name: "web-1",
                        of: "other",
                    }),
                ),
            ["default/other", "default/web"],
        ],
        [
            "the Service of a slice of another address type",
            (one) =>
                one.setSlice({
                    ...slice([endpoint("10.1.0.1 for-zone:a"), endpoint("10.1.0.2 for-zone:b")]),
                    addressType: "IPv6",
                }),
            ["default/web"],
        ],
        ["the Service of a slice that goes", (one) => one.deleteSlice("default/web-1"), ["default/web"]],
        ["nothing by a slice of no known Service", (one) => one.setSlice(slice([], { of: "x" })), []],
        ["nothing by a slice that is unknown", (one) => one.deleteSlice("default/x"), []],
        ["those with hints by the own Node's zone", (one) => one.setNode(node("here", { zone: "b" })), ["default/web"]],
        ["nothing by another Node's zone", (one) => one.setNode(node("there", { zone: "b" })), []],
        [
            "those with such an endpoint by the own Node's addresses",
            (one) => one.setNode(node("here", { zone: "a", addresses: ["192.168.0.9", "10.9.9.9"] })),
            ["default/other"],
        ],
        [
            "those with such an endpoint however it is written",
            (one) => one.setNode(node("here", { zone: "a", addresses: ["fd00:9::1"] })),
            ["default/other"],
        ],
        [
            "nothing by an address that no endpoint has",
            (one) => one.setNode(node("here", { zone: "a", addresses: ["10.9.9.9"] })),
            [],
        ],
    ])("%s", (_, change, expected) => {
        expect([...change(index())].sort()).toEqual(expected);
    });

    it("a Service whose externalIP gets into a podCIDR, and out of it", () => {
        const one = indexOf({
            services: [service({ externalIPs: ["10.5.0.1"] }), service({ name: "other", clusterIPs: ["10.96.0.2"] })],
        });
        const reasons = (): readonly string[] => servedOf(one).problems.map(({ reason }) => reason);
        expect([...one.setNode(node("n", { podCidrs: ["10.5.0.0/24"] }))]).toEqual(["default/web"]);
        expect(reasons()).toEqual(["ExternalAddressInPodCidr"]);
        expect([...one.setNode(node("m", { podCidrs: ["10.5.0.0/16"] }))]).toEqual([]);
        expect([...one.setNode(node("n", { podCidrs: ["10.6.0.0/24"] }))]).toEqual([]);
        expect([...one.deleteNode("m")]).toEqual(["default/web"]);
        expect([reasons(), [...one.deleteNode("m")]]).toEqual([[], []]);
    });

    it("a Service that may have another of its externalIPs instead", () => {
        const one = indexOf({
            services: [service({ externalIPs: ["10.5.0.1", "10.6.0.1"] })],
            nodes: [node("n", { podCidrs: ["10.5.0.0/24"] })],
        });
        const fields = (): readonly string[] => servedOf(one).problems.map(({ field }) => field);
        expect(fields()).toEqual(["spec.externalIPs[0]"]);
        expect([...one.setNode(node("n", { podCidrs: ["10.6.0.0/24"] }))]).toEqual(["default/web"]);
        expect(fields()).toEqual(["spec.externalIPs[1]"]);
    });

    it("a Service whose externalIP becomes another's ClusterIP, and is free again", () => {
        const one = indexOf({ services: [service({ externalIPs: ["10.96.0.2"] })] });
        const other = service({ name: "other", clusterIPs: ["10.96.0.2"] });
        expect([...one.setService(other)].sort()).toEqual(["default/other", "default/web"]);
        expect(servedOf(one).problems.map(({ reason }) => reason)).toEqual(["ExternalAddressIsClusterIp"]);
        expect([...one.deleteService("default/other")].sort()).toEqual(["default/other", "default/web"]);
        expect(servedOf(one).problems).toEqual([]);
    });

    it("as many as it concerns among 10,000 Services", () => {
        const many = new ServiceIndex(settings);
        for (let at = 0; at < 10_000; at += 1) {
            many.setService(service({ name: `s${at}`, clusterIPs: [`10.97.${at >> 8}.${at & 255}`] }));
        }
        for (let at = 0; at < 10_000; at += 100) {
            expect([...many.setSlice(slice([endpoint("10.1.0.1")], { of: `s${at}` }))]).toEqual([`default/s${at}`]);
        }
        expect(endpointTexts(servedOf(many, "s100").ports[0], "cluster")).toEqual(["10.1.0.1:8080"]);
        expect([
            many.keys.length,
            [...many.setNode({ metadata: { name: "here", labels: { [zoneLabel]: "z" } } })],
        ]).toEqual([10_000, []]);
    });
});
