import { describe, expect, it } from "@jest/globals";
import { formatIp } from "@antrea/ip";
import { type ServiceSettings, type ServiceSpecObject, type SliceObject } from "../src/index.ts";
import { endpoint, endpointTexts, indexOf, node, service, servedOf, slice } from "./objects.ts";

const here = node("here", { zone: "a", addresses: ["192.168.0.1", "fd00:1::1"] });

/** The last byte of the address of each endpoint that is chosen, by scope. */
function chosen(endpoints: readonly string[], changed: Partial<ServiceSettings> = {}): string {
    const slices = [slice(endpoints.map((text) => endpoint(`10.1.0.${text}`)))];
    const [port] = servedOf(indexOf({ services: [service()], slices, nodes: [here] }, changed)).ports;
    const bytes = (scope: "cluster" | "local"): string =>
        endpointTexts(port, scope)
            .map((text) => text.replace(/^10\.1\.0\.(\d+):8080$/, "$1"))
            .join(" ");
    return `${bytes("cluster")} | ${bytes("local")}`;
}

describe("the choice of endpoints, all and local", () => {
    it.each<[string, readonly string[], string]>([
        ["no endpoint", [], " | "],
        ["all that are ready", ["1", "2 here", "3 there"], "1 2 3 | 2"],
        ["sorted by address", ["10", "9", "100"], "9 10 100 | "],
        ["ready before terminating", ["1 there", "2 there terminating", "3 here"], "1 3 | 3"],
        ["terminating ones that serve, if none is ready", ["1 terminating", "2 here terminating"], "1 2 | 2"],
        ["for the Node alone too, whatever there is elsewhere", ["1 there", "2 here terminating"], "1 | 2"],
        ["never one that does not serve", ["1 unready", "2 stopped", "3 here stopped"], " | "],
        ["unready beside terminating", ["1 unready", "2 terminating"], "2 | "],
        ["the hints of the zone", ["1 for-zone:a", "2 for-zone:b", "3 for-zone:b for-zone:a"], "1 3 | "],
        ["no hints if a ready one has none", ["1 for-zone:a", "2 for-zone:b", "3"], "1 2 3 | "],
        ["hints, though one that is not ready has none", ["1 for-zone:a", "2 for-zone:b", "3 unready"], "1 | "],
        ["no hints if none is for the zone", ["1 for-zone:b", "2 for-zone:c"], "1 2 | "],
        ["no hints for terminating ones", ["1 for-zone:b terminating", "2 for-zone:a terminating"], "1 2 | "],
        ["hints do not restrict local ones", ["1 here for-zone:b", "2 there for-zone:a"], "2 | 1"],
        [
            "the hints of the Node before those of the zone (trafficDistribution PreferSameNode)",
            ["1 here for-node:here for-zone:a", "2 for-node:there for-zone:a"],
            "1 | 1",
        ],
        [
            "the hints of the zone if none is for the Node",
            ["1 for-node:there for-zone:a", "2 for-node:other for-zone:b"],
            "1 | ",
        ],
        ["the hints of the zone if one has none for a Node", ["1 for-node:here for-zone:b", "2 for-zone:a"], "2 | "],
        ["hints of the Node without any of zones", ["1 for-node:here", "2 for-node:there"], "1 | "],
    ])("%s", (_, endpoints, expected) => {
        expect(chosen(endpoints)).toBe(expected);
    });

    it.each<[string, readonly string[], Partial<ServiceSpecObject>, string]>([
        ["terminating ones beside ready ones", ["1 there", "2 there terminating", "3 here"], {}, "1 2 3"],
        ["those with hints for others", ["1 for-zone:a", "2 for-zone:b"], {}, "1 2"],
        ["those of other Nodes", ["1 here", "2 there"], { internalTrafficPolicy: "Local" }, "1 2"],
        ["none that does not serve", ["1 unready", "2 stopped", "3"], {}, "3"],
    ])("among which connections stay: %s", (_, endpoints, spec, expected) => {
        const slices = [slice(endpoints.map((text) => endpoint(`10.1.0.${text}`)))];
        const [port] = servedOf(indexOf({ services: [service(spec)], slices, nodes: [here] })).ports;
        const texts = port?.serving.map(({ ip }) => formatIp(ip).replace("10.1.0.", ""));
        expect(texts?.join(" ")).toBe(expected);
    });

    it("leaves hints for Nodes out without their feature gate", () => {
        const endpoints = ["1 for-node:here for-zone:a", "2 for-node:there for-zone:a", "3 for-node:there for-zone:b"];
        expect([chosen(endpoints), chosen(endpoints, { nodeHints: false })]).toEqual(["1 | ", "1 2 | "]);
    });

    it("leaves hints for zones out while the Node has none", () => {
        const slices = [slice([endpoint("10.1.0.1 for-zone:a"), endpoint("10.1.0.2 for-zone:b")])];
        const index = indexOf({ services: [service()], slices, nodes: [node("other", { zone: "a" })] });
        const cluster = (): readonly string[] => endpointTexts(servedOf(index).ports[0], "cluster");
        expect(cluster()).toEqual(["10.1.0.1:8080", "10.1.0.2:8080"]);
        index.setNode(here);
        expect(cluster()).toEqual(["10.1.0.1:8080"]);
        index.deleteNode("here");
        expect(cluster()).toEqual(["10.1.0.1:8080", "10.1.0.2:8080"]);
    });

    it("takes absent conditions as ready", () => {
        const conditions = [{}, { ready: true }, { ready: false }, { ready: false, terminating: true }];
        const endpoints = conditions.map((one, at) => ({ ...endpoint(`10.1.0.${at}`), conditions: one }));
        const texts = (from: number): readonly string[] =>
            endpointTexts(
                servedOf(indexOf({ services: [service()], slices: [slice(endpoints.slice(from))] })).ports[0],
                "cluster",
            );
        expect([texts(0), texts(2)]).toEqual([["10.1.0.0:8080", "10.1.0.1:8080"], ["10.1.0.3:8080"]]);
    });
});

