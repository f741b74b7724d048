import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { pods as podResource } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { networkAllocations } from "../../../src/features/ip-pools/index.ts";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { PoolCluster } from "./support/pool-cluster.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

let cluster: PoolCluster;

beforeAll(async () => {
    cluster = await PoolCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());
afterEach(() => cluster.clear());

const six = { start: "10.2.0.12", end: "10.2.0.17", gateway: "10.2.0.1" };

async function addresses(pool?: string): Promise<readonly string[]> {
    return (await cluster.allocations(pool)).map(({ spec }) => spec.address).sort();
}

function codes(results: readonly PromiseSettledResult<unknown>[]): readonly string[] {
    return results.flatMap((one) => (one.status === "rejected" ? [(one.reason as { code: string }).code] : []));
}

describe("allocations on a real API server", () => {
    it("of both families are written as the definition demands, adopted and deleted", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1", vlan: 2 });
        await cluster.addPool("pool6", { cidr: "3ffe:ffff:1:1ff::/64", gateway: "3ffe:ffff:1:1ff::1", vlan: 2 });
        const agent = cluster.agent("a");
        const pools = ["pool1", "pool6"];
        const claimed = await agent.claimAddresses("p1", { pools });
        expect(claimed).toMatchObject([
            { prefixLength: 16, gateway: parseIp("10.2.0.1"), vlan: 2, pool: "pool1" },
            { prefixLength: 64, gateway: parseIp("3ffe:ffff:1:1ff::1"), vlan: 2, pool: "pool6" },
        ]);
        const first = claimed.map(({ ip }) => formatIp(ip));
        expect(await agent.claim("p1", { pools, containerId: "c2" })).toEqual(first);
        await agent.release("p1");
        expect(await addresses()).toEqual([...first].sort());
        await agent.release("p1", "c2");
        expect(await addresses()).toEqual([]);
    });

    it("fill a pool, say who has it, and go on as soon as one comes free elsewhere", async () => {
        await cluster.addPool("pool1", six);
        const [one, two] = [cluster.agent("a"), cluster.agent("b")];
        const pods = Array.from({ length: 6 }, (_, at) => `p${at}`);
        await Promise.all(pods.map((pod, at) => (at % 2 === 0 ? one : two).claim(pod, { pools: ["pool1"] })));
        expect(await addresses("pool1")).toHaveLength(6);
        const full = await Promise.allSettled([one, two].map((agent) => agent.claim("p7", { pools: ["pool1"] })));
        expect(codes(full)).toEqual(["EXHAUSTED", "EXHAUSTED"]);
        await one.release("p0");
        await eventually(() => two.claim("p7", { pools: ["pool1"] }).then(() => true));
        expect(await addresses("pool1")).toHaveLength(6);
    });

    it("of one fixed address are granted once, whoever asks", async () => {
        await cluster.addPool("pool1", six);
        const agents = Array.from({ length: 8 }, (_, at) => cluster.agent(`n${at}`));
        const fixed = [parseIp("10.2.0.15")];
        const asked = agents.map((agent, at) => agent.claim(`p${at}`, { pools: ["pool1"], fixed }));
        const results = await Promise.allSettled(asked);
        expect(codes(results)).toEqual(Array.from({ length: 7 }, () => "ADDRESS_HELD"));
        const [allocation] = await cluster.allocations();
        const loser = agents.find(({ nodeName }) => nodeName !== allocation?.spec.pod?.nodeName);
        expect(loser?.events[0]?.note).toContain(
            `held by Pod default/${allocation?.spec.pod?.name} (UID ${allocation?.spec.pod?.uid}) on Node ${allocation?.spec.pod?.nodeName}`,
        );
    });

    it("from two pools that overlap although they must not are of different addresses", async () => {
        await cluster.addPool("pool1", { start: "10.2.0.12", end: "10.2.0.31", gateway: "10.2.0.1" });
        await cluster.addPool("pool2", { start: "10.2.0.22", end: "10.2.0.41", gateway: "10.2.0.1" });
        const agents = Array.from({ length: 6 }, (_, at) => cluster.agent(`n${at}`));
        const claim = (agent: TestPoolAgent, at: number): Promise<readonly string[]> =>
            agent.claim(`p${at}`, { pools: [at % 2 === 0 ? "pool1" : "pool2"] });
        const asked = Array.from({ length: 36 }, (_, at) => claim(agents[at % 6] as TestPoolAgent, at));
        const results = await Promise.allSettled(asked);
        const given = results.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
        expect(new Set(given).size).toBe(given.length);
        expect(await addresses()).toEqual([...given].sort());
        // What one pool's Pods took in the common part may leave the other's too few; never the other way round.
        expect(codes(results).every((code) => code === "EXHAUSTED")).toBe(true);
        await Promise.all(asked.map((_, at) => (agents[at % 6] as TestPoolAgent).release(`p${at}`)));
        expect(await addresses()).toEqual([]);
    });

    it("let a freed address rest, also one that another agent freed", async () => {
        await cluster.addPool("pool1", six);
        const [one, two] = [cluster.agent("a"), cluster.agent("b")];
        const [first] = await one.claim("p1", { pools: ["pool1"] });
        await two.claim("p2", { pools: ["pool1"] });
        await one.release("p1");
        await new Promise((resolve) => setTimeout(resolve, 200));
        const next = await Promise.all([3, 4, 5, 6].map((at) => two.claim(`p${at}`, { pools: ["pool1"] })));
        expect(next.flat()).not.toContain(first);
        expect(await two.claim("p7", { pools: ["pool1"] })).toEqual([first]);
    });

    it("of calls that are late, repeated and overtake each other end as the last one wanted", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
        const agent = cluster.agent("a");
        const ask = { pools: ["pool1"] };
        const given = await Promise.all([1, 1, 2, 3].map((at) => agent.claim("p1", { ...ask, containerId: `c${at}` })));
        expect(new Set(given.flat()).size).toBe(1);
        // The DELs of the sandboxes before, late and twice, and among them the ADD of one more.
        const [, , , again] = await Promise.all([
            agent.release("p1", "c1"),
            agent.release("p1", "c2"),
            agent.release("p1", "c1"),
            agent.claim("p1", { ...ask, containerId: "c4" }),
            agent.release("p1", "c3"),
        ]);
        await agent.release("p1", "c3");
        expect(await addresses()).toEqual(again);
        await agent.release("p1", "c4");
        await agent.release("p1", "c4");
        expect(await addresses()).toEqual([]);
    });

    it("are known to the agent that comes after one that was killed", async () => {
        // Of its own: what a killed agent has sent may be carried out when the next test has begun.
        await cluster.addPool("killed", { cidr: "10.3.0.0/24", gateway: "10.3.0.1" });
        let agent = cluster.agent("a");
        const given: string[] = [];
        for (let at = 0; at < 10; at += 1) {
            const allocation = agent.claim(`p${at}`, { pools: ["killed"] });
            // Killed before, while and after the write.
            await new Promise((resolve) => setTimeout(resolve, at * 2));
            await agent.kill();
            allocation.catch(() => undefined);
            agent = cluster.agent("a");
            given.push(...(await agent.claim(`p${at}`, { pools: ["killed"], containerId: `again-${at}` })));
        }
        expect(new Set(given).size).toBe(10);
        // A write that the killed agent had sent may have been carried out after the new one had checked.
        const surplus = (await cluster.allocations("killed")).filter(({ spec }) => !given.includes(spec.address));
        expect(surplus.every(({ spec }) => spec.pod?.containerID.startsWith("c-"))).toBe(true);
    });
});

