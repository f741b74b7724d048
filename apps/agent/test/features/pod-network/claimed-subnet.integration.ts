import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { flowOwner } from "../../../src/features/pod-network/index.ts";
import { guardedPrefixes } from "../../../src/features/ip-pools/index.ts";
import { subnetWiring } from "../../../src/features/ip-pools/node-interfaces.ts";
import { PoolCluster } from "../ip-pools/support/pool-cluster.ts";
import { TestNodes, type TestPoolAgent } from "../ip-pools/support/test-agent.ts";
import { eventually } from "../../support/eventually.ts";
import { TestNode, type TestAgent } from "../../support/test-node.ts";
import { ipsOf, TestPod } from "../../support/test-pod.ts";
import type { PodInterface } from "../../../src/platform/pod-interfaces/index.ts";

const podCidrs = ["10.10.1.0/24", "fd10:10:0:1::/64"];

let node: TestNode;
let cluster: PoolCluster;
let agent: TestAgent;
let allocations: TestPoolAgent;
let nodes: TestNodes;
/** Of another Node, which does not know that this one has the podCIDRs. */
let other: TestPoolAgent;
let pods: TestPod[];
let checking: Promise<unknown>;

/** Both halves of an agent, as compose.ts puts them together: the wiring, and the check of allocations. */
async function start(cidrs: readonly string[] = podCidrs): Promise<void> {
    nodes = new TestNodes([{ metadata: { name: "here" }, spec: { podCIDRs: cidrs } }]);
    allocations = cluster.agent("here", { nodes });
    agent = await node.startAgent({ podCidrs: cidrs, isClaimed: (ip) => allocations.pools.podCidrs.isClaimed(ip) });
    const wiring = subnetWiring({ podInterfaces: agent.podInterfaces, control: agent.network, netlink: agent.netlink });
    const check = (): Promise<void> => allocations.pools.podCidrs.check(wiring, AbortSignal.timeout(60_000));
    allocations.pools.podCidrs.onChange(() => void (checking = checking.then(check, check)));
    nodes.onChange(() => void (checking = checking.then(check, check)));
    const podPrefixes = cidrs.map((cidr) => parsePrefix(cidr));
    await allocations.pools.podCidrs.guard(
        guardedPrefixes(podPrefixes, agent.podInterfaces, agent.subnet),
        AbortSignal.timeout(60_000),
    );
    await check();
}

async function stop(): Promise<void> {
    await checking;
    await Promise.all([agent.stop(), allocations.kill()]);
}

async function added(
    name: string,
): Promise<{ readonly pod: TestPod; readonly ip: string; readonly known: PodInterface }> {
    const pod = new TestPod(name);
    pods.push(pod);
    const answer = await agent.add(pod);
    const known = agent.network.find(pod.containerId, "eth0");
    if (known === undefined) throw new TypeError("no interface");
    return { pod, known, ip: ipsOf(answer)[0] ?? "" };
}

const now = ({ record }: PodInterface): PodInterface | undefined =>
    agent.network.find(record.containerId, record.ifName);
const isIsolated = (known: PodInterface): boolean => {
    const current = now(known);
    return current !== undefined && agent.network.isIsolated(current);
};

/** `limitS`: what answers is given long, as a busy machine needs it; where nothing may answer, 3 s are enough. */
function nodePings(ip: string, limitS = 30): boolean {
    try {
        execFileSync("ping", ["-n", "-q", "-c", "1", "-w", String(limitS), ip], { stdio: "ignore" });
        return true;
    } catch {
        return false;
    }
}

/** Waits until the agent has connected it again. */
async function expectConnected({ known, ip }: { readonly known: PodInterface; readonly ip: string }): Promise<void> {
    expect(
        await eventually(
            () => isIsolated(known),
            (found) => !found,
        ),
    ).toBe(false);
    await checking;
    expect(nodePings(ip)).toBe(true);
}

beforeAll(async () => {
    // First: what is started after it is in the Node's network namespace too.
    node = await TestNode.start();
    cluster = await PoolCluster.start();
});
afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
    pods = [];
    checking = Promise.resolve();
    await start();
    other = cluster.agent("other");
});
afterEach(async () => {
    for (const pod of pods) {
        await agent.del(pod);
        pod[Symbol.dispose]();
    }
    await stop();
    await cluster.clear();
});

