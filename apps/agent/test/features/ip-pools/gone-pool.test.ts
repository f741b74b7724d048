import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { away } from "./support/fake-api.ts";
import { identityOf, OneNode } from "./support/one-node.ts";

const text = "10.2.0.77";
const address = { ip: parseIp(text), pool: "pool1", prefixLength: 16, gateway: parseIp("10.2.0.1"), vlan: 0 };
const whole = { cidr: "10.2.0.0/24", gateway: "10.2.0.1" };

let node: OneNode;

beforeEach(async () => {
    node = await OneNode.start();
    await node.agent.pools.synced(AbortSignal.timeout(60_000));
});
afterEach(() => node[Symbol.asyncDispose]());

/** Pool and allocation are deleted by force. */
async function deletePool(): Promise<void> {
    node.cluster.api.remove(ipPools, "pool1");
    for (const { metadata } of node.cluster.allocations()) node.cluster.api.remove(ipAllocations, metadata?.name ?? "");
    await eventually(() => node.agent.pools.cache.isMissing("pool1"));
    await eventually(() => node.agent.pools.own.size === 0);
}

async function addPool(range: Parameters<OneNode["cluster"]["addPool"]>[1]): Promise<void> {
    let hasRanges = false;
    using _ = node.agent.pools.cache.onRanges(() => (hasRanges = true));
    node.cluster.addPool("pool1", range);
    await eventually(() => hasRanges);
}

const state = (): readonly unknown[] => [[...node.wiring.cut], node.cluster.holders()];
const reportedEvents = (): readonly string[] => node.agent.events.map(({ reason, action }) => `${reason} ${action}`);

