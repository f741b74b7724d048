import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { pods, type Node } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { identityOf, OneNode } from "./support/one-node.ts";

const text = "10.9.0.77";
const address = { ip: parseIp(text), pool: "", prefixLength: 24, gateway: parseIp("10.9.0.1"), vlan: 0 };
const warning = "a Pod has an address that is in no IPPool and has no allocation";

let node: OneNode;
let log: MemoryLog;

/** The agent, and "b" with this podCIDR. */
async function start(podCidr?: string): Promise<void> {
    const nodes: Node[] = podCidr === undefined ? [] : [{ metadata: { name: "b" }, spec: { podCIDRs: [podCidr] } }];
    node.agent = node.cluster.agent("a", { confirmMs: 0, nodes, logger: log.logger });
    await node.agent.pools.synced(AbortSignal.timeout(60_000));
}

const reportedEvents = (): readonly string[] => node.agent.events.map(({ reason, action }) => `${reason} ${action}`);
const changed = (): Promise<number> => node.agent.metric("antrea_agent_ipam_pool_changed_addresses");
const held = (): Promise<number> => node.agent.metric("antrea_agent_ipam_addresses_held_elsewhere_total");
const warned = (): number => log.messages("warn").filter((message) => message === warning).length;

beforeEach(async () => {
    node = await OneNode.start();
    log = new MemoryLog();
    await start();
    node.wiring.wire("p1", [address]);
});
afterEach(() => node[Symbol.asyncDispose]());

describe("an address in use that is in no IPPool and has no allocation", () => {
    it("is counted, and logged and reported once", async () => {
        await node.reconcile(4);
        expect([await changed(), warned(), reportedEvents()]).toEqual([1, 1, ["PoolChanged ComparePool"]]);
        expect([[...node.wiring.cut], node.cluster.allocations()]).toEqual([[], []]);
    });

    it("is not counted any more when its container ends, and is reported anew of another one of that name", async () => {
        await node.reconcile();
        node.wiring.unwire("c-p1");
        await node.reconcile();
        expect(await changed()).toBe(0);
        node.wiring.wire("p1", [address]);
        await node.reconcile(2);
        expect([await changed(), warned(), reportedEvents().length]).toEqual([1, 2, 2]);
    });

    it("is not counted any more when a pool has it and it has its allocation, and reported anew when both go", async () => {
        await node.reconcile();
        node.cluster.addPool("pool9", { cidr: "10.9.0.0/24", gateway: "10.9.0.1", prefixLength: 24 });
        await eventually(() => node.agent.pools.cache.known("pool9") !== undefined);
        await node.reconcile(2);
        expect(node.cluster.holders()).toEqual([`${text} p1`]);
        expect([await changed(), warned()]).toEqual([0, 1]);
        node.cluster.api.remove(ipPools, "pool9");
        node.cluster.api.remove(ipAllocations, text);
        await eventually(() => node.agent.pools.cache.known("pool9") === undefined);
        await node.reconcile(2);
        expect([await changed(), warned()]).toEqual([1, 2]);
    });

    it("is not counted any more when its watch reports late that it has an allocation", async () => {
        await node.reconcile();
        const pod = { ...identityOf("p1"), nodeName: "a", containerID: "c-p1", interface: "eth0" };
        node.put(text, { pool: "pool9", pod }, "p1");
        await node.reconcile(2);
        // Its pool does not exist: that is the one change.
        expect([await changed(), node.wiring.cut.size, warned()]).toEqual([1, 0, 1]);
        expect(log.messages("warn")).not.toContain("allocation updated from the record of its interface");
    });

    it("takes an allocation that is reserved for its own ordinal, of a pool that is gone", async () => {
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "set", index: 0 } as const;
        node.put(text, { state: "Reserved", pool: "gone", owner, pod: undefined });
        node.wiring.unwire("c-p1");
        node.wiring.wire("web-0", [address]);
        const metadata = {
            ...identityOf("web-0"),
            ownerReferences: [
                { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "set", controller: true },
            ],
        };
        node.cluster.api.put(pods, { metadata, spec: { nodeName: "a" } } as never);
        await node.reconcile(2);
        const [allocation]: readonly IpAllocation[] = node.cluster.allocations();
        expect(allocation?.spec).toMatchObject({ state: "Allocated", pool: "gone", owner, pod: identityOf("web-0") });
        expect(warned()).toBe(0);
    });
});

describe("an address in no IPPool that is in the podCIDR of another Node", () => {
    it("is isolated, reported on its Pod with the Node that has it, once; and connected again when none has", async () => {
        await node.reconcile();
        node.agent.nodes.put("b", { podCIDRs: ["10.9.0.0/24"] });
        await node.reconcile(3);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect([await changed(), await held(), warned()]).toEqual([0, 1, 1]);
        expect(reportedEvents()).toEqual(["PoolChanged ComparePool", "AddressHeldElsewhere Isolate"]);
        expect(node.agent.events.at(-1)?.note).toContain(
            `address ${text} of this Pod is no longer in any IPPool, and is in the podCIDR of Node b`,
        );
        node.agent.nodes.put("b", { podCIDRs: ["10.8.0.0/24"] });
        await node.reconcile(2);
        expect([...node.wiring.cut]).toEqual([]);
        expect([await changed(), await held()]).toEqual([1, 1]);
        node.agent.nodes.put("b", { podCIDRs: ["10.9.0.0/24"] });
        await node.reconcile(2);
        expect(await held()).toBe(2);
    });

    it("stays isolated when the agent starts again", async () => {
        node.wiring.cut.add("c-p1");
        await start("10.9.0.0/24");
        await node.reconcile(2);
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });

    it("keeps its traffic where its own Node has that podCIDR too", async () => {
        await start("10.9.0.0/24");
        node.agent.nodes.put("a", { podCIDRs: ["10.9.0.0/25"] });
        await node.reconcile();
        expect([...node.wiring.cut]).toEqual([]);
    });
});

describe("a reconcile of allocations is due", () => {
    let due: number;
    beforeEach(() => {
        due = 0;
        node.agent.pools.onReconcileDue(() => void (due += 1));
    });

    it("when a pool comes, goes, or has other ranges", async () => {
        node.cluster.addPool("pool9", { start: text, end: text, gateway: "10.9.0.1" });
        await eventually(() => due === 1);
        node.cluster.addPool("pool9", { start: text, end: "10.9.0.78", gateway: "10.9.0.1" });
        await eventually(() => due === 2);
    });

    it("when an allocation of this Node is gone", async () => {
        await node.added("p2");
        node.cluster.api.remove(ipAllocations, node.cluster.allocations()[0]?.spec.address ?? "");
        await eventually(() => due === 1);
    });

    it("and keeps the address that a new pool has from every other Node", async () => {
        const reconciles: Promise<void>[] = [];
        node.agent.pools.onReconcileDue(() => void reconciles.push(node.reconcile()));
        node.cluster.addPool("pool9", { start: text, end: text, gateway: "10.9.0.1", prefixLength: 24 });
        await eventually(() => reconciles.length > 0);
        await Promise.all(reconciles);
        expect(node.cluster.holders()).toEqual([`${text} p1`]);
    });
});
