import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { AntreaError } from "@antrea/errors";
import { IpPoolError } from "../../../src/features/ip-pools/index.ts";
import { flowOwner } from "../../../src/features/pod-network/index.ts";
import { eventually } from "../../support/eventually.ts";
import { FakePools, poolPodName } from "../../support/fake-pools.ts";
import { TestNode, type NodeState, type TestAgent } from "../../support/test-node.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";

let node: TestNode;
let pools: FakePools;
let agent: TestAgent;
let empty: NodeState;
let pods: TestPod[] = [];

function start(): Promise<TestAgent> {
    return node.startAgent({ pools, poolOf: (ip) => pools.poolOf(ip) });
}

beforeAll(async () => {
    node = await TestNode.start();
    pools = new FakePools();
    agent = await start();
    empty = await node.state();
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

beforeEach(() => {
    pods = [];
    pools.onAllocation = () => Promise.resolve();
    pools.families = [4, 6];
});

// Whatever a test did: after the end of its Pods and one check of the agent nothing of it is left, no route either.
afterEach(async () => {
    for (const pod of pods) {
        await agent.del(pod);
        pod[Symbol.dispose]();
    }
    const state = (): Promise<NodeState> => agent.resync().then(() => node.state());
    expect(await eventually(state, (found) => found.links.length <= empty.links.length)).toEqual(empty);
    expect(podRoutes()).toEqual([]);
    expect([...pools.allocations]).toEqual([]);
});

function podRoutes(): readonly string[] {
    return ["-4", "-6"]
        .flatMap((family) =>
            execFileSync("ip", [family, "route", "show", "proto", "179"], { encoding: "utf8" }).split("\n"),
        )
        .map((line) => line.split(" ")[0] ?? "")
        .filter((text) => text !== "");
}

function newPod(name: string = poolPodName, uid?: string): TestPod {
    const pod = new TestPod(name, uid);
    pods.push(pod);
    return pod;
}

/** `limitS`: what answers is given long, as a busy machine needs it; where nothing may answer, 3 s are enough. */
async function nodePings(ip: string, limitS = 30): Promise<boolean> {
    try {
        execFileSync("ping", ["-n", "-q", "-c", "1", "-w", String(limitS), ip], { stdio: "ignore" });
        return Promise.resolve(true);
    } catch {
        return Promise.resolve(false);
    }
}

describe("a Pod with addresses of pools", () => {
    it("has them with the pools' gateways, and the Node a route to each", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        const [ip4 = "", ip6 = ""] = ipsOf(answer);
        expect(answer.ips).toEqual([
            { address: `${ip4}/24`, gateway: "10.2.0.1", interface: 1 },
            { address: `${ip6}/64`, gateway: "fd02::1", interface: 1 },
        ]);
        expect(answer.interfaces[1]?.mac).toBe(
            `0a:58:0a:02:00:${Number(ip4.split(".")[3]).toString(16).padStart(2, "0")}`,
        );
        expect(pod.netns.run("ip", "route", "show", "default")).toContain("via 10.2.0.1 dev eth0");
        expect(pod.netns.run("ip", "-o", "link", "show", "eth0")).toContain(answer.interfaces[1]?.mac);
        expect(podRoutes()).toEqual([ip4, ip6]);
        expect(await agent.check(pod, answer)).toBe("");
        const ids = agent.bridge.port(pod.hostIfName)?.externalIds;
        expect([ids?.get("ip-pool"), ids?.get("vlan")]).toEqual(["pool4,pool6", "2"]);
    });

    it.each([4, 6] as const)(
        "of IPv%i alone has no address of the Node's subnet of the other family",
        async (family) => {
            pools.families = [family];
            const used = agent.used;
            const pod = newPod();
            const answer = await agent.add(pod);
            expect(ipsOf(answer)).toEqual([expect.stringMatching(family === 4 ? /^10\.2\./ : /^fd02::/)]);
            expect(agent.used).toEqual(used);
            const other = family === 4 ? "-6" : "-4";
            expect(pod.netns.run("ip", other, "addr", "show", "dev", "eth0", "scope", "global")).toBe("");
            expect(await agent.check(pod, answer)).toBe("");
        },
    );

    it("is reached by its Node, by Pods of the pools and by Pods of the Node's subnet, and reaches them", async () => {
        const [one, other, local] = [newPod(), newPod(), newPod("web")];
        await agent.add(one);
        const targets = ipsOf(await agent.add(other));
        const locals = ipsOf(await agent.add(local));
        for (const ip of targets) expect([ip, await nodePings(ip)]).toEqual([ip, true]);
        for (const ip of targets) expect([ip, await one.ping(ip)]).toEqual([ip, 1]);
        for (const ip of targets) expect([ip, await local.ping(ip)]).toEqual([ip, 1]);
        for (const ip of [...locals, "10.10.1.1", "fd10:10:0:1::1"]) {
            expect([ip, await one.ping(ip)]).toEqual([ip, 1]);
        }
    });

    it("of which one takes another's address is not heard", async () => {
        const [one, other] = [newPod(), newPod()];
        await agent.add(one);
        const target = ipsOf(await agent.add(other))[0] ?? "";
        one.netns.run("ip", "addr", "add", "10.2.0.200/24", "dev", "eth0");
        expect(await one.ping(target, { from: "10.2.0.200", count: 3, limitS: 1 })).toBe(0);
    });

    it("gets the same answer again, and its parts are put right", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        execFileSync("ip", ["route", "flush", "proto", "179"]);
        await node.ovs.ofctl("del-flows", node.bridge, `in_port=${agent.bridge.port(pod.hostIfName)?.ofPort}`);
        expect(await agent.add(pod)).toEqual(answer);
        expect(podRoutes()).toContain(ipsOf(answer)[0]);
        expect(await agent.check(pod, answer)).toBe("");
    });
});

