import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { configMaps, events, nodes, type ApiClient, type KubeObject } from "@antrea/kube";
import { TestApiServer, eventually } from "@antrea/kube/testing";
import { ControllerProcess, allServed, fetchLocal, podCidrs } from "./controller-process.ts";

const dual = { clusterCIDRs: ["10.244.0.0/16", "fd00:10:244::/56"], serviceCIDR: "10.244.0.0/20" };
const large = { clusterCIDRs: ["10.244.0.0/14", "fd00:10:244::/50"] };
const one = { clusterCIDRs: ["10.244.0.0/22"] };

const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: false } as const;

/** The rights that antrea-controller needs, and no more. */
async function grant(api: ApiClient, user: string): Promise<void> {
    const role = {
        metadata: { name: user },
        rules: [
            { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch", "patch"] },
            { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "create", "update"] },
            { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
            { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
            { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
            { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
        ],
    };
    const binding = {
        metadata: { name: user },
        roleRef: { apiGroup: rbac.group, kind: "ClusterRole", name: user },
        subjects: [{ apiGroup: rbac.group, kind: "User", name: user }],
    };
    await api.create<KubeObject>({ ...rbac, plural: "clusterroles", kind: "ClusterRole" }, role);
    await api.create<KubeObject>({ ...rbac, plural: "clusterrolebindings", kind: "ClusterRoleBinding" }, binding);
}

describe("NodeIPAM on a real API server", () => {
    it("serves both families beside the Service CIDR, over kill -9, and remembers Nodes that went meanwhile", async () => {
        await using server = await TestApiServer.start();
        const { api } = server.clients();
        for (const name of ["a", "b", "c"]) await server.addNode(name);
        const first = await ControllerProcess.start(server, { nodeIPAM: dual });
        const before = await allServed(api, 3, 2);
        expect([...before.values()].map(([v4]) => v4).sort()).toEqual([
            "10.244.16.0/24",
            "10.244.17.0/24",
            "10.244.18.0/24",
        ]);
        expect((await api.get(nodes, { name: "a" })).spec?.podCIDR).toBe(before.get("a")?.[0]);
        // While nobody looks: one Node goes for good, one is registered anew, one comes.
        await first.kill();
        await server.deleteNode("a");
        await server.deleteNode("b");
        await server.addNode("b");
        await server.addNode("d");
        await using _second = await ControllerProcess.start(server, { nodeIPAM: dual });
        const after = await allServed(api, 3, 2);
        expect(after.get("b")).toEqual(before.get("b"));
        expect(after.get("c")).toEqual(before.get("c"));
        expect([...before.values()].flat()).not.toContain(after.get("d")?.[0]);
        // And while it checks.
        await server.deleteNode("c");
        await server.addNode("c");
        expect((await allServed(api, 3, 2)).get("c")).toEqual(before.get("c"));
        await server.addNode("a");
        expect((await allServed(api, 4, 2)).get("a")).toEqual(before.get("a"));
    });

    it("keeps what Nodes have, reports duplicates and foreign podCIDRs on the Nodes, and shares nothing", async () => {
        await using server = await TestApiServer.start();
        const { api } = server.clients();
        await server.addNode("twin-1", { podCidrs: ["10.244.0.0/24"] });
        await server.addNode("twin-2", { podCidrs: ["10.244.0.0/24"] });
        await server.addNode("far", { podCidrs: ["192.168.0.0/24"] });
        await server.addNode("wide", { podCidrs: ["10.244.2.0/23"] });
        await server.addNode("plain");
        await using _controller = await ControllerProcess.start(server, { nodeIPAM: one });
        expect((await allServed(api, 5, 1)).get("plain")).toEqual(["10.244.1.0/24"]);
        const reported = await eventually(async () => {
            // The API server writes events of its own, on Services.
            const { items } = await api.list(events, { namespace: "default" });
            const onNodes = items.filter(({ regarding }) => regarding?.kind === "Node");
            return onNodes.length >= 4 && onNodes;
        });
        const texts = reported.map(({ regarding, reason }) => `${regarding?.name} ${reason}`).sort();
        expect(texts).toEqual([
            "far PodCIDROutsideClusterCIDR",
            "twin-1 PodCIDRDuplicate",
            "twin-2 PodCIDRDuplicate",
            "wide PodCIDROutsideClusterCIDR",
        ]);
        expect(reported.find(({ regarding }) => regarding?.name === "twin-1")?.note).toContain("twin-2");
    });

    it("reports by event and metric when all is used, and serves the Node later", async () => {
        await using server = await TestApiServer.start({ authorization: "RBAC", users: ["guest", "controller"] });
        const { api } = server.clients();
        for (const name of ["a", "b", "c", "d"]) await server.addNode(name);
        await grant(api, "controller");
        const nodeIPAM = { clusterCIDRs: ["10.244.0.0/22", "fd00:10:244::/56"] };
        await using controller = await ControllerProcess.start(server, { nodeIPAM, user: "controller" });
        const served = await allServed(api, 4, 2);
        await server.addNode("e");
        const [event] = await eventually(async () => {
            const { items } = await api.list(events, { fieldSelector: "reason=CIDRNotAvailable" });
            return items.length > 0 && items;
        });
        expect(event).toMatchObject({ type: "Warning", regarding: { kind: "Node", name: "e" } });
        expect(event?.note).toContain("10.244.0.0/22");
        const [status, text] = await fetchLocal(controller.apiPort, "/metrics", "token-admin");
        expect(status).toBe(200);
        expect(text).toContain("antrea_node_ipam_controller_waiting_nodes 1");
        expect(text).toContain('cidrset_usage_cidrs{clusterCIDR="10.244.0.0/22"} 1');
        expect(text).toContain('cidrset_usage_cidrs{clusterCIDR="fd00:10:244::/56"} 0.015625');
        expect(text).toMatch(/^workqueue_depth\{name="node-ipam"\} \d+$/m);
        expect(text).toMatch(/^antrea_workqueue_runs_total\{name="node-ipam",result="success"\} [1-9]\d*$/m);
        expect(await fetchLocal(controller.apiPort, "/metrics", "token-guest")).toMatchObject([403, expect.anything()]);
        expect(await fetchLocal(controller.apiPort, "/readyz")).toMatchObject([200, expect.anything()]);
        expect((await fetchLocal(controller.apiPort, "/readyz?verbose"))[1]).toMatch(/^job node-ipam: succeeded at /m);
        // The subnet of a Node that is gone rests; only the Node itself gets it back.
        await server.deleteNode("a");
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        expect((await podCidrs(api)).get("e")).toEqual([]);
        await server.addNode("a");
        await eventually(async () => (await podCidrs(api)).get("a")?.join() === served.get("a")?.join());
        controller.signal("SIGTERM");
        expect(await controller.ended()).toBe(0);
    });

    it("goes on where it was when the API server comes back", async () => {
        await using server = await TestApiServer.start();
        const { api } = server.clients();
        await using controller = await ControllerProcess.start(server, { nodeIPAM: dual });
        await eventually(() => controller.leading);
        const adding = (async (): Promise<void> => {
            for (let index = 0; index < 60; index += 1) {
                await eventually(() =>
                    server.addNode(`n${index}`).catch((error: { code?: string }) => error.code === "ALREADY_EXISTS"),
                );
            }
        })();
        await eventually(async () => (await podCidrs(api)).size > 10);
        await server.restart();
        await adding;
        const all = await allServed(api, 60, 2);
        expect(new Set([...all.values()].flat()).size).toBe(120);
        await server.stopApiServer();
        await new Promise((resolve) => setTimeout(resolve, 4_000));
        await server.startApiServer();
        await server.addNode("last");
        expect(new Set([...(await allServed(api, 61, 2)).values()].flat()).size).toBe(122);
    });

    it("300 Nodes at once, and the leader is killed and its follower stands still in between", async () => {
        await using server = await TestApiServer.start();
        const { api } = server.clients();
        await using first = await ControllerProcess.start(server, { name: "first", nodeIPAM: large });
        await eventually(() => first.leading);
        await using second = await ControllerProcess.start(server, {
            name: "second",
            nodeIPAM: large,
        });
        await eventually(() => second.output.includes('"running"'));
        const add = async (from: number, to: number): Promise<void> => {
            await Promise.all(Array.from({ length: to - from }, (_, index) => server.addNode(`n${from + index}`)));
        };
        const adding = add(0, 300);
        await eventually(async () => [...(await podCidrs(api)).values()].flat().length > 20);
        await first.kill();
        await adding;
        await eventually(() => second.leading, { timeoutMs: 60_000 });
        await allServed(api, 300, 2, 90_000);
        // The leader stands still beyond its lease and wakes up with work under way.
        await using third = await ControllerProcess.start(server, { name: "third", nodeIPAM: large });
        await eventually(() => third.output.includes('"running"'));
        const more = add(300, 380);
        await eventually(async () => [...(await podCidrs(api)).values()].flat().length > 620);
        second.signal("SIGSTOP");
        await more;
        await eventually(() => third.leading, { timeoutMs: 60_000 });
        second.signal("SIGCONT");
        await add(380, 400);
        const all = await allServed(api, 400, 2, 90_000);
        expect(new Set([...all.values()].flat()).size).toBe(800);
        await eventually(() => /leadership lost|another controller has taken over the ledger/.test(second.output));
        const ledger = await api.get(configMaps, { namespace: "default", name: "antrea-node-ipam" });
        expect(ledger.data?.holder).toMatch(/^third_/);
    });
});

describe("wrong settings", () => {
    it.each([
        ["a mask that is too long", { ...dual, nodeCIDRMaskSizeIPv4: 31 }, "nodeIPAM.nodeCIDRMaskSizeIPv4"],
        ["no CIDR", { clusterCIDRs: [] }, "nodeIPAM.clusterCIDRs"],
        ["two of a family", { clusterCIDRs: ["10.0.0.0/16", "10.1.0.0/16"] }, "nodeIPAM.clusterCIDRs"],
    ])("%s: the controller does not start and names the key", async (_name, nodeIPAM, key) => {
        const folder = await mkdtemp(join(tmpdir(), "controller-"));
        const controller = await ControllerProcess.start({ kubeconfig: () => join(folder, "none") }, { nodeIPAM });
        expect(await controller.ended()).toBe(1);
        expect(controller.output).toContain(key);
        await rm(folder, { recursive: true });
    });
});
