import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, ipPools, poolsAnnotation } from "@antrea/crd";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { namespaces, pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { timeoutsBy } from "../../support/timeouts.ts";
import { away } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { asTimePasses } from "./support/test-agent.ts";

const { signal } = new AbortController();
const request = {
    podNamespace: "default",
    podName: "p1",
    podUid: "uid-p1",
    containerId: "c-p1",
    ifName: "eth0",
};

let cluster: FakeCluster;
let log: LogEntry[];

beforeEach(() => {
    cluster = new FakeCluster();
    log = [];
    cluster.addPool("four", { cidr: "10.2.0.0/24", gateway: "10.2.0.1", vlan: 7 });
    cluster.addPool("six", { start: "fd02::10", end: "fd02::1f", gateway: "fd02::1", vlan: 7 });
    cluster.api.put(namespaces, { metadata: { name: "default" } });
});
afterEach(() => cluster[Symbol.asyncDispose]());

function addPod(pools?: string): void {
    const annotations = pools === undefined ? {} : { [poolsAnnotation]: pools };
    const metadata = { namespace: "default", name: "p1", uid: "uid-p1", annotations };
    cluster.api.put(pods, { metadata, spec: { nodeName: "a" }, status: { phase: "Pending" } } as never);
}

describe("an ADD", () => {
    it("gets addresses of both families and their VLAN, when its Pod asks for pools, and the DEL frees them", async () => {
        addPod("four,six");
        const agent = cluster.agent("a", { bridged: true });
        const wanted = await agent.pools.requestOf(request, signal);
        const grant = await wanted?.claim(signal);
        expect(grant?.addresses.map(({ ip, pool }) => `${ip.family} ${pool}`)).toEqual(["4 four", "6 six"]);
        expect(grant?.vlan).toBe(7);
        const [first] = grant?.addresses ?? [];
        expect(first && agent.pools.poolOf(first.ip)).toBe("four");
        expect(agent.pools.poolOf(parseIp("10.2.0.250"))).toBeUndefined();
        await agent.pools.release(request);
        expect(cluster.allocations()).toEqual([]);
    });

    it("leaves no watch of a block behind a minute after the last, however many there were", async () => {
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock });
        await clock.advance(50_000);
        for (const pod of ["p1", "p2", "p3"]) await agent.claim(pod, { pools: ["four", "six"] });
        expect(await agent.metric("antrea_agent_ipam_block_views")).toBe(2);
        await clock.advance(60_000);
        await agent.pools.closeIdle();
        expect(await agent.metric("antrea_agent_ipam_block_views")).toBe(2);
        await clock.advance(1);
        await agent.pools.closeIdle();
        expect(await agent.metric("antrea_agent_ipam_block_views")).toBe(0);
    });

    it("has allocations, for its container and for the next ones of its Pod, that nobody else has", async () => {
        const agent = cluster.agent("a");
        const [address = ""] = await agent.claim("p1", { pools: ["four"] });
        const ip = parseIp(address);
        const has = (change: object, ips = [ip]): boolean => agent.pools.hasAllocations({ ...request, ...change }, ips);
        expect(has({})).toBe(true);
        expect(has({ podUid: "" })).toBe(true);
        expect(has({ containerId: "c-next" })).toBe(true);
        expect(has({ containerId: "c-next", podUid: "" })).toBe(false);
        expect(has({ containerId: "c-p2", podUid: "uid-p2" })).toBe(false);
        expect(has({ ifName: "eth1" })).toBe(false);
        expect(has({}, [ip, parseIp("fd02::10")])).toBe(false);
    });

    it("gets no address for half a minute that was freed, while there are others", async () => {
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock, random: () => 0 });
        const [first] = await agent.claim("p1", { pools: ["four"] });
        await agent.release("p1");
        expect(await agent.claim("p2", { pools: ["four"] })).not.toContain(first);
        await clock.advance(30_000);
        await agent.release("p2");
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(await agent.claim("p3", { pools: ["four"] })).toEqual([first]);
    });

    it("leaves no watch behind when the agent ends", async () => {
        {
            const agent = cluster.agent("a", { reservationWaitMs: 0 });
            await using pools = agent.pools;
            await pools.podCidrs.guard([parsePrefix("10.2.0.0/28")], AbortSignal.timeout(60_000));
            await agent.claim("p1", { pools: ["four"] });
            const statefulSet = { name: "web", ordinal: 0 };
            await expect(agent.claim("web-0", { pools: ["four"], statefulSet })).rejects.toMatchObject({
                code: "NOT_RESERVED",
            });
            // Of this Node, of a block, of the reservations of a pool, and of the allocations in the podCIDR.
            await eventually(() => cluster.api.watches(ipAllocations) === 4);
        }
        for (const kind of [ipAllocations, ipPools, pods]) expect(cluster.api.watches(kind)).toBe(0);
    });

    it("leaves no listener on the Nodes behind when the agent ends", async () => {
        const { pools, nodes } = cluster.agent("a");
        expect(nodes.listeners).toBeGreaterThan(0);
        await pools.close();
        expect(nodes.listeners).toBe(0);
    });

    it("asks for nothing of a Pod that names no pool", async () => {
        addPod();
        expect(await cluster.agent("a").pools.requestOf(request, signal)).toBeUndefined();
    });

    it("that fails for a reason nobody thought of is counted and reported too", async () => {
        const agent = cluster.agent("a");
        cluster.api.before = (method, plural) =>
            method === "find" && plural === "pods" ? Promise.reject(new RangeError("made up")) : Promise.resolve();
        await expect(agent.pools.requestOf(request, signal)).rejects.toThrow("made up");
        expect(await agent.metric('antrea_agent_ipam_failures_total{reason="INTERNAL"}')).toBe(1);
        expect(agent.events).toMatchObject([
            { reason: "IPAllocationFailed", note: expect.stringContaining("made up") },
        ]);
    });

    it("of an annotation that breaks the rules fails with an event and a count, before anything is claimed", async () => {
        addPod("four,four");
        const agent = cluster.agent("a");
        await expect(agent.pools.requestOf(request, signal)).rejects.toMatchObject({ code: "BAD_ANNOTATION" });
        expect(agent.events).toMatchObject([
            { type: "Warning", reason: "IPAllocationFailed", regarding: { name: "p1" } },
        ]);
        expect(await agent.metric('antrea_agent_ipam_failures_total{reason="BAD_ANNOTATION"}')).toBe(1);
    });
});

