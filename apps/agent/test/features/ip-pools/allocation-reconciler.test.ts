import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp } from "@antrea/ip";
import { pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { type ClaimedAddress } from "../../../src/features/ip-pools/index.ts";
import { away } from "./support/fake-api.ts";
import { identityOf, OneNode } from "./support/one-node.ts";

let node: OneNode;

function allocationFor(ip: string, pod: string): IpAllocation {
    return newAllocation(parseIp(ip), "pool1", {
        pod: identityOf(pod),
        nodeName: "a",
        containerId: `c-${pod}`,
        ifName: "eth0",
    });
}

function ovsAway(): AntreaError {
    return new AntreaError("DISCONNECTED", "environment", "no connection to OVS");
}

beforeEach(async () => {
    node = await OneNode.start();
});
afterEach(() => node[Symbol.asyncDispose]());

describe("an allocation with a record", () => {
    it("stays although its Pod object is gone: the container runs", async () => {
        const ip = await node.added("p1");
        await node.reconcile(3);
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
    });
});

describe("an allocation that is in step with its record", () => {
    it("costs no request, however often it is checked", async () => {
        node.addPod("p1");
        await node.added("p1");
        await node.reconcile();
        node.cluster.api.requests.length = 0;
        await node.reconcile(3);
        expect(node.cluster.api.requests).toEqual([]);
    });
});

describe("an allocation without a record", () => {
    it("is left alone when its kind of owner is not known, whoever asks for it to be freed", async () => {
        const ip = await node.added("p1");
        const [allocation] = node.cluster.allocations();
        const owner = { kind: "Lease", name: "x" } as never;
        node.cluster.api.put(ipAllocations, { ...allocation, spec: { ...allocation?.spec, owner } } as never);
        node.wiring.unwire("c-p1");
        await node.reconcile(3);
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
        expect(await node.agent.metric("antrea_agent_ipam_leak_candidates")).toBe(0);
        await node.agent.release("p1");
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
    });

    it("is freed when its Pod is gone, at the second check", async () => {
        await node.claimed("p1");
        await node.reconcile();
        expect(node.cluster.allocations()).toHaveLength(1);
        expect(await node.agent.metric("antrea_agent_ipam_leak_candidates")).toBe(1);
        await node.reconcile();
        expect(node.cluster.allocations()).toEqual([]);
        expect(await node.agent.metric("antrea_agent_ipam_leaks_found_total")).toBe(1);
        expect(await node.agent.metric("antrea_agent_ipam_reclaims_total")).toBe(1);
        await node.reconcile();
        expect(await node.agent.metric("antrea_agent_ipam_leak_candidates")).toBe(0);
    });

    it("is freed 10 s after it was first seen so, however often it is checked meanwhile", async () => {
        const clock = new ManualClock();
        node.agent = node.cluster.agent("b", { clock });
        await node.agent.claim("p9", { pools: ["pool1"] });
        for (let at = 0; at < 3; at += 1) {
            await node.reconcile();
            await clock.advance(3_000);
        }
        await node.reconcile();
        expect(node.cluster.allocations()).toHaveLength(1);
        await clock.advance(1_000);
        await node.reconcile();
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("is freed when its Pod has ended, or is another of that name", async () => {
        node.addPod("ended", undefined, "Succeeded");
        node.addPod("replaced", "another-uid");
        await node.claimed("ended");
        await node.claimed("replaced");
        await node.reconcile(2);
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("is kept for the next sandbox while its Pod lives, also when the watch is late", async () => {
        node.addPod("known");
        await node.claimed("known");
        await node.claimed("late");
        node.cluster.api.holdEvents();
        node.addPod("late");
        await node.reconcile(3);
        expect(node.cluster.allocations()).toHaveLength(2);
    });

    it("goes back to its StatefulSet", async () => {
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", index: 0 } as const;
        const pod = {
            namespace: "default",
            name: "web-0",
            uid: "old",
            nodeName: "a",
            containerID: "c",
            interface: "eth0",
        };
        node.put("10.2.0.9", { owner, pod });
        await node.reconcile(2);
        expect(node.cluster.allocations()).toMatchObject([{ spec: { state: "Reserved", owner } }]);
        expect(node.cluster.allocations()[0]?.spec.pod).toBeUndefined();
    });

    it("is left alone while an ADD of its Pod or container is under way", async () => {
        await node.claimed("p1");
        node.wiring.adding.add("uid-p1");
        await node.reconcile(3);
        node.wiring.adding.clear();
        node.wiring.adding.add("c-p1");
        await node.reconcile(3);
        expect(node.cluster.allocations()).toHaveLength(1);
    });

    it("is not freed when an ADD takes it over at the last moment", async () => {
        await node.claimed("p1");
        await node.reconcile();
        let adopted: Promise<unknown> | undefined;
        node.cluster.api.before = async (method, plural) => {
            if (method !== "find" || plural !== "pods" || adopted !== undefined) return;
            adopted = node.claimed("p1", "c2");
            await adopted;
        };
        await node.reconcile();
        await adopted;
        expect(node.cluster.allocations()).toMatchObject([{ spec: { pod: { containerID: "c2" } } }]);
    });

    it.each([
        ["its container is under way", () => node.wiring.adding.add("c-p1")],
        ["its Pod is under way", () => node.wiring.adding.add("uid-p1")],
        ["its container has ended", (address) => node.wiring.wire("p1", [address])],
    ] satisfies [string, (address: ClaimedAddress) => void][])(
        "is not freed when an ADD of %s at the last moment, which found the allocation as it had to be",
        async (_what, add) => {
            const [address] = await node.claimed("p1");
            if (address === undefined) throw new Error("no address");
            await node.reconcile();
            let asked = 0;
            node.cluster.api.before = (method, plural) => {
                if (method === "find" && plural === "pods" && (asked += 1) === 1) add(address);
                return Promise.resolve();
            };
            await node.reconcile();
            expect(asked).toBe(1);
            expect(node.cluster.holders()).toEqual([`${formatIp(address.ip)} p1`]);
        },
    );

    it("is freed when another of the same interface and family has the record, although the Pod lives", async () => {
        node.addPod("p1");
        const ip = await node.added("p1");
        const pod = { namespace: "default", name: "p1", uid: "uid-p1" };
        const holder = { pod, nodeName: "a", containerId: "c-lost", ifName: "eth0" };
        node.cluster.api.put(ipAllocations, newAllocation(parseIp("10.2.0.250"), "pool1", holder) as never);
        await node.reconcile(2);
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
    });

    it("is freed when the Pod has an address of its Node instead, although the Pod lives", async () => {
        node.addPod("p1");
        await node.claimed("p1");
        await node.reconcile(2);
        expect(node.cluster.allocations()).toHaveLength(1);
        node.wiring.wire("p1", [], "c2");
        await node.reconcile(2);
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("is freed 10 s after it was first seen so itself, whatever was seen of others before", async () => {
        const clock = new ManualClock();
        node.agent = node.cluster.agent("b", { clock });
        await node.agent.claim("p8", { pools: ["pool1"] });
        await node.reconcile();
        await clock.advance(9_000);
        await node.agent.claim("p9", { pools: ["pool1"] });
        await node.reconcile();
        expect(await node.agent.metric("antrea_agent_ipam_leak_candidates")).toBe(2);
        await clock.advance(1_000);
        await node.reconcile();
        expect(node.cluster.holders()).toEqual([expect.stringMatching(/ p9$/)]);
    });

    it("is not suspected while its Pod is known to live, and costs no request", async () => {
        node.addPod("p1");
        await node.claimed("p1");
        await node.reconcile();
        node.cluster.api.requests.length = 0;
        await node.reconcile(2);
        expect(await node.agent.metric("antrea_agent_ipam_leak_candidates")).toBe(0);
        expect(node.cluster.api.requests).toEqual([]);
    });

    it("is freed although an interface of another Pod has its address by mistake; that one has no traffic meanwhile", async () => {
        const [address] = await node.claimed("gone");
        node.addPod("p1");
        node.wiring.wire("p1", address === undefined ? [] : [address]);
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        await node.reconcile();
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("is kept beside another of its interface that has no record either, while the Pod lives", async () => {
        node.addPod("p1");
        await node.claimed("p1");
        node.put("10.2.0.250", {
            pod: { ...identityOf("p1"), nodeName: "a", containerID: "c-lost", interface: "eth0" },
        });
        await node.reconcile(3);
        expect(node.cluster.allocations()).toHaveLength(2);
    });

    it("is logged with its address, Pod and container when it is freed", async () => {
        const log = new MemoryLog();
        node.agent = node.cluster.agent("b", { confirmMs: 0, logger: log.logger });
        const [address] = await node.agent.claim("p9", { pools: ["pool1"] });
        await node.reconcile(2);
        expect(log.records.filter(({ msg }) => msg.includes("unused allocation"))).toEqual([
            expect.objectContaining({ level: "info", address, pod: "default/p9", container: "c-p9" }),
        ]);
    });

    it("is kept while the API server is away", async () => {
        await node.claimed("p1");
        await node.reconcile();
        node.cluster.api.fault = (_method, plural) => (plural === "pods" ? { refuse: away() } : undefined);
        await node.reconcile(2);
        expect(node.cluster.allocations()).toHaveLength(1);
        node.cluster.api.fault = () => undefined;
        await node.reconcile();
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("of another Node is not checked", async () => {
        node.put("10.2.0.9");
        await node.reconcile(3);
        expect(node.cluster.allocations()).toHaveLength(1);
    });
});

describe("a record without an allocation", () => {
    it("gets its allocation again after it was deleted by hand", async () => {
        const ip = await node.added("p1");
        node.cluster.api.remove(ipAllocations, ip);
        await node.reconcile();
        expect(node.cluster.allocations()).toMatchObject([
            { spec: { address: ip, pool: "pool1", owner: { kind: "Pod" }, pod: { containerID: "c-p1" } } },
        ]);
        expect(await node.agent.metric("antrea_agent_ipam_records_mended_total")).toBe(1);
    });

    it("of a StatefulSet's Pod gets it again for the ordinal", async () => {
        const reference = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "set", controller: true };
        const metadata = { namespace: "default", name: "web-2", uid: "uid-web-2", ownerReferences: [reference] };
        node.cluster.api.put(pods, { metadata, spec: { nodeName: "a" } } as never);
        const ip = await node.added("web-2");
        node.cluster.api.remove(ipAllocations, ip);
        await node.reconcile();
        expect(node.cluster.allocations()).toMatchObject([
            { spec: { owner: { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: 2 } } },
        ]);
    });

    it("finds the pool by the address when the record does not name it", async () => {
        const ip = parseIp("10.2.0.77");
        node.wiring.wire("p1", [{ ip, pool: "", prefixLength: 24, gateway: ip, vlan: 0 }]);
        const nowhere = parseIp("10.9.0.77");
        node.wiring.wire("p2", [{ ip: nowhere, pool: "", prefixLength: 24, gateway: ip, vlan: 0 }]);
        await node.reconcile();
        expect(node.cluster.holders()).toEqual(["10.2.0.77 p1"]);
        expect(node.wiring.cut.size).toBe(0);
    });

    it("is isolated when another has the address, once reported, and connected again when it is free", async () => {
        const ip = await node.added("p1");
        node.put(ip);
        await eventually(() => node.agent.pools.own.size === 0);
        await node.reconcile(2);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(node.agent.events.filter(({ reason }) => reason === "AddressHeldElsewhere")).toMatchObject([
            {
                regarding: { name: "p1" },
                note: expect.stringContaining("Pod default/other (UID uid-other) on Node far"),
            },
        ]);
        expect(await node.agent.metric("antrea_agent_ipam_addresses_held_elsewhere_total")).toBe(1);
        node.cluster.api.remove(ipAllocations, ip);
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
    });

    it.each([
        ["its container", "c-p1"],
        ["its Pod", "uid-p1"],
    ])(
        "makes a pass due at the end of an ADD of %s, for which the pass before left it alone",
        async (_what, adding) => {
            const ip = await node.added("p1");
            await node.added("p2");
            node.wiring.adding.add(adding);
            node.put(ip);
            await eventually(() => node.agent.pools.own.size === 1);
            await node.reconcile(2);
            expect([...node.wiring.cut]).toEqual([]);
            node.wiring.adding.clear();
            const due = ["c-p1", "uid-p1", "c-p2", "uid-p2", ""].map((one) => node.agent.pools.isDueAfterAdds(one));
            expect(due).toEqual([true, true, false, false, false]);
            await node.reconcile();
            expect([...node.wiring.cut]).toEqual(["c-p1"]);
            expect(node.agent.pools.isDueAfterAdds(adding)).toBe(false);
        },
    );

    it("makes no pass due at the end of an ADD when its allocations are right", async () => {
        await node.added("p1");
        node.wiring.adding.add("c-p1");
        await node.reconcile();
        expect(node.agent.pools.isDueAfterAdds("c-p1")).toBe(false);
    });

    it("is connected by a later pass when OVS was away once", async () => {
        const ip = await node.added("p1");
        node.put(ip);
        await eventually(() => node.agent.pools.own.size === 0);
        await node.reconcile();
        node.cluster.api.remove(ipAllocations, ip);
        node.wiring.before = () => Promise.reject(ovsAway());
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
        node.wiring.before = () => Promise.resolve();
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
    });

    it("is isolated by a later pass when OVS was away once, and reported once", async () => {
        const ip = await node.added("p1");
        node.put(ip);
        await eventually(() => node.agent.pools.own.size === 0);
        const isolated: string[] = [];
        node.wiring.before = (what) => {
            isolated.push(what);
            return isolated.length === 1 ? Promise.reject(ovsAway()) : Promise.resolve();
        };
        await node.reconcile(3);
        expect(isolated.slice(0, 2)).toEqual(["isolate", "isolate"]);
        expect(node.agent.events.filter(({ reason }) => reason === "AddressHeldElsewhere")).toHaveLength(1);
    });

    it("is isolated by the pass in which another claims the address before it", async () => {
        const ip = await node.added("p1");
        node.cluster.api.remove(ipAllocations, ip);
        let isOvertaken = false;
        node.cluster.api.before = (method, plural) => {
            if (method !== "create" || plural !== ipAllocations.plural || isOvertaken) return Promise.resolve();
            isOvertaken = true;
            return Promise.resolve(node.put(ip));
        };
        await node.reconcile();
        expect(isOvertaken).toBe(true);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(node.cluster.holders()).toEqual([`${ip} other`]);
        expect(node.agent.events.map(({ reason }) => reason)).toContain("AddressHeldElsewhere");
    });

    it("of an agent that starts again stays isolated, and is connected when its allocation is there", async () => {
        const ip = await node.added("p1");
        node.wiring.cut.add("c-p1");
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
        expect(node.cluster.holders()).toEqual([`${ip} p1`]);
    });

    it("of an agent that starts again stays isolated while its watch still reports an allocation that is another's by now", async () => {
        const ip = await node.added("p1");
        node.wiring.cut.add("c-p1");
        node.cluster.api.holdEvents();
        node.put(ip);
        await node.reconcile();
        expect(node.agent.pools.own.get(ip)?.spec.pod?.uid).toBe("uid-p1");
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });

    it("of an agent that starts again stays isolated while its watch is late and the IPPools are not known", async () => {
        const ip = "10.2.0.77";
        node.cluster.api.put(ipAllocations, allocationFor(ip, "p1") as never);
        node.cluster.api.before = (method, kind) =>
            method === "list" && kind === "ippools" ? Promise.reject(away()) : Promise.resolve();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        await node.agent.pools.own.synced(AbortSignal.timeout(60_000));
        node.wiring.wire("p1", [
            { ip: parseIp(ip), pool: "", prefixLength: 24, gateway: parseIp("10.2.0.1"), vlan: 0 },
        ]);
        node.wiring.cut.add("c-p1");
        node.cluster.api.holdEvents();
        node.put(ip);
        await node.reconcile();
        expect(node.agent.pools.own.get(ip)?.spec.pod?.uid).toBe("uid-p1");
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });

    it.each([
        ["lies in an IPPool that its record does not name", "10.2.0.77", ""],
        ["is of an IPPool that no longer exists", "10.9.0.77", "gone"],
    ])("stays isolated, when its address %s, until nobody else has that", async (_what, ip, pool) => {
        node.agent.pools.own.note({
            ...allocationFor(ip, "p1"),
            metadata: { name: ip, uid: "late", resourceVersion: "1" },
        });
        node.wiring.wire("p1", [{ ip: parseIp(ip), pool, prefixLength: 24, gateway: parseIp("10.2.0.1"), vlan: 0 }]);
        node.wiring.cut.add("c-p1");
        node.put(ip);
        await node.reconcile(2);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });

    it("isolated by this start, is connected again when its address is in no IPPool: nobody hands that out", async () => {
        const ip = parseIp("10.9.0.77");
        node.wiring.wire("p1", [{ ip, pool: "", prefixLength: 24, gateway: ip, vlan: 0 }]);
        node.wiring.cut.add("c-p1");
        node.wiring.undecided.add("c-p1");
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
        expect(node.cluster.allocations()).toEqual([]);
        await node.reconcile();
        expect(node.agent.events.map(({ reason, note }) => [reason, note.includes("no IPPool contains it")])).toEqual([
            ["PoolChanged", true],
        ]);
    });

    it("is isolated, when its address is no longer in any IPPool, and reserved or claimed for another", async () => {
        const ip = parseIp("10.9.0.77");
        node.wiring.wire("p1", [{ ip, pool: "", prefixLength: 24, gateway: ip, vlan: 0 }]);
        node.put("10.9.0.77");
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(node.agent.events.map(({ reason }) => reason)).toEqual(["AddressHeldElsewhere"]);
    });

    it("stays isolated, when its address may be in an IPPool, as long as these are not known", async () => {
        node.cluster.api.before = (method, kind) =>
            method === "list" && kind === "ippools" ? Promise.reject(away()) : Promise.resolve();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        const gateway = parseIp("10.2.0.1");
        node.wiring.wire("p1", [{ ip: parseIp("10.2.0.77"), pool: "", prefixLength: 24, gateway, vlan: 0 }]);
        node.wiring.cut.add("c-p1");
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });

    it("has it already when only the watch is late: nothing is written, and nothing counts as mended", async () => {
        node.cluster.api.holdEvents();
        node.cluster.api.put(ipAllocations, allocationFor("10.2.0.77", "p1") as never);
        const gateway = parseIp("10.2.0.1");
        node.wiring.wire("p1", [{ ip: parseIp("10.2.0.77"), pool: "pool1", prefixLength: 24, gateway, vlan: 0 }]);
        node.wiring.cut.add("c-p1");
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
        expect(node.agent.pools.own.get("10.2.0.77")?.spec.pod?.uid).toBe("uid-p1");
        expect(node.cluster.api.requests.filter((one) => /^(create|update)/.test(one))).toEqual([]);
        expect(await node.agent.metric("antrea_agent_ipam_records_mended_total")).toBe(0);
    });

    it("does not count as mended when another is faster, and is isolated by the next pass", async () => {
        const ip = await node.added("p1");
        node.cluster.api.remove(ipAllocations, ip);
        node.cluster.api.before = (method) => {
            if (method === "create" && node.cluster.allocations().length === 0) node.put(ip);
            return Promise.resolve();
        };
        await node.reconcile();
        expect(await node.agent.metric("antrea_agent_ipam_records_mended_total")).toBe(0);
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(node.cluster.holders()).toEqual([`${ip} other`]);
    });

    it.each([
        ["as its pool defines, gets it by that definition", "10.2.0.1", true],
        ["otherwise than its pool defines by now, gets it by none: it is to be compared", "10.2.0.2", false],
    ])("that was set up %s", async (_what, gateway, isSame) => {
        await node.agent.pools.synced(AbortSignal.timeout(60_000));
        const ip = parseIp("10.2.0.77");
        node.wiring.wire("p1", [{ ip, pool: "pool1", prefixLength: 16, gateway: parseIp(gateway), vlan: 0 }]);
        await node.reconcile(2);
        expect(node.cluster.allocations()).toMatchObject([{ spec: { address: "10.2.0.77", pool: "pool1" } }]);
        expect(node.cluster.allocations()[0]?.spec.poolGeneration).toBe(isSame ? 1 : undefined);
        expect(await node.agent.metric("antrea_agent_ipam_pool_changed_addresses")).toBe(isSame ? 0 : 1);
    });

    it("of a Node that is gone is isolated, which is logged once, and its allocation is not made again", async () => {
        const log = new MemoryLog();
        node.agent = node.cluster.agent("b", { confirmMs: 0, logger: log.logger });
        const gateway = parseIp("10.2.0.1");
        node.wiring.wire("p1", [{ ip: parseIp("10.2.0.77"), pool: "pool1", prefixLength: 16, gateway, vlan: 0 }]);
        await node.agent.pools.own.synced(AbortSignal.timeout(60_000));
        await node.agent.pools.checkOwnNode(node.wiring, AbortSignal.timeout(60_000));
        node.agent.nodes.remove("b");
        await node.reconcile(3);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(node.cluster.allocations()).toEqual([]);
        expect(log.records.filter(({ level }) => level === "error")).toEqual([
            expect.objectContaining({ pod: "default/p1", address: "10.2.0.77" }),
        ]);
    });

    it("takes what somebody reserved again for its ordinal", async () => {
        const ip = await node.added("web-0");
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", index: 0 } as const;
        node.put(ip, { owner, state: "Reserved" });
        const [allocation] = node.cluster.allocations();
        const { pod: _, ...spec } = allocation?.spec as IpAllocation["spec"];
        node.cluster.api.put(ipAllocations, { metadata: allocation?.metadata, spec } as never);
        await eventually(() => node.agent.pools.own.size === 0);
        await node.reconcile();
        expect(node.cluster.allocations()).toMatchObject([
            { spec: { owner, state: "Allocated", pod: { uid: "uid-web-0" } } },
        ]);
    });

    it("is left to its end when its container is gone", async () => {
        const ip = await node.added("p1");
        node.wiring.dead.add("c-p1");
        node.cluster.api.remove(ipAllocations, ip);
        await node.reconcile();
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("of an address of two families is judged for each", async () => {
        node.cluster.addPool("pool6", { cidr: "fd02::/120", gateway: "fd02::1" });
        const addresses = await node.agent.claimAddresses("p1", { pools: ["pool1", "pool6"] });
        node.wiring.wire("p1", addresses);
        const names = node.cluster.allocations().map(({ metadata }) => metadata?.name ?? "");
        node.cluster.api.remove(ipAllocations, names.find((name) => name.startsWith("fd02")) ?? "");
        await node.reconcile();
        expect(node.cluster.allocations().map(({ metadata }) => metadata?.name)).toEqual(names);
    });
});

describe("an allocation that names another container than the record", () => {
    it("is corrected: the record is right", async () => {
        const addresses = await node.claimed("p1");
        node.wiring.wire("p1", addresses, "c-real");
        await node.reconcile();
        expect(node.cluster.allocations()).toMatchObject([{ spec: { pod: { containerID: "c-real" } } }]);
    });

    it("is left alone while an ADD of the Pod is under way", async () => {
        const addresses = await node.claimed("p1");
        node.wiring.wire("p1", addresses, "c-old");
        node.wiring.adding.add("uid-p1");
        await node.reconcile();
        expect(node.cluster.allocations()).toMatchObject([{ spec: { pod: { containerID: "c-p1" } } }]);
    });
});
