import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { TestNode, type TestAgent } from "../../../support/test-node.ts";
import { TestPod } from "../../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;

beforeAll(async () => {
    node = await TestNode.start();
    agent = await node.startAgent();
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

function ip(...args: readonly string[]): string {
    return execFileSync("ip", args, { encoding: "utf8" });
}

/** The part of a second that ovs-vswitchd takes of a CPU, in percent. */
async function cpuPercent(): Promise<number> {
    const ticks = (): number => {
        const stat = readFileSync(`/proc/${node.ovs.vswitchdPid}/stat`, "utf8");
        const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
        return (user ?? 0) + (system ?? 0);
    };
    const before = ticks();
    await sleep(1_000);
    return ticks() - before;
}

async function bridge(): Promise<readonly string[]> {
    const { flows, ports } = await node.state();
    const id = await node.ovs.vsctl("get", "bridge", node.bridge, "datapath_id");
    return [id, await node.ovs.vsctl("get", "interface", node.bridge, "ofport"), ...ports, ...flows];
}

it.each([
    ["deleted", () => ip("link", "del", "br-int")],
    ["moved to another namespace", (pod: TestPod) => ip("link", "set", "br-int", "netns", pod.netns.name)],
])(
    "a device of the bridge that somebody has %s comes back by the next check, and Pods notice nothing",
    async (_, lose) => {
        using pod = new TestPod();
        const answer = await agent.add(pod);
        const before = await bridge();
        const connected = agent.openflow.state;
        lose(pod);
        const pings = pod.answered("10.10.1.1", { count: 20, intervalS: 0.05 });
        await agent.resync();
        expect(ip("-d", "-o", "link", "show", node.bridge)).toContain("tun type tap");
        expect(await pings).toBe(20);
        expect(await bridge()).toEqual(before);
        expect(agent.openflow.state).toBe(connected);
        expect(agent.bridgeDevice.problem).toBeUndefined();
        expect(await agent.check(pod, answer)).toBe("");
        // ovs-vswitchd tries to read a device that is lost again and again, and takes a whole CPU for it.
        expect(await cpuPercent()).toBeLessThan(20);
        await agent.del(pod);
    },
);

it("is not touched when all is well, nor while OVS has just started", async () => {
    const index = ip("-o", "link", "show", node.bridge).split(":")[0];
    await agent.resync();
    await node.ovs.restartVswitchd();
    await agent.resync();
    expect(ip("-o", "link", "show", node.bridge).split(":")[0]).toBe(index);
});

it("comes back by the next check when somebody has taken its port out of the database", async () => {
    const uuid = (await node.ovs.vsctl("get", "port", node.bridge, "_uuid")).trim();
    await node.ovs.vsctl("remove", "bridge", node.bridge, "ports", uuid);
    expect(ip("link")).not.toContain(`${node.bridge}:`);
    await agent.resync();
    expect(ip("-d", "-o", "link", "show", node.bridge)).toContain("tun type tap");
});

it("reports that the device of the datapath is gone until OVS is started again; Pods have their traffic", async () => {
    using pod = new TestPod();
    ip("link", "del", "ovs-netdev");
    await expect(agent.resync()).rejects.toMatchObject({ code: "NO_DEVICE" });
    expect(agent.bridgeDevice.problem).toContain("the device ovs-netdev of OVS");
    await agent.add(pod);
    expect(await pod.ping("10.10.1.1")).toBe(1);
    await node.ovs.restartVswitchd();
    await agent.resync();
    expect(agent.bridgeDevice.problem).toBeUndefined();
    await agent.del(pod);
});
