import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipPools } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { type NetworkRequest } from "../../../src/features/ip-pools/types.ts";
import { away } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { requestOf, type TestPoolAgent } from "./support/test-agent.ts";

let cluster: FakeCluster;

beforeEach(() => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    cluster.addPool("pool2", { cidr: "10.3.0.0/24", gateway: "10.3.0.1", vlan: 7 });
    cluster.addPool("pool6", { cidr: "fd02::/120", gateway: "fd02::1" });
    cluster.addPool("tiny", { start: "10.4.0.9", end: "10.4.0.9", gateway: "10.4.0.1" });
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** A request of the Pod's interface net1 for any address of each pool, or `POOL ADDRESS`. */
function request(pod: string, pools: readonly string[], change: Partial<NetworkRequest> = {}): NetworkRequest {
    const { pools: _, fixed: __, ...own } = requestOf(pod);
    const demands = pools.map((text) => {
        const [pool = "", fixed] = text.split(" ");
        return { pool, fixed: fixed === undefined ? undefined : parseIp(fixed) };
    });
    return { ...own, ifName: "net1", network: "default/macvlan", demands, ...change };
}

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

async function claim(agent: TestPoolAgent, asked: NetworkRequest): Promise<readonly string[]> {
    return (await agent.pools.allocator.claim(asked, limit())).map(({ ip, pool }) => `${pool} ${formatIp(ip)}`);
}

describe("an interface of a network", () => {
    it("gets one address of every pool, in their order, whatever their VLANs, and keeps them over sandboxes", async () => {
        const agent = cluster.agent("a", { bridged: true });
        const first = await claim(agent, request("web", ["pool2", "pool6", "pool1"]));
        expect(first.map((text) => text.split(" ")[0])).toEqual(["pool2", "pool6", "pool1"]);
        const again = request("web", ["pool2", "pool6", "pool1"], { containerId: "c2" });
        expect(await claim(agent, again)).toEqual(first);
        expect(cluster.allocations()).toHaveLength(3);
        for (const { spec } of cluster.allocations()) {
            expect(spec.pod).toMatchObject({ interface: "net1", network: "default/macvlan", containerID: "c2" });
            expect(spec.owner).toMatchObject({ kind: "Pod", name: "web" });
        }
        // Nothing reports that addresses of IPPools are reached on their Node only: that holds for the Pod network.
        expect(agent.events).toEqual([]);
    });

    it("has its own addresses beside those of the Pod's other interfaces", async () => {
        const agent = cluster.agent("a");
        await agent.claim("web", { pools: ["pool1"] });
        await claim(agent, request("web", ["pool1"]));
        await claim(agent, request("web", ["pool1"], { ifName: "net2" }));
        expect(cluster.allocations().map(({ spec }) => spec.pod?.interface)).toEqual(["eth0", "net1", "net2"]);
    });

    it("gets the fixed address of a pool, and several of one if they are fixed", async () => {
        const agent = cluster.agent("a");
        const asked = request("web", ["pool1 10.2.0.77", "pool1 10.2.0.76", "pool2"]);
        expect((await claim(agent, asked)).slice(0, 2)).toEqual(["pool1 10.2.0.77", "pool1 10.2.0.76"]);
    });

    it("gets nothing if one pool is full, and the error names the network", async () => {
        const agent = cluster.agent("a");
        await claim(agent, request("first", ["tiny"]));
        await expect(claim(agent, request("web", ["pool1", "tiny", "pool6"]))).rejects.toMatchObject({
            name: "IpPoolError",
            code: "EXHAUSTED",
            message: expect.stringMatching(/^network default\/macvlan, interface net1: no free address in IPPool tiny/),
        });
        expect(cluster.holders()).toEqual(["10.4.0.9 first"]);
        expect(agent.events.map(({ reason, note }) => `${reason} ${note.split(":")[0]}`)).toEqual([
            "IPAllocationFailed network default/macvlan, interface net1",
        ]);
    });

    it("names itself as the place where pools are named", async () => {
        const agent = cluster.agent("a");
        await expect(claim(agent, request("web", ["none"]))).rejects.toThrow(
            "IPPool none does not exist; create it, or correct network default/macvlan",
        );
        await claim(agent, request("first", ["tiny"]));
        await expect(claim(agent, request("web", ["tiny"]))).rejects.toThrow(
            "add a range to it, or name another IPPool in network default/macvlan",
        );
        cluster.api.put(ipPools, {
            ...cluster.api.get(ipPools, "pool1"),
            metadata: { name: "pool1", deletionTimestamp: "2026-01-01T00:00:00Z" },
        } as never);
        await eventually(() => agent.pools.cache.known("pool1")?.isDeleting === true);
        await expect(claim(agent, request("web", ["pool1"]))).rejects.toThrow(
            "name another IPPool in network default/macvlan, or create the IPPool again",
        );
    });

    it("gives back what it had of a pool that its network no longer names", async () => {
        const agent = cluster.agent("a");
        await claim(agent, request("web", ["pool1", "pool2"]));
        await claim(agent, request("web", ["pool2"], { containerId: "c2" }));
        expect(cluster.allocations().map(({ spec }) => spec.pool)).toEqual(["pool2"]);
    });
});

describe("an interface of a network whose DEL could not free its addresses", () => {
    const { containerId, ifName } = request("web", []);
    let agent: TestPoolAgent;
    const ofWeb = (): readonly string[] => cluster.holders().filter((holder) => holder.endsWith(" web"));
    const failed = (pools: readonly string[]): Promise<void> =>
        expect(claim(agent, request("web", pools))).rejects.toMatchObject({ code: "EXHAUSTED" });

    beforeEach(async () => {
        agent = cluster.agent("a");
        await claim(agent, request("first", ["tiny"]));
        await claim(agent, request("web", ["pool1"]));
        cluster.api.fault = (method) => (method === "delete" ? { refuse: away() } : undefined);
        const released = agent.pools.allocator.releaseAll({ containerId, ifName }, AbortSignal.timeout(20));
        await expect(released).rejects.toThrow();
        cluster.api.fault = () => undefined;
        expect(ofWeb()).toHaveLength(1);
    });

    it("has none left once an ADD after it has failed: the container may live on for long", async () => {
        await failed(["pool1", "tiny"]);
        await agent.pools.allocator.settle(limit());
        expect(ofWeb()).toEqual([]);
    });

    it("has none left once an ADD has failed for the same reason", async () => {
        const stopped = new AbortController();
        cluster.api.fault = (method) => {
            if (method !== "delete") return undefined;
            stopped.abort();
            cluster.api.fault = () => undefined;
            return { refuse: away() };
        };
        await expect(agent.pools.allocator.claim(request("web", ["pool1"]), stopped.signal)).rejects.toBeDefined();
        await agent.pools.allocator.settle(limit());
        expect(ofWeb()).toEqual([]);
    });

    it("keeps those of an ADD after it that succeeded, when one more fails", async () => {
        const [address = ""] = await claim(agent, request("web", ["pool1"]));
        await failed(["pool1", "tiny"]);
        await agent.pools.allocator.settle(limit());
        expect(ofWeb()).toContain(`${address.split(" ")[1]} web`);
    });

    it("has none left when the DEL comes while an ADD that fails has begun", async () => {
        await claim(agent, request("web", ["pool1"]));
        const asked = Promise.withResolvers<void>();
        const answered = Promise.withResolvers<void>();
        cluster.api.before = (method) => {
            if (method !== "create") return Promise.resolve();
            asked.resolve();
            return answered.promise;
        };
        const adding = failed(["pool1", "pool2", "tiny"]);
        await asked.promise;
        const released = agent.pools.allocator.releaseAll({ containerId, ifName }, limit());
        answered.resolve();
        await Promise.all([adding, released]);
        expect(ofWeb()).toEqual([]);
    });
});

describe("an interface of a network whose container has ended without DEL", () => {
    let agent: TestPoolAgent;
    let wiring: FakeWiring;
    const reconcile = async (): Promise<void> => {
        for (let round = 0; round < 3; round += 1) await agent.pools.reconcile(wiring, limit());
    };

    beforeEach(async () => {
        agent = cluster.agent("a", { confirmMs: 0 });
        wiring = new FakeWiring();
        cluster.addPod("web", { nodeName: "a" });
        await claim(agent, request("web", ["pool1", "pool6"], { containerId: "c1" }));
    });

    it("keeps its addresses for the next container, while there is none or an ADD is in progress", async () => {
        await reconcile();
        expect(cluster.allocations()).toHaveLength(2);
        wiring.wire("web", [], "c2");
        wiring.adding.add("uid-web");
        await reconcile();
        expect(cluster.allocations()).toHaveLength(2);
    });

    it("gives them back when the next one runs without it, as while SecondaryNetwork is off, when all calls for it have ended", async () => {
        wiring.wire("web", [], "c2");
        await reconcile();
        expect(cluster.allocations()).toHaveLength(2);
        wiring.wiredAt.set("c2", performance.now() - 300_000);
        await reconcile();
        expect(cluster.allocations()).toEqual([]);
    });
});

describe("an interface of a network, of a StatefulSet's Pod", () => {
    const place = { name: "web", ordinal: 1, uid: "set" };
    const ofSet = (uid: string, change: Partial<NetworkRequest> = {}): NetworkRequest =>
        request("web-1", ["pool1", "pool6"], {
            pod: { namespace: "default", name: "web-1", uid },
            containerId: `c-${uid}`,
            statefulSet: place,
            ...change,
        });
    const states = (): readonly string[] =>
        cluster
            .allocations()
            .map(
                ({ spec: { pool, state, owner } }) =>
                    `${pool} ${state} ${owner.name}-${owner.index} ${owner.interface}`,
            );

    it("claims addresses for the ordinal, which keeps them for its next Pod, on any Node", async () => {
        const [a, b] = [cluster.agent("a"), cluster.agent("b")];
        const first = await claim(a, ofSet("u1"));
        expect(states()).toEqual(["pool1 Allocated web-1 net1", "pool6 Allocated web-1 net1"]);
        expect(cluster.allocations()[0]?.spec.owner.uid).toBe("set");
        await a.pools.allocator.releaseAll({ containerId: "c-u1", ifName: "net1" }, limit());
        expect(states()).toEqual(["pool1 Reserved web-1 net1", "pool6 Reserved web-1 net1"]);
        // Neither its interface on the Pod network nor another one takes them.
        const other = await claim(b, ofSet("u2", { ifName: "net2" }));
        expect(other.filter((text) => first.includes(text))).toEqual([]);
        expect(await claim(b, ofSet("u2"))).toEqual(first);
    });

    it("claims one address for an ordinal, also when two Nodes do so at the same moment", async () => {
        const [a, b] = [cluster.agent("a"), cluster.agent("b")];
        const clock = Promise.withResolvers<void>();
        let creates = 0;
        // Both have seen that there is none, and neither the other's.
        cluster.api.before = (method) => {
            if (method !== "create") return Promise.resolve();
            creates += 1;
            if (creates === 2) clock.resolve();
            return clock.promise;
        };
        const one = { demands: [{ pool: "pool1", fixed: undefined }] };
        const both = await Promise.allSettled([claim(a, ofSet("u1", one)), claim(b, ofSet("u2", one))]);
        expect(both.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(both.find(({ status }) => status === "rejected")).toMatchObject({
            reason: { code: expect.stringMatching(/HELD_ON_OTHER_NODE|NOT_RESERVED/) },
        });
        expect(states().filter((text) => text.includes("Allocated"))).toHaveLength(1);
    }, 60_000);

    it("asks again when a list of its addresses gets no answer", async () => {
        const agent = cluster.agent("a");
        await agent.pools.synced(limit());
        let lists = 0;
        cluster.api.fault = (method, plural) =>
            method === "list" && plural === "ipallocations" && (lists += 1) === 1 ? { refuse: away() } : undefined;
        expect(await claim(agent, ofSet("u1"))).toHaveLength(2);
        expect(lists).toBeGreaterThan(1);
    });

    it("waits while the Pod before it has them, and claims no others", async () => {
        const clock = new ManualClock();
        const [a, b] = [cluster.agent("a"), cluster.agent("b", { clock })];
        const first = await claim(a, ofSet("u1"));
        const next = claim(b, ofSet("u2"));
        const lists = (): number => cluster.api.requests.filter((one) => one.includes("spec.owner.name=web")).length;
        await eventually(() => clock.pending > 0);
        const before = lists();
        await clock.advance(3_000);
        // Waiting, it asks for the one address only.
        expect(lists()).toBe(before);
        await a.pools.allocator.releaseAll({ containerId: "c-u1", ifName: "net1" }, limit());
        await clock.advance(1_000);
        expect(await next).toEqual(first);
    });

    it("reports after 20 s who has them, and on which Node", async () => {
        const clock = new ManualClock();
        const [a, b] = [cluster.agent("a"), cluster.agent("b", { clock })];
        await claim(a, ofSet("u1"));
        const outcome = claim(b, ofSet("u2")).then(
            () => undefined,
            (error: unknown) => error,
        );
        let isOver = false;
        void outcome.then(() => (isOver = true));
        await eventually(async () => {
            await clock.advance(500);
            return isOver;
        });
        expect(await outcome).toMatchObject({
            code: "HELD_ON_OTHER_NODE",
            message: expect.stringMatching(
                /kept for interface net1 of ordinal 1 of StatefulSet default\/web, is still held by the earlier Pod default\/web-1 with UID u1 on Node a;/,
            ),
        });
        expect(cluster.allocations()).toHaveLength(2);
    });
});
