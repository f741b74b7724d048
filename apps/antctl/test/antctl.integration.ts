import { mkdir, readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools } from "@antrea/crd";
import { configMaps, events, namespaces, nodes, pods, statefulSets, type KubeObject, type Pod } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { antctl, requireBinary } from "./support/antctl.ts";
import { documentedRoles } from "./support/documented-roles.ts";
import { type NodeOvs } from "./support/node-ovs.ts";
import { recordOf, TestCluster } from "./support/test-cluster.ts";

// The compiled program against a real API server. What is run in containers is run by a kubelet of the tests, in front
// of real OVS databases: the WebSocket goes through the API server to it.

const pools = "ipam.antrea.io/ippools";
const podIps = "ipam.antrea.io/pod-ips";

let cluster: TestCluster;
let ovs1: NodeOvs;
let cart: Pod;

beforeAll(async () => {
    requireBinary();
    cluster = await TestCluster.start({ authorization: "RBAC", users: ["viewer", "stranger"] });
    ovs1 = await cluster.addNode("node1", { podCidrs: ["10.10.1.0/24", "fd00:10:1::/64"] });
    await cluster.addNode("node2", { podCidrs: ["10.10.2.0/24"], ready: false });
    await cluster.addPool("web", [
        { start: "10.2.0.12", end: "10.2.0.20", gateway: "10.2.0.1", prefixLength: 24, vlan: 2 },
    ]);
    await cluster.addPool(
        "web6",
        [{ cidr: "3ffe:ffff:1:1ff::/64", gateway: "3ffe:ffff:1:1ff::1", prefixLength: 64 }],
        6,
    );
    await cluster.addPool("tiny", [{ start: "10.3.0.8", end: "10.3.0.9", gateway: "10.3.0.1", prefixLength: 24 }]);
    const data = { "antrea-agent.conf": "featureGates:\n  AntreaIPAM: true\n  SecondaryNetwork: true\n" };
    await cluster.api.create(configMaps, { metadata: { namespace: "kube-system", name: "antrea-config" }, data });
    const annotate = { metadata: { annotations: { [pools]: "web,web6" } } };
    await cluster.api.patch(namespaces, { name: "shop" }, { type: "merge", body: annotate });
    cart = await cluster.addPod({ name: "cart", node: "node1", ips: ["10.2.0.12", "3ffe:ffff:1:1ff::100"] });
    await cluster.addAllocation({ address: "10.2.0.12", pool: "web", pod: cart });
    await cluster.addAllocation({ address: "3ffe:ffff:1:1ff::100", pool: "web6", pod: cart });
    await ovs1.addPort("cart-port", recordOf(cart, "10.2.0.12,3ffe:ffff:1:1ff::100", "web,web6"));
    await cluster.server.apply(await documentedRoles());
});

afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
});

async function json(
    words: readonly string[],
    o: Parameters<TestCluster["antctl"]>[1] = {},
): Promise<{ readonly code: number; readonly report: never }> {
    const { code, stdout, stderr } = await cluster.antctl([...words, "-o", "json"], o);
    if (stdout === "") throw new Error(`antctl ${words.join(" ")} exited with ${code}: ${stderr}`);
    return { code, report: JSON.parse(stdout) as never };
}

describe("version", () => {
    it("shows that of antctl and what the Pods of the cluster run", async () => {
        const { code, stdout, stderr } = await cluster.antctl(["version"], { user: "viewer" });
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(stdout).toMatch(/^antctl \S+\nantrea-agent latest \(2 Pods\)\n$/);
        const denied = await cluster.antctl(["version"], { user: "stranger" });
        expect(denied.stdout).toMatch(/^antctl \S+\n$/);
        expect(denied.stderr).toMatch(/^the versions of the cluster are not known: .*pods/);
    });
});