describe("an ADD that fails leaves nothing", () => {
    it("when the pools have no address", async () => {
        const pod = newPod();
        pools.onAllocation = () => Promise.reject(new IpPoolError("EXHAUSTED", "no free address"));
        await expect(agent.add(pod)).rejects.toMatchObject({ code: "IPAM_FAILURE" });
        await agent.resync();
        expect(await node.state()).toEqual(empty);
        expect([...pools.allocations]).toEqual([]);
    });

    it("when the namespace is gone", async () => {
        const pod = newPod();
        const args = pod.args({}, { netns: "/var/run/netns/none" });
        await expect(agent.calls.call("add", args, new AbortController().signal)).rejects.toMatchObject({
            code: "CONFIG_INTERFACE_FAILURE",
        });
        expect([...pools.allocations]).toEqual([]);
    });

    it.each(["ports done", "flows", "flows done"] as const)("when a DEL overtakes it at %s", async (stage) => {
        const pod = newPod();
        // The first passage is that of the port without addresses.
        const hold = agent.hold(stage);
        const added = agent.add(pod);
        added.catch(() => undefined);
        await hold.reached;
        const deleted = agent.del(pod);
        hold.release();
        await expect(added).rejects.toMatchObject({ message: expect.stringContaining("was deleted") });
        await deleted;
        await agent.resync();
        expect(await node.state()).toEqual(empty);
    });

    it("when a DEL overtakes it while it claims", async () => {
        const pod = newPod();
        const reached = Promise.withResolvers<void>();
        const released = Promise.withResolvers<void>();
        pools.onAllocation = () => {
            reached.resolve();
            return released.promise;
        };
        const added = agent.add(pod);
        added.catch(() => undefined);
        await reached.promise;
        const deleted = agent.del(pod);
        released.resolve();
        await expect(added).rejects.toMatchObject({ message: expect.stringContaining("was deleted") });
        await deleted;
        await agent.resync();
        expect(await node.state()).toEqual(empty);
    });
});