describe("a StatefulSet's Pods on a real API server", () => {
    const web = (ordinal: number): { readonly statefulSet: { readonly name: string; readonly ordinal: number } } => ({
        statefulSet: { name: "web", ordinal },
    });

    function reserve(ip: string, ordinal: number): Promise<IpAllocation> {
        const pod = { namespace: "default", name: `web-${ordinal}`, uid: "" };
        const allocation = newAllocation(parseIp(ip), "pool1", { pod, nodeName: "", containerId: "", ifName: "" });
        const { pod: _, ...spec } = allocation.spec;
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: ordinal } as const;
        return cluster.api.create(ipAllocations, { ...allocation, spec: { ...spec, owner, state: "Reserved" } });
    }

    it("wait for their reservations, keep them from Node to Node, and are informed who has them", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
        const [one, two] = [cluster.agent("a"), cluster.agent("b", { reservationWaitMs: 300 })];
        const waiting = one.claim("web-0", { pools: ["pool1"], ...web(0) });
        await new Promise((resolve) => setTimeout(resolve, 300));
        await reserve("10.2.0.50", 0);
        await reserve("10.2.0.51", 1);
        expect(await waiting).toEqual(["10.2.0.50"]);
        const moved = { namespace: "default", name: "web-0", uid: "moved" };
        const ask = { pools: ["pool1"], ...web(0), pod: moved, containerId: "c2" };
        await expect(two.claim("web-0", ask)).rejects.toMatchObject({
            code: "HELD_ON_OTHER_NODE",
            message: expect.stringContaining("on Node a"),
        });
        await one.release("web-0");
        expect(await two.claim("web-0", ask)).toEqual(["10.2.0.50"]);
        await expect(two.claim("web-2", { pools: ["pool1"], ...web(2) })).rejects.toMatchObject({
            code: "NOT_RESERVED",
        });
        expect(await cluster.allocations("pool1")).toHaveLength(2);
    });

    it("of the same ordinal on two Nodes at once: one gets the address", async () => {
        await cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
        await reserve("10.2.0.50", 0);
        const agents = Array.from({ length: 4 }, (_, at) => cluster.agent(`n${at}`, { reservationWaitMs: 500 }));
        const results = await Promise.allSettled(
            agents.map((agent, at) => {
                const pod = { namespace: "default", name: "web-0", uid: `u${at}` };
                return agent.claim("web-0", { pools: ["pool1"], ...web(0), pod });
            }),
        );
        expect(codes(results)).toEqual(["HELD_ON_OTHER_NODE", "HELD_ON_OTHER_NODE", "HELD_ON_OTHER_NODE"]);
    });
});