describe("ipam show", () => {
    it("lists pools as the controller wrote them, and one from its allocations", async () => {
        const status = { usage: { total: 9, used: 1, reserved: 0, free: 8 } };
        await cluster.api.patch(
            ipPools,
            { name: "web" },
            { type: "merge", body: { status } },
            { subresource: "status" },
        );
        const all = await cluster.antctl(["ipam", "show"]);
        expect(all).toMatchObject({ code: 0, stderr: "" });
        expect(all.stdout).toMatch(/\nweb +IPv4 +\[█░+\] +11% +9 +1 +0 +8 +Unknown\n/);
        const { report } = await json(["ipam", "show", "web"]);
        expect(report).toMatchObject({
            name: "web",
            usage: { total: 9, used: 1, free: 8 },
            users: [{ namespace: "shop", owner: "Pods", used: 1 }],
        });
        expect(await cluster.antctl(["ipam", "show", "nope"])).toMatchObject({
            code: 1,
            stdout: "",
            stderr: 'error: the cluster has no IPPool "nope"\n  next: choose one of tiny, web, web6\n',
        });
    });

    it("works with a client certificate, several kubeconfigs, and a context", async () => {
        const path = await cluster.certificateKubeconfig();
        const joined = `${cluster.server.kubeconfig("stranger")}:${path}`;
        expect(await cluster.antctl(["ipam", "show", "web", "--kubeconfig", path])).toMatchObject({ code: 0 });
        expect(await cluster.antctl(["ipam", "show", "web"], { env: { KUBECONFIG: joined } })).toMatchObject({
            code: 1,
        });
        const words = ["ipam", "show", "web", "--context", "by-certificate"];
        expect(await cluster.antctl(words, { env: { KUBECONFIG: joined } })).toMatchObject({ code: 0 });
    });

    it("does not trust another authority", async () => {
        const path = await cluster.certificateKubeconfig();
        const wrong = cluster.path("wrong.kubeconfig");
        const text = await readFile(path, "utf8");
        await writeFile(
            wrong,
            text.replace(
                /"certificate-authority":"[^"]*"/,
                `"certificate-authority":"${cluster.certificate.authority}"`,
            ),
        );
        const { code, stderr } = await cluster.antctl(["ipam", "show", "--kubeconfig", wrong]);
        expect(code).toBe(1);
        expect(stderr).toMatch(/self.signed certificate/);
    });

    it("takes credentials of a plugin", async () => {
        const plugin = cluster.path("plugin");
        await writeFile(plugin, '#!/bin/sh\necho \'{"kind":"ExecCredential","status":{"token":"token-viewer"}}\'\n', {
            mode: 0o755,
        });
        const base = JSON.parse(await readFile(cluster.server.kubeconfig(), "utf8")) as { users: unknown[] };
        const exec = { apiVersion: "client.authentication.k8s.io/v1", command: plugin, interactiveMode: "Never" };
        const path = cluster.path("exec.kubeconfig");
        await writeFile(path, JSON.stringify({ ...base, users: [{ name: "admin", user: { exec } }] }));
        expect(await cluster.antctl(["ipam", "show", "web", "--kubeconfig", path])).toMatchObject({ code: 0 });
    });
});

describe("ipam who", () => {
    it.each([
        ["10.2.0.12", /^10\.2\.0\.12 is used by Pod shop\/cart on Node node1\.\n/],
        ["3FFE:FFFF:1:01ff:0000::0100", /^3ffe:ffff:1:1ff::100 is used by Pod shop\/cart on Node node1\.\n/],
        ["[3ffe:ffff:1:1ff::101]", /is free: it is not allocated\. IPPool web6 hands it out\./],
        ["10.2.0.1", /is the gateway of IPPool web\./],
        ["10.96.0.1", /lies in Service CIDR 10\.96\.0\.0\/16; it belongs to Service default\/kubernetes\./],
        ["fd00:10:1::7", /lies in podCIDR fd00:10:1::\/64 of Node node1/],
        ["127.0.0.1", /is an address of Node node1\./],
    ])("%s", async (address, text) => {
        const { code, stdout } = await cluster.antctl(["ipam", "who", address]);
        expect(code).toBe(0);
        expect(stdout).toMatch(text);
    });

    it("finds the Pod of a Node's subnet, by its second address too", async () => {
        await cluster.addPod({
            namespace: "default",
            name: "plain",
            node: "node1",
            ips: ["10.10.1.7", "fd00:10:1::9"],
        });
        for (const address of ["10.10.1.7", "fd00:10:1::9"]) {
            const { report } = await json(["ipam", "who", address]);
            expect(report).toMatchObject({
                pods: [{ namespace: "default", name: "plain", node: "node1" }],
                cluster: [{ kind: "PodCIDR", of: "node1" }],
            });
        }
    });
});

