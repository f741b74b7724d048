import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CniCmdArgs } from "@antrea/cni";
import { TestNode, type TestAgent } from "../../support/test-node.ts";
import { TestPod, type AddAnswer } from "../../support/test-pod.ts";

// Container runtimes that name a network namespace otherwise than by /var/run/netns.

let node: TestNode;
let agent: TestAgent;
let folder: string;

beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "antrea-netns-"));
    // As the chart mounts it; for the first process of the Node stands one that this test may look into on any machine.
    mkdirSync(join(folder, "host/proc"), { recursive: true });
    symlinkSync("/proc/self", join(folder, "host/proc/1"));
    node = await TestNode.start();
    agent = await node.startAgent({ hostProcPathPrefix: join(folder, "host") });
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
});

async function lifeOf(pod: TestPod, netns: string): Promise<void> {
    const call = async (command: "add" | "check" | "del", config: Readonly<Record<string, unknown>> = {}) =>
        agent.calls.call(command, pod.args(config, { netns }), new AbortController().signal);
    const answer = JSON.parse(new TextDecoder().decode(await call("add"))) as AddAnswer;
    expect(answer.interfaces[1]).toMatchObject({ name: "eth0", sandbox: netns });
    expect(await pod.ping(answer.ips[0]?.gateway ?? "")).toBe(1);
    await call("check", { prevResult: answer });
    // kubelet repeats an ADD that it did not see end
    expect(await call("add")).toEqual(new TextEncoder().encode(JSON.stringify(answer)));
    await call("del");
    expect(agent.used).toEqual([0, 0]);
}

it("the namespace of a process, as cri-dockerd has it", async () => {
    using pod = new TestPod();
    const sandbox = await sleeperIn(pod);
    symlinkSync(`/proc/${sandbox.pid}`, join(folder, `host/proc/${sandbox.pid}`));
    try {
        await lifeOf(pod, `/proc/${sandbox.pid}/ns/net`);
    } finally {
        sandbox.kill("SIGKILL");
    }
});

it("a folder of the container runtime's own, as containerd has it when configured so", async () => {
    using pod = new TestPod();
    const path = join(folder, "cni-1");
    writeFileSync(path, "");
    execFileSync("mount", ["--bind", pod.netns.path, path]);
    try {
        await lifeOf(pod, path);
    } finally {
        execFileSync("umount", [path]);
    }
});

it("the Node's own is refused, and left as it is", async () => {
    using pod = new TestPod();
    const routes = (): string => execFileSync("ip", ["route"], { encoding: "utf8" });
    execFileSync("ip", ["route", "add", "default", "dev", "antrea-gw0", "metric", "0"]);
    const [before, state] = [routes(), await node.state()];
    const call = (command: "add" | "check" | "del", changes: Partial<CniCmdArgs>) =>
        agent.calls.call(command, pod.args({}, changes), new AbortController().signal);
    for (const netns of ["/proc/1/ns/net", "/proc/thread-self/ns/net"]) {
        for (const command of ["add", "check"] as const) {
            await expect(call(command, { netns, ifname: "ethx" })).rejects.toMatchObject({
                cniCode: 4,
                message: expect.stringContaining(`CNI_NETNS: "${netns}" is the network namespace of the Node itself`),
            });
        }
        await call("del", { netns, ifname: "ethx" });
    }
    expect([routes(), await node.state(), agent.used]).toEqual([before, state, [0, 0]]);
});

it("a process that ended, whose number one of the Node has now, leaves the Node's interfaces as they are", async () => {
    using pod = new TestPod();
    const path = join(folder, "host/proc/4711");
    const sandbox = await sleeperIn(pod);
    symlinkSync(`/proc/${sandbox.pid}`, path);
    const args = pod.args({}, { netns: "/proc/4711/ns/net" });
    await agent.calls.call("add", args, new AbortController().signal);
    rmSync(path);
    symlinkSync("/proc/self", path);
    // An interface of the Node by the name of the Pod's, with the MTU that the Pod's had before it is adjusted.
    execFileSync("ip", ["link", "add", "eth0", "mtu", "1300", "type", "veth", "peer", "name", "eth0-peer"]);
    try {
        execFileSync("ip", ["link", "set", pod.hostIfName, "mtu", "1300"]);
        for (const known of agent.network.interfaces()) await agent.network.restore(known);
        expect(execFileSync("ip", ["-o", "link", "show", "eth0"], { encoding: "utf8" })).toContain("mtu 1300");
        await agent.calls.call("del", args, new AbortController().signal);
        expect(agent.used).toEqual([0, 0]);
    } finally {
        execFileSync("ip", ["link", "del", "eth0"]);
        sandbox.kill("SIGKILL");
    }
});

it("a process that is gone is an error that names the path", async () => {
    using pod = new TestPod();
    const args = pod.args({}, { netns: "/proc/4194305/ns/net" });
    await expect(agent.calls.call("add", args, new AbortController().signal)).rejects.toMatchObject({
        message: expect.stringContaining(join(folder, "host/proc/4194305/ns/net")),
    });
    expect(agent.used).toEqual([0, 0]);
});

/** A process in the Pod's namespace, once it is there. */
async function sleeperIn(pod: TestPod): Promise<ChildProcess> {
    const child = spawn("ip", ["netns", "exec", pod.netns.name, "sh", "-c", "echo there; exec sleep 60"], {
        stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    return child;
}