describe("an address in use that names an IPPool which does not have it any more, without its allocation", () => {
    it("is claimed again of the IPPool that it names, so that nobody gets it when that comes back", async () => {
        node.wiring.wire("p1", [address]);
        await node.reconcile();
        await deletePool();
        await node.reconcile(3);
        expect([state(), reportedEvents()]).toEqual([[[], [`${text} p1`]], ["PoolChanged ComparePool"]]);
        expect(node.cluster.allocations()[0]?.spec.pool).toBe("pool1");
        expect(await node.agent.metric("antrea_agent_ipam_pool_changed_addresses")).toBe(1);
    });

    it("is given to no new Pod of any Node when the IPPool is made again", async () => {
        const ips = Array.from({ length: 24 }, (_, at) => `10.2.0.${10 + at}`);
        for (const [at, ip] of ips.entries()) node.wiring.wire(`p${at}`, [{ ...address, ip: parseIp(ip) }]);
        await node.reconcile();
        const other = node.cluster.agent("b", { confirmMs: 0 });
        await other.pools.synced(AbortSignal.timeout(60_000));
        await deletePool();
        await node.reconcile(2);
        await addPool({ start: "10.2.0.10", end: "10.2.0.40", gateway: "10.2.0.1" });
        await eventually(() => other.pools.cache.known("pool1") !== undefined);
        const given = await Promise.all(["q1", "q2", "q3", "q4"].map((pod) => other.claim(pod, { pools: ["pool1"] })));
        await node.reconcile(2);
        expect([given.flat().filter((ip) => ips.includes(ip)), [...node.wiring.cut]]).toEqual([[], []]);
    });

    it("is isolated when the podCIDR of another Node has it, and connected when none has", async () => {
        node.wiring.wire("p1", [address]);
        node.agent.nodes.put("b", { podCIDRs: ["10.2.0.0/24"] });
        await deletePool();
        await node.reconcile(3);
        expect([state(), reportedEvents()]).toEqual([[["c-p1"], []], ["AddressHeldElsewhere Isolate"]]);
        expect(node.agent.events[0]?.note).toContain(
            `address ${text} of this Pod is no longer in any IPPool, and is in the podCIDR of Node b`,
        );
        node.agent.nodes.put("b", { podCIDRs: ["10.8.0.0/24"] });
        await node.reconcile(2);
        expect(state()).toEqual([[], [`${text} p1`]]);
    });

    it("has its allocation when the IPPool is made again with the address", async () => {
        node.wiring.wire("p1", [address]);
        await node.reconcile();
        await deletePool();
        await node.reconcile();
        await addPool(whole);
        await node.reconcile(2);
        expect(state()).toEqual([[], [`${text} p1`]]);
        expect(node.cluster.allocations()[0]?.spec.pool).toBe("pool1");
        expect(await node.agent.metric("antrea_agent_ipam_pool_changed_addresses")).toBe(0);
    });

    it.each([
        ["was made again without it", true],
        ["was made smaller", false],
    ])(
        "is claimed of the IPPool that it names when that %s, and stays so when another IPPool has it",
        async (_, isDeleted) => {
            node.wiring.wire("p1", [address]);
            await node.reconcile();
            if (isDeleted) await deletePool();
            await addPool({ start: "10.2.0.2", end: "10.2.0.9", gateway: "10.2.0.1" });
            node.cluster.api.remove(ipAllocations, text);
            await eventually(() => node.agent.pools.own.size === 0);
            await node.reconcile(2);
            expect([state(), reportedEvents()]).toEqual([[[], [`${text} p1`]], ["PoolChanged ComparePool"]]);
            node.cluster.addPool("pool2", { start: text, end: text, gateway: "10.2.0.1" });
            await eventually(() => node.agent.pools.cache.known("pool2") !== undefined);
            await node.reconcile();
            expect(state()).toEqual([[], [`${text} p1`]]);
            expect(node.cluster.allocations()[0]?.spec.pool).toBe("pool1");
        },
    );

    it("is claimed of the IPPool that it names, when the IPPools cannot be read in 3 s", async () => {
        node.wiring.wire("p1", [address]);
        node.cluster.api.before = (method, kind) =>
            method === "list" && kind === "ippools" ? Promise.reject(away()) : Promise.resolve();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        await node.agent.pools.own.synced(AbortSignal.timeout(60_000));
        await node.reconcile();
        expect(state()).toEqual([[], [`${text} p1`]]);
    });

    it("waits for the IPPools to be listed, of which another may have it", async () => {
        node.wiring.wire("p1", [address]);
        await deletePool();
        node.cluster.addPool("pool2", { start: text, end: text, gateway: "10.2.0.1" });
        const listing = Promise.withResolvers<void>();
        node.cluster.api.before = (method, kind) =>
            method === "list" && kind === "ippools" ? listing.promise : Promise.resolve();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        await node.agent.pools.own.synced(AbortSignal.timeout(60_000));
        const pass = node.reconcile();
        await new Promise((resolve) => setTimeout(resolve, 100));
        listing.resolve();
        await pass;
        expect(state()).toEqual([[], [`${text} p1`]]);
        expect(node.cluster.allocations()[0]?.spec.pool).toBe("pool2");
    });
});

describe("an address in use whose allocation is lost, and which the podCIDR of another Node has", () => {
    it("is not claimed again although its IPPool has it: the Node may give it to a Pod", async () => {
        node.wiring.wire("p1", [address]);
        await node.reconcile();
        node.agent.nodes.put("b", { podCIDRs: ["10.2.0.0/24"] });
        node.cluster.api.remove(ipAllocations, text);
        await eventually(() => node.agent.pools.own.size === 0);
        await node.reconcile(3);
        expect([state(), reportedEvents()]).toEqual([[["c-p1"], []], ["AddressHeldElsewhere Isolate"]]);
        expect(node.agent.events[0]?.note).toContain(`address ${text} of this Pod no longer has an IPAllocation`);
        node.agent.nodes.put("b", { podCIDRs: ["10.8.0.0/24"] });
        await node.reconcile();
        expect(state()).toEqual([[], [`${text} p1`]]);
    });

    it("keeps its traffic while it is claimed: that counts, and no Node gives it to a Pod", async () => {
        node.wiring.wire("p1", [address]);
        await node.reconcile();
        node.agent.nodes.put("b", { podCIDRs: ["10.2.0.0/24"] });
        await node.reconcile(2);
        expect(state()).toEqual([[], [`${text} p1`]]);
    });
});