describe("ipam explain pod", () => {
    it("reports which annotation won, which pools were tried, what blocks, and the events", async () => {
        const annotations = { [pools]: "tiny,nope", [podIps]: "10.3.0.8" };
        await cluster.addAllocation({ address: "10.3.0.8", pool: "tiny", pod: cart });
        const { metadata } = await cluster.addPod({ name: "blocked", node: "node1", annotations });
        await cluster.api.create(events, {
            metadata: { namespace: "shop", name: "blocked.1" },
            eventTime: new Date().toISOString().replace("Z", "000Z"),
            regarding: { kind: "Pod", namespace: "shop", name: "blocked", uid: metadata?.uid ?? "" },
            type: "Warning",
            reason: "IPAllocationFailed",
            action: "Allocate",
            note: "IPPool nope does not exist",
            reportingController: "antrea-agent",
            reportingInstance: "node1",
        });
        const { code, report } = await json(["ipam", "explain", "pod", "shop/blocked"]);
        expect(code).toBe(0);
        expect(report).toMatchObject({
            source: "Pools",
            gate: "on",
            annotations: { from: "Pod", pools: "tiny,nope", podIps: "10.3.0.8" },
            pools: [
                { pool: "tiny", outcome: "exhausted" },
                { pool: "nope", outcome: "unknown" },
            ],
            blocks: [
                { what: "IPPool nope does not exist" },
                { what: "the fixed address 10.3.0.8 is held by Pod shop/cart on Node node1" },
            ],
            events: [{ reason: "IPAllocationFailed", about: "Pod", from: "antrea-agent" }],
        });
        const text = await cluster.antctl(["ipam", "explain", "pod", "blocked", "-n", "shop"]);
        expect(text.stdout).toMatch(/of the Pod counts; that of its Namespace does not\./);
        await cluster.api.delete(ipAllocations, { name: "10.3.0.8" });
        await cluster.api.delete(pods, { namespace: "shop", name: "blocked" }, { gracePeriodSeconds: 0 });
    });

    it("reports a StatefulSet's address that an unreachable Node holds", async () => {
        const set = await addSet("db");
        const uid = set.metadata?.uid ?? "";
        const owner = { kind: "StatefulSet", namespace: "shop", name: "db", uid, index: 0 } as const;
        await cluster.addAllocation({
            address: "10.2.0.13",
            pool: "web",
            owner,
            pod: { namespace: "shop", name: "db-0", uid: "old", node: "node2" },
        });
        const ownerReferences = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db", uid, controller: true }];
        await cluster.addPod({ name: "db-0", node: "node1", annotations: { [pools]: "web" }, ownerReferences });
        const { stdout } = await cluster.antctl(["ipam", "explain", "pod", "shop/db-0"]);
        const text = stdout.replaceAll(/\s+/g, " ");
        expect(text).toMatch(/still held by the earlier Pod \(UID old\) on Node node2, which is not ready/);
        expect(text).toMatch(/node\.kubernetes\.io\/out-of-service/);
        await cluster.api.delete(ipAllocations, { name: "10.2.0.13" });
        await cluster.api.delete(statefulSets, { namespace: "shop", name: "db" });
        await cluster.api.delete(pods, { namespace: "shop", name: "db-0" }, { gracePeriodSeconds: 0 });
    });

    it("reports who attaches the networks of a Pod, and where their addresses come from", async () => {
        const annotations = { "k8s.v1.cni.cncf.io/networks": "vlan7@eth1" };
        await cluster.addPod({ name: "router", node: "node1", annotations });
        const ask = async (user: string) => json(["ipam", "explain", "pod", "shop/router"], { user });
        const missing = await ask("viewer");
        expect(missing.report).toMatchObject({
            networks: { gate: "on", requested: [{ network: "shop/vlan7", attachedBy: "Unknown" }] },
            blocks: expect.arrayContaining([
                expect.objectContaining({
                    what: expect.stringMatching(/CustomResourceDefinition .* is not installed/),
                }),
            ]),
        });
        await cluster.addNetwork("vlan7", {
            networkType: "vlan",
            vlan: 7,
            ipam: { type: "antrea", ippools: ["tiny"] },
        });
        const found = await ask("viewer");
        expect(found.report).toMatchObject({
            networks: {
                requested: [
                    {
                        network: "shop/vlan7",
                        interface: "eth1",
                        attachedBy: "Agent",
                        vlans: [7],
                        addresses: [{ pool: "tiny", outcome: "next" }],
                        has: [],
                    },
                ],
            },
            blocks: expect.arrayContaining([
                expect.objectContaining({ what: "network shop/vlan7: Node node1 reports no bridge for it" }),
            ]),
        });
        await cluster.api.delete(pods, { namespace: "shop", name: "router" }, { gracePeriodSeconds: 0 });
    });

    it("reports that there is no such Pod", async () => {
        expect(await cluster.antctl(["ipam", "explain", "pod", "shop/none"])).toMatchObject({
            code: 1,
            stderr: "error: there is no Pod shop/none\n  next: kubectl -n shop get pods lists those that there are\n",
        });
    });
});

