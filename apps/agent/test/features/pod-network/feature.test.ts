import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import type { Pod } from "@antrea/kube";
import { OneAgent } from "./one-agent.ts";
import { plannedNetwork } from "../../support/planned-network.ts";

const { signal } = new AbortController();
const bandwidth = { "kubernetes.io/ingress-bandwidth": "10M" };

function podOf(name: string, annotations: Readonly<Record<string, string>> = {}, ip = "10.10.1.77"): Pod {
    const metadata = { namespace: "default", name, uid: `uid-${name}`, annotations };
    return { metadata, spec: {}, status: { phase: "Running", podIPs: [{ ip }] } } as unknown as Pod;
}

let agent: OneAgent;

beforeEach(async () => {
    agent = await new OneAgent().start();
});

describe("the job that keeps OVS as it must be", () => {
    const lose = async (): Promise<void> => {
        await agent.settle();
        agent.node.stored.clear();
    };

    beforeEach(async () => {
        await agent.add();
    });

    it.each<[string, () => unknown]>([
        ["once a minute", () => agent.node.clock.advance(60_000)],
        ["when it is asked to", () => agent.feature.resync()],
        ["when the database has connected", () => agent.listeners.get("connect")?.()],
        ["when the lock of the database has changed", () => agent.listeners.get("lock")?.("locked")],
        ["when the bridge has connected", () => agent.listeners.get("ready")?.()],
        ["when the ranges of Services may have changed", () => agent.listeners.get("Service CIDRs")?.()],
    ])("restores what was lost, %s", async (_, happens) => {
        await lose();
        await agent.settle();
        expect(agent.node.stored.size).toBe(0);
        await happens();
        await agent.settle();
        expect(agent.node.stored.size).toBe(1);
    });

    it("does it after a failure, too, and reports meanwhile that OVS is not ready", async () => {
        expect(agent.readiness.missing()).toBeUndefined();
        agent.listeners.get("lock")?.("locked");
        expect(agent.readiness.missing()).toBeUndefined();
        agent.listeners.get("lock")?.("waiting");
        expect(agent.readiness.missing()).toBe("the lock of this Node's OVS database is not held");
        await agent.settle();
        expect(agent.readiness.missing()).toBeUndefined();
        agent.node.steps.failure = (_, name) => (name === "ensure bridge" ? "before" : undefined);
        agent.listeners.get("lock")?.("lost");
        await agent.settle();
        expect(agent.readiness.missing()).toBe("the lock of this Node's OVS database is not held");
        agent.node.steps.failure = () => undefined;
        agent.listeners.get("lock")?.("locked");
        await agent.settle();
        expect(agent.readiness.missing()).toBeUndefined();
    });

    it("keeps the datapath ID of a bridge that is on the physical network, and of no other", async () => {
        expect(agent.datapathIds).toHaveLength(0);
        agent = await new OneAgent({ bridgedMac: "0a:00:00:00:00:01" }).start();
        expect(agent.datapathIds).toEqual(["0a:00:00:00:00:01"]);
    });

    it("reports with the agent's readiness what it cannot repair", async () => {
        expect([...agent.checks].map(([name, check]) => [name, check()])).toEqual([
            ["ready subnet", undefined],
            ["ready bridge-device", undefined],
            ["ready pod-interfaces", undefined],
        ]);
        agent.node.links.delete("br-int");
        agent.feature.resync();
        await agent.settle();
        expect(agent.checks.get("ready bridge-device")?.()).toMatch(/OVS did not make the device br-int/);
        const { containerId } = agent.node.request();
        const work = Promise.withResolvers<void>();
        const busy = agent.feature.network.exclusively(containerId, () => work.promise);
        agent.node.stored.clear();
        for (let seconds = 0; seconds < 240; seconds += 1) {
            await agent.settle();
            await agent.node.clock.advance(1_000);
        }
        expect(agent.checks.get("ready pod-interfaces")?.()).toContain(`container ${containerId} (Pod default/web-0)`);
        work.resolve();
        await busy;
    });
});

describe("the job that watches the lock of OVS", () => {
    it("ends the agent when another one has it twice in a row, 10 s apart", async () => {
        agent.lockState = "waiting";
        await agent.node.clock.advance(10_000);
        agent.lockState = "locked";
        await agent.node.clock.advance(10_000);
        agent.lockState = "waiting";
        await agent.node.clock.advance(10_000);
        expect(agent.failures).toEqual([]);
        await agent.node.clock.advance(10_000);
        expect(agent.failures).toMatchObject([{ code: "LOCK_TAKEN" }]);
    });
});

