import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { eventually } from "@antrea/kube/testing";
import { Jobs } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { poolWiring } from "../../../src/features/ip-pools/node-interfaces.ts";
import { away } from "../ip-pools/support/fake-api.ts";
import { OneNode } from "../ip-pools/support/one-node.ts";
import { silentLogger } from "../../support/logger.ts";
import { addressOf, podRecord } from "../../support/records.ts";
import { FakeNode } from "./fake-node.ts";
import { toAlias } from "../../../src/platform/pod-interfaces/index.ts";

const { signal } = new AbortController();
const web = podRecord();
const pooled = podRecord({
    containerId: "c-pooled",
    hostIfName: "pooled-if",
    podUid: "uid-pooled",
    podName: "pooled",
    addresses: [{ ...addressOf("10.2.0.8/16"), pool: "pool1" }],
});
const other = podRecord({
    containerId: "c-other",
    hostIfName: "other-if",
    podUid: "uid-other",
    podName: "other",
    addresses: [addressOf("10.10.1.6/24")],
});

let log: MemoryLog;
let node: FakeNode;

beforeEach(() => {
    log = new MemoryLog();
    node = new FakeNode({ logger: log.logger });
});

/** An agent that starts on a Node with these interfaces. */
async function start(...records: readonly (typeof web)[]): Promise<void> {
    for (const record of records) node.putLink(record.hostIfName, toAlias(record));
    await node.reconciler.rebuild(signal);
    await node.flowTable.replay(node.ovs.direct);
    await node.reconciler.restoreAll(signal);
    expect([...node.stored.keys()].sort()).toEqual(records.map(({ hostIfName }) => hostIfName).sort());
}