describe("allocations", () => {
    it("go over to another sandbox of the Pod, whose older one is unwired", async () => {
        const first = newPod();
        const answer = await agent.add(first);
        const second = newPod(poolPodName, first.uid);
        expect(ipsOf(await agent.add(second))).toEqual(ipsOf(answer));
        expect(agent.network.interfaces().map(({ record }) => record.containerId)).toEqual([second.containerId]);
        // The DEL of the older one comes late and takes nothing away.
        await agent.del(first);
        expect(pools.allocations.size).toBe(1);
        expect(await second.ping("10.10.1.1")).toBe(1);
    });

    it("are one for ADDs of two sandboxes at once", async () => {
        const first = newPod();
        const second = newPod(poolPodName, first.uid);
        const answers = await Promise.all([agent.add(first), agent.add(second)]);
        expect(ipsOf(answers[0])).toEqual(ipsOf(answers[1]));
        expect(agent.network.interfaces()).toHaveLength(1);
    });

    it("are given back by a DEL, and by one of a container without a record", async () => {
        const pod = newPod();
        await agent.add(pod);
        await agent.del(pod);
        expect([...pools.allocations]).toEqual([]);
        const crashed = newPod();
        pools.allocations.set("x", {
            containerId: crashed.containerId,
            ifName: "eth0",
            allocation: { addresses: [], vlan: 0 },
        });
        await agent.del(crashed);
        expect([...pools.allocations]).toEqual([]);
    });

    it("are given back by the reconcile when a DEL came while OVS was away", async () => {
        const pod = newPod();
        await agent.add(pod);
        const hold = agent.hold("deletePort", new AntreaError("DISCONNECTED", "environment", "no database"));
        const deleted = agent.del(pod);
        await hold.reached;
        hold.release();
        await deleted;
        expect(pools.allocations.size).toBe(1);
        await agent.resync();
        expect([...pools.allocations]).toEqual([]);
    });

    it("stay when the sandbox ended without a DEL", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        pod.netns.run("ip", "link", "del", "eth0");
        await eventually(
            () => agent.resync().then(() => agent.network.interfaces().length),
            (count) => count === 0,
        );
        expect(pools.allocations.size).toBe(1);
        const next = newPod(poolPodName, pod.uid);
        expect(ipsOf(await agent.add(next))).toEqual(ipsOf(answer));
    });
});

describe("what another holds", () => {
    it("is isolated: no flow, no route, also after a resync", async () => {
        const pod = newPod();
        const answer = await agent.add(pod);
        const [known] = agent.network.interfaces();
        if (known === undefined) throw new TypeError("no interface");
        await agent.network.isolate(known);
        await agent.resync();
        expect(await nodePings(ipsOf(answer)[0] ?? "", 3)).toBe(false);
        expect(podRoutes()).toEqual([]);
        expect(agent.network.interfaces()).toHaveLength(1);
    });

    it.each(["as it was", "without its database"])(
        "stays isolated when the agent starts again on a Node %s, until it is reconnected",
        async (how) => {
            const pod = newPod();
            const answer = await agent.add(pod);
            const [before] = agent.network.interfaces();
            if (before === undefined) throw new TypeError("no interface");
            await agent.network.isolate(before);
            await agent.stop();
            if (how === "without its database") await node.loseDatabase();
            agent = await start();
            const [known] = agent.network.interfaces();
            if (known === undefined) throw new TypeError("no interface");
            expect(agent.network.isIsolated(known)).toBe(true);
            expect(agent.flowTable.flowsOf(flowOwner(known.record))).toEqual([]);
            const inOvs = await node.ovs.ofctl("dump-flows", node.bridge, `in_port=${known.ofPort}`);
            expect(inOvs).not.toContain("in_port=");
            expect(podRoutes()).toEqual([]);
            await agent.resync();
            expect(await nodePings(ipsOf(answer)[0] ?? "", 3)).toBe(false);
            expect(await agent.check(pod, answer)).toContain("ISOLATED");

            await agent.network.reconnect(known);
            expect(await nodePings(ipsOf(answer)[0] ?? "")).toBe(true);
            expect(await agent.check(pod, answer)).toBe("");
            await agent.stop();
            agent = await start();
            expect(await nodePings(ipsOf(answer)[0] ?? "")).toBe(true);
        },
    );
});

describe("a new agent", () => {
    it.each(["as it was", "without its database"])("finds the Pod again on a Node %s", async (how) => {
        const pod = newPod();
        const answer = await agent.add(pod);
        await agent.stop();
        if (how === "without its database") await node.loseDatabase();
        agent = await start();
        const [known] = agent.network.interfaces();
        expect(known?.record).toMatchObject({ containerId: pod.containerId, podUid: pod.uid, vlan: 2 });
        expect(known?.record.addresses.map(({ pool }) => pool)).toEqual(["pool4", "pool6"]);
        await agent.resync();
        expect(podRoutes()).toEqual(ipsOf(answer));
        expect(await agent.check(pod, answer)).toBe("");
        for (const ip of ipsOf(answer)) expect([ip, await nodePings(ip)]).toEqual([ip, true]);
    });
});
