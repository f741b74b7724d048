import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { sleep } from "@antrea/async";
import { ManualClock } from "@antrea/async/testing";
import { allocationName, blockText, ipAllocations, ipPools, type AllocationPod, type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { lost } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { asTimePasses, TestNodes } from "./support/test-agent.ts";

const web2 = { statefulSet: { name: "web", ordinal: 2 } };
const both = { ...web2, pools: ["pool1", "pool6"] };

let cluster: FakeCluster;

beforeEach(() => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    cluster.addPool("pool6", { cidr: "fd02::/120", gateway: "fd02::1" });
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** What the controller does for an ordinal, or left when a Pod has taken it. */
function reserve(ip: string, ordinal = 2, pod?: AllocationPod): void {
    const address = parseIp(ip);
    cluster.api.put(ipAllocations, {
        metadata: { name: allocationName(address) },
        spec: {
            address: ip,
            block: blockText(address),
            pool: ip.includes(":") ? "pool6" : "pool1",
            state: pod === undefined ? "Reserved" : "Allocated",
            owner: { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: ordinal },
            ...(pod && { pod }),
        },
    } as never);
}

function podOn(nodeName: string, uid = "old"): AllocationPod {
    return { namespace: "default", name: "web-2", uid, nodeName, containerID: "c-old", interface: "eth0" };
}

function states(): readonly string[] {
    return cluster.allocations().map(({ spec }) => `${spec.address} ${spec.state} ${spec.pod?.uid ?? ""}`.trim());
}

describe("the Pod of an ordinal", () => {
    it("takes what is reserved for it, keeps it over sandboxes, and gives it back to the StatefulSet", async () => {
        reserve("10.2.0.11", 1);
        reserve("10.2.0.12", 2);
        const agent = cluster.agent("a");
        const ask = { ...web2, pools: ["pool1"] };
        expect(await agent.claim("web-2", ask)).toEqual(["10.2.0.12"]);
        expect(await agent.claim("web-2", { ...ask, containerId: "c2" })).toEqual(["10.2.0.12"]);
        await agent.release("web-2");
        expect(states()).toContain("10.2.0.12 Allocated uid-web-2");
        await agent.release("web-2", "c2");
        expect(states()).toEqual(["10.2.0.11 Reserved", "10.2.0.12 Reserved"]);
        const pod = { namespace: "default", name: "web-2", uid: "next" };
        expect(await agent.claim("web-2", { ...ask, pod, containerId: "c3" })).toEqual(["10.2.0.12"]);
    });

    it("takes what the Pod before it had, when another address is reserved for it as well", async () => {
        const ask = { ...web2, pools: ["pool1"] };
        reserve("10.2.0.12");
        const [before, after] = [cluster.agent("a"), cluster.agent("b")];
        expect(await before.claim("web-2", ask)).toEqual(["10.2.0.12"]);
        // The watch of the other Node hears of this one first.
        reserve("10.2.0.11");
        reserve("10.2.0.13", 3);
        await after.claim("web-3", { ...ask, statefulSet: { name: "web", ordinal: 3 } });
        await before.release("web-2");
        // until the watch has reported it
        await sleep(50);
        const pod = { namespace: "default", name: "web-2", uid: "next" };
        expect(await after.claim("web-2", { ...ask, pod })).toEqual(["10.2.0.12"]);
    });

    it("leaves no watch behind a minute after it has started", async () => {
        reserve("10.2.0.12");
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock });
        expect(await agent.claim("web-2", { ...web2, pools: ["pool1"] })).toEqual(["10.2.0.12"]);
        await agent.claim("plain", { pools: ["pool1"] });
        const watches = (): number => cluster.api.watches(ipAllocations);
        await eventually(() => watches() === 3);
        await clock.advance(60_000);
        await agent.pools.closeIdle();
        expect(watches()).toBe(3);
        await clock.advance(1);
        await agent.pools.closeIdle();
        // That of the Node's own allocations stays.
        await eventually(() => watches() === 1);
    });

    it("is set up by the definition of the pool that it is of, not by that of another", async () => {
        cluster.addPool("pool2", { cidr: "10.3.0.0/24", gateway: "10.3.0.1" });
        cluster.addPool("pool2", { cidr: "10.3.0.0/24", gateway: "10.3.0.2" });
        reserve("10.3.0.12");
        const [allocation] = cluster.allocations();
        cluster.api.put(ipAllocations, { ...allocation, spec: { ...allocation?.spec, pool: "pool2" } } as never);
        await cluster.agent("a").claim("web-2", { ...web2, pools: ["pool1", "pool2"] });
        const uid = cluster.api.get(ipPools, "pool2")?.metadata?.uid;
        expect(cluster.allocations()).toMatchObject([{ spec: { pool: "pool2", poolUID: uid, poolGeneration: 2 } }]);
    });

    it("waits on when another has taken the reservation that its watch still reports", async () => {
        reserve("10.2.0.12");
        const agent = cluster.agent("a");
        await agent.pools.synced(AbortSignal.timeout(60_000));
        let taken = false;
        cluster.api.before = (method) => {
            if (method !== "update" || taken) return Promise.resolve();
            taken = true;
            cluster.api.remove(ipAllocations, "10.2.0.12");
            setTimeout(() => reserve("10.2.0.13"), 20);
            return Promise.resolve();
        };
        expect(await agent.claim("web-2", { ...web2, pools: ["pool1"] })).toEqual(["10.2.0.13"]);
    });

    it("waits for the reservation, of both families", async () => {
        const agent = cluster.agent("a");
        const allocation = agent.claim("web-2", both);
        await eventually(() => cluster.api.requests.filter((one) => one.includes("state=Reserved")).length === 2);
        reserve("fd02::c");
        await new Promise((resolve) => setTimeout(resolve, 30));
        reserve("10.2.0.12");
        expect(await allocation).toEqual(["10.2.0.12", "fd02::c"]);
        expect(cluster.allocations()).toHaveLength(2);
    });

    it("finds it in whichever of several pools", async () => {
        cluster.addPool("pool2", { cidr: "10.3.0.0/24", gateway: "10.3.0.1" });
        reserve("10.2.0.12");
        const agent = cluster.agent("a");
        expect(await agent.claim("web-2", { ...web2, pools: ["pool2", "pool1"] })).toEqual(["10.2.0.12"]);
    });

    it("takes a repeated write without an answer for its own", async () => {
        reserve("10.2.0.12");
        const agent = cluster.agent("a");
        let left = 2;
        cluster.api.fault = (method) => (method === "update" && left-- > 0 ? { lose: lost() } : undefined);
        expect(await agent.claim("web-2", { ...web2, pools: ["pool1"] })).toEqual(["10.2.0.12"]);
    });

    it("gets nothing else: without a reservation it is informed where to look", async () => {
        const agent = cluster.agent("a", { reservationWaitMs: 50 });
        await expect(agent.claim("web-2", { ...web2, pools: ["pool1"] })).rejects.toMatchObject({
            code: "NOT_RESERVED",
            fault: "timeout",
            message: expect.stringContaining(
                "no address of IPPool pool1 is reserved yet for ordinal 2 of StatefulSet default/web; see the events",
            ),
        });
        expect(agent.events).toMatchObject([{ reason: "IPAllocationFailed" }]);
        expect(cluster.allocations()).toEqual([]);
    });

    it("leaves the reservation of one family alone while the other family has none, and is informed which", async () => {
        reserve("10.2.0.12");
        const [before] = cluster.allocations();
        const agent = cluster.agent("a", { reservationWaitMs: 500 });
        await expect(agent.claim("web-2", both)).rejects.toMatchObject({
            code: "NOT_RESERVED",
            message: expect.stringContaining("no address of IPPool pool6 is reserved yet"),
        });
        // An allocation that was written would count as one that was used.
        expect(cluster.allocations()).toEqual([before]);
    });

    it("takes no half of what is half gone, although its watch has not reported yet", async () => {
        reserve("10.2.0.12");
        reserve("fd02::c");
        const agent = cluster.agent("a", { reservationWaitMs: 50 });
        expect(await agent.claim("web-2", both)).toEqual(["10.2.0.12", "fd02::c"]);
        await agent.release("web-2");
        await eventually(() => cluster.allocations().every(({ spec }) => spec.pod === undefined));
        // The views have both as reserved from here on.
        await expect(agent.claim("web-3", { ...both, statefulSet: { name: "web", ordinal: 3 } })).rejects.toThrow();
        cluster.api.holdEvents();
        cluster.api.remove(ipAllocations, "fd02-0-0-0-0-0-0-c");
        const [before] = cluster.allocations();
        await expect(agent.claim("web-2", { ...both, containerId: "c2" })).rejects.toMatchObject({
            code: "NOT_RESERVED",
        });
        expect(cluster.allocations()).toEqual([before]);
        cluster.api.releaseEvents();
        reserve("fd02::d");
        expect(await agent.claim("web-2", { ...both, containerId: "c3" })).toEqual(["10.2.0.12", "fd02::d"]);
    });

    it("takes no reservation outside the ranges of its pool, and waits for another", async () => {
        reserve("10.2.0.12");
        cluster.addPool("pool1", { start: "10.2.0.50", end: "10.2.0.60", gateway: "10.2.0.1" });
        const agent = cluster.agent("a", { reservationWaitMs: 200 });
        const ask = { ...web2, pools: ["pool1"] };
        await expect(agent.claim("web-2", ask)).rejects.toMatchObject({ code: "NOT_RESERVED" });
        expect(states()).toEqual(["10.2.0.12 Reserved"]);
        const allocation = agent.claim("web-2", ask);
        reserve("10.2.0.51");
        expect(await allocation).toEqual(["10.2.0.51"]);
    });

    it("gives back what it has and what its pool has no more, when its sandbox is made anew", async () => {
        reserve("10.2.0.12");
        reserve("fd02::c");
        const agent = cluster.agent("a", { reservationWaitMs: 50 });
        expect(await agent.claim("web-2", both)).toEqual(["10.2.0.12", "fd02::c"]);
        cluster.addPool("pool1", { start: "10.2.0.50", end: "10.2.0.60", gateway: "10.2.0.1" });
        await eventually(() => agent.pools.cache.poolOf(parseIp("10.2.0.12")) === undefined);
        // The runtime forgot the earlier sandbox without a DEL.
        await expect(agent.claim("web-2", { ...both, containerId: "c2" })).rejects.toMatchObject({
            code: "NOT_RESERVED",
        });
        expect(states()).toContain("10.2.0.12 Reserved");
        reserve("10.2.0.51");
        expect(await agent.claim("web-2", { ...both, containerId: "c3" })).toEqual(["10.2.0.51", "fd02::c"]);
    });

    it("is informed which Node has its address still, and the ways out", async () => {
        reserve("10.2.0.12", 2, podOn("far"));
        const agent = cluster.agent("a", { reservationWaitMs: 50, nodes: TestNodes.of("a", "far") });
        await expect(agent.claim("web-2", { ...web2, pools: ["pool1"] })).rejects.toMatchObject({
            code: "HELD_ON_OTHER_NODE",
            message: expect.stringMatching(
                /address 10\.2\.0\.12 .* still held by the earlier Pod default\/web-2 with UID old on Node far.*out-of-service/,
            ),
        });
    });

    it("is informed when the Node that has its address is gone, until when it waits, and of a Node out of service", async () => {
        reserve("10.2.0.12", 2, podOn("far"));
        const nodes = TestNodes.of("a", "far");
        const clock = new ManualClock(Date.UTC(2026, 0, 1, 12, 0, 0));
        const agent = cluster.agent("a", { reservationWaitMs: 0, clock, nodes });
        await agent.pools.own.synced(AbortSignal.timeout(60_000));
        const failure = async (one = agent): Promise<string> => {
            const allocation = one.claim("web-2", { ...web2, pools: ["pool1"] }).catch(({ message }: Error) => message);
            return String(await asTimePasses(clock, allocation));
        };
        nodes.put("far", { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] });
        expect(await failure()).toMatch(
            /on Node far, which is out of service; antrea-controller frees it within seconds/,
        );
        nodes.remove("far");
        await clock.advance(61_000);
        const gone = await failure();
        expect(gone).toMatch(
            /Node far, which was deleted at 12:00:00 UTC; antrea-controller frees it at about 12:05:00 UTC/,
        );
        expect(gone).not.toContain("delete the Node object");
        const next = cluster.agent("a", { reservationWaitMs: 0, clock, nodes: TestNodes.of("a") });
        await next.pools.own.synced(AbortSignal.timeout(60_000));
        expect(await failure(next)).toMatch(
            /Node far, which no longer exists; .* releases it 5 minutes after the Node was deleted/,
        );
    });

    it("is informed after a second of waiting what it waits for, which is no failure", async () => {
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock });
        await agent.pools.synced(AbortSignal.timeout(60_000));
        const allocation = agent.claim("web-2", both);
        await eventually(() => cluster.api.watches(ipAllocations) === 3);
        await clock.advance(999);
        await sleep(20);
        expect(agent.events).toEqual([]);
        await clock.advance(1);
        await eventually(() => agent.events.length > 0);
        reserve("10.2.0.12");
        reserve("fd02::c");
        expect(await allocation).toEqual(["10.2.0.12", "fd02::c"]);
        expect(agent.events.filter(({ reason }) => reason !== "PoolAddressNotRouted")).toMatchObject([
            {
                type: "Normal",
                reason: "WaitingForAddress",
                regarding: { kind: "Pod", name: "web-2" },
                note: expect.stringMatching(
                    /waits for its address: no address of IPPool pool1 is reserved yet for ordinal 2/,
                ),
            },
        ]);
    });

    it("gets no event when its address comes within the first second", async () => {
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock });
        const allocation = agent.claim("web-2", { ...web2, pools: ["pool1"] });
        await eventually(() => cluster.api.watches(ipAllocations) === 2);
        await clock.advance(900);
        reserve("10.2.0.12");
        expect(await allocation).toEqual(["10.2.0.12"]);
        await clock.advance(10_000);
        await sleep(20);
        expect(agent.events.map(({ reason }) => reason)).toEqual(["PoolAddressNotRouted"]);
        expect(clock.pending).toBe(0);
    });

    it("of many that begin to wait at once asks once for all", async () => {
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock });
        await agent.pools.synced(AbortSignal.timeout(60_000));
        const stop = new AbortController();
        const allocations = [1, 2, 3, 4, 5].map((ordinal) =>
            agent.claim(`web-${ordinal}`, { statefulSet: { name: "web", ordinal }, pools: ["pool1"] }, stop.signal),
        );
        const settled = Promise.allSettled(allocations);
        await eventually(() => cluster.api.watches(ipAllocations) === 2);
        await sleep(50);
        await clock.advance(1_000);
        await eventually(() => agent.events.length === 5);
        expect(cluster.api.requests.filter((one) => one.includes("state=Allocated"))).toHaveLength(1);
        stop.abort();
        await settled;
    });

    it("that waits for long asks for the one allocation, not for all of the pool again", async () => {
        reserve("10.2.0.12", 2, podOn("far"));
        const agent = cluster.agent("a", { reservationWaitMs: 20 });
        for (let at = 0; at < 3; at += 1) {
            const allocation = agent.claim("web-2", { ...web2, pools: ["pool1"] });
            await expect(allocation).rejects.toMatchObject({ code: "HELD_ON_OTHER_NODE" });
        }
        expect(cluster.api.requests.filter((one) => one.includes("spec.state=Allocated"))).toHaveLength(1);
    });

    it("that fails again and again asks once, and only for allocations of its StatefulSet", async () => {
        const clock = new ManualClock();
        for (let at = 1; at < 200; at += 1) {
            const holder = {
                pod: { ...podOn("far"), uid: `u${at}` },
                nodeName: "far",
                containerId: "c",
                ifName: "eth0",
            };
            cluster.api.put(ipAllocations, newAllocation(parseIp(`10.2.0.${at}`), "pool1", holder) as never);
        }
        const agent = cluster.agent("a", { clock, reservationWaitMs: 0 });
        await agent.pools.own.synced(AbortSignal.timeout(60_000));
        let items = 0;
        const pages = cluster.api.pages.bind(cluster.api);
        cluster.api.pages = async function* (resource, o) {
            for await (const page of pages(resource, o)) {
                items += page.items.length;
                yield page;
            }
        };
        const fail = async (): Promise<void> => {
            const allocation = agent.claim("web-2", { ...web2, pools: ["pool1"] });
            await expect(asTimePasses(clock, allocation)).rejects.toMatchObject({ code: "NOT_RESERVED" });
        };
        for (let at = 0; at < 5; at += 1) await fail();
        const asked = (): readonly string[] => cluster.api.requests.filter((one) => one.includes("state=Allocated"));
        expect(asked()).toEqual(["list ipallocations spec.owner.name=web,spec.state=Allocated"]);
        expect(items).toBe(0);
        await clock.advance(60_000);
        await fail();
        expect(asked()).toHaveLength(2);
    });

    it("is informed that the earlier Pod of this Node has it still, and gets it when that is released", async () => {
        reserve("10.2.0.12", 2, podOn("a"));
        const agent = cluster.agent("a", { reservationWaitMs: 50 });
        await expect(agent.claim("web-2", { ...web2, pools: ["pool1"] })).rejects.toMatchObject({
            code: "NOT_RESERVED",
            message: expect.stringContaining("on this Node"),
        });
        await agent.release("web-2", "c-old");
        expect(await agent.claim("web-2", { ...web2, pools: ["pool1"] })).toEqual(["10.2.0.12"]);
    });

    it("takes it over as soon as the controller frees it from the old Node", async () => {
        reserve("10.2.0.12", 2, podOn("far"));
        const agent = cluster.agent("a");
        const allocation = agent.claim("web-2", { ...web2, pools: ["pool1"] });
        await eventually(() => cluster.api.requests.some((one) => one.includes("state=Reserved")));
        const [held] = cluster.allocations();
        const { pod: _, ...spec } = held?.spec as IpAllocation["spec"];
        cluster.api.put(ipAllocations, { metadata: held?.metadata, spec: { ...spec, state: "Reserved" } } as never);
        expect(await allocation).toEqual(["10.2.0.12"]);
        expect(states()).toEqual(["10.2.0.12 Allocated uid-web-2"]);
    });

    it("of a set with a fixed address takes no other", async () => {
        reserve("10.2.0.13");
        const agent = cluster.agent("a", { reservationWaitMs: 50 });
        const fixed = [parseIp("10.2.0.12")];
        await expect(agent.claim("web-2", { ...web2, pools: ["pool1"], fixed })).rejects.toMatchObject({
            code: "NOT_RESERVED",
            message: expect.stringContaining("address 10.2.0.12"),
        });
        reserve("10.2.0.12");
        expect(await agent.claim("web-2", { ...web2, pools: ["pool1"], fixed })).toEqual(["10.2.0.12"]);
    });
});