describe("an interface whose container is worked on by others", () => {
    let free: PromiseWithResolvers<void>;

    beforeEach(async () => {
        await start(web, pooled, other);
        free = Promise.withResolvers();
        void node.network.exclusively(other.containerId, () => free.promise);
    });
    afterEach(() => free.resolve());

    /** A round that has to wait for the container. */
    async function round(limit = signal): Promise<unknown> {
        const done = node.reconciler.reconcile(limit).then(
            () => undefined,
            (error: unknown) => error,
        );
        let isDone = false;
        void done.then(() => (isDone = true));
        for (let seconds = 0; seconds < 60 && !isDone; seconds += 1) {
            // What is not kept waiting takes no time by this clock.
            for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
            await node.clock.advance(1_000);
        }
        return isDone ? done : "waits";
    }

    it("keeps no other from being restored, nor from its route, and is restored by the next round that finds it free", async () => {
        node.stored.clear();
        node.routes.clear();
        expect(await round()).toMatchObject({
            code: "BUSY",
            fault: "timeout",
            message: "other work on container c-other has not ended",
        });
        expect([...node.stored.keys()].sort()).toEqual([pooled.hostIfName, web.hostIfName].sort());
        expect([...node.routes]).toEqual(["10.2.0.8"]);
        free.resolve();
        await node.reconciler.reconcile(signal);
        expect([...node.stored.keys()]).toContain(other.hostIfName);
    });

    it("that ended keeps no other from being removed", async () => {
        node.links.delete(web.hostIfName);
        node.links.delete(other.hostIfName);
        expect(await round()).toMatchObject({ code: "BUSY" });
        expect(node.network.interfaces().map(({ record }) => record.containerId)).toEqual(["c-pooled", "c-other"]);
    });

    it("is logged with its container, and is a problem of the agent once it has waited for a minute", async () => {
        node.stored.clear();
        await round();
        expect(log.records.filter(({ msg }) => msg.includes("another operation"))).toEqual([
            expect.objectContaining({ level: "warn", container: "c-other" }),
        ]);
        expect(node.reconciler.problem).toBeUndefined();
        await node.clock.advance(60_000);
        await round();
        expect(node.reconciler.problem).toContain("c-other");
        free.resolve();
        await node.reconciler.reconcile(signal);
        expect(node.reconciler.problem).toBeUndefined();
    });

    it("is a problem of the agent for as long as it is worked on, also when the rounds fail by something else", async () => {
        node.steps.failure = (_, step) => (step === "set route" ? "before" : undefined);
        node.stored.clear();
        expect(await round()).toMatchObject({ code: "STEP_FAILED" });
        await node.clock.advance(60_000);
        expect(await round()).toMatchObject({ code: "STEP_FAILED" });
        expect(node.reconciler.problem).toContain("c-other");
        free.resolve();
        expect(await round()).toMatchObject({ code: "STEP_FAILED" });
        expect(node.reconciler.problem).toBeUndefined();
    });

    it("is named with its Pod, and with all others, by the round, the log and the problem of the agent", async () => {
        free.resolve();
        node = new FakeNode({ logger: log.logger });
        const containers = ["ab12".repeat(16), "cd34".repeat(16)];
        const never = Promise.withResolvers<void>();
        for (const [at, containerId] of containers.entries()) {
            await node.add({ containerId, podName: `web-${at}`, podUid: `uid-${at}` });
            void node.network.exclusively(containerId, () => never.promise);
        }
        node.stored.clear();
        const [one = "", two = ""] = containers.map((id, at) => `container ${id} (Pod default/web-${at})`);
        expect(await round()).toMatchObject({
            code: "BUSY",
            message: `other work on ${one}, ${two} has not ended`,
            details: { containers },
        });
        expect(log.records.filter(({ msg }) => msg.includes("another operation"))).toMatchObject(
            containers.map((container, at) => ({ container, pod: `default/web-${at}`, waitedSeconds: 5 })),
        );
        await node.clock.advance(60_000);
        await round();
        expect(node.reconciler.problem).toMatch(
            new RegExp(
                `^the interface of ${one.replace(/[()]/g, "\\$&")} and of 1 more cannot be repaired: other work on it has not ended for \\d+ s$`,
            ),
        );
        never.resolve();
    });

    it("is not taken for a busy one when the round is ended from outside", async () => {
        node.stored.clear();
        const stop = new AbortController();
        node.clock.after(1_000, () => stop.abort(new Error("the agent stops")));
        expect(await round(stop.signal)).toBeUndefined();
        expect(log.records.filter(({ msg }) => msg.includes("skipped until the next reconcile"))).toEqual([]);
        await node.clock.advance(60_000);
        expect(node.reconciler.problem).toBeUndefined();
    });

    it("has a port without a record of which another is not kept", async () => {
        const leftover = (container: string) => ({
            name: `port-${container}`,
            ofPort: 40_000 + node.stored.size,
            externalIds: new Map(Object.entries({ "antrea-type": "container", "container-id": container })),
        });
        for (const container of ["c-other", "c-gone"]) node.stored.set(`port-${container}`, leftover(container));
        expect(await round()).toMatchObject({ code: "BUSY" });
        expect([...node.stored.keys()]).toContain("port-c-other");
        expect([...node.stored.keys()]).not.toContain("port-c-gone");
    });

    it("has a link without a record of which another is not kept", async () => {
        for (const container of ["c-other", "c-gone"]) {
            node.putLink(`link-${container}`, toAlias({ ...web, containerId: container, ifName: "net1" }));
        }
        expect(await round()).toBeUndefined();
        expect(await round()).toMatchObject({ code: "BUSY" });
        expect([...node.links.keys()]).toContain("link-c-other");
        expect([...node.links.keys()]).not.toContain("link-c-gone");
    });
});

describe("an isolated interface, while the API server is away", () => {
    const isolated = podRecord({
        containerId: "c-pool",
        hostIfName: "pool-if",
        podUid: "uid-pool",
        podName: "pool",
        isolated: true,
        addresses: [{ ...addressOf("10.2.0.7/16"), pool: "pool1" }],
    });

    it("keeps OVS that lost its ports from none of them", async () => {
        await start(web, isolated);
        await using pools = await OneNode.start();
        await pools.agent.pools.synced(AbortSignal.timeout(60_000));
        pools.put("10.2.0.7");
        const jobs = new Jobs({ logger: silentLogger });
        const wiring = poolWiring({ podInterfaces: node.podInterfaces, control: node.network, netlink: node.netlink });
        const ovs = jobs.every("ovs", 60_000, (limit) => node.reconciler.reconcile(limit));
        const allocations = jobs.every("allocations", 60_000, (limit) => pools.agent.pools.reconcile(wiring, limit));
        pools.cluster.api.fault = () => ({ refuse: away() });
        jobs.start();
        await eventually(() => pools.cluster.api.requests.some((one) => one.startsWith("find ipallocations")));
        for (let times = 0; times < 2; times += 1) {
            node.stored.clear();
            ovs.trigger();
            await eventually(() => node.stored.size === 2);
            allocations.trigger();
        }
        expect(node.network.interfaces().find(({ record }) => record.containerId === "c-pool")?.record.isolated).toBe(
            true,
        );
        pools.cluster.api.fault = () => undefined;
        await jobs.stop();
    });
});
