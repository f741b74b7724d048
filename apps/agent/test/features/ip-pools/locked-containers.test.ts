import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { timeoutsBy } from "../../support/timeouts.ts";
import { away } from "./support/fake-api.ts";
import { type BegunPass, OneNode } from "./support/one-node.ts";

let node: OneNode;

beforeEach(async () => {
    node = await OneNode.start();
    await node.agent.pools.synced(AbortSignal.timeout(60_000));
});
afterEach(() => node[Symbol.asyncDispose]());

function wire(pod: string, ip: string): void {
    node.addPod(pod);
    node.wiring.wire(pod, [
        { ip: parseIp(ip), pool: "pool1", prefixLength: 16, gateway: parseIp("10.2.0.1"), vlan: 0 },
    ]);
}

/** Lets this time pass for the limits of a pass until it is over. */
async function passBy(clock: ManualClock, begun: BegunPass): Promise<unknown> {
    for (let seconds = 0; seconds < 60 && !begun.isOver; seconds += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await clock.advance(1_000);
    }
    return begun.isOver ? begun.outcome : "under way";
}

describe("the lock of a container, while the allocations of its interface are judged,", () => {
    it.each([
        ["isolated", true],
        ["without an allocation", false],
    ])(
        "is not held when the API server is asked whose the address of an interface %s is",
        async (_what, isIsolated) => {
            const ip = await node.added("p1");
            if (isIsolated) node.wiring.cut.add("c-p1");
            else node.cluster.api.remove(ipAllocations, ip);
            const locked: number[] = [];
            node.cluster.api.before = (method) => {
                if (method === "find") locked.push(node.wiring.locked);
                return Promise.resolve();
            };
            await node.reconcile();
            expect([...new Set(locked)]).toEqual([0]);
            expect([...node.wiring.cut]).toEqual([]);
            expect(node.cluster.holders()).toEqual([`${ip} p1`]);
        },
    );

    it("keeps no DEL waiting while the API server is away", async () => {
        await node.added("p1");
        node.wiring.cut.add("c-p1");
        node.cluster.api.fault = () => ({ refuse: away() });
        const begun = node.pass();
        await eventually(() => node.cluster.api.requests.some((one) => one.startsWith("find ipallocations")));
        let isDeleted = false;
        await node.wiring.exclusively("c-p1", () => Promise.resolve(void (isDeleted = true)));
        expect([isDeleted, begun.isOver]).toEqual([true, false]);
        node.cluster.api.fault = () => undefined;
        await begun.outcome;
    });

    it("is held for 3 s of writes, of which none takes longer, when the API server goes away in between", async () => {
        const clock = new ManualClock();
        using _ = timeoutsBy(clock);
        wire("p1", "10.2.0.7");
        const limits: unknown[] = [];
        const { api } = node.cluster;
        const { create } = api;
        api.create = (resource, object, o) => {
            limits.push(o?.timeoutMs);
            return create(resource, object, o);
        };
        api.fault = (method) => (method === "create" ? { refuse: away() } : undefined);
        const begun = node.pass();
        await eventually(() => limits.length > 0);
        let isDeleted = false;
        const del = node.wiring.exclusively("c-p1", () => Promise.resolve(void (isDeleted = true)));
        expect(isDeleted).toBe(false);
        await clock.advance(3_000);
        await del;
        expect(await begun.outcome).toMatchObject({ code: away().code });
        expect(new Set(limits)).toEqual(new Set([3_000]));
    });

    it("is waited for 3 s, in which it keeps no other interface from its allocation, and the pass is to be repeated", async () => {
        const clock = new ManualClock();
        using _ = timeoutsBy(clock);
        wire("p1", "10.2.0.7");
        wire("p2", "10.2.0.8");
        const free = Promise.withResolvers<void>();
        void node.wiring.exclusively("c-p1", () => free.promise);
        expect(await passBy(clock, node.pass())).toMatchObject({ fault: "aborted" });
        expect(node.cluster.holders()).toEqual(["10.2.0.8 p2"]);
        free.resolve();
        await node.reconcile();
        expect(node.cluster.holders()).toEqual(["10.2.0.7 p1", "10.2.0.8 p2"]);
    });
});

