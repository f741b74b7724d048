import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import { pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { away } from "./support/fake-api.ts";
import { identityOf, OneNode } from "./support/one-node.ts";

let node: OneNode;

beforeEach(async () => {
    node = await OneNode.start();
});
afterEach(() => node[Symbol.asyncDispose]());

describe("a record that was rebuilt from little, and names no Pod", () => {
    it("keeps the allocation of its container, and that of its address, for the Pod that has it", async () => {
        const addresses = await node.claimed("p1");
        node.wiring.wire("", addresses, "c-p1", "");
        await node.reconcile(3);
        expect(node.cluster.allocations().map(({ spec }) => spec.pod?.uid)).toEqual(["uid-p1"]);
        expect([...node.wiring.cut]).toEqual([]);
    });

    it("of another interface keeps no allocation", async () => {
        const addresses = await node.claimed("p1");
        node.wiring.wire("", addresses, "c-other", "");
        node.wiring.unwire("c-other");
        await node.reconcile(2);
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("reports which allocation of two ADDs of the Pod is in use, and the other is freed although the Pod lives", async () => {
        node.addPod("p1");
        const [address] = await node.claimed("p1");
        if (address === undefined) throw new Error("nothing was claimed");
        node.put(
            "10.2.0.200",
            { pod: { ...identityOf("p1"), nodeName: "a", containerID: "c-old", interface: "eth0" } },
            "p1",
        );
        node.wiring.wire("", [address], "c-p1", "");
        await node.reconcile(3);
        expect(node.cluster.holders()).toEqual([`${formatIp(address.ip)} p1`]);
    });

    it("is no reason to free an allocation of the Pod while another ADD of a Pod without a UID is under way", async () => {
        const ip = await node.added("p1");
        node.wiring.unwire("c-p1");
        node.wiring.adding.add("");
        await node.reconcile(2);
        expect(node.cluster.holders()).not.toContain(`${ip} p1`);
    });
});

describe("a record that was rebuilt before its Pod was known", () => {
    const ip = parseIp("10.2.0.77");
    const address = { ip, pool: "", prefixLength: 16, gateway: parseIp("10.2.0.1"), vlan: 0 };
    const poolless = { ...address, ip: parseIp("10.9.0.77") };
    const differing = { ...address, pool: "pool1", gateway: parseIp("10.2.0.2") };
    const reportedEvents = (): unknown[] =>
        node.agent.events.map(({ reason, regarding }) => [reason, regarding.namespace, regarding.name]);
    const log = (): number => counting.messages("warn").length + counting.messages("error").length;
    let counting: MemoryLog;

    /** A Pod of a StatefulSet, and the agent knows it. */
    async function addSetPod(): Promise<void> {
        const set = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "uid-set", controller: true };
        const metadata = { ...identityOf("web-0"), ownerReferences: [set] };
        node.cluster.api.put(pods, { metadata, spec: { nodeName: "a" }, status: { phase: "Running" } } as never);
        await eventually(() => node.agent.pools.pods.known(identityOf("web-0")) !== undefined);
        await node.agent.pools.synced(AbortSignal.timeout(60_000));
    }

    beforeEach(async () => {
        counting = new MemoryLog();
        node.agent = node.cluster.agent("a", { confirmMs: 0, logger: counting.logger });
        await node.agent.pools.synced(AbortSignal.timeout(60_000));
    });

    it.each<[string, typeof address, string]>([
        ["an address that no IPPool has", poolless, "PoolChanged"],
        ["an address that its IPPool describes otherwise", differing, "PoolChanged"],
        ["an address that is another's", address, "AddressHeldElsewhere"],
    ])("has the event of %s on its Pod, when that is known; log and metrics do not wait", async (_, of, reason) => {
        if (reason === "AddressHeldElsewhere") node.put("10.2.0.77");
        node.wiring.wire("", [of], "c-p1", "uid-p1");
        await node.reconcile(3);
        expect(reportedEvents()).toEqual([]);
        const logged = log();
        expect(logged).toBeGreaterThan(0);
        const metric = reason === "PoolChanged" ? "pool_changed_addresses" : "addresses_held_elsewhere_total";
        expect(await node.agent.metric(`antrea_agent_ipam_${metric}`)).toBe(1);
        node.addPod("p1");
        await node.reconcile(3);
        expect(reportedEvents()).toEqual([[reason, "default", "p1"]]);
        expect(log()).toBe(logged);
        expect(await node.agent.metric(`antrea_agent_ipam_${metric}`)).toBe(1);
    });

    it.each(["web-0", ""])(
        "has its allocation, lost, made again for its ordinal; the record names %p",
        async (name) => {
            await addSetPod();
            node.wiring.wire(name, [address], "c-w", "uid-web-0");
            await node.reconcile(2);
            const [allocation] = node.cluster.allocations();
            expect(allocation?.spec).toMatchObject({
                owner: { kind: "StatefulSet", namespace: "default", name: "web", index: 0 },
                pod: { namespace: "default", name: "web-0", uid: "uid-web-0" },
            });
        },
    );

    it.each(["web-0", ""])("takes what is reserved for its own ordinal; the record names %p", async (name) => {
        await addSetPod();
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "uid-set", index: 0 } as const;
        node.put("10.2.0.77", { state: "Reserved", owner, pod: undefined });
        node.wiring.wire(name, [address], "c-w", "uid-web-0");
        const cuts: string[] = [];
        node.wiring.before = (what) => (cuts.push(what), Promise.resolve());
        await node.reconcile();
        expect([cuts, node.agent.events]).toEqual([[], []]);
        expect(node.cluster.holders()).toEqual(["10.2.0.77 web-0"]);
    });

    it("waits for the Pods to be listed, if that is soon", async () => {
        await addSetPod();
        node.wiring.wire("", [address], "c-w", "uid-web-0");
        const listing = Promise.withResolvers<void>();
        node.cluster.api.before = (method, kind) =>
            method === "list" && kind === "pods" ? listing.promise : Promise.resolve();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        await node.agent.pools.synced(AbortSignal.timeout(60_000));
        const pass = node.reconcile();
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(node.cluster.allocations()).toEqual([]);
        listing.resolve();
        await pass;
        expect(node.cluster.allocations()[0]?.spec.owner).toMatchObject({ kind: "StatefulSet", index: 0 });
    });

    it("is not judged by what is reserved before the Pods are listed", async () => {
        await addSetPod();
        const owner = { kind: "StatefulSet", namespace: "default", name: "web", uid: "uid-set", index: 0 } as const;
        node.put("10.2.0.77", { state: "Reserved", owner, pod: undefined });
        node.wiring.wire("", [address], "c-w", "uid-web-0");
        let isAway = true;
        node.cluster.api.before = (method, kind) =>
            isAway && method === "list" && kind === "pods" ? Promise.reject(away()) : Promise.resolve();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        await node.reconcile();
        expect([[...node.wiring.cut], node.cluster.holders()]).toEqual([[], ["10.2.0.77 web-0"]]);
        expect(node.cluster.allocations()[0]?.spec.state).toBe("Reserved");
        isAway = false;
        await eventually(() => node.agent.pools.pods.known(identityOf("web-0")) !== undefined);
        await node.reconcile();
        expect(node.cluster.allocations()[0]?.spec).toMatchObject({ state: "Allocated", pod: { name: "web-0" } });
    });

    it.each(["p1", ""])(
        "keeps an allocation that is made again for the next sandbox; the record names %p",
        async (name) => {
            node.addPod("p1");
            await node.agent.pools.synced(AbortSignal.timeout(60_000));
            node.wiring.wire(name, [address], "c-p1", "uid-p1");
            await node.reconcile(2);
            node.wiring.unwire("c-p1");
            await node.reconcile(4);
            expect(node.cluster.allocations().map(({ spec }) => spec.pod)).toMatchObject([identityOf("p1")]);
        },
    );
});

describe("what is reported of an isolated interface", () => {
    it("is reported anew when its container ends and another one meets the same", async () => {
        await node.added("p1");
        const [allocation] = node.cluster.allocations();
        node.put(allocation?.spec.address ?? "");
        await node.reconcile(2);
        const reportedEvents = (): number =>
            node.agent.events.filter(({ reason }) => reason === "AddressHeldElsewhere").length;
        const first = reportedEvents();
        const [wired] = node.wiring.interfaces();
        node.wiring.unwire("c-p1");
        await node.reconcile();
        node.wiring.wire(
            "p1",
            (wired?.addresses ?? []).flatMap(({ gateway, ...one }) =>
                gateway === undefined ? [] : [{ ...one, gateway, vlan: 0 }],
            ),
        );
        await node.reconcile();
        expect(reportedEvents()).toBe(first + 1);
    });

    it("is counted, and not any more when it is gone", async () => {
        await node.added("p1");
        node.put(node.cluster.allocations()[0]?.spec.address ?? "");
        await node.reconcile(2);
        expect(await node.agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(1);
        node.wiring.unwire("c-p1");
        expect(await node.agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(0);
    });
});
