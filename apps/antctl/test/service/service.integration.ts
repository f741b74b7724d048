import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { configMaps, endpointSlices, events, nodes, services, type EndpointSlice, type Service } from "@antrea/kube";
import { ServiceIndex, serviceNameLabel, type NodeObject, type ServedService } from "@antrea/services";
import { differences } from "../../src/service/compare.ts";
import { OvsReader } from "../../src/service/ovs-reader.ts";
import { placesOf } from "../../src/service/places.ts";
import { type ServiceReport } from "../../src/service/report.ts";
import { requireBinary } from "../support/antctl.ts";
import { documentedRoles } from "../support/documented-roles.ts";
import { ServiceNode } from "../support/service-node.ts";
import { TestCluster } from "../support/test-cluster.ts";

// The compiled program against a real API server, and a real Open vSwitch with the flows of Services on two Nodes; on the
// third one ovs-ofctl finds no switch.

const namespace = "shop";
const podCidrs = {
    node1: ["10.10.1.0/24", "fd00:10:1::/64"],
    node2: ["10.10.2.0/24", "fd00:10:2::/64"],
    node3: ["10.10.3.0/24", "fd00:10:3::/64"],
};

let cluster: TestCluster;
const ovs = new Map<string, ServiceNode>();

beforeAll(async () => {
    requireBinary();
    cluster = await TestCluster.start({ authorization: "RBAC", users: ["viewer", "stranger"] });
    for (const name of ["node1", "node2"] as const) {
        const node = await ServiceNode.start();
        ovs.set(name, node);
        await cluster.addNodeWith(name, node, { podCidrs: podCidrs[name] });
    }
    await cluster.server.apply(await documentedRoles());
    await setConfig("");
});

afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
    for (const node of ovs.values()) await node.clear();
});

async function setConfig(text: string): Promise<void> {
    const ref = { namespace: "kube-system", name: "antrea-config" };
    const data = { "antrea-agent.conf": text };
    if ((await cluster.api.find(configMaps, ref)) === undefined)
        await cluster.api.create(configMaps, { metadata: ref, data });
    else await cluster.api.patch(configMaps, ref, { type: "merge", body: { data } });
}

async function addService(
    name: string,
    endpoints: NonNullable<EndpointSlice["endpoints"]>,
    spec: Readonly<Record<string, unknown>> = {},
): Promise<Service> {
    const ports = [{ name: "http", port: 80 }];
    const created = await cluster.api.create(services, { metadata: { namespace, name }, spec: { ports, ...spec } });
    await cluster.api.create(endpointSlices, {
        metadata: { namespace, name: `${name}-1`, labels: { [serviceNameLabel]: name } },
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints,
    });
    return created;
}

/** What an agent on this Node would serve. */
async function servedOn(nodeName: keyof typeof podCidrs, name: string, proxyAll = false): Promise<ServedService> {
    const index = new ServiceIndex({
        nodeName,
        families: [4, 6],
        proxyAll,
        proxyLoadBalancerIps: true,
        serviceProxyName: "",
        skipServices: [],
        defaultLoadBalancerMode: "nat",
        dsr: false,
        nodeHints: true,
        sctp: true,
    });
    index.setNode((await cluster.api.find(nodes, { name: nodeName })) as NodeObject);
    for (const { items } of [await cluster.api.list(services)]) for (const one of items) index.setService(one);
    for (const one of (await cluster.api.list(endpointSlices, { namespace })).items) index.setSlice(one);
    const served = index.served(`${namespace}/${name}`);
    if (served === undefined) throw new TypeError(`nothing is served of ${name}`);
    return served;
}

async function serve(name: string, on: readonly (keyof typeof podCidrs)[] = ["node1", "node2"]): Promise<void> {
    for (const node of on) await ovs.get(node)?.serve(await servedOn(node, name), false);
}

async function report(
    name: string,
    ...more: readonly string[]
): Promise<{ readonly code: number; readonly report: ServiceReport }> {
    const words = ["service", `${namespace}/${name}`, "-o", "json", ...more];
    const { code, stdout, stderr } = await cluster.antctl(words, { user: "viewer" });
    if (stdout === "") throw new Error(`antctl ${words.join(" ")} exited with ${code}: ${stderr}`);
    return { code, report: JSON.parse(stdout) as ServiceReport };
}

