import { describe, expect, it } from "@jest/globals";
import { ipPools, type IpPool } from "@antrea/crd";
import { admissionPolicies, customResourceDefinitions } from "@antrea/crd/schema";
import { formatIp, parseIp } from "@antrea/ip";
import { nodes, type ApiClient, type KubeObject } from "@antrea/kube";
import { TestApiServer, eventually } from "@antrea/kube/testing";
import { ControllerProcess, fetchLocal } from "./controller-process.ts";
import { PoolCluster, podOn } from "./pool-cluster.ts";

const featureGates = { AntreaIPAM: true };
const user = "system:serviceaccount:kube-system:antrea-controller";

const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: false } as const;

/** The rights that antrea-controller needs for IPPools, and no more. */
async function grant(api: ApiClient): Promise<void> {
    const read = ["get", "list", "watch"];
    const role = {
        metadata: { name: "antrea-controller" },
        rules: [
            { apiGroups: [""], resources: ["nodes", "namespaces"], verbs: read },
            { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
            { apiGroups: ["apps"], resources: ["statefulsets"], verbs: read },
            { apiGroups: ["networking.k8s.io"], resources: ["servicecidrs"], verbs: ["list", "watch"] },
            { apiGroups: ["crd.antrea.io"], resources: ["ippools"], verbs: ["list", "watch"] },
            { apiGroups: ["crd.antrea.io"], resources: ["ippools/status"], verbs: ["patch"] },
            {
                apiGroups: ["crd.antrea.io"],
                resources: ["ipallocations"],
                verbs: [...read, "create", "update", "delete"],
            },
            { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
            { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
        ],
    };
    const binding = {
        metadata: { name: "antrea-controller" },
        roleRef: { apiGroup: rbac.group, kind: "ClusterRole", name: "antrea-controller" },
        subjects: [{ apiGroup: rbac.group, kind: "User", name: user }],
    };
    await api.create<KubeObject>({ ...rbac, plural: "clusterroles", kind: "ClusterRole" }, role);
    await api.create<KubeObject>({ ...rbac, plural: "clusterrolebindings", kind: "ClusterRoleBinding" }, binding);
}

async function usage(api: ApiClient, name: string): Promise<NonNullable<IpPool["status"]>["usage"]> {
    return (await api.get(ipPools, { name })).status?.usage;
}

describe("antrea-controller with the gate AntreaIPAM", () => {
    it("does its work with the rights and under the policies that it is installed with", async () => {
        await using server = await TestApiServer.start({ authorization: "RBAC", users: [user] });
        await server.apply([...customResourceDefinitions(), ...admissionPolicies({ namespace: "kube-system" })]);
        await using cluster = new PoolCluster(server);
        await grant(cluster.api);
        await cluster.pool("a", "10.4.0.10-10.4.0.29");
        await cluster.server.addNode("down", { internalIps: ["10.4.0.12"] });
        await cluster.set("web", { replicas: 2, pools: "a" });
        await cluster.claim("10.4.0.20", "a", podOn("down", "gone"));
        const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
        // Nobody takes over here, and each request of the Lease that takes longer than half of the deadline is a warning.
        const leaderElection = { leaseDuration: "60s", renewDeadline: "40s", retryPeriod: "200ms" };
        await using controller = await ControllerProcess.start(server, {
            user,
            config: { featureGates, leaderElection },
        });
        await cluster.eventuallyOfSet("web", ["0 10.4.0.10 Reserved", "1 10.4.0.11 Reserved"]);
        await eventually(async () => (await cluster.find("10.4.0.12"))?.spec.owner.kind === "Node");
        await cluster.api.patch(nodes, { name: "down" }, { type: "merge", body: { spec: { taints } } });
        await eventually(async () => (await cluster.find("10.4.0.20")) === undefined);
        await eventually(async () => (await usage(cluster.api, "a"))?.reserved === 2);
        await cluster.deleteSet("web");
        await cluster.eventuallyOfSet("web", []);
        expect(await fetchLocal(controller.apiPort, "/readyz")).toMatchObject([200, expect.anything()]);
        controller.signal("SIGTERM");
        expect(await controller.ended()).toBe(0);
        expect(controller.output).not.toMatch(/"level":"(warn|error)"/);
    });

    it("does what is left when NodeIPAM may not write its ledger, and is not ready", async () => {
        await using server = await TestApiServer.start({ authorization: "RBAC", users: [user] });
        await server.apply([...customResourceDefinitions(), ...admissionPolicies({ namespace: "kube-system" })]);
        await using cluster = new PoolCluster(server);
        await grant(cluster.api);
        await cluster.pool("a", "10.4.0.10-10.4.0.29");
        await cluster.set("web", { replicas: 2, pools: "a" });
        const nodeIPAM = { clusterCIDRs: ["10.244.0.0/16"] };
        await using controller = await ControllerProcess.start(server, {
            user,
            nodeIPAM,
            config: { featureGates },
        });
        await cluster.eventuallyOfSet("web", ["0 10.4.0.10 Reserved", "1 10.4.0.11 Reserved"]);
        await eventually(async () => {
            const [status, text] = await fetchLocal(controller.apiPort, "/readyz?verbose");
            return status !== 200 && text.includes("node-ipam");
        });
    });

    it("does nothing without the gate", async () => {
        await using cluster = await PoolCluster.start();
        await cluster.pool("a", "10.4.1.10-10.4.1.29");
        await cluster.set("web", { pools: "a" });
        await using controller = await ControllerProcess.start(cluster.server, {});
        await eventually(() => controller.output.includes('"leading"'));
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect(await cluster.all()).toEqual([]);
        expect(await usage(cluster.api, "a")).toBeUndefined();
    });

    it("goes on with the follower when the leader is killed or stands still in the middle, and doubles nothing", async () => {
        await using cluster = await PoolCluster.start();
        await cluster.pool("a", "10.5.0.0/16");
        const start = async (name: string): Promise<ControllerProcess> =>
            ControllerProcess.start(cluster.server, { name, config: { featureGates } });
        await using first = await start("first");
        await eventually(() => first.output.includes('"leading"'));
        await using second = await start("second");
        await eventually(async () => (await fetchLocal(second.apiPort, "/readyz").catch(() => [0]))[0] === 200);
        for (let index = 0; index < 5; index += 1) await cluster.set(`s${index}`, { replicas: 150, pools: "a" });
        await eventually(async () => (await cluster.all()).length > 100);
        await first.kill();
        await eventually(() => second.output.includes('"leading"'));
        await eventually(async () => (await cluster.all()).length > 200);
        await using third = await start("third");
        await eventually(() => third.output.includes('"running"'));
        second.signal("SIGSTOP");
        for (let index = 0; index < 5; index += 2) await cluster.scale(`s${index}`, 100);
        await eventually(() => third.output.includes('"leading"'), { timeoutMs: 60_000 });
        second.signal("SIGCONT");
        await eventually(async () => (await cluster.all()).length === 3 * 100 + 2 * 150, { timeoutMs: 90_000 });
        await eventually(async () => (await usage(cluster.api, "a"))?.reserved === 600);
        const ordinals = (await cluster.all()).map(({ spec: { owner } }) => `${owner.name} ${owner.index}`);
        expect(new Set(ordinals).size).toBe(600);
    });

    it("starts with 10,000 allocations", async () => {
        await using cluster = await PoolCluster.start();
        await cluster.pool("large", "10.6.0.0/16");
        const base = parseIp("10.6.1.0").value;
        const claim = async (index: number): Promise<void> => {
            const address = formatIp({ family: 4, value: base + BigInt(index) });
            await cluster.claim(address, "large", podOn(`node-${index % 100}`, `pod-of-some-deployment-${index}`));
        };
        const writers = Array.from({ length: 20 }, async (_, writer) => {
            for (let index = writer; index < 10_000; index += 20) await claim(index);
        });
        await Promise.all(writers);
        await using _controller = await ControllerProcess.start(cluster.server, {
            config: { featureGates },
        });
        await eventually(async () => (await usage(cluster.api, "large"))?.used === 10_000, { timeoutMs: 120_000 });
    });
});