describe("a DEL", () => {
    it("is answered after a second although the API server is away; its allocations go with the reconcile", async () => {
        addPod("four");
        const clock = new ManualClock();
        using _timeouts = timeoutsBy(clock);
        const agent = cluster.agent("a", { clock, logger: listLogger(log) });
        await (await agent.pools.requestOf(request, signal))?.claim(signal);
        cluster.api.fault = () => ({ refuse: away() });
        const began = clock.monotonic();
        await asTimePasses(clock, agent.pools.release(request));
        expect(clock.monotonic() - began).toBe(1_000);
        expect(cluster.allocations()).toHaveLength(1);
        expect(log.find(({ message }) => message.includes("left to the next reconcile"))).toMatchObject({
            level: "warn",
            fields: { container: "c-p1" },
        });
        cluster.api.fault = () => undefined;
        await asTimePasses(clock, agent.pools.allocator.settle(signal));
        expect(cluster.allocations()).toEqual([]);
    });
});

describe("the podCIDRs of a Node", () => {
    function claimFor(ip: string): void {
        const pod = { namespace: "default", name: "far", uid: "uid-far" };
        const holder = { pod, nodeName: "far", containerId: "c-far", ifName: "eth0" };
        cluster.api.put(ipAllocations, newAllocation(parseIp(ip), "four", holder));
    }

    it("know which of their addresses are claimed once they are guarded, and who listens hears of each change", async () => {
        claimFor("10.2.0.20");
        const agent = cluster.agent("a");
        expect(agent.pools.podCidrs.isClaimed(parseIp("10.2.0.20"))).toBe(false);
        let changes = 0;
        agent.pools.podCidrs.onChange(() => (changes += 1));
        await agent.pools.podCidrs.guard([parsePrefix("10.2.0.0/27")], AbortSignal.timeout(60_000));
        expect(["10.2.0.20", "10.2.0.21"].map((ip) => agent.pools.podCidrs.isClaimed(parseIp(ip)))).toEqual([
            true,
            false,
        ]);
        const before = changes;
        claimFor("10.2.0.21");
        claimFor("10.2.0.99");
        await eventually(() => agent.pools.podCidrs.isClaimed(parseIp("10.2.0.21")));
        expect(changes).toBe(before + 1);
    });
});

describe("watches of blocks", () => {
    it("end when no allocation was made for more than a minute, and come back with the next", async () => {
        const clock = new ManualClock();
        const agent = cluster.agent("a", { clock });
        const blocks = (): Promise<number> => agent.metric("antrea_agent_ipam_block_views");
        const [ip] = await agent.claimAddresses("p1", { pools: ["four"] });
        expect(ip && formatIp(ip.ip).startsWith("10.2.0.")).toBe(true);
        expect(await blocks()).toBe(1);
        await clock.advance(60_000);
        await agent.pools.closeIdle();
        expect(await blocks()).toBe(1);
        await clock.advance(1);
        await agent.pools.closeIdle();
        expect(await blocks()).toBe(0);
        await agent.claimAddresses("p2", { pools: ["four"] });
        expect(await blocks()).toBe(1);
    });
});