describe("the job that searches for lost bandwidth limits", () => {
    it("reports them after a start, and after OVS has connected again", async () => {
        await agent.node.clock.advance(120_000);
        expect(agent.commands).toEqual([]);
        await agent.add({ podUid: "uid-a" });
        agent.pods = [podOf("a", bandwidth)];
        await agent.node.clock.advance(120_000);
        expect(agent.events).toEqual([]);
        agent.listeners.get("ready")?.();
        await agent.node.clock.advance(60_000);
        await agent.settle();
        expect(agent.commands).toEqual(["tc -j qdisc show"]);
        expect(agent.events).toMatchObject([{ reason: "BandwidthLimitLost", regarding: { name: "a" } }]);
    });

    it("checks twice after the start of the agent", async () => {
        agent = new OneAgent();
        agent.pods = [podOf("a", bandwidth)];
        await agent.start();
        for (let minutes = 0; minutes < 4; minutes += 1) {
            await agent.settle();
            await agent.node.clock.advance(60_000);
        }
        expect(agent.commands).toEqual(["tc -j qdisc show", "tc -j qdisc show"]);
    });
});

describe("the addresses of the Node", () => {
    it("are given in order, but for those of IPPools and those that Pods have by their status", async () => {
        agent = new OneAgent({ pools: true });
        agent.isApiAway = true;
        await agent.start();
        agent.isApiAway = false;
        agent.pods = [podOf("foreign", {}, "10.10.1.3")];
        await agent.feature.holdKnownAddresses(signal);
        expect((await agent.add()).addresses.map(({ ip }) => formatIp(ip))).toEqual(["10.10.1.4"]);
        expect(agent.feature.subnet.usage()).toMatchObject([{ used: 2 }]);
        // A Pod that runs without an interface of this agent is reported in the second round.
        for (let rounds = 0; rounds < 2; rounds += 1) {
            agent.feature.resync();
            await agent.settle();
        }
        expect(agent.events).toMatchObject([{ reason: "PodWithoutInterface", regarding: { name: "foreign" } }]);
    });

    it("are asked for once the watch of Nodes is silent, and refused to Pods when the Node is gone", async () => {
        agent.nodesUpToDateAt = -Infinity;
        await expect(agent.add()).rejects.toMatchObject({ code: "SUBNET_LOST" });
        expect(agent.checks.get("ready subnet")?.()).toMatch(/worker/);
        expect(agent.hasNodesListener).toBe(true);
        await agent.feature.stop?.();
        expect(agent.hasNodesListener).toBe(false);
    });

    it("are those of Pods only while these have them", async () => {
        const { addresses } = await agent.add();
        const route = parsePrefix(`${formatIp(addresses[0]?.ip ?? parseIp("::"))}/32`);
        expect([agent.feature.isRouted(route), agent.feature.isRouted(parsePrefix("10.10.1.0/24"))]).toEqual([
            true,
            false,
        ]);
        await agent.node.clock.advance(1);
        await agent.feature.network.delete(agent.node.request().containerId, "eth0");
        expect(agent.feature.isRouted(route)).toBe(false);
    });
});

it("metrics count Pods, flows and addresses in use", async () => {
    await agent.add();
    const lines = (await agent.metrics.text()).split("\n");
    expect(lines).toContain("antrea_agent_local_pod_count 1");
    expect(lines).toContain(`antrea_agent_ovs_total_flow_count ${agent.node.flowTable.size}`);
    expect(lines).toContain('antrea_agent_pod_cidr_addresses_used{cidr="10.10.1.0/24"} 1');
    expect(lines.filter((line) => line.startsWith("# HELP")).map((line) => line.replace("# HELP ", ""))).toEqual(
        expect.arrayContaining([
            "antrea_agent_local_pod_count Pod interfaces that this agent has wired.",
            "antrea_agent_ovs_total_flow_count Desired flows of this agent in OVS.",
            "antrea_agent_pod_cidr_addresses_used Addresses in use of each podCIDR of this Node.",
        ]),
    );
});

it("new Pods get the MTU that the Node has then", async () => {
    agent.mtu = 1300;
    const { netns, ifName } = await agent.add();
    expect(agent.node.inside.end(netns, ifName)?.mtu).toBe(1300);
});