describe("an address of the Node's subnet that is in use and is claimed from a pool", () => {
    it("has one user: the Pod here is isolated at once, reported on it, and connected when the allocation goes", async () => {
        const web = await added("web");
        const db = await added("db");
        expect([nodePings(web.ip), nodePings(db.ip)]).toEqual([true, true]);

        await cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
        await other.claim("p1", { pools: ["wide"], fixed: [parseIp(web.ip)] });
        expect(await eventually(() => isIsolated(web.known), Boolean)).toBe(true);
        await checking;
        expect(agent.flowTable.flowsOf(flowOwner(web.known.record))).toEqual([]);
        const inOvs = await node.ovs.ofctl("dump-flows", node.bridge, `in_port=${web.known.ofPort}`);
        expect(inOvs).not.toContain("in_port=");
        expect([nodePings(web.ip, 3), nodePings(db.ip), isIsolated(db.known)]).toEqual([false, true, false]);
        const note = `address ${web.ip} of this Pod, of the podCIDR of its Node, is allocated from IPPool wide to Pod default/p1 (UID uid-p1) on Node other;`;
        expect(allocations.events).toMatchObject([
            { reason: "AddressHeldElsewhere", regarding: { name: "web" }, note: expect.stringContaining(note) },
        ]);

        await other.release("p1");
        await expectConnected(web);
    });

    it.each(["as it was", "without its database"])(
        "stays so when the agent starts again while the API server reports nothing, on a Node %s",
        async (how) => {
            const web = await added("web");
            await cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
            await other.claim("p1", { pools: ["wide"], fixed: [parseIp(web.ip)] });
            await eventually(() => isIsolated(web.known), Boolean);
            await stop();
            if (how === "without its database") await node.loseDatabase();
            agent = await node.startAgent({ podCidrs });
            const known = now(web.known);
            expect(known?.record).toMatchObject({ isolated: true, containerId: web.pod.containerId });
            await agent.resync();
            expect(nodePings(web.ip, 3)).toBe(false);
            await agent.stop();

            // By the answers of the API server it stays so as long as the allocation exists.
            await start();
            expect(isIsolated(web.known)).toBe(true);
            await other.release("p1");
            await expectConnected(web);
            await stop();
            await start();
            expect([isIsolated(web.known), nodePings(web.ip)]).toEqual([false, true]);
        },
    );

    it("has one user also after the Node got other podCIDRs", async () => {
        const web = await added("web");
        await stop();
        await start(["10.10.2.0/24", "fd10:10:0:2::/64"]);
        await cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
        await other.claim("p1", { pools: ["wide"], fixed: [parseIp(web.ip)] });
        expect(await eventually(() => isIsolated(web.known), Boolean)).toBe(true);
    });

    it("has one user also after the Node got other podCIDRs and another Node has the earlier ones", async () => {
        const web = await added("web");
        await stop();
        await start(["10.10.2.0/24", "fd10:10:0:2::/64"]);
        const db = await added("db");
        expect([isIsolated(web.known), isIsolated(db.known)]).toEqual([false, false]);
        nodes.put("next", { podCIDRs: podCidrs });
        expect(await eventually(() => isIsolated(web.known), Boolean)).toBe(true);
        await checking;
        const inOvs = await node.ovs.ofctl("dump-flows", node.bridge, `in_port=${web.known.ofPort}`);
        expect(inOvs).not.toContain("in_port=");
        expect([nodePings(web.ip, 3), nodePings(db.ip), isIsolated(db.known)]).toEqual([false, true, false]);
        expect(allocations.events).toMatchObject([
            {
                reason: "AddressHeldElsewhere",
                regarding: { name: "web" },
                note: expect.stringContaining(`address ${web.ip} of this Pod is of an earlier podCIDR of its Node`),
            },
            { note: expect.stringContaining("and Node next has it now") },
        ]);
        nodes.remove("next");
        expect(
            await eventually(
                () => isIsolated(web.known),
                (found) => !found,
            ),
        ).toBe(false);
    });

    it("is not handed out again when its Pod here has gone", async () => {
        const web = await added("web");
        await cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
        await other.claim("p1", { pools: ["wide"], fixed: [parseIp(web.ip)] });
        await eventually(() => isIsolated(web.known), Boolean);
        await agent.del(web.pod);
        const free = [2, 3, 4].map((number) => `10.10.1.${number}`).filter((ip) => ip !== web.ip);
        for (const ip of free.slice(0, 1)) await other.claim(`q${ip}`, { pools: ["wide"], fixed: [parseIp(ip)] });
        await eventually(() => allocations.pools.podCidrs.isClaimed(parseIp(free[0] ?? "")), Boolean);
        const given = [await added("one"), await added("two")].flatMap(({ known }) =>
            known.record.addresses.map(({ ip }) => formatIp(ip)),
        );
        expect(given).not.toContain(web.ip);
        expect(given).not.toContain(free[0]);
    });
});
