import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { KeyedLock } from "@antrea/async";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { parseIp, parsePrefix } from "@antrea/ip";
import { pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { SubnetHolders, type SubnetWired, type SubnetWiring } from "../../../src/features/ip-pools/index.ts";
import { subnetAllocationsWithoutPools } from "../../../src/features/ip-pools/without-pools.ts";
import { timeoutsBy } from "../../support/timeouts.ts";
import { away } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { TestNodes, type TestPoolAgent } from "./support/test-agent.ts";

const inUse = "10.10.1.20";
const podCidrs = [parsePrefix("10.10.1.0/24"), parsePrefix("fd10:10:0:1::/64")];

/** Interfaces with addresses of the Node's podCIDRs. */
class FakeSubnetWiring implements SubnetWiring {
    readonly wired = new Map<string, SubnetWired>();
    readonly isolated = new Set<string>();
    readonly dead = new Set<string>();
    readonly done: string[] = [];
    /** Runs before an interface is isolated or reconnected. */
    before: (what: "isolate" | "reconnect") => Promise<void> = () => Promise.resolve();
    readonly #locks = new KeyedLock();

    wire(pod: string, ...addresses: readonly string[]): void {
        this.wired.set(`c-${pod}`, {
            containerId: `c-${pod}`,
            ifName: "eth0",
            podNamespace: "default",
            podName: pod,
            podUid: `uid-${pod}`,
            addresses: addresses.map(parseIp),
        });
    }

    interfaces(): readonly SubnetWired[] {
        return [...this.wired.values()];
    }

    linkExists({ containerId }: SubnetWired): Promise<boolean> {
        return Promise.resolve(!this.dead.has(containerId));
    }

    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        return this.#locks.run(containerId, work, signal);
    }

    isIsolated({ containerId }: SubnetWired): boolean {
        return this.isolated.has(containerId);
    }

    // As the Pod network does it: what is to be isolated is so by its record at once, also if OVS is away.
    async isolate({ containerId }: SubnetWired): Promise<void> {
        this.isolated.add(containerId);
        await this.before("isolate");
        this.done.push(`isolate ${containerId}`);
    }

    async reconnect({ containerId }: SubnetWired): Promise<void> {
        await this.before("reconnect");
        this.isolated.delete(containerId);
        this.done.push(`reconnect ${containerId}`);
    }
}

let cluster: FakeCluster;
let wiring: FakeSubnetWiring;
let agent: TestPoolAgent;
let nodes: TestNodes;
let notified: number;

async function start(): Promise<TestPoolAgent> {
    const started = cluster.agent("a", { confirmMs: 0, nodes });
    started.pools.podCidrs.onChange(() => void (notified += 1));
    await started.pools.podCidrs.guard(podCidrs, AbortSignal.timeout(60_000));
    return started;
}

async function check(times = 1): Promise<void> {
    // Events of what was done before come first.
    await new Promise((resolve) => setTimeout(resolve, 15));
    for (let at = 0; at < times; at += 1) await agent.pools.podCidrs.check(wiring, AbortSignal.timeout(60_000));
}

/** A check that does not come to its end, and so is repeated soon. */
async function failedCheck(): Promise<void> {
    await expect(check()).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
}

function claim(ip: string, change: Partial<IpAllocation["spec"]> = {}, pod = "other"): void {
    const identity = { namespace: "default", name: pod, uid: `uid-${pod}` };
    const holder = { pod: identity, nodeName: "far", containerId: `c-${pod}`, ifName: "eth0" };
    const made = newAllocation(parseIp(ip), "wide", holder);
    cluster.api.put(ipAllocations, { ...made, spec: { ...made.spec, ...change } } as never);
}

function reserve(ip: string): void {
    const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: 0 } as const;
    claim(ip, { state: "Reserved", owner, pod: undefined });
}