describe("an address that the API server does not answer about", () => {
    it("keeps no other interface from its allocation, and the pass is to be repeated", async () => {
        const clock = new ManualClock();
        using _ = timeoutsBy(clock);
        wire("p1", "10.2.0.7");
        wire("p2", "10.2.0.8");
        node.cluster.api.fault = (method, _kind, name) =>
            method === "find" && name === "10.2.0.7" ? { refuse: away() } : undefined;
        expect(await passBy(clock, node.pass())).toMatchObject({ code: away().code });
        expect(node.cluster.holders()).toEqual(["10.2.0.8 p2"]);
    });
});

describe("an answer of the API server that is old when the lock is there", () => {
    /** A pass that has its answers, and waits for the lock of c-p1 until the function is called. */
    async function waiting(): Promise<() => Promise<unknown>> {
        const free = Promise.withResolvers<void>();
        void node.wiring.exclusively("c-p1", () => free.promise);
        const begun = node.pass();
        await eventually(() => node.cluster.api.requests.some((one) => one.startsWith("find ipallocations")));
        await new Promise((resolve) => setTimeout(resolve, 20));
        return () => {
            free.resolve();
            return begun.outcome;
        };
    }

    it("connects nothing when the allocation is another's by now", async () => {
        const ip = await node.added("p1");
        node.wiring.cut.add("c-p1");
        const go = await waiting();
        node.put(ip);
        await eventually(() => node.agent.pools.own.size === 0);
        expect(await go()).toBeUndefined();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });

    it("claims nothing for an interface that has its allocation by now", async () => {
        wire("p1", "10.2.0.7");
        const go = await waiting();
        const [address] = await node.claimed("p1");
        node.wiring.wire("p1", address === undefined ? [] : [address]);
        expect(await go()).toBeUndefined();
        expect(node.cluster.holders()).toEqual([`${address && formatIp(address.ip)} p1`]);
    });

    it("claims for an interface that has another address by now that one, and not the one it had", async () => {
        wire("p1", "10.2.0.7");
        const go = await waiting();
        wire("p1", "10.2.0.8");
        expect(await go()).toBeUndefined();
        expect(node.cluster.holders()).toEqual(["10.2.0.8 p1"]);
    });

    it("isolates no interface that has another address by now, when the one it had is another's", async () => {
        node.put("10.2.0.7");
        wire("p1", "10.2.0.7");
        const isolated: string[] = [];
        node.wiring.before = (what) => Promise.resolve(void isolated.push(what));
        const go = await waiting();
        wire("p1", "10.2.0.8");
        expect(await go()).toBeUndefined();
        expect(isolated).toEqual([]);
        expect(node.cluster.holders()).toEqual(["10.2.0.7 other", "10.2.0.8 p1"]);
    });

    it("connects no interface that has another address by now, when that one is another's", async () => {
        await node.added("p1");
        node.wiring.cut.add("c-p1");
        node.put("10.2.0.8");
        const go = await waiting();
        wire("p1", "10.2.0.8");
        const done: string[] = [];
        node.wiring.before = (what) => Promise.resolve(void done.push(what));
        expect(await go()).toBeUndefined();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
        expect(done).not.toContain("reconnect");
    });

    it("claims nothing for a container whose network namespace is gone by now", async () => {
        wire("p1", "10.2.0.7");
        const go = await waiting();
        node.wiring.dead.add("c-p1");
        expect(await go()).toBeUndefined();
        expect(node.cluster.allocations()).toEqual([]);
    });

    it("connects no container whose network namespace is gone by now", async () => {
        await node.added("p1");
        node.wiring.cut.add("c-p1");
        const go = await waiting();
        node.wiring.dead.add("c-p1");
        expect(await go()).toBeUndefined();
        expect([...node.wiring.cut]).toEqual(["c-p1"]);
    });
});
