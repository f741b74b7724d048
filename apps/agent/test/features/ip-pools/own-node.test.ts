import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { ipAllocations } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { KubeError, nodes as nodeResource } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { OwnNode } from "../../../src/features/ip-pools/own-node.ts";
import { timeoutsBy } from "../../support/timeouts.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { TestNodes, type TestPoolAgent } from "./support/test-agent.ts";

const { signal } = new AbortController();
const unauthorized = new KubeError("UNAUTHORIZED", "the token is refused");

describe("an agent whose Node is gone", () => {
    let api: FakeApi;
    let clock: ManualClock;
    let nodes: TestNodes;
    let wiring: FakeWiring;
    let node: OwnNode;

    /** What the agent does every few seconds, for as long. */
    async function pass(ms: number): Promise<void> {
        for (let at = 0; at < ms; at += 5_000) {
            await clock.advance(Math.min(5_000, ms - at));
            await node.check(wiring, signal);
        }
    }

    function start(): void {
        node = new OwnNode({ api, nodes, clock, logger: silentLogger }, { nodeName: "a" });
    }

    beforeEach(() => {
        [api, clock, wiring, nodes] = [new FakeApi(), new ManualClock(), new FakeWiring(), new TestNodes([])];
        api.put(nodeResource, { metadata: { name: "a" } });
        nodes.put("a");
        const address = { prefixLength: 24, gateway: parseIp("10.2.0.1"), vlan: 0, pool: "pool1" };
        wiring.wire("p1", [{ ...address, ip: parseIp("10.2.0.9") }]);
        wiring.wire("p2", [{ ...address, ip: parseIp("10.2.0.10") }]);
        start();
    });

    function deleteNode(): void {
        api.remove(nodeResource, "a");
        nodes.remove("a");
    }

    it("isolates its pool interfaces after 4 min, before the controller frees their addresses after 5", async () => {
        await pass(600_000);
        expect([...wiring.cut]).toEqual([]);
        deleteNode();
        expect(node.isGone).toBe(true);
        await pass(239_000);
        expect([...wiring.cut]).toEqual([]);
        await pass(6_000);
        expect([...wiring.cut].sort()).toEqual(["c-p1", "c-p2"]);
    });

    it("counts from when its watch was up to date last: the deletion may be that old", async () => {
        await pass(600_000);
        const cut = clock.monotonic();
        await pass(180_000);
        api.remove(nodeResource, "a");
        nodes.remove("a", cut);
        await pass(55_000);
        expect(wiring.cut.size).toBe(0);
        await pass(10_000);
        expect(wiring.cut.size).toBe(2);
    });

    it("isolates at once when it hears of it after 5 min, once the API server reports so too", async () => {
        const cut = clock.monotonic();
        await pass(300_000);
        nodes.remove("a", cut);
        await node.check(wiring, signal);
        expect(wiring.cut.size).toBe(0);
        expect(node.isGone).toBe(false);
        nodes.put("a");
        api.remove(nodeResource, "a");
        nodes.remove("a", cut);
        await node.check(wiring, signal);
        expect(wiring.cut.size).toBe(2);
    });

    it("does so although its token is refused since", async () => {
        deleteNode();
        await pass(30_000);
        api.fault = () => ({ refuse: unauthorized });
        await pass(215_000);
        expect(wiring.cut.size).toBe(2);
    });

    it("isolates nothing when its token is refused and nothing reported that its Node is gone", async () => {
        api.fault = () => ({ refuse: unauthorized });
        await pass(3_600_000);
        expect(wiring.cut.size).toBe(0);
        expect(node.isGone).toBe(false);
    });

    it("counts anew when the Node comes back in time", async () => {
        deleteNode();
        await pass(200_000);
        nodes.put("a");
        expect(node.isGone).toBe(false);
        await pass(10_000);
        deleteNode();
        await pass(200_000);
        expect(wiring.cut.size).toBe(0);
    });

    it("isolates nothing when the API server reports at last that the Node is there", async () => {
        nodes.remove("a");
        nodes.upToDateAt = clock.monotonic();
        await pass(300_000);
        expect(wiring.cut.size).toBe(0);
        expect(node.isGone).toBe(false);
    });

    it("goes on with an interface that could not be isolated, and isolates each once", async () => {
        const tries: string[] = [];
        wiring.before = (what) => {
            tries.push(what);
            return tries.length === 1 ? Promise.reject(unauthorized) : Promise.resolve();
        };
        deleteNode();
        await pass(260_000);
        expect(tries).toHaveLength(3);
    });

    it("waits for 3 s for a container that is worked on, and isolates its interface by a later check", async () => {
        await pass(600_000);
        deleteNode();
        await pass(235_000);
        const free = Promise.withResolvers<void>();
        void wiring.exclusively("c-p1", () => free.promise);
        await clock.advance(10_000);
        using _ = timeoutsBy(clock);
        let isOver = false;
        void node.check(wiring, signal).then(() => (isOver = true));
        await eventually(() => wiring.cut.size > 0);
        await clock.advance(2_999);
        expect([isOver, [...wiring.cut]]).toEqual([false, ["c-p2"]]);
        await clock.advance(1);
        await settle();
        expect(isOver).toBe(true);
        free.resolve();
        await node.check(wiring, signal);
        expect([...wiring.cut].sort()).toEqual(["c-p1", "c-p2"]);
    });

    it("logs once of each interface that it was isolated, and why, and each time that it could not be yet", async () => {
        const log = new MemoryLog();
        node = new OwnNode({ api, nodes, clock, logger: log.logger }, { nodeName: "a" });
        let failed = 0;
        wiring.before = () => (failed++ === 0 ? Promise.reject(unauthorized) : Promise.resolve());
        await pass(5_000);
        deleteNode();
        await pass(260_000);
        // Both at once: which is first is left open.
        const logged = log.records.map(({ level, pod, container, reason }) =>
            [level, pod, container, reason].join(" "),
        );
        expect(logged.toSorted()).toEqual([
            "error default/p1 c-p1 ",
            "error default/p2 c-p2 ",
            "warn default/p1 c-p1 the token is refused",
        ]);
    });

    it("logs that it began without its Node, and that nobody answers whether it is gone", async () => {
        const log = new MemoryLog();
        deleteNode();
        api.fault = () => ({ refuse: unauthorized });
        node = new OwnNode({ api, nodes, clock, logger: log.logger }, { nodeName: "a" });
        await node.check(wiring, signal);
        await node.check(wiring, signal);
        expect(log.records).toEqual([
            expect.objectContaining({ level: "warn", node: "a" }),
            expect.objectContaining({ level: "warn", reason: "the token is refused" }),
            expect.objectContaining({ level: "warn", reason: "the token is refused" }),
        ]);
    });

    it("claims nothing more once it heard so, until the API server reports that the Node is there again", async () => {
        await node.confirm(signal);
        expect(api.requests).toEqual([]);
        deleteNode();
        await expect(node.confirm(signal)).rejects.toMatchObject({
            code: "NODE_GONE",
            message: expect.stringMatching(/^Node a no longer exists, .*kubelet recreates the Node/),
        });
        // Made again, and the watch is late.
        nodes.upToDateAt = clock.monotonic();
        api.put(nodeResource, { metadata: { name: "a" } });
        await node.confirm(signal);
        expect(node.isGone).toBe(false);
        expect(api.requests).toHaveLength(2);
        await node.confirm(signal);
        expect(api.requests).toHaveLength(2);
    });

    it("claims nothing while nothing reports whether the deleted Node is back", async () => {
        deleteNode();
        api.fault = () => ({ refuse: unauthorized });
        await expect(node.confirm(signal)).rejects.toMatchObject({
            code: "NODE_GONE",
            message: expect.stringContaining("it is not known whether it was recreated (the token is refused)"),
        });
    });

    it("asks before it claims when its watch has been silent for 30 s, and isolates 4 min after that began", async () => {
        await clock.advance(1_000_000);
        nodes.upToDateAt = clock.monotonic();
        await clock.advance(29_000);
        await node.confirm(signal);
        expect(api.requests).toEqual([]);
        await clock.advance(1_000);
        await Promise.all([node.confirm(signal), node.confirm(signal)]);
        expect(api.requests).toHaveLength(1);
        await clock.advance(29_000);
        await node.confirm(signal);
        expect(api.requests).toHaveLength(1);
        api.remove(nodeResource, "a");
        await clock.advance(1_000);
        await expect(node.confirm(signal)).rejects.toMatchObject({ code: "NODE_GONE" });
        expect(node.isGone).toBe(true);
        await pass(175_000);
        expect(wiring.cut.size).toBe(0);
        await pass(10_000);
        expect(wiring.cut.size).toBe(2);
    });

    it("leaves it to the allocation when nobody answers and nothing reported that its Node is gone", async () => {
        await clock.advance(1_000_000);
        nodes.upToDateAt = 0;
        api.fault = () => ({ refuse: unauthorized });
        await node.confirm(signal);
        expect(node.isGone).toBe(false);
    });

    it("believes the watch, which reports that the Node was made again, more than an answer that is older", async () => {
        deleteNode();
        await pass(5_000);
        nodes.put("a");
        nodes.upToDateAt = -Infinity;
        api.before = () => Promise.resolve(nodes.put("a"));
        await node.confirm(signal);
        expect(node.isGone).toBe(false);
    });

    /** The next answer of the API server is that of before this, and is read after it. */
    function beforeAnswerIsRead(change: () => Promise<void> | void): void {
        const { find } = api;
        api.find = async (...args: Parameters<typeof find>) => {
            api.find = find;
            const answer = await find(...args);
            await change();
            return answer as never;
        };
    }

    it("believes the watch, which reports that the Node was deleted, more than an answer that is older", async () => {
        await node.known(signal);
        await clock.advance(31_000);
        nodes.upToDateAt = 0;
        beforeAnswerIsRead(deleteNode);
        await expect(node.confirm(signal)).rejects.toMatchObject({ code: "NODE_GONE" });
        await pass(245_000);
        expect(wiring.cut.size).toBe(2);
    });

    it("believes the watch too when the Node was made again and deleted while it asked before it isolates", async () => {
        await node.known(signal);
        nodes.remove("a");
        beforeAnswerIsRead(() => {
            nodes.put("a");
            deleteNode();
        });
        await pass(240_000);
        expect([node.isGone, wiring.cut.size]).toEqual([true, 0]);
        await pass(245_000);
        expect(wiring.cut.size).toBe(2);
    });

    it.each(["before", "after"])(
        "believes the first list, without the Node and read %s an older answer, more than that",
        async (when) => {
            await node.known(signal);
            nodes.remove("a");
            const noted = node.goneAt ?? NaN;
            await clock.advance(300_000);
            nodes = TestNodes.unlisted();
            start();
            node.recall(noted);
            const known = node.known(signal);
            beforeAnswerIsRead(async () => {
                api.remove(nodeResource, "a");
                if (when === "before") nodes.firstList();
                if (when === "before") await known;
            });
            await node.check(wiring, signal);
            if (when === "after") nodes.firstList();
            await node.check(wiring, signal);
            expect([node.isGone, wiring.cut.size]).toEqual([true, 2]);
        },
    );

    /** Its watch is cut after the deletion; the Node is made again, which an answer shows. */
    async function backByAnswer(): Promise<void> {
        deleteNode();
        nodes.upToDateAt = clock.monotonic();
        await clock.advance(10_000);
        api.put(nodeResource, { metadata: { name: "a" } });
        await node.confirm(signal);
        expect(node.isGone).toBe(false);
    }

    it.each(["asks before it claims", "checks"])(
        "believes the next list more than an answer before it: it %s, and the Node is gone again, which is no change to deliver",
        async (when) => {
            await node.known(signal);
            await backByAnswer();
            await clock.advance(1_000);
            api.remove(nodeResource, "a");
            await clock.advance(1_000);
            nodes.upToDateAt = clock.monotonic();
            if (when === "checks") await node.check(wiring, signal);
            else await expect(node.confirm(signal)).rejects.toMatchObject({ code: "NODE_GONE" });
            expect(node.isGone).toBe(true);
            await pass(235_000);
            expect(wiring.cut.size).toBe(0);
            await pass(5_000);
            expect(wiring.cut.size).toBe(2);
        },
    );

    it("believes an answer that the Node is back as long as the watch is older, and when the watch reports so too", async () => {
        await node.known(signal);
        await backByAnswer();
        await pass(600_000);
        expect([node.isGone, wiring.cut.size]).toEqual([false, 0]);
        nodes.put("a");
        nodes.upToDateAt = clock.monotonic();
        await pass(600_000);
        expect([node.isGone, wiring.cut.size]).toEqual([false, 0]);
    });

    it("isolates at once when it starts and the Node is gone: nobody knows since when", async () => {
        deleteNode();
        start();
        await node.check(wiring, signal);
        expect(wiring.cut.size).toBe(2);
    });

    /** The agent is killed and starts again after so long, with what the one before noted, and cannot hear any more. */
    async function restartWithoutApi(ms: number): Promise<void> {
        const noted = node.goneAt;
        api.fault = () => ({ refuse: unauthorized });
        await clock.advance(ms);
        nodes = TestNodes.unlisted();
        start();
        if (noted !== undefined) node.recall(noted);
    }

    it("isolates in time when it heard of it, and is restarted when it is disconnected", async () => {
        await pass(600_000);
        deleteNode();
        await pass(100_000);
        await restartWithoutApi(20_000);
        expect(node.isGone).toBe(true);
        await pass(119_000);
        expect(wiring.cut.size).toBe(0);
        await pass(6_000);
        expect(wiring.cut.size).toBe(2);
    });

    it("isolates at once after a restart that took long, or by a clock that was set back meanwhile", async () => {
        await node.known(signal);
        deleteNode();
        await restartWithoutApi(300_000);
        await node.check(wiring, signal);
        expect(wiring.cut.size).toBe(2);
        wiring.cut.clear();
        start();
        node.recall(clock.now() + 1_000);
        await node.check(wiring, signal);
        expect(wiring.cut.size).toBe(2);
    });

    it("notes of a Node that was gone when it began that it may isolate", async () => {
        deleteNode();
        start();
        expect(node.goneAt).toBeUndefined();
        await node.known(signal);
        expect(node.goneAt).toBe(clock.now() - 240_000);
    });

    it("has nothing to note of a Node that is there, and goes by what it hears and not by a note", async () => {
        await node.known(signal);
        expect(node.goneAt).toBeUndefined();
        node.recall(clock.now() - 600_000);
        expect(node.isGone).toBe(false);
        deleteNode();
        const noted = node.goneAt;
        node.recall(0);
        expect(node.goneAt).toBe(noted);
    });

    it("ends to count when the API server reports at last that the Node is back", async () => {
        deleteNode();
        await restartWithoutApi(1_000);
        nodes.put("a");
        expect([node.isGone, node.goneAt]).toEqual([false, undefined]);
    });

    it("at its start waits for an answer", async () => {
        deleteNode();
        api.fault = () => ({ refuse: unauthorized });
        start();
        await pass(600_000);
        expect(wiring.cut.size).toBe(0);
        api.fault = () => undefined;
        await pass(5_000);
        expect(wiring.cut.size).toBe(2);
    });
});