describe("allocations of 128 Pods with 16 networks each", () => {
    const pods = Array.from({ length: 128 }, (_, at) => `p${at}`);
    const pools = Array.from({ length: 16 }, (_, at) => `network-${at}`);

    async function createPod(name: string): Promise<string> {
        const spec = { nodeName: "a", containers: [{ name: "app", image: "none" }] };
        const { metadata } = await cluster.api.create(podResource, { metadata: { namespace: "default", name }, spec });
        return metadata?.uid ?? "";
    }

    it("take each of 16 pools to its last address, all or nothing, and free all of them", async () => {
        await Promise.all(
            pools.map((pool, at) =>
                cluster.addPool(pool, { start: `10.9.${at}.64`, end: `10.9.${at}.191`, gateway: `10.9.${at}.1` }),
            ),
        );
        const uids = new Map<string, string>();
        for (const name of [...pods, "late"]) uids.set(name, await createPod(name));
        const agent = cluster.agent("a");
        const allocations = networkAllocations(agent.pools);
        const limit = AbortSignal.timeout(200_000);
        await agent.pools.synced(limit);
        const claim = async (pod: string, pool: string, at: number): Promise<string> => {
            const [claimed] = await allocations.claimForNetwork(
                {
                    containerId: `c-${pod}`,
                    ifName: `eth${at + 1}`,
                    podNamespace: "default",
                    podName: pod,
                    podUid: uids.get(pod) ?? "",
                    network: `default/${pool}`,
                    demands: [{ pool, fixed: undefined }],
                },
                limit,
            );
            return claimed === undefined ? "" : formatIp(claimed.ip);
        };
        const given = await Promise.all(pods.flatMap((pod) => pools.map((pool, at) => claim(pod, pool, at))));
        expect(new Set(given).size).toBe(2_048);
        expect(await addresses()).toEqual([...given].sort());
        // Nobody gets one more, and what a refused interface had of another pool it gives back.
        await cluster.addPool("spare", { cidr: "10.10.0.0/24", gateway: "10.10.0.1" });
        const refused = allocations.claimForNetwork(
            {
                containerId: "c-late",
                ifName: "eth1",
                podNamespace: "default",
                podName: "late",
                podUid: uids.get("late") ?? "",
                network: "default/late",
                demands: ["spare", "network-7"].map((pool) => ({ pool, fixed: undefined })),
            },
            limit,
        );
        await expect(refused).rejects.toMatchObject({ code: "EXHAUSTED" });
        await eventually(async () => (await addresses("spare")).length === 0);
        for (const pod of pods) {
            await Promise.all(
                pools.map((_, at) => allocations.release({ containerId: `c-${pod}`, ifName: `eth${at + 1}` })),
            );
        }
        expect(await addresses()).toEqual([]);
    }, 240_000);
});