const isolated = (): Promise<number> => agent.metric("antrea_agent_ipam_isolated_interfaces");
const heldElsewhere = (): Promise<number> => agent.metric("antrea_agent_ipam_addresses_held_elsewhere_total");

beforeEach(async () => {
    notified = 0;
    nodes = new TestNodes([]);
    nodes.put("a", { podCIDRs: ["10.10.1.0/24", "fd10:10:0:1::/64"] });
    cluster = new FakeCluster();
    cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
    wiring = new FakeSubnetWiring();
    wiring.wire("web", inUse, "fd10:10:0:1::20");
    wiring.wire("db", "10.10.1.21");
    agent = await start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("an allocation of an address that a Pod has from the Node's subnet", () => {
    it("isolates that Pod, and no other, and reports on it which pool and which Pod have the address", async () => {
        claim(inUse);
        await check(3);
        expect([...wiring.isolated]).toEqual(["c-web"]);
        expect(agent.events).toEqual([
            {
                regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web", uid: "uid-web" },
                type: "Warning",
                reason: "AddressHeldElsewhere",
                action: "Isolate",
                note: "address 10.10.1.20 of this Pod, of the podCIDR of its Node, is allocated from IPPool wide to Pod default/other (UID uid-other) on Node far; the Pod is isolated so that the address has one user. Delete the Pod to give it another address, and replace IPPool wide by one without addresses of podCIDRs",
            },
        ]);
        expect([await isolated(), await heldElsewhere()]).toEqual([1, 1]);
    });

    it("isolates that Pod although the container of another is worked on, which is waited for for 3 s", async () => {
        claim(inUse);
        claim("10.10.1.21");
        await new Promise((resolve) => setTimeout(resolve, 15));
        const free = Promise.withResolvers<void>();
        void wiring.exclusively("c-web", () => free.promise);
        const clock = new ManualClock();
        using _ = timeoutsBy(clock);
        const outcome = agent.pools.podCidrs
            .check(wiring, new AbortController().signal)
            .catch((error: unknown) => error);
        let isOver = false;
        void outcome.then(() => (isOver = true));
        await clock.advance(2_999);
        expect([isOver, [...wiring.isolated]]).toEqual([false, []]);
        await clock.advance(1);
        await eventually(() => isOver);
        expect(await outcome).toMatchObject({ fault: "aborted" });
        expect([...wiring.isolated]).toEqual(["c-db"]);
        free.resolve();
    });

    it("is found when it comes, and is not waited for by a minute", async () => {
        claim(inUse);
        await eventually(() => notified === 1);
        claim("10.10.2.20");
        await check();
        expect(notified).toBe(1);
        cluster.api.remove(ipAllocations, inUse);
        await eventually(() => notified === 2);
    });

    it("is found also in a pool that is made later", async () => {
        cluster.addPool("later", { cidr: "fd10:10:0:1::/64", gateway: "fd10:10:0:1::1" });
        claim("fd10:10:0:1::20", { pool: "later" });
        await eventually(() => notified === 1);
        await check();
        expect([...wiring.isolated]).toEqual(["c-web"]);
        expect(agent.pools.podCidrs.isClaimed(parseIp("fd10:10:0:1::20"))).toBe(true);
    });

    it("of an address that nobody here has isolates nobody, and is not handed out", async () => {
        claim("10.10.1.22");
        await check();
        expect([wiring.isolated.size, agent.events.length]).toEqual([0, 0]);
        expect(agent.pools.podCidrs.isClaimed(parseIp("10.10.1.22"))).toBe(true);
    });

    it("that is gone again, of which the watch reports late, isolates nobody", async () => {
        claim(inUse);
        await eventually(() => notified === 1);
        cluster.api.holdEvents();
        cluster.api.remove(ipAllocations, inUse);
        await check();
        expect([wiring.isolated.size, agent.events.length]).toEqual([0, 0]);
    });

    it.each([
        ["its own container", { containerID: "c-web", uid: "another" }],
        ["itself, in another sandbox", { containerID: "another", uid: "uid-web" }],
    ])("for %s isolates nobody", async (_, change) => {
        const pod = { namespace: "default", name: "web", nodeName: "a", interface: "eth0", ...change };
        claim(inUse, { pod });
        await check();
        expect([wiring.isolated.size, agent.events.length]).toEqual([0, 0]);
    });

    it("is checked again when the API server does not answer", async () => {
        claim(inUse);
        await eventually(() => notified === 1);
        cluster.api.fault = (method) => (method === "find" ? { refuse: away() } : undefined);
        await failedCheck();
        expect([wiring.isolated.size, agent.events.length]).toEqual([0, 0]);
        cluster.api.fault = () => undefined;
        await check();
        expect([...wiring.isolated]).toEqual(["c-web"]);
    });

    it("is reported once when the isolation was complete, and isolates again what was not", async () => {
        claim(inUse);
        wiring.before = () => Promise.reject(away());
        await failedCheck();
        expect([agent.events.length, await heldElsewhere()]).toEqual([0, 0]);
        wiring.before = () => Promise.resolve();
        await check();
        wiring.before = () => Promise.reject(away());
        await failedCheck();
        wiring.before = () => Promise.resolve();
        await check();
        expect(wiring.done).toEqual(["isolate c-web", "isolate c-web"]);
        expect([agent.events.length, await heldElsewhere()]).toEqual([1, 1]);
    });

    it("keeps no check of other Pods from its end when one cannot be isolated", async () => {
        claim(inUse);
        claim("10.10.1.21");
        let failed = 0;
        wiring.before = () => (failed++ === 0 ? Promise.reject(away()) : Promise.resolve());
        await failedCheck();
        expect(wiring.done).toEqual(["isolate c-db"]);
    });

    it("leaves an interface alone that ended while its container was worked on, or whose namespace is gone", async () => {
        claim(inUse);
        wiring.dead.add("c-web");
        await check();
        wiring.dead.clear();
        const working = Promise.withResolvers<void>();
        const held = wiring.exclusively("c-web", () => working.promise);
        const checking = check();
        wiring.wired.delete("c-web");
        working.resolve();
        await Promise.all([held, checking]);
        expect([wiring.done, agent.events]).toEqual([[], []]);
    });
});

describe("what is only reserved", () => {
    it("is reported, and the Pod keeps its traffic until a Pod has the allocation", async () => {
        reserve(inUse);
        await check(2);
        expect(wiring.isolated.size).toBe(0);
        expect(agent.events).toMatchObject([
            {
                reason: "AddressHeldElsewhere",
                note: "address 10.10.1.20 of this Pod, of the podCIDR of its Node, is held in IPPool wide by ordinal 0 of StatefulSet default/web, for which it is reserved; the Pod keeps its traffic until the address is allocated to a Pod. Delete the Pod to give it another address, and replace IPPool wide by one without addresses of podCIDRs",
            },
        ]);
        claim(inUse, {}, "web-0");
        await check(2);
        expect([...wiring.isolated]).toEqual(["c-web"]);
        expect(agent.events).toHaveLength(2);
        reserve(inUse);
        await check();
        expect(wiring.isolated.size).toBe(0);
    });
});

describe("an isolated Pod of the Node's subnet", () => {
    it("is connected again when the allocation goes, and isolated and reported again when another comes", async () => {
        claim(inUse);
        await check();
        cluster.api.remove(ipAllocations, inUse);
        await check(2);
        claim(inUse);
        await check(2);
        expect(wiring.done).toEqual(["isolate c-web", "reconnect c-web", "isolate c-web", "isolate c-web"]);
        expect(agent.events).toHaveLength(2);
        expect(await isolated()).toBe(1);
    });

    it("stays so while any of its addresses is claimed", async () => {
        cluster.addPool("six", { cidr: "fd10:10:0:1::/64", gateway: "fd10:10:0:1::1" });
        claim(inUse);
        claim("fd10:10:0:1::20", { pool: "six" });
        await check();
        cluster.api.remove(ipAllocations, inUse);
        await check();
        expect([...wiring.isolated]).toEqual(["c-web"]);
        expect(agent.events).toHaveLength(2);
    });

    it("is tried to be connected until it is", async () => {
        claim(inUse);
        await check();
        cluster.api.remove(ipAllocations, inUse);
        wiring.before = () => Promise.reject(away());
        await failedCheck();
        expect([...wiring.isolated]).toEqual(["c-web"]);
        wiring.before = () => Promise.resolve();
        await check();
        expect(wiring.isolated.size).toBe(0);
    });

    it("stays so when the agent starts again, until the API server reports that nobody else has the address", async () => {
        claim(inUse);
        await check();
        await agent.kill();
        cluster.api.fault = () => ({ refuse: away() });
        agent = cluster.agent("a");
        await agent.pools.podCidrs.guard(podCidrs, AbortSignal.timeout(50)).catch(() => undefined);
        await failedCheck();
        expect([...wiring.isolated]).toEqual(["c-web"]);
        // Its watch knows nothing yet; a live read does.
        cluster.api.fault = (method) => (method === "find" ? undefined : { refuse: away() });
        await check(2);
        expect([...wiring.isolated]).toEqual(["c-web"]);
        expect(agent.events).toHaveLength(1);
        cluster.api.remove(ipAllocations, inUse);
        await check();
        expect(wiring.isolated.size).toBe(0);
    });
});

describe("a Pod with an address of a podCIDR that its Node does not have any more", () => {
    const earlier = ["10.10.7.20", "fd10:10:0:7::20"];
    beforeEach(() => wiring.wire("kept", ...earlier));

    it("keeps its traffic while no other Node has that podCIDR", async () => {
        nodes.put("b", { podCIDRs: ["10.10.8.0/24"] });
        await check(2);
        expect([wiring.done, agent.events]).toEqual([[], []]);
    });

    it("is isolated when another Node has it, and reported with that Node, once; no other Pod is", async () => {
        nodes.put("b", { podCIDRs: ["10.10.7.0/24"] });
        await check(3);
        expect([...wiring.isolated]).toEqual(["c-kept"]);
        expect(agent.events).toEqual([
            {
                regarding: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "kept", uid: "uid-kept" },
                type: "Warning",
                reason: "AddressHeldElsewhere",
                action: "Isolate",
                note: "address 10.10.7.20 of this Pod is of an earlier podCIDR of its Node, and Node b has it now; the Pod is isolated so that the address has one user. Delete the Pod to give it another address",
            },
        ]);
        expect([await isolated(), await heldElsewhere()]).toEqual([1, 1]);
    });

    it("is isolated although its Node still sets up Pods of it: the Node was deleted, or has no podCIDR", async () => {
        nodes.remove("a");
        nodes.put("b", { podCIDRs: ["10.10.1.0/24"] });
        await check();
        expect([...wiring.isolated]).toEqual(["c-web", "c-db"]);
        nodes.put("a", {});
        await check();
        expect([...wiring.isolated]).toEqual(["c-web", "c-db"]);
    });

    it("keeps its traffic where both Nodes have the podCIDR", async () => {
        nodes.put("b", { podCIDRs: ["10.10.0.0/21", "fd10:10::/32"] });
        nodes.put("a", { podCIDRs: ["10.10.7.0/24", "fd10:10:0:7::/64"] });
        wiring.wired.delete("c-web");
        wiring.wired.delete("c-db");
        await check();
        expect([wiring.done, agent.events]).toEqual([[], []]);
    });

    it("is isolated by the address of either family", async () => {
        nodes.put("b", { podCIDRs: ["fd10:10:0:7::/64"] });
        await check();
        expect([...wiring.isolated]).toEqual(["c-kept"]);
        expect(agent.events).toMatchObject([{ note: expect.stringContaining("address fd10:10:0:7::20 ") as unknown }]);
    });

    it("keeps its traffic when the address is claimed for itself", async () => {
        claim(earlier[0] ?? "", {}, "kept");
        nodes.put("b", { podCIDRs: ["10.10.7.0/24"] });
        await check();
        expect([wiring.done, agent.events]).toEqual([[], []]);
    });

    it("is connected again when no other Node has it any more, and reported again when one has", async () => {
        nodes.put("b", { podCIDRs: ["10.10.7.0/24"] });
        await check();
        nodes.remove("b");
        await check();
        nodes.put("c", { podCIDRs: ["10.10.7.0/24"] });
        await check();
        expect(wiring.done).toEqual(["isolate c-kept", "reconnect c-kept", "isolate c-kept"]);
        expect(agent.events.map(({ note }) => /Node \w+ has it/.exec(note ?? "")?.[0])).toEqual([
            "Node b has it",
            "Node c has it",
        ]);
    });

    it("stays isolated while either another Node or another's allocation has it", async () => {
        nodes.put("a", { podCIDRs: ["10.10.9.0/24"] });
        nodes.put("b", { podCIDRs: ["10.10.1.0/24"] });
        claim(inUse);
        await check();
        nodes.remove("b");
        await check();
        expect([...wiring.isolated]).toEqual(["c-web"]);
        nodes.put("b", { podCIDRs: ["10.10.1.0/24"] });
        cluster.api.remove(ipAllocations, inUse);
        await check();
        expect(wiring.isolated.has("c-web")).toBe(true);
        nodes.remove("b");
        await check();
        expect(wiring.isolated.size).toBe(0);
    });

    it("stays isolated after a start until the Nodes are known", async () => {
        wiring.isolated.add("c-kept");
        nodes.hasSynced = false;
        nodes.put("b", { podCIDRs: ["10.10.7.0/24"] });
        await check();
        expect([...wiring.isolated]).toEqual(["c-kept"]);
        nodes.remove("b");
        nodes.hasSynced = true;
        await check();
        expect(wiring.isolated.size).toBe(0);
    });

    it("is isolated and connected again also while IPPools are off, unless it was isolated before the start", async () => {
        const holders = new SubnetHolders({ nodes }, { nodeName: "a" });
        const off = subnetAllocationsWithoutPools({ holders, wiring, logger: new MemoryLog().logger });
        wiring.isolated.add("c-db");
        nodes.put("b", { podCIDRs: ["10.10.7.0/24"] });
        await off.check(AbortSignal.timeout(1_000));
        expect([...wiring.isolated]).toEqual(["c-db", "c-kept"]);
        nodes.remove("b");
        await off.check(AbortSignal.timeout(1_000));
        expect([...wiring.isolated]).toEqual(["c-db"]);
        // Isolated twice over: what it was before this start stays.
        nodes.put("a", { podCIDRs: ["10.10.9.0/24"] });
        nodes.put("b", { podCIDRs: ["10.10.1.0/24"] });
        await off.check(AbortSignal.timeout(1_000));
        nodes.remove("b");
        await off.check(AbortSignal.timeout(1_000));
        expect([...wiring.isolated]).toEqual(["c-db"]);
        expect(cluster.api.requests.filter((text) => text.startsWith("find"))).toEqual([]);
    });
});

describe("an interface whose Pod was not known when its record was rebuilt", () => {
    const reportedEvents = (): unknown[] =>
        agent.events.map(({ reason, regarding }) => [reason, regarding.namespace, regarding.name]);

    it.each<[string, () => void, number]>([
        ["an allocation", () => claim(inUse), 1],
        ["a reservation", () => reserve(inUse), 0],
        ["another Node", () => (nodes.put("a", {}), nodes.put("b", { podCIDRs: ["10.10.1.0/25"] })), 2],
    ])("has the event of %s on its Pod, when that is known, once; the metric does not wait", async (_, meet, count) => {
        const db = wiring.wired.get("c-db");
        wiring.wired.delete("c-db");
        const [[key, one] = []] = [...wiring.wired];
        if (key === undefined || one === undefined || db === undefined) throw new Error("nothing is wired");
        wiring.wired.set(key, { ...one, podNamespace: "", podName: "" });
        if (count === 2) wiring.wired.set("c-db", { ...db, podNamespace: "", podName: "" });
        meet();
        await check(3);
        expect(reportedEvents()).toEqual([]);
        expect(await heldElsewhere()).toBe(count);
        const metadata = { namespace: "default", name: "web", uid: "uid-web" };
        cluster.api.put(pods, { metadata, spec: { nodeName: "a" }, status: { phase: "Running" } } as never);
        await check(3);
        expect(reportedEvents()).toEqual([["AddressHeldElsewhere", "default", "web"]]);
        expect(await heldElsewhere()).toBe(count);
    });
});

describe("what was reported of an interface", () => {
    it("is reported no more after a check of it failed, also of an interface of the same container", async () => {
        wiring.wired.set("net1", {
            containerId: "c-web",
            ifName: "eth0-2",
            podNamespace: "default",
            podName: "web",
            podUid: "uid-web",
            addresses: [parseIp("10.10.1.30")],
        });
        claim(inUse);
        claim("10.10.1.30");
        await check();
        expect(agent.events).toHaveLength(2);
        cluster.api.fault = (method, _plural, name) =>
            method === "find" && name === inUse ? { refuse: away() } : undefined;
        await failedCheck();
        cluster.api.fault = () => undefined;
        await check(2);
        expect(agent.events).toHaveLength(2);
    });

    it("is reported again when it was otherwise meanwhile, although a check of another interface failed then", async () => {
        claim(inUse);
        claim("10.10.1.21");
        await check();
        cluster.api.fault = (method, _plural, name) =>
            method === "find" && name === "10.10.1.21" ? { refuse: away() } : undefined;
        reserve(inUse);
        await failedCheck();
        cluster.api.fault = () => undefined;
        claim(inUse);
        await check(2);
        const reportedActions = agent.events.map(({ regarding, action }) => `${regarding.name} ${action}`);
        expect(reportedActions).toEqual(["web Isolate", "db Isolate", "web CompareAllocations", "web Isolate"]);
    });

    it("is in the log, with the Pod, the address, the pool and who has it", async () => {
        await agent.kill();
        const log = new MemoryLog();
        agent = cluster.agent("a", { logger: log.logger });
        await agent.pools.podCidrs.guard(podCidrs, AbortSignal.timeout(60_000));
        claim(inUse);
        reserve("10.10.1.21");
        await check();
        cluster.api.remove(ipAllocations, inUse);
        await check();
        const fields = { pool: "wide", pod: "default/web", address: inUse };
        expect(log.records.filter(({ msg }) => msg.includes("address"))).toEqual([
            expect.objectContaining({
                level: "error",
                ...fields,
                holder: expect.stringContaining("Pod default/other"),
            }),
            expect.objectContaining({
                level: "warn",
                ...fields,
                pod: "default/db",
                address: "10.10.1.21",
                holder: expect.stringContaining("ordinal 0"),
            }),
            expect.objectContaining({ level: "info", pod: "default/web" }),
        ]);
        cluster.api.fault = (method) => (method === "find" ? { refuse: away() } : undefined);
        await failedCheck();
        expect(log.records.at(-1)).toMatchObject({ level: "warn", pod: "default/db", reason: "no connection" });
    });

    it("ends with the signal: nobody is isolated after that", async () => {
        claim(inUse);
        await eventually(() => notified === 1);
        await agent.pools.podCidrs.check(wiring, AbortSignal.abort());
        expect([wiring.isolated.size, agent.events.length]).toEqual([0, 0]);
    });
});
