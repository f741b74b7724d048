import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, podIpsAnnotation, poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { admissionPolicies } from "@antrea/crd/schema";
import { formatIp } from "@antrea/ip";
import { pods, type KubeObject, type Pod } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { FakeWiring } from "./support/fake-wiring.ts";
import { PoolCluster } from "./support/pool-cluster.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

const account = { namespace: "kube-system", name: "antrea-agent" };

let cluster: PoolCluster;
let agents: Readonly<Record<"a" | "b", TestPoolAgent>>;

/** The token that the agent on this Node gets: bound to its Pod, and so to the Node. */
async function tokenOf(nodeName: string): Promise<string> {
    await cluster.server.addNode(nodeName);
    const name = `antrea-agent-${nodeName}`;
    await addPod(name, nodeName, { namespace: account.namespace }, account.name);
    return cluster.server.kubeconfig(await cluster.server.addServiceAccountUser(account, { name }));
}

async function addPod(
    name: string,
    nodeName: string,
    metadata: object = {},
    serviceAccountName = "default",
): Promise<string> {
    const pod: Pod = {
        metadata: { namespace: "default", name, ...metadata },
        spec: { nodeName, serviceAccountName, containers: [{ name: "c", image: "i" }] },
    };
    const created = await cluster.api.create(pods, pod);
    return created.metadata?.uid ?? "";
}

/** An ADD as the Pod network makes it. */
async function add(agent: TestPoolAgent, podName: string, podUid: string, containerId: string) {
    const request = { podNamespace: "default", podName, podUid, containerId, ifName: "eth0" };
    const wanted = await agent.pools.requestOf(request, AbortSignal.timeout(60_000));
    return wanted?.claim(AbortSignal.timeout(60_000));
}

async function allocations(): Promise<readonly string[]> {
    return (await cluster.allocations())
        .map(({ spec }) => `${spec.address} ${spec.state} ${spec.pod?.containerID ?? ""}`.trim())
        .sort();
}

beforeAll(async () => {
    cluster = await PoolCluster.start();
    await cluster.server.apply(admissionPolicies({ namespace: account.namespace }) as readonly KubeObject[]);
    await cluster.server.apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: account }]);
    const start = async (nodeName: string): Promise<TestPoolAgent> =>
        cluster.agent(nodeName, { kubeconfig: await tokenOf(nodeName), confirmMs: 0, reservationWaitMs: 5_000 });
    agents = { a: await start("a"), b: await start("b") };
    await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
});
afterAll(() => cluster[Symbol.asyncDispose]());

describe("an agent with its own token, under the policies", () => {
    it("claims for a Pod, adopts for its next sandbox, and frees", async () => {
        const annotations = { [poolsAnnotation]: "pool1", [podIpsAnnotation]: "10.2.0.77" };
        const uid = await addPod("p1", "a", { annotations });
        const allocation = await add(agents.a, "p1", uid, "c1");
        expect(allocation?.addresses.map(({ ip }) => formatIp(ip))).toEqual(["10.2.0.77"]);
        expect(agents.a.events).toMatchObject([{ reason: "PoolAddressNotRouted", type: "Normal" }]);
        await add(agents.a, "p1", uid, "c2");
        expect(await allocations()).toEqual(["10.2.0.77 Allocated c2"]);
        await agents.a.pools.release({ containerId: "c2", ifName: "eth0" });
        expect(await allocations()).toEqual([]);
    });

    it("takes a reservation and gives it back, from Node to Node", async () => {
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: 0 } as const;
        const spec = { address: "10.2.0.50", block: "10.2.0.0/24", pool: "pool1", state: "Reserved", owner } as const;
        const allocation: IpAllocation = { metadata: { name: "10.2.0.50" }, spec };
        await cluster.api.create(ipAllocations, allocation);
        const reference = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "set", controller: true };
        const metadata = { annotations: { [poolsAnnotation]: "pool1" }, ownerReferences: [reference] };
        for (const [at, nodeName] of (["a", "b"] as const).entries()) {
            const uid = await addPod("web-0", nodeName, metadata);
            await add(agents[nodeName], "web-0", uid, `c${at}`);
            expect(await allocations()).toEqual([`10.2.0.50 Allocated c${at}`]);
            await agents[nodeName].pools.release({ containerId: `c${at}`, ifName: "eth0" });
            expect(await allocations()).toEqual(["10.2.0.50 Reserved"]);
            await cluster.api.delete(pods, { namespace: "default", name: "web-0" }, { gracePeriodSeconds: 0 });
        }
        await cluster.api.delete(ipAllocations, { name: "10.2.0.50" });
    });

    it("mends and frees in its reconcile", async () => {
        const uid = await addPod("p2", "a", { annotations: { [poolsAnnotation]: "pool1" } });
        const allocation = await add(agents.a, "p2", uid, "c-before");
        const wiring = new FakeWiring();
        wiring.wire(
            "p2",
            allocation?.addresses.map((one) => ({ ...one, vlan: allocation.vlan, pool: one.pool ?? "" })) ?? [],
            "c-real",
            uid,
        );
        await agents.a.pools.reconcile(wiring, AbortSignal.timeout(60_000));
        expect((await allocations()).map((line) => line.split(" ")[2])).toEqual(["c-real"]);
        wiring.unwire("c-real");
        await cluster.api.delete(pods, { namespace: "default", name: "p2" }, { gracePeriodSeconds: 0 });
        await eventually(async () => {
            await agents.a.pools.reconcile(wiring, AbortSignal.timeout(60_000));
            return (await allocations()).length === 0;
        });
    });

    it("may not free what another Node's agent claimed", async () => {
        const uid = await addPod("p3", "b", { annotations: { [poolsAnnotation]: "pool1" } });
        await add(agents.b, "p3", uid, "c3");
        const attachment = { containerId: "c3", ifName: "eth0" };
        const [allocation] = await cluster.allocations();
        const ip = (await add(agents.b, "p3", uid, "c3"))?.addresses[0]?.ip;
        if (ip === undefined) throw new Error("no address");
        const released = agents.a.pools.allocator.release(attachment, ip, AbortSignal.timeout(60_000));
        await expect(released).rejects.toMatchObject({ code: "REFUSED" });
        expect((await cluster.allocations())[0]?.metadata?.uid).toBe(allocation?.metadata?.uid);
    });
});
