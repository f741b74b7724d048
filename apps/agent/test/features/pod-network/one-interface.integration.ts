import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "@jest/globals";
import type { CniCmdArgs } from "@antrea/cni";
import { eventually } from "../../support/eventually.ts";
import { TestNetns } from "../../support/namespace.ts";
import { TestNode, type NodeState, type TestAgent } from "../../support/test-node.ts";
import { TestPod, type AddAnswer } from "../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;
let pod: TestPod;
let answer: AddAnswer;
let before: NodeState;
let inside: string;

beforeAll(async () => {
    node = await TestNode.start();
    agent = await node.startAgent();
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

beforeEach(async () => {
    pod = new TestPod();
    answer = await agent.add(pod);
    before = await node.state();
    inside = read();
});

afterEach(async () => {
    expect(await agent.check(pod, answer)).toBe("");
    expect(read()).toBe(inside);
    expect(await node.state()).toEqual(before);
    expect(await agent.add(pod)).toEqual(answer);
    await agent.del(pod);
    expect(agent.used).toEqual([0, 0]);
    pod[Symbol.dispose]();
});

const read = (): string =>
    pod.netns.run("ip", "-br", "addr") + pod.netns.run("ip", "route") + pod.netns.run("ip", "-6", "route");

function call(command: "add" | "del", name: string, changes: Partial<CniCmdArgs>): Promise<Uint8Array> {
    return agent.calls.call(command, pod.args({ name }, changes), new AbortController().signal);
}

it.each(["antrea", "foo"])(
    "a second interface, of network %s, is refused, and the first keeps addresses and default route",
    async (network) => {
        await expect(call("add", network, { ifname: "net1" })).rejects.toMatchObject({
            cniCode: 7,
            message: expect.stringContaining(
                `container ${pod.containerId} has interface eth0 on the Pod network already, and net1 is refused`,
            ),
        });
        await call("del", network, { ifname: "net1" });
    },
);

it("an interface of another container in the same namespace is refused, also when its path is another", async () => {
    const containerId = "cd34".repeat(16);
    for (const netns of [pod.netns.path, pod.netns.path.replace("/var/run/", "/run/")]) {
        const changes = { containerId, netns, ifname: "net1" };
        await expect(call("add", "antrea", changes)).rejects.toMatchObject({
            cniCode: 4,
            message: expect.stringContaining(
                `${netns} is the network namespace of container ${pod.containerId}, whose interface eth0 is in it`,
            ),
        });
        await call("del", "antrea", changes);
    }
});

it("an interface of another plugin is not another container's where both ends have the numbers of that one's", async () => {
    using other = new TestPod("web-1");
    using third = new TestNetns("third");
    const host = await agent.netlink.link(pod.hostIfName);
    const [onNode, inPod] = [String(host?.index), String(host?.peerIndex)];
    third.run(
        "ip",
        "link",
        "add",
        "storage",
        "index",
        onNode,
        "type",
        "veth",
        "peer",
        "name",
        "net1",
        "index",
        inPod,
        "netns",
        other.netns.name,
    );
    expect(other.netns.run("ip", "-o", "link", "show", "net1")).toContain(`${inPod}: net1@if${onNode}: `);
    const added = await agent.add(other);
    expect(added.interfaces.map(({ name }) => name)).toContain("eth0");
    expect(await agent.check(other, added)).toBe("");
    await agent.del(other);
    expect(other.netns.run("ip", "-br", "link")).toContain("net1");
});

it("GC of a network spares what is of another, also after a restart of the agent", async () => {
    using foreign = new TestPod("web-1");
    await agent.calls.call("add", foreign.args({ name: "foo" }), new AbortController().signal);
    await agent.collect([pod]);
    await agent.collect([foreign], "foo");
    await agent.stop();
    agent = await node.startAgent();
    await agent.collect([pod]);
    expect(agent.used).toEqual([2, 2]);
    await agent.collect([], "foo");
    expect(agent.used).toEqual([1, 1]);
    await eventually(
        () => agent.resync().then(() => node.state()),
        (found) => found.links.length <= before.links.length,
    );
});