describe("the endpoints of a port", () => {
    const ports = [
        { name: "http", protocol: "TCP", port: 80 },
        { name: "dns", protocol: "UDP", port: 53 },
    ];
    const texts = (slices: readonly SliceObject[]): readonly (readonly string[])[] =>
        servedOf(indexOf({ services: [service({ ports })], slices })).ports.map((port) => [
            `${port.name} ${port.protocol} ${port.port}`,
            ...endpointTexts(port, "cluster"),
        ]);

    it("are found by the name and protocol of the port, in each slice with its own number", () => {
        const named = (name: string, port: number, protocol?: string): object => ({
            name,
            port,
            ...(protocol && { protocol }),
        });
        expect(
            texts([
                slice([endpoint("10.1.0.1")], { ports: [named("http", 8080), named("dns", 1053, "UDP")] as never }),
                slice([endpoint("10.1.0.2")], {
                    name: "b",
                    ports: [named("http", 9090, "TCP"), named("dns", 53)] as never,
                }),
                slice([endpoint("10.1.0.3")], { name: "c", ports: [{ port: 80 }] }),
            ]),
        ).toEqual([
            ["http TCP 80", "10.1.0.1:8080", "10.1.0.2:9090"],
            ["dns UDP 53", "10.1.0.1:1053"],
        ]);
    });

    it("count once if several slices have them: ready wins, then the own Node, then the first slice by name", () => {
        const index = indexOf({
            services: [service()],
            slices: [
                slice(
                    [endpoint("10.1.0.1 there terminating"), endpoint("10.1.0.2 there"), endpoint("10.1.0.3 there")],
                    {
                        name: "b",
                    },
                ),
                slice([endpoint("10.1.0.1 there"), endpoint("10.1.0.2 here"), endpoint("10.1.0.3 unready")], {
                    name: "c",
                }),
                slice([endpoint("10.1.0.3"), endpoint("10.1.0.3 there")], { name: "a" }),
                slice([endpoint("10.1.0.3")], { name: "A", ports: [{ port: 9090 }] }),
            ],
        });
        const { cluster = [] } = servedOf(index).ports[0]?.endpoints ?? {};
        expect(cluster.map(({ port, nodeName, local, ready }) => [port, nodeName, local, ready])).toEqual([
            [8080, "there", false, true],
            [8080, "here", true, true],
            [8080, undefined, false, true],
            [9090, undefined, false, true],
        ]);
    });

    it("are others at another address or port", () => {
        const slices = [
            slice([endpoint("10.1.0.1")], { ports: [{ port: 8081 }] }),
            slice([endpoint("10.2.0.1"), endpoint("10.1.0.1")], { name: "b" }),
        ];
        const [port] = servedOf(indexOf({ services: [service()], slices })).ports;
        expect(endpointTexts(port, "cluster")).toEqual(["10.1.0.1:8080", "10.1.0.1:8081", "10.2.0.1:8080"]);
    });

    it("have the family of their slice", () => {
        const dual = service({ clusterIPs: ["10.96.0.1", "fd00::1"] });
        const slices = [
            slice([endpoint("10.1.0.1")]),
            slice([endpoint("fd00:2::1"), endpoint("FD00:2:0::1"), endpoint("fd00:2::2 here")], {
                name: "six",
                type: "IPv6",
            }),
            slice([endpoint("name.example")], { name: "names", type: "FQDN" }),
        ];
        const of = (changed: Partial<ServiceSettings>, services = [dual]): readonly (readonly string[])[] =>
            servedOf(indexOf({ services, slices }, changed)).ports.map((port) => endpointTexts(port, "cluster"));
        const six = ["fd00:2::1:8080", "fd00:2::2:8080"];
        expect(of({})).toEqual([["10.1.0.1:8080"], six]);
        expect(of({ families: [6] })).toEqual([six]);
        expect(of({}, [service()])).toEqual([["10.1.0.1:8080"]]);
        expect(servedOf(indexOf({ services: [dual], slices })).problems).toEqual([]);
    });

    it("are the host's if they have an address of the Node", () => {
        const index = indexOf({
            services: [service()],
            slices: [slice(["192.168.0.1 here", "192.168.0.2 there", "10.1.0.1 here"].map(endpoint))],
            nodes: [here, node("there", { addresses: ["192.168.0.2"] })],
        });
        const { cluster = [] } = servedOf(index).ports[0]?.endpoints ?? {};
        expect(cluster.map(({ local, host }) => [local, host])).toEqual([
            [true, false],
            [true, true],
            [false, false],
        ]);
    });

    it("may be outside of the cluster, of a Service without selector", () => {
        expect(chosen(["1", "2"])).toBe("1 2 | ");
    });

    it("are none of slices without the Service's label, or of headless Services", () => {
        const unlabelled = { ...slice([endpoint("10.1.0.1")]), metadata: { name: "x", namespace: "default" } };
        const headless = slice([endpoint("10.1.0.2")], { name: "y", headless: true });
        const elsewhere = { ...slice([endpoint("10.1.0.3")]), metadata: { ...slice([]).metadata, namespace: "other" } };
        expect(
            endpointTexts(
                servedOf(indexOf({ services: [service()], slices: [unlabelled, headless, elsewhere] })).ports[0],
                "cluster",
            ),
        ).toEqual([]);
    });
});