describe("with networks", () => {
    const moving = plannedNetwork("eth1", {
        pool: "100",
        dns: { domain: "a.example" },
        routes: [{ dst: "0.0.0.0/0" }],
    });

    beforeEach(async () => {
        agent = await new OneAgent({ networks: true }).start();
        agent.fakes.plans = [moving, plannedNetwork("eth2")];
    });

    it("an ADD makes and reports them, and the Pod's default route moves, but for Services", async () => {
        const { netns } = await agent.add();
        expect(Object.keys(agent.fakes.inside(netns))).toEqual(["eth0", "eth1", "eth2"]);
        expect(agent.fakes.reported).toEqual(["web-0 1450 eth1 a.example eth2 -"]);
        expect(agent.node.inside.routesIn(netns).toSorted()).toEqual([
            "0.0.0.0/0 via 192.168.100.1 dev eth1",
            "10.96.0.0/12 via 10.10.1.1 dev eth0",
        ]);
    });

    it("a running Pod's routes to Services follow the ranges of the API server as soon as these are known or change", async () => {
        const { netns } = await agent.add();
        const toServices = (): readonly string[] =>
            agent.node.inside.routesIn(netns).filter((route) => route.endsWith("dev eth0"));
        for (const range of ["10.96.0.0/16", "10.97.0.0/16"]) {
            agent.watchedCidrs = [parsePrefix(range)];
            agent.listeners.get("Service CIDRs of networks")?.();
            await agent.settle();
            expect(toServices()).toEqual([`${range} via 10.10.1.1 dev eth0`]);
        }
    });

    it("CHECK compares all interfaces of the container, but for those that are being removed", async () => {
        const { netns, containerId } = await agent.add();
        const [known] = agent.feature.network.interfaces();
        if (known === undefined) throw new Error("no interface");
        const { size } = agent.node.flowTable;
        await agent.feature.check(known, { netns, previous: [] });
        expect(agent.checked).toEqual([
            `eth0 ${netns} ${known.ofPort} ${size},${size} problem of eth0`,
            "moved: 4",
            `eth1 ${netns} 100 problem of eth1 true`,
            `eth2 ${netns} 0 problem of eth2 true`,
        ]);
        agent.checked.length = 0;
        agent.feature.network.further?.leave({ containerId, ifName: "eth2" });
        await agent.feature.check(known, { netns, previous: [] });
        expect(agent.checked.map((line) => line.split(" ")[0])).toEqual(["eth0", "moved:", "eth1"]);
    });

    it("meta plugins ask for one at a time, and have it checked", async () => {
        agent.fakes.plans = [];
        const { netns, containerId } = await agent.add();
        const { networks } = agent.feature;
        agent.fakes.plans = [plannedNetwork("net1", { pool: "100" })];
        await networks?.add(agent.fakes.call("net1"), signal);
        expect(Object.keys(agent.fakes.inside(netns))).toEqual(["eth0", "net1"]);
        await networks?.check({ containerId, ifName: "net1", netns, previous: [] });
        expect(agent.checked).toEqual([`net1 ${netns} 100 problem of net1 false`]);
        agent.fakes.plans = [plannedNetwork("net2", { pool: "100", routes: [{ dst: "10.10.1.0/24" }] })];
        await expect(networks?.add(agent.fakes.call("net2"), signal)).rejects.toMatchObject({ code: "BAD_ROUTE" });
        expect(agent.fakes.failed).toHaveLength(1);
    });

    it("are not there for an agent that makes none", async () => {
        expect(agent.feature.networks).toBeDefined();
        agent = await new OneAgent().start();
        agent.fakes.plans = [moving];
        const { netns } = await agent.add();
        expect([agent.feature.networks, agent.feature.network.further]).toEqual([undefined, undefined]);
        expect(Object.keys(agent.fakes.inside(netns))).toEqual(["eth0"]);
        const [known] = agent.feature.network.interfaces();
        if (known !== undefined) await agent.feature.check(known, { netns, previous: [] });
        expect(agent.checked).toHaveLength(2);
    });
});

it("a start knows the Pods of the one before, in the database and on their links", async () => {
    const record = await agent.add();
    const former = agent.node;
    for (const lost of [false, true]) {
        agent = new OneAgent();
        for (const [name, link] of former.links) agent.node.links.set(name, link);
        if (!lost) for (const [name, port] of former.stored) agent.node.stored.set(name, port);
        agent.pods = [podOf("web-0")];
        await agent.start();
        expect(agent.feature.network.interfaces().map((known) => known.record)).toMatchObject([
            { containerId: record.containerId, addresses: record.addresses },
        ]);
        expect(agent.node.stored.size).toBe(1);
    }
});