describe("the allocations of a Node that is gone", () => {
    let cluster: FakeCluster;
    let agent: TestPoolAgent;
    let clock: ManualClock;
    let wiring: FakeWiring;
    let ips: readonly string[];

    async function reconcile(): Promise<void> {
        await new Promise((resolve) => setTimeout(resolve, 15));
        await agent.pools.reconcile(wiring, AbortSignal.timeout(60_000));
    }

    beforeEach(async () => {
        [cluster, clock, wiring] = [new FakeCluster(), new ManualClock(), new FakeWiring()];
        cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
        agent = cluster.agent("a", { clock });
        const claimed = await Promise.all(["p1", "p2"].map((pod) => agent.claimAddresses(pod, { pools: ["pool1"] })));
        wiring.wire("p1", claimed[0] ?? []);
        wiring.wire("p2", claimed[1] ?? []);
        ips = claimed.map(([address]) => formatIp(address?.ip ?? parseIp("::")));
    });
    afterEach(() => cluster[Symbol.asyncDispose]());

    it("are not made again while it is gone; when it is back, what is still free is claimed and connected", async () => {
        agent.nodes.remove("a");
        await clock.advance(240_000);
        await agent.pools.checkOwnNode(wiring, signal);
        await reconcile();
        expect(wiring.cut.size).toBe(2);
        expect(await agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(2);
        // The controller frees them, and another Pod gets one of the two.
        for (const ip of ips) cluster.api.remove(ipAllocations, ip);
        const pod = { namespace: "default", name: "other", uid: "uid-other" };
        const holder = { pod, nodeName: "far", containerId: "c", ifName: "eth0" };
        cluster.api.put(ipAllocations, newAllocation(parseIp(ips[0] ?? ""), "pool1", holder) as never);
        await reconcile();
        expect(cluster.holders()).toEqual([`${ips[0]} other`]);
        expect(wiring.cut.size).toBe(2);

        agent.nodes.put("a");
        await reconcile();
        expect(cluster.holders()).toEqual([`${ips[0]} other`, `${ips[1]} p2`].sort());
        expect([...wiring.cut]).toEqual(["c-p1"]);
    });

    it("are no more than they were, and the Pod is informed why, until the Node is made again", async () => {
        agent.nodes.remove("a");
        await expect(agent.claim("p3", { pools: ["pool1"] })).rejects.toMatchObject({ code: "NODE_GONE" });
        expect(agent.events).toContainEqual(
            expect.objectContaining({
                reason: "IPAllocationFailed",
                note: expect.stringContaining("Node a no longer exists"),
            }),
        );
        expect(cluster.allocations()).toHaveLength(2);
        agent.nodes.put("a");
        expect(await agent.claim("p3", { pools: ["pool1"] })).toHaveLength(1);
    });

    it("that are free already: their interfaces are isolated at once, by default times", async () => {
        agent.nodes.remove("a");
        // The controller counts from the deletion, of which this agent hears late.
        cluster.api.remove(ipAllocations, ips[0] ?? "");
        await reconcile();
        expect([...wiring.cut]).toEqual(["c-p1"]);
        expect(cluster.holders()).toEqual([`${ips[1]} p2`]);
        agent.nodes.put("a");
        await reconcile();
        expect([...wiring.cut]).toEqual([]);
        expect(cluster.holders()).toEqual([`${ips[0]} p1`, `${ips[1]} p2`].sort());
    });

    it("that are there still when it is back are kept, and the interfaces connected", async () => {
        agent.nodes.remove("a");
        await clock.advance(240_000);
        await agent.pools.checkOwnNode(wiring, signal);
        agent.nodes.put("a");
        await reconcile();
        expect(wiring.cut.size).toBe(0);
        expect(cluster.holders()).toEqual([`${ips[0]} p1`, `${ips[1]} p2`].sort());
    });
});