describe("an isolated interface whose address is in no IPPool and has no allocation", () => {
    const poolless = { ...address, pool: "" };

    /** Of "p2", which has the address by its allocation. */
    async function wireRival(): Promise<void> {
        node.wiring.wire("p2", [address]);
        node.put(text, { pod: { ...identityOf("p2"), nodeName: "a", containerID: "c-p2", interface: "eth0" } }, "p2");
        await eventually(() => node.agent.pools.own.size === 1);
    }

    it("is not connected beside the one that it was isolated for", async () => {
        node.wiring.wire("p1", [poolless]);
        node.wiring.cut.add("c-p1");
        await wireRival();
        await node.reconcile(2);
        expect(state()).toEqual([["c-p1"], [`${text} p2`]]);
        await deletePool();
        await node.reconcile(2);
        expect(state()).toEqual([["c-p1"], [`${text} p2`]]);
    });

    it("is not connected when this agent isolated it for the allocation of another Node's Pod, and that allocation goes", async () => {
        node.wiring.wire("p1", [address]);
        node.put(text);
        await node.reconcile();
        await deletePool();
        await node.reconcile(2);
        expect(state()).toEqual([["c-p1"], []]);
        expect(reportedEvents()).toEqual(["AddressHeldElsewhere Isolate", "PodIsolated ReportIsolation"]);
    });

    it("of an agent that starts again stays isolated, and its Pod has an event with the next step, once", async () => {
        await deletePool();
        node.wiring.wire("p1", [poolless]);
        node.wiring.cut.add("c-p1");
        await node.reconcile(3);
        expect([state(), reportedEvents()]).toEqual([[["c-p1"], []], ["PodIsolated ReportIsolation"]]);
        expect(node.agent.events[0]?.note).toContain("Delete the Pod to give it another address");
        expect(await node.agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(1);
    });

    it("is connected when this start of the agent isolated it, since it lacked an allocation", async () => {
        await deletePool();
        node.wiring.wire("p1", [poolless]);
        node.wiring.cut.add("c-p1");
        node.wiring.undecided.add("c-p1");
        await node.reconcile();
        expect([state(), reportedEvents()]).toEqual([[[], []], ["PoolChanged ComparePool"]]);
    });

    it("isolated by this start, is not connected once another was seen to have the address", async () => {
        node.wiring.wire("p1", [poolless]);
        node.wiring.cut.add("c-p1");
        node.wiring.undecided.add("c-p1");
        node.put(text);
        await node.reconcile();
        await deletePool();
        await node.reconcile();
        expect(state()).toEqual([["c-p1"], []]);
    });

    it("is connected alone of two on one Node that this start isolated for each other", async () => {
        await deletePool();
        for (const pod of ["p1", "p2"]) {
            node.wiring.wire(pod, [poolless]);
            node.wiring.cut.add(`c-${pod}`);
            node.wiring.undecided.add(`c-${pod}`);
        }
        await node.reconcile(3);
        expect(state()).toEqual([["c-p2"], []]);
    });

    it("is connected for both of its addresses when that is isolated for one, and the other was kept", async () => {
        const other = { ...address, ip: parseIp("fd02::7"), gateway: parseIp("fd02::1"), pool: "" };
        await deletePool();
        node.wiring.wire("p1", [poolless, other]);
        node.agent.nodes.put("b", { podCIDRs: ["10.2.0.0/24"] });
        await node.reconcile(2);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        node.agent.nodes.put("b", { podCIDRs: ["10.8.0.0/24"] });
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
    });
});
