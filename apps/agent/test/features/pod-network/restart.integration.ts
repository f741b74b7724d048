import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { cookieOf } from "@antrea/flows";
import { formatMac } from "@antrea/ip";
import { eventually } from "../../support/eventually.ts";
import { allDiffer, TestNode, type NodeState, type TestAgent, type TestAgentOptions } from "../../support/test-node.ts";
import { ipsOf, TestPod, type AddAnswer } from "../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;
let pods: TestPod[];

beforeEach(async () => {
    pods = [];
    node = await TestNode.start();
    agent = await node.startAgent();
});

afterEach(async () => {
    for (const pod of pods) pod[Symbol.dispose]();
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

function newPod(name?: string): TestPod {
    const pod = new TestPod(name);
    pods.push(pod);
    return pod;
}

/** The agent is killed and started again. */
async function restart(options?: TestAgentOptions): Promise<void> {
    await agent.stop();
    agent = await node.startAgent(options);
}

/** The agent polls until the links of ended namespaces are gone. */
function usedWhenQuiet(expected: number): Promise<readonly number[]> {
    return eventually(
        () => agent.resync().then(() => agent.used),
        (used) => used.every((count) => count === expected),
    );
}

function stateWhenQuiet(expected: NodeState): Promise<NodeState> {
    return eventually(
        () => agent.resync().then(() => node.state()),
        ({ links }) => links.length <= expected.links.length,
    );
}

/** The rounds that flows of ours carry in OVS; 0 stands for flows of others. */
async function rounds(): Promise<readonly number[]> {
    const flows = await agent.openflow.dumpFlows();
    return [...new Set(flows.map(({ cookie }) => cookieOf(cookie).round))].sort((one, other) => one - other);
}

function recordsOf({ network }: TestAgent): readonly object[] {
    const all = network.interfaces().map(({ record, ofPort }) => ({ record, ofPort }));
    return all.sort((one, other) => one.ofPort - other.ofPort);
}

async function twoPods(): Promise<{ readonly pods: readonly [TestPod, TestPod]; readonly answers: AddAnswer[] }> {
    const both: [TestPod, TestPod] = [newPod("one"), newPod("other")];
    return { pods: both, answers: await Promise.all(both.map((pod) => agent.add(pod))) };
}

describe("the agent starts again", () => {
    it("keeps its records, replaces its flows, leaves those of others, and no ping is lost", async () => {
        const { pods: both, answers } = await twoPods();
        const target = answers[1];
        if (target === undefined) throw new Error("no answer");
        await node.ovs.addPort(node.bridge, "foreign0");
        await node.ovs.ofctl("add-flow", node.bridge, "table=200,priority=7,in_port=4711,actions=drop");
        const records = recordsOf(agent);
        const mac = agent.gateway.mac;
        const before = await node.state();
        const [v4 = "", v6 = ""] = ipsOf(target);
        await Promise.all([both[0].ping(v4), both[0].ping(v6)]);

        const pings = Promise.all([v4, v6].map((ip) => both[0].answered(ip, { count: 20, intervalS: 0.1 })));
        const round = agent.round;
        await restart();
        expect(await pings).toEqual([20, 20]);

        expect(recordsOf(agent)).toEqual(records);
        expect(agent.gateway.mac).toEqual(mac);
        expect(await node.state()).toEqual(before);
        expect(agent.round).toBe(round + 1);
        expect(await rounds()).toEqual([0, round + 1]);
        expect(await agent.flowTable.repair()).toEqual({ missing: 0, superfluous: 0 });
        for (const [index, pod] of both.entries()) {
            expect(await agent.check(pod, answers[index] as AddAnswer)).toBe("");
            expect(await agent.add(pod)).toEqual(answers[index]);
        }
        expect(allDiffer([...answers, await agent.add(newPod())])).toBe(true);
    });

    it("deletes the flows of Pods that ended meanwhile, and frees their addresses", async () => {
        const empty = await node.state();
        await twoPods();
        const kept = newPod("kept");
        const answer = await agent.add(kept);
        await agent.stop();
        for (const pod of pods) if (pod !== kept) pod.netns.remove();
        agent = await node.startAgent();
        expect(await usedWhenQuiet(1)).toEqual([1, 1]);
        expect(await agent.check(kept, answer)).toBe("");
        await agent.del(kept);
        kept.netns.remove();
        expect(await stateWhenQuiet(empty)).toEqual(empty);
    });

    it("keeps Pods outside its new podCIDRs until they end", async () => {
        const { pods: both, answers } = await twoPods();
        await restart({ podCidrs: ["10.20.1.0/24", "fd10:20:0:1::/64"] });
        expect(agent.network.interfaces()).toHaveLength(2);
        expect(agent.used).toEqual([0, 0]);
        expect(await both[0].ping(ipsOf(answers[1] as AddAnswer)[0] ?? "")).toBe(1);
        const added = await agent.add(newPod());
        expect(ipsOf(added)[0]).toMatch(/^10\.20\.1\./);
        await agent.del(both[0]);
        expect(agent.network.interfaces()).toHaveLength(2);
    });

    it("an address that only the API server knows of is not given until its Pod is gone or has another", async () => {
        const [ghost, done] = [newPod("ghost"), newPod("done")];
        const held = ghost.known(undefined, { podIps: [{ family: 4, value: 0x0a0a0102n }] });
        const ended = done.known(undefined, { podIps: [{ family: 4, value: 0x0a0a0103n }], ended: true });
        let known = [held, ended];
        await restart({ pods: () => known });
        expect(agent.used).toEqual([1, 0]);
        const answers = [await agent.add(newPod()), await agent.add(newPod())];
        expect(answers.map((answer) => ipsOf(answer)[0])).toEqual(["10.10.1.3", "10.10.1.4"]);
        known = [{ ...held, podIps: [{ family: 4, value: 0x0a0a0104n }] }, ended];
        await agent.resync();
        expect(agent.used).toEqual([2, 2]);
    });
});

describe("the database is lost", () => {
    it("while the agent is away: the links report what there is, and no address is given twice", async () => {
        const { pods: both, answers } = await twoPods();
        const mac = formatMac(agent.gateway.mac);
        await agent.stop();
        await node.loseDatabase();
        agent = await node.startAgent({ pods: () => both.map((pod, index) => pod.known(answers[index])) });
        expect(agent.used).toEqual([2, 2]);
        expect(formatMac(agent.gateway.mac)).toBe(mac);
        const ids = agent.bridge.port(both[0].hostIfName)?.externalIds;
        expect(ids?.get("pod-name")).toBe("one");
        expect(ids?.get("ip-address")).toBe(ipsOf(answers[0] as AddAnswer).join(","));
        for (const [index, pod] of both.entries()) {
            expect(await agent.check(pod, answers[index] as AddAnswer)).toBe("");
            expect(await agent.add(pod)).toEqual(answers[index]);
        }
        expect(await both[0].ping(ipsOf(answers[1] as AddAnswer)[1] ?? "")).toBeGreaterThan(0);
        expect(allDiffer([...answers, await agent.add(newPod())])).toBe(true);
        await agent.del(both[0]);
        expect(agent.network.find(both[0].containerId, "eth0")).toBeUndefined();
    });

    it("under the agent: it puts everything back", async () => {
        const { pods: both, answers } = await twoPods();
        await node.loseDatabase();
        await agent.resync();
        for (const [index, pod] of both.entries()) expect(await agent.check(pod, answers[index] as AddAnswer)).toBe("");
        expect(await both[0].ping(ipsOf(answers[1] as AddAnswer)[0] ?? "")).toBeGreaterThan(0);
        expect(await both[1].ping("10.10.1.1")).toBeGreaterThan(0);
        const { round } = agent;
        await restart();
        expect(agent.round).toBe(round + 1);
        expect(await rounds()).toEqual([round + 1]);
    });
});

describe("ovs-vswitchd is killed", () => {
    it("its flows are back at once when it is, and so is the traffic", async () => {
        const { pods: both, answers } = await twoPods();
        const before = await node.state();
        await node.ovs.restartVswitchd();
        await agent.resync();
        expect((await node.state()).flows).toEqual(before.flows);
        for (const ip of [...ipsOf(answers[1] as AddAnswer), "10.10.1.1", "fd10:10:0:1::1"]) {
            expect([ip, (await both[0].ping(ip)) > 0]).toEqual([ip, true]);
        }
        for (const [index, pod] of both.entries()) expect(await agent.check(pod, answers[index] as AddAnswer)).toBe("");
    });

    it("an ADD that comes meanwhile waits for it, a DEL does not", async () => {
        const { pods: both } = await twoPods();
        await node.ovs.killVswitchd();
        const pod = newPod();
        const adding = agent.add(pod);
        await agent.del(both[0]);
        await node.ovs.startVswitchd();
        const answer = await adding;
        await agent.resync();
        expect(await agent.check(pod, answer)).toBe("");
        expect(agent.network.find(both[0].containerId, "eth0")).toBeUndefined();
        expect(agent.used).toEqual([2, 2]);
    });
});

it("a podCIDR that is used up gives code 101, and one address that is free again is enough", async () => {
    await restart({ podCidrs: ["10.30.1.0/29"] });
    const five = Array.from({ length: 5 }, (_, index) => newPod(`full-${index}`));
    const answers = await Promise.all(five.map((pod) => agent.add(pod)));
    expect(allDiffer(answers)).toBe(true);
    const late = newPod("late");
    await expect(agent.add(late)).rejects.toMatchObject({
        cniCode: 101,
        message: expect.stringContaining("no free address in 10.30.1.0/29"),
    });
    const [first] = five;
    if (first === undefined) throw new Error("no Pod");
    await agent.del(first);
    expect(ipsOf(await agent.add(late))).toEqual(ipsOf(answers[0] as AddAnswer));
    expect(await late.ping("10.30.1.1")).toBe(1);
});

it.each([
    ["IPv4", "10.40.1.0/24", "10.40.1.1"],
    ["IPv6", "fd10:40:0:1::/64", "fd10:40:0:1::1"],
])("%s alone", async (_, cidr, gatewayIp) => {
    await restart({ podCidrs: [cidr] });
    const [one, other] = [newPod("one"), newPod("other")];
    const answer = await agent.add(one);
    const target = await agent.add(other);
    expect(answer.ips.map(({ gateway }) => gateway)).toEqual([gatewayIp]);
    expect(answer.routes).toHaveLength(1);
    for (const ip of [...ipsOf(target), gatewayIp]) expect([ip, await one.ping(ip)]).toEqual([ip, 1]);
    expect(await agent.check(one, answer)).toBe("");
});

it("leftovers of a kill in the middle of an ADD are gone after two checks", async () => {
    const empty = await node.state();
    const pod = newPod();
    const hold = agent.hold("ports");
    const adding = agent.add(pod).catch(() => undefined);
    await hold.reached;
    await agent.stop();
    hold.release();
    await adding;
    agent = await node.startAgent();
    await agent.del(pod);
    expect(await stateWhenQuiet(empty)).toEqual(empty);
    expect(agent.used).toEqual([0, 0]);
});