describe("ipam plan", () => {
    const range = "gateway: 10.2.0.1, prefixLength: 24, vlan: 2";
    const pool = (name: string, ranges: string): string =>
        `{apiVersion: crd.antrea.io/v1alpha2, kind: IPPool, metadata: {name: ${name}}, spec: {ipVersion: 4, ipRanges: [${ranges}]}}`;

    it("refuses what the rules refuse, judges documents in order, changes nothing", async () => {
        const file = cluster.path("plan.yaml");
        const documents = [
            pool("web", `{start: 10.2.0.13, end: 10.2.0.20, ${range}}`),
            pool("a", "{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: 24}"),
            pool("b", "{cidr: 10.7.0.128/25, gateway: 10.7.0.1, prefixLength: 24}"),
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
        ];
        await writeFile(file, documents.join("\n---\n"));
        const { code, report } = await json(["ipam", "plan", "-f", file]);
        expect(code).toBe(1);
        expect(report).toMatchObject({
            pools: [
                {
                    name: "web",
                    refused: true,
                    removed: "10.2.0.12",
                    fallOut: [{ address: "10.2.0.12", holder: "Pod shop/cart on Node node1" }],
                    namedBy: { namespaces: ["shop"] },
                },
                { name: "a", refused: false, action: "create", server: { answer: "accepted" } },
                { name: "b", refused: true, overlaps: [{ pool: "a", addresses: "10.7.0.128-10.7.0.255" }] },
            ],
            ignored: ["ConfigMap c of v1"],
        });
        await expect(cluster.api.get(ipPools, { name: "a" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    it("judges all files that it is given, and those of a folder", async () => {
        const folder = cluster.path("plans");
        await mkdir(folder, { recursive: true });
        await writeFile(`${folder}/a.yaml`, pool("bad", "{cidr: 10.9.0.0/24, gateway: 10.9.0.1, prefixLength: 40}"));
        const good = cluster.path("good.yaml");
        await writeFile(good, pool("good", "{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: 24}"));
        for (const words of [
            ["-f", folder, "-f", good],
            ["-f", `${folder}/a.yaml,${good}`],
        ]) {
            const { code, report } = await json(["ipam", "plan", ...words]);
            expect(code).toBe(1);
            expect(report).toMatchObject({
                pools: [
                    { name: "bad", refused: true },
                    { name: "good", refused: false },
                ],
            });
        }
    });

    it("lets a pool grow, reading standard input", async () => {
        const input = pool("web", `{start: 10.2.0.12, end: 10.2.0.40, ${range}}`);
        const { code, stdout } = await cluster.antctl(["ipam", "plan", "-f", "-"], { input });
        expect(code).toBe(0);
        expect(stdout).toMatch(
            /^IPPool web: would be changed\nAPI server: +would accept it \(dry run\)\nGains: +10\.2\.0\.21-10\.2\.0\.40\n/,
        );
        expect(stdout).toMatch(/Nothing is refused\.\n$/);
    });

    it("asks the API server, whose word counts too", async () => {
        const input = pool(
            "bad",
            "{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: 24}, {cidr: 10.9.0.0/24, gateway: 10.9.0.1, prefixLength: 40}",
        );
        const { code, report } = await json(["ipam", "plan", "-f", "-"], { input });
        expect(code).toBe(1);
        expect(report).toMatchObject({
            pools: [{ refused: true, server: { answer: "refused", message: expect.stringMatching(/prefixLength/) } }],
        });
    });

    it("does without the API server's word where it may not ask", async () => {
        const input = pool("ok", "{cidr: 10.7.0.0/24, gateway: 10.7.0.1, prefixLength: 24}");
        const { code, report } = await json(["ipam", "plan", "-f", "-"], { input, user: "viewer" });
        expect(code).toBe(2);
        expect(report).toMatchObject({
            pools: [{ refused: false, server: { answer: "none", message: "you may not create or change IPPools" } }],
        });
    });
});

describe("ipam check", () => {
    const check = ["ipam", "check", "--settle", "50ms"];

    it("finds nothing wrong, having read OVS of each Node through the API server", async () => {
        cluster.kubelet.calls.length = 0;
        const { code, stdout, stderr } = await cluster.antctl(check);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
        expect(stdout).toMatch(/^Checked 2 allocations, 4 Pods and 1 port on 2 Nodes: nothing is wrong\.\n$/);
        expect([...cluster.kubelet.calls].sort()).toEqual([
            "kube-system/antrea-agent-node1/antrea-ovs ovs-vsctl --timeout=10 --format=json --columns=name,external_ids list Port",
            "kube-system/antrea-agent-node2/antrea-ovs ovs-vsctl --timeout=10 --format=json --columns=name,external_ids list Port",
        ]);
    });

    it("works with a client certificate", async () => {
        const path = await cluster.certificateKubeconfig();
        expect(await cluster.antctl([...check, "--kubeconfig", path])).toMatchObject({ code: 0, stderr: "" });
    });

    it("needs no more permissions than the documentation lists", async () => {
        expect(await cluster.antctl(check, { user: "viewer" })).toMatchObject({ code: 0, stderr: "" });
        const { code, stderr } = await cluster.antctl(check, { user: "stranger" });
        expect(code).toBe(2);
        expect(stderr).toMatch(/403 Forbidden.*\n {2}next: ask an administrator for the permissions/);
    });

    it("finds leaks, orphans, duplicates and reservations, each checked twice", async () => {
        await cluster.addAllocation({
            address: "10.2.0.14",
            pool: "web",
            pod: { namespace: "shop", name: "gone", uid: "gone", node: "node1" },
        });
        await cluster.addAllocation({
            address: "10.2.0.15",
            pool: "web",
            owner: { kind: "StatefulSet", namespace: "shop", name: "none", uid: "u", index: 0 },
        });
        await ovs1.addPort("lost", { ...recordOf(cart, "10.2.0.16", "web"), "pod-uid": "lost", "pod-name": "lost" });
        await cluster.addPod({ name: "twin", node: "node2", ips: ["10.2.0.12"] });
        const { code, report } = await json(check);
        expect(code).toBe(1);
        const { findings } = report as {
            readonly findings: readonly { readonly kind: string; readonly address: string }[];
        };
        expect(findings.map(({ kind, address }) => `${kind} ${address}`)).toEqual([
            "duplicate 10.2.0.12",
            "leak 10.2.0.14",
            "orphan 10.2.0.16",
            "reservation 10.2.0.15",
        ]);
        const { stderr } = await cluster.antctl(check);
        expect(stderr).toBe("checking 4 findings again in 0.05 s\n");
        await ovs1.vsctl("del-port", "lost");
        await cluster.api.delete(ipAllocations, { name: "10.2.0.14" });
        await cluster.api.delete(ipAllocations, { name: "10.2.0.15" });
        await cluster.api.delete(pods, { namespace: "shop", name: "twin" }, { gracePeriodSeconds: 0 });
    });

    it("does not report what is over at the second pass", async () => {
        const pod = { namespace: "shop", name: "short", uid: "short", node: "node1" };
        await cluster.addAllocation({ address: "10.2.0.14", pool: "web", pod });
        const checked = Promise.withResolvers<void>();
        const onStderr = (text: string): void => void (text.includes("again in") && checked.resolve());
        const running = cluster.antctl(["ipam", "check", "--settle", "5s"], { onStderr });
        await Promise.race([checked.promise, running]);
        await cluster.api.delete(ipAllocations, { name: "10.2.0.14" });
        expect(await running).toMatchObject({
            code: 0,
            stdout: expect.stringMatching(/nothing is wrong/),
            stderr: expect.stringMatching(/checking 1 finding again/),
        });
    });

    it("exits with 2 where it finds nothing and cannot check everywhere", async () => {
        await cluster.server.addNode("node3", { internalIps: ["127.0.0.1"] });
        await cluster.addPod({ name: "there", node: "node3", ips: ["10.10.3.7"] });
        await cluster.addPod({
            namespace: "kube-system",
            name: "antrea-agent-node4",
            node: "node4",
            hostNetwork: true,
            labels: { app: "antrea", component: "antrea-agent" },
            containers: ["antrea-ovs"],
            phase: "Running",
        });
        const { code, report } = await json(check);
        expect(code).toBe(2);
        expect(report).toMatchObject({
            findings: [],
            unread: [
                { node: "node3", reason: "no agent Pod is there" },
                {
                    node: "node4",
                    reason: expect.stringMatching(
                        /^cannot run ovs-vsctl in container antrea-ovs of Pod kube-system\/antrea-agent-node4: the API server answered \d+/,
                    ),
                },
            ],
        });
        await cluster.api.delete(pods, { namespace: "shop", name: "there" }, { gracePeriodSeconds: 0 });
        await cluster.api.delete(
            pods,
            { namespace: "kube-system", name: "antrea-agent-node4" },
            { gracePeriodSeconds: 0 },
        );
        await cluster.api.delete(nodes, { name: "node3" });
    });

    it("reports what a container wrote that cannot be asked", async () => {
        await cluster.api.delete(
            pods,
            { namespace: "kube-system", name: "antrea-agent-node2" },
            { gracePeriodSeconds: 0 },
        );
        const labels = { app: "antrea", component: "antrea-agent" };
        await cluster.addPod({
            namespace: "kube-system",
            name: "antrea-agent-unknown",
            node: "node2",
            hostNetwork: true,
            labels,
            containers: ["antrea-ovs"],
        });
        const { code, report } = await json(check);
        expect(code).toBe(2);
        expect(report).toMatchObject({
            unread: [{ node: "node2", reason: expect.stringMatching(/: container not found$/) }],
        });
    });
});

describe("the documented permissions", () => {
    it.each<[readonly string[]]>([
        [["ipam", "show"]],
        [["ipam", "show", "web"]],
        [["ipam", "who", "10.96.0.1"]],
        [["ipam", "explain", "pod", "shop/cart"]],
    ])("are enough for %j", async (words) => {
        const json = [...words, "-o", "json"];
        const [viewer, admin] = await Promise.all([cluster.antctl(json, { user: "viewer" }), cluster.antctl(json)]);
        expect(viewer).toEqual(admin);
        expect(viewer.code).toBe(0);
    });
});

describe("completion", () => {
    it.each<[string, readonly string[], string]>([
        ["pools", ["ipam", "show", "we"], "web\t8 of 9 free\nweb6\n:4\n"],
        ["Namespaces, whose names go on", ["ipam", "explain", "pod", "sh"], "shop/\n:6\n"],
        ["Pods of a Namespace", ["ipam", "explain", "pod", "shop/c"], "shop/cart\tRunning\n:4\n"],
        ["Pods of the Namespace that is given", ["ipam", "explain", "pod", "-n", "shop", "c"], "cart\tRunning\n:4\n"],
        ["Namespaces of the option", ["ipam", "explain", "pod", "-n", "kube-s"], "kube-system\n:4\n"],
        ["Services of a Namespace", ["service", "default/k"], "default/kubernetes\t10.96.0.1\n:4\n"],
        ["Nodes", ["service", "default/kubernetes", "--node", "node1"], "node1\n:4\n"],
        ["contexts", ["--context", ""], "test\n:4\n"],
    ])("offers %s", async (_name, words, printed) => {
        expect(await cluster.antctl(["__complete", ...words])).toEqual({ code: 0, stdout: printed, stderr: "" });
    });

    it("offers nothing, and reports nothing, where the cluster cannot be asked", async () => {
        const o = { env: { KUBECONFIG: "/nowhere" } };
        expect(await cluster.antctl(["__complete", "ipam", "show", ""], o)).toEqual({
            code: 0,
            stdout: ":4\n",
            stderr: "",
        });
    });
});

describe("a cluster without our kinds", () => {
    it("reports it", async () => {
        await using bare = await TestApiServer.start();
        const { code, stderr } = await antctl(["ipam", "show"], { env: { KUBECONFIG: bare.kubeconfig() } });
        expect(code).toBe(1);
        expect(stderr).toMatch(/^error: the cluster has no CRDs IPPool and IPAllocation\n {2}next: install Antrea/);
    });
});

async function addSet(name: string): Promise<KubeObject> {
    const labels = { app: name };
    return cluster.api.create(statefulSets, {
        metadata: { namespace: "shop", name },
        spec: {
            serviceName: name,
            replicas: 3,
            selector: { matchLabels: labels },
            template: {
                metadata: { labels, annotations: { [pools]: "web" } },
                spec: { containers: [{ name: "c", image: "i" }] },
            },
        },
    });
}
