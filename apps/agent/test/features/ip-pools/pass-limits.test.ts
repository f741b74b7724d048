import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { timeoutsBy } from "../../support/timeouts.ts";
import { away } from "./support/fake-api.ts";
import { type BegunPass, OneNode } from "./support/one-node.ts";

let clock: ManualClock;
let node: OneNode;
let timeouts: Disposable | undefined;

beforeEach(async () => {
    clock = new ManualClock();
    node = await OneNode.start();
    await node.agent.pools.synced(AbortSignal.timeout(60_000));
});
afterEach(async () => {
    timeouts?.[Symbol.dispose]();
    await node[Symbol.asyncDispose]();
});

function wire(pod: string, ip: string): void {
    const address = { ip: parseIp(ip), pool: "pool1", prefixLength: 16, gateway: parseIp("10.2.0.1"), vlan: 0 };
    node.wiring.wire(pod, [address], `c-${pod}`, `uid-${pod}`);
}

/** Begins a pass whose limits go by the clock. */
function pass(): BegunPass {
    timeouts = timeoutsBy(clock);
    return node.pass();
}

/** Lets this time pass, with turns for what takes none. */
async function passes(ms: number): Promise<void> {
    for (let at = 0; at < ms; at += 500) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await clock.advance(500);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("a pass of the reconcile of allocations", () => {
    it("tries for 10 s to free the allocations of containers that ended, and gives others theirs then", async () => {
        await node.added("p1");
        node.wiring.unwire("c-p1");
        node.cluster.api.fault = (method) => (method === "delete" ? { refuse: away() } : undefined);
        const attachment = { containerId: "c-p1", ifName: "eth0" };
        await expect(node.agent.pools.allocator.releaseAll(attachment, AbortSignal.timeout(50))).rejects.toThrow();
        wire("p2", "10.2.0.200");
        const begun = pass();
        await passes(9_500);
        expect([begun.isOver, node.cluster.holders()]).toEqual([false, [expect.stringContaining(" p1")]]);
        await clock.advance(500);
        await eventually(() => begun.isOver);
        expect(await begun.outcome).toMatchObject({ code: away().code });
        expect(node.cluster.holders()).toContain("10.2.0.200 p2");
    });

    it("waits for 3 s for the names of Pods, and gives interfaces their allocations then", async () => {
        const answer = Promise.withResolvers<void>();
        node.cluster.api.before = (method, plural) =>
            method === "list" && plural === "pods" ? answer.promise : Promise.resolve();
        await node.agent.kill();
        node.agent = node.cluster.agent("a", { confirmMs: 0 });
        await node.agent.pools.own.synced(AbortSignal.timeout(60_000));
        node.wiring.wire("", [], "c-p1", "uid-p1");
        wire("p2", "10.2.0.200");
        const begun = pass();
        await passes(2_500);
        expect([begun.isOver, node.cluster.holders()]).toEqual([false, []]);
        await clock.advance(500);
        await eventually(() => begun.isOver);
        expect(node.cluster.holders()).toEqual(["10.2.0.200 p2"]);
        answer.resolve();
    });

    it("keeps a DEL waiting for 3 s at most while it frees an unused allocation and the API server goes away", async () => {
        await node.claimed("p1");
        await node.reconcile();
        node.cluster.api.fault = (method) => (method === "delete" ? { refuse: away() } : undefined);
        const begun = pass();
        await eventually(() => node.cluster.api.requests.some((one) => one.startsWith("delete ipallocations")));
        let isDeleted = false;
        void node.wiring.exclusively("c-p1", () => Promise.resolve(void (isDeleted = true)));
        await passes(2_500);
        expect(isDeleted).toBe(false);
        await clock.advance(500);
        await eventually(() => isDeleted);
        await begun.outcome;
    });

    it("waits for 3 s for the container of an unused allocation, and goes on with the others", async () => {
        await node.claimed("p1");
        await node.claimed("p2");
        await node.reconcile();
        const free = Promise.withResolvers<void>();
        void node.wiring.exclusively("c-p1", () => free.promise);
        const begun = pass();
        await passes(2_500);
        expect(begun.isOver).toBe(false);
        await clock.advance(500);
        await eventually(() => begun.isOver);
        expect(node.cluster.holders()).toEqual([expect.stringContaining(" p1")]);
        free.resolve();
    });
});