const ready = (address: string, nodeName: string, more: object = {}) => ({ addresses: [address], nodeName, ...more });
const statesOf = ({ nodes: all }: ServiceReport): unknown =>
    Object.fromEntries(all.flatMap(({ ovs: each }) => each.map(({ node, state }) => [node, state])));

describe("a Service of several endpoints", () => {
    let ip = "";

    beforeAll(async () => {
        const { spec } = await addService("web", [
            ready("10.10.1.5", "node1"),
            ready("10.10.2.5", "node2"),
            ready("10.10.2.6", "node2", { conditions: { ready: false } }),
            ready("10.10.2.7", "node2", { conditions: { ready: false, serving: true, terminating: true } }),
        ]);
        ip = spec?.clusterIP ?? "";
    });

    it("is the same on all Nodes, and in OVS", async () => {
        await serve("web");
        const { code, report: found } = await report("web");
        expect(found.nodes.map(({ nodes: names }) => names)).toEqual([["node1", "node2"]]);
        expect(found.nodes[0]?.ports).toEqual([
            {
                name: "http",
                protocol: "TCP",
                ipVersion: 4,
                port: 80,
                addresses: [{ address: ip, kind: "cluster", inside: "cluster" }],
                endpoints: [
                    endpoint("10.10.1.5", "node1"),
                    endpoint("10.10.2.5", "node2"),
                    endpoint("10.10.2.6", "node2", "NotReady", "is not ready"),
                    endpoint("10.10.2.7", "node2", "Terminating", "is terminating, and others are ready"),
                ],
            },
        ]);
        expect([code, statesOf(found)]).toEqual([0, { node1: "same", node2: "same" }]);
    });

    function endpoint(address: string, node: string, reason?: string, text?: string): object {
        const scope = reason === undefined ? { chosen: true } : { chosen: false, reason, text };
        return { address, port: 8080, node, slice: "web-1", scopes: [{ scope: "cluster", ...scope }] };
    }

    it("is shown with its flows for one Node", async () => {
        await serve("web");
        const { code, stdout, stderr } = await cluster.antctl(["service", `${namespace}/web`, "--node", "node2"]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(stdout).toMatch(/^Service: +shop\/web\n/);
        expect(stdout).toContain("On Node node2");
        expect(stdout).toMatch(new RegExp(`\\n${ip} +TCP 80 \\(http\\) +ClusterIP +2 of 4\\n`));
        expect(stdout).toMatch(/\n10\.10\.2\.6:8080 +TCP 80 \(http\) +node2 +no: is not ready\n/);
        expect(stdout).toContain("OVS has the same on node2.");
        expect(stdout).toMatch(
            new RegExp(
                `\\n +\\d+ +tcp,nw_dst=${ip},tp_dst=80 +\\d+ +to 10\\.10\\.1\\.5:8080, 10\\.10\\.2\\.5:8080\\n$`,
            ),
        );
    });

    it("differs where OVS lacks it, has an endpoint too many or too few, or a port too many", async () => {
        const { ports, ...rest } = await servedOn("node1", "web");
        const [port] = ports;
        if (port === undefined) throw new TypeError("no port is served");
        const cluster5 = port.endpoints.cluster.map((one, at) => (at === 0 ? { ...one, port: 9090 } : one));
        const other = { ...port, endpoints: { ...port.endpoints, cluster: cluster5 } };
        await ovs.get("node1")?.serve({ ...rest, ports: [other, { ...port, name: "old", port: 81 }] }, false);
        const { code, report: found } = await report("web");
        expect([code, statesOf(found)]).toEqual([1, { node1: "differs", node2: "differs" }]);
        expect(found.nodes[0]?.ovs).toMatchObject([
            {
                node: "node1",
                differences: [
                    `${ip} TCP 80: OVS lacks 1 endpoint: 10.10.1.5:8080`,
                    `${ip} TCP 80: OVS has 1 endpoint that is not chosen: 10.10.1.5:9090`,
                    `${ip} TCP 81: OVS has a flow, and the Service has no such port`,
                ],
            },
            {
                node: "node2",
                differences: [`${ip} TCP 80: OVS has no flow, so that packets to it go to the Node itself`],
            },
        ]);
    });
});

describe("kinds of Services", () => {
    it.each<[string, Readonly<Record<string, unknown>>, readonly string[], Readonly<Record<string, unknown>>]>([
        ["one endpoint", {}, ["10.10.1.5"], { kind: "endpoints", endpoints: ["10.10.1.5:8080"] }],
        ["none", {}, [], { kind: "rejected" }],
        [
            "affinity",
            { sessionAffinity: "ClientIP" },
            ["10.10.1.5", "10.10.1.6"],
            { kind: "endpoints", endpoints: ["10.10.1.5:8080", "10.10.1.6:8080"] },
        ],
    ])("%s", async (text, spec, addresses, outcome) => {
        const name = `kind-${text.replaceAll(" ", "-")}`;
        await addService(
            name,
            addresses.map((address) => ready(address, "node1")),
            spec,
        );
        await serve(name);
        const { code, report: found } = await report(name);
        expect([code, found.nodes.map(({ nodes: names }) => names)]).toEqual([0, [["node1", "node2"]]]);
        expect(found.nodes[0]?.ovs).toMatchObject([
            { node: "node1", state: "same", flows: [{ outcome }] },
            { node: "node2", state: "same", flows: [{ outcome }] },
        ]);
    });

    it("internalTrafficPolicy Local: each Node has its own, or drops", async () => {
        await addService("local", [ready("10.10.1.5", "node1"), ready("10.10.1.6", "node1")], {
            internalTrafficPolicy: "Local",
            sessionAffinity: "ClientIP",
        });
        await serve("local");
        const { code, report: found } = await report("local");
        expect(code).toBe(0);
        expect(found.nodes).toMatchObject([
            { nodes: ["node1"], ovs: [{ state: "same", flows: [{ outcome: { kind: "endpoints" } }] }] },
            { nodes: ["node2"], ovs: [{ state: "same", flows: [{ outcome: { kind: "dropped" } }] }] },
        ]);
        const { stdout } = await cluster.antctl(["service", "local", "-n", namespace, "--node", "node2"]);
        expect(stdout).toContain("none on the Node");
        expect(stdout).toMatch(/no: is on the Node node1 \(internalTrafficPolicy\n? *Local\)/);
    });

    it("of both families, with a load balancer and addresses that are left to others", async () => {
        await addService("both", [ready("10.10.1.5", "node1")], {
            type: "LoadBalancer",
            ipFamilyPolicy: "RequireDualStack",
            externalIPs: ["192.0.2.7"],
            loadBalancerSourceRanges: ["198.51.100.0/24"],
        });
        const ref = { namespace, name: "both" };
        const status = { loadBalancer: { ingress: [{ ip: "192.0.2.8" }, { ip: "10.10.2.9" }] } };
        await cluster.api.patch(services, ref, { type: "merge", body: { status } }, { subresource: "status" });
        await serve("both");
        const { code, report: found } = await report("both", "--node", "node1");
        expect(code).toBe(0);
        expect(found.nodes[0]?.problems).toEqual([
            "status.loadBalancer.ingress[1].ip: 10.10.2.9 is in the podCIDR of the Node node2; it is not served; " +
                "next: use an address that is outside of the cluster's own ranges",
        ]);
        expect(found.nodes[0]?.unserved).toMatchObject([{ value: "192.0.2.7" }, { field: "spec.ports[0].nodePort" }]);
        const [read] = found.nodes[0]?.ovs ?? [];
        const flows = read?.state === "same" ? read.flows : [];
        expect(flows.map(({ place, outcome }) => `${place.replace(/^\S+/, "")} ${outcome.kind}`).sort()).toEqual([
            " TCP 80 dropped",
            " TCP 80 endpoints",
            " TCP 80 endpoints",
            " TCP 80 rejected",
        ]);
    });

    it.each([250, 256, 400, 1_000])("of %d endpoints, as far as OVS can list them", async (length) => {
        const addresses = Array.from({ length }, (_, at) => ready(`10.10.${at >> 8}.${at & 0xff}`, "node1"));
        const name = `many-${length}`;
        await addService(name, addresses);
        await serve(name);
        const { code, report: found } = await report(name);
        const isListed = length <= 256;
        const one = {
            state: "same",
            uncompared: isListed ? [] : [expect.stringMatching(/ TCP 80: the group .* too large/)],
        };
        expect([code, found.nodes[0]?.ovs]).toMatchObject([0, [one, one]]);
        if (isListed) return;
        const served = await servedOn("node1", name);
        const [port] = served.ports;
        if (port === undefined) throw new TypeError("no port is served");
        await ovs.get("node1")?.clear();
        const fewer = { ...port, endpoints: { ...port.endpoints, cluster: port.endpoints.cluster.slice(1) } };
        await ovs.get("node1")?.serve({ ...served, ports: [fewer] }, false);
        const again = await report(name, "--node", "node1");
        expect([again.code, again.report.nodes[0]?.ovs]).toMatchObject([
            1,
            [
                {
                    differences: [
                        expect.stringContaining(`${length - 1} buckets, and ${length} are needed for ${length}`),
                    ],
                },
            ],
        ]);
    });
});

describe("with proxyAll", () => {
    it("clients outside, NodePorts and closed addresses are compared too", async () => {
        await addService(
            "all",
            [ready("10.10.1.5", "node1"), ready("10.10.2.5", "node2"), ready("10.10.2.6", "node2")],
            {
                type: "LoadBalancer",
                externalTrafficPolicy: "Local",
                externalIPs: ["192.0.2.17"],
                loadBalancerSourceRanges: ["198.51.100.0/24", "203.0.113.0/24"],
            },
        );
        const ref = { namespace, name: "all" };
        const status = { loadBalancer: { ingress: [{ ip: "192.0.2.18" }] } };
        await cluster.api.patch(services, ref, { type: "merge", body: { status } }, { subresource: "status" });
        const [served, other] = [await servedOn("node1", "all", true), await servedOn("node2", "all", true)];
        const node = ovs.get("node1");
        if (node === undefined) throw new TypeError("no OVS");
        const differ = async (): Promise<readonly string[]> =>
            differences(
                placesOf(served, true),
                await new OvsReader((command) => node.run(command), "br-int").read(placesOf(served, true)),
            );
        await node.serve(served, true);
        expect(placesOf(served, true).map(({ outcomes }) => outcomes.map(({ kind }) => kind))).toEqual([
            ["endpoints"],
            ["endpoints", "endpoints", "dropped"],
            ["endpoints", "endpoints"],
            ["endpoints", "endpoints"],
        ]);
        expect(await differ()).toEqual([]);
        await node.clear();
        await node.serve(other, true);
        const wrong = [
            "OVS lacks 1 endpoint: 10.10.1.5:8080",
            "OVS has 2 endpoints that are not chosen: 10.10.2.5:8080, 10.10.2.6:8080",
        ];
        const nodePort = served.ports[0]?.nodePort?.port ?? 0;
        expect(await differ()).toEqual(
            ["192.0.2.18 TCP 80", "192.0.2.17 TCP 80", `NodePort TCP ${nodePort} of IPv4`].flatMap((place) =>
                wrong.map((text) => `${place}: ${text}`),
            ),
        );
    });

    it("what agents have reported that only they know is shown, not what is about an earlier Service of its name", async () => {
        const { metadata } = await addService("used", [ready("10.10.1.5", "node1")], { type: "NodePort" });
        const note = "spec.ports.nodePort: TCP 30080 is a port on which a program of this Node listens";
        const report1 = (node: string, uid: string, reason: string): Promise<unknown> =>
            cluster.api.create(events, {
                metadata: { namespace, name: `used-${node}-${uid}-${reason}`.toLowerCase() },
                eventTime: "2026-01-01T00:00:00.000000Z",
                type: "Warning",
                reason,
                action: "ServeService",
                note,
                reportingController: "antrea-agent",
                reportingInstance: `antrea-agent-${node}`,
                regarding: { apiVersion: "v1", kind: "Service", namespace, name: "used", uid },
            });
        const uid = metadata?.uid ?? "";
        await report1("node2", uid, "PortUsedByNode");
        await report1("node1", "earlier", "PortUsedByNode");
        await report1("node1", uid, "AddressTaken");
        const problem = { node: "node2", reason: "PortUsedByNode", text: note, time: "2026-01-01T00:00:00.000000Z" };
        await setConfig("antreaProxy: { proxyAll: true }");
        expect((await report("used")).report.nodeProblems).toEqual([problem]);
        expect((await report("used", "--node", "node1")).report.nodeProblems).toEqual([]);
        const { stdout } = await cluster.antctl(["service", "shop/used"], { user: "viewer" });
        expect(stdout).toMatch(
            /\nReported by Nodes\n {2}- node2, \S+ ago: PortUsedByNode: spec\.ports\.nodePort: TCP 30080/,
        );
        await setConfig("");
        expect((await report("used")).report.nodeProblems).toEqual([]);
    });

    it("a Service that is skipped may be nobody's", async () => {
        await addService("nobody", []);
        await setConfig("antreaProxy: { proxyAll: true, skipServices: [shop/nobody] }");
        const { code, stderr } = await cluster.antctl(["service", "shop/nobody"], { user: "viewer" });
        expect([code, stderr]).toEqual([
            1,
            "error: AntreaProxy does not serve Service shop/nobody: antreaProxy.skipServices names it\n" +
                "  next: look at kube-proxy, if it runs beside antreaProxy.proxyAll: else nobody serves it until you take " +
                "it from antreaProxy.skipServices\n",
        ]);
        await setConfig("");
    });
});

describe("what cannot be shown", () => {
    const failing = async (words: readonly string[]): Promise<string> => {
        const { code, stdout, stderr } = await cluster.antctl(["service", ...words]);
        expect([code, stdout]).toEqual([1, ""]);
        return stderr;
    };

    it.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
        ["headless", { clusterIP: "None" }, /it is headless: .*\n {2}next: kubectl -n shop get endpointslices -l/],
        ["alias", { type: "ExternalName", externalName: "x.example", ports: [] }, /of type ExternalName/],
        ["skipped", {}, /antreaProxy\.skipServices names it\n {2}next: look at kube-proxy/],
    ])("a Service that is ignored: %s", async (name, spec, message) => {
        await addService(`ignored-${name}`, [], spec);
        await setConfig("antreaProxy: { skipServices: [shop/ignored-skipped] }");
        const text = await failing([`shop/ignored-${name}`]);
        expect(text).toMatch(new RegExp(`^error: AntreaProxy does not serve Service shop/ignored-${name}: `));
        expect(text).toMatch(message);
        await setConfig("");
    });

    it("a Service of another proxy, one that is not there, a Node that is not there", async () => {
        const labels = { "service.kubernetes.io/service-proxy-name": "other" };
        await cluster.api.create(services, {
            metadata: { namespace, name: "foreign", labels },
            spec: { ports: [{ port: 80 }] },
        });
        expect(await failing(["shop/foreign"])).toContain("service-proxy-name names another program");
        expect(await failing(["shop/nope"])).toBe(
            "error: there is no Service shop/nope\n  next: kubectl -n shop get services lists those that there are\n",
        );
        expect(await failing(["default/kubernetes", "--node", "nowhere"])).toBe(
            "error: there is no Node nowhere\n  next: kubectl get nodes lists those that there are\n",
        );
    });

    it("anything while AntreaProxy is off", async () => {
        await setConfig("antreaProxy: { enable: false }");
        expect(await failing(["default/kubernetes"])).toContain("antreaProxy.enable is false; kube-proxy does");
        await setConfig("featureGates: { AntreaProxy: false }");
        expect(await failing(["default/kubernetes"])).toContain("the feature gate AntreaProxy is off");
        await setConfig("");
    });
});

describe("a Node whose OVS cannot be read", () => {
    it("is named with the reason, and the settings that were assumed are", async () => {
        await cluster.addNode("node3", { podCidrs: podCidrs.node3 });
        await serve("web");
        const { code, report: found } = await report("web");
        expect([code, statesOf(found)]).toEqual([2, { node1: "same", node2: "same", node3: "unread" }]);
        const { stdout } = await cluster.antctl(["service", "shop/web"]);
        expect(stdout).toContain("OVS has the same on node1, node2.");
        expect(stdout).toMatch(/What OVS has is not known\n {2}- node3: cannot run ovs-ofctl in container antrea-ovs/);
        await cluster.api.delete(configMaps, { namespace: "kube-system", name: "antrea-config" });
        expect((await report("web")).report.assumptions).toEqual([
            "The settings of the agents are taken to be the defaults: there is no ConfigMap kube-system/antrea-config.",
        ]);
    });
});
