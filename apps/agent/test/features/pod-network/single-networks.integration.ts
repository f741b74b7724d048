import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type CniCommand } from "../../../src/features/cni-server/index.ts";
import { FakeNetworkAllocations } from "../../support/network-allocations.ts";
import { addNic, callNetwork, podPorts, refusalOf, testNic, TestSandboxes } from "../../support/network-node.ts";
import { TestNode, type NodeState, type TestAgent } from "../../support/test-node.ts";
import { type AddAnswer, type TestPod } from "../../support/test-pod.ts";

let node: TestNode;
let agent: TestAgent;
let allocations: FakeNetworkAllocations;
let empty: NodeState;
const sandboxes = new TestSandboxes();

const startWith = (nic: string | undefined): Promise<TestAgent> =>
    node.startAgent({ networks: { nic, plan: () => [], allocations } });
const start = (): Promise<TestAgent> => startWith(testNic);

beforeAll(async () => {
    node = await TestNode.start();
    addNic();
    allocations = new FakeNetworkAllocations();
    agent = await start();
    empty = await node.state();
});
afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

afterEach(async () => {
    await sandboxes.end(node, agent, empty);
    expect([await podPorts(node), [...allocations.held]]).toEqual([[], []]);
});

async function sandbox(name: string): Promise<TestPod> {
    const pod = sandboxes.make(name);
    await agent.add(pod);
    return pod;
}

const vlan100 = {
    name: "vlan100",
    type: "antrea",
    networkType: "vlan",
    ipam: { type: "antrea", ippools: ["100"], routes: [{ dst: "10.20.0.0/16" }] },
};

const call = (
    command: CniCommand,
    pod: TestPod,
    ifname: string,
    config: Readonly<Record<string, unknown>> = vlan100,
): Promise<AddAnswer> => callNetwork(agent, command, pod, ifname, config);
const refusal = (...asked: Parameters<typeof call>): Promise<string> => refusalOf(call(...asked));

describe("an interface that a meta plugin asks for", () => {
    it("has the address, MAC address and routes of its answer, and passes CHECK", async () => {
        const [a, b] = [await sandbox("a"), await sandbox("b")];
        const answer = await call("add", a, "net1");
        const other = await call("add", b, "net1", { ...vlan100, runtimeConfig: { mac: "02:00:00:00:00:07" } });
        expect(answer.ips).toEqual([
            { address: expect.stringMatching(/^192\.168\.100\.\d+\/24$/), gateway: "192.168.100.1", interface: 1 },
        ]);
        expect(answer.interfaces[1]).toMatchObject({ name: "net1", sandbox: a.netns.path });
        expect(answer.routes).toEqual([{ dst: "10.20.0.0/16" }]);
        expect(other.interfaces[1]?.mac).toBe("02:00:00:00:00:07");
        const peer = other.ips[0]?.address.split("/")[0] ?? "";
        expect(await a.ping(peer, { from: "net1" })).toBe(1);
        expect(a.netns.run("ip", "route", "show", "default")).toContain("dev eth0");
        expect(await call("add", a, "net1")).toEqual(answer);
        await call("check", a, "net1", { ...vlan100, prevResult: answer });
        a.netns.run("ip", "link", "set", "net1", "down");
        expect(await refusal("check", a, "net1", { ...vlan100, prevResult: answer })).toMatch(/net1 is down/);
        expect(await refusal("check", a, "net2", vlan100)).toMatch(/has no interface net2 on this Node/);
    });

    it("ends with its DEL alone, while the others of the container live on", async () => {
        const pod = await sandbox("a");
        await call("add", pod, "net1");
        // A Pod has one route to a range.
        const second = await call("add", pod, "net2", { ...vlan100, ipam: { ...vlan100.ipam, routes: [] } });
        await call("del", pod, "net1");
        await call("del", pod, "net1");
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toMatch(/net1/);
        expect(pod.netns.run("ip", "-o", "link", "show")).toMatch(/eth0/);
        expect([...allocations.held.keys()]).toEqual([second.ips[0]?.address.split("/")[0]]);
        expect(await podPorts(node)).toHaveLength(1);
        // A DEL that names an interface nobody has changes nothing.
        await agent.calls.call("del", pod.args({}, { ifname: "net9" }), new AbortController().signal);
        expect(await podPorts(node)).toHaveLength(1);
        await call("add", pod, "net1");
        await agent.del(pod);
        expect(await podPorts(node)).toEqual([]);
        expect([...allocations.held]).toEqual([]);
    });

    it("is refused in a container of another plugin, under a name in use, and for a network that breaks a rule", async () => {
        const [pod, other] = [await sandbox("a"), sandboxes.make("b")];
        expect(await refusal("add", other, "net1")).toMatch(
            /^INVALID_NETWORK_CONFIG: network default\/vlan100: container .* has no interface on the Pod network of antrea/,
        );
        await call("add", pod, "net1");
        expect(await refusal("add", pod, "net1", { ...vlan100, name: "vlan7", vlan: 7 })).toMatch(
            /^INVALID_NETWORK_CONFIG: network default\/vlan7: container .* has interface net1 of network default\/vlan100 already/,
        );
        expect(await refusal("add", pod, "net2", { ...vlan100, vlan: 5000 })).toMatch(
            /^INVALID_NETWORK_CONFIG: network default\/vlan100: vlan: 5000 must be a whole number from 0 to 4094/,
        );
        expect(
            await refusal("add", pod, "net2", { ...vlan100, ipam: undefined, args: { cni: { ips: ["10.0.0.1/24"] } } }),
        ).toMatch(/args\.cni\.ips: 10\.0\.0\.1 cannot be had, as the network has no ipam/);
        expect(await refusal("add", pod, "net2", { ...vlan100, runtimeConfig: { mac: "01:00:5e:00:00:01" } })).toMatch(
            /runtimeConfig\.mac: .* is a multicast address/,
        );
        expect(await podPorts(node)).toHaveLength(1);
    });

    it("is never eth0: neither ADD nor DEL touch the Pod network", async () => {
        const pod = await sandbox("a");
        expect(await refusal("add", pod, "eth0")).toMatch(
            /^INVALID_ENVIRONMENT_VARIABLES: network \S+\/vlan100: CNI_IFNAME: eth0 is the name of an interface that every Pod has/,
        );
        await call("del", pod, "eth0");
        expect(pod.netns.run("ip", "-o", "link", "show", "eth0")).toMatch(/state UP/);
        expect(await pod.ping("10.10.1.1")).toBe(1);
    });

    it("is removed by a GC that does not list it, and by no other", async () => {
        const pod = await sandbox("a");
        await call("add", pod, "net1");
        await call("add", pod, "net2", { name: "vlan7", type: "antrea", networkType: "vlan", vlan: 7 });
        const gc = (name: string, listed: readonly string[]): Promise<Uint8Array> =>
            agent.calls.call(
                "gc",
                {
                    ...pod.args({
                        name,
                        networkType: "vlan",
                        "cni.dev/valid-attachments": listed.map((ifname) => ({
                            containerID: pod.containerId,
                            ifname,
                        })),
                    }),
                    containerId: "",
                    netns: "",
                    ifname: "",
                    args: "",
                },
                new AbortController().signal,
            );
        await gc("vlan100", ["eth0", "net1"]);
        await gc("other", []);
        expect(await podPorts(node)).toHaveLength(2);
        await gc("vlan100", ["eth0"]);
        expect(await podPorts(node)).toHaveLength(1);
        expect(pod.netns.run("ip", "-o", "link", "show")).toMatch(/net2/);
    });

    it("keeps its address until the container ends where an agent without a bridge gets its DEL, as it works on", async () => {
        const pod = await sandbox("a");
        await call("add", pod, "net1");
        await agent.stop();
        agent = await startWith(undefined);
        await agent.resync();
        await call("del", pod, "net1");
        expect(pod.netns.run("ip", "-o", "link", "show", "net1")).toMatch(/state UP/);
        expect(allocations.held.size).toBe(1);
        await agent.del(pod);
        expect([...allocations.held]).toEqual([]);
        await agent.stop();
        agent = await start();
    });

    it("is not made at all where the Pod's default route cannot move to it", async () => {
        const pod = await sandbox("a");
        const routes = [{ dst: "0.0.0.0/0", gw: "198.51.100.1" }];
        expect(await refusal("add", pod, "net1", { ...vlan100, ipam: { ...vlan100.ipam, routes } })).toMatch(
            /default-route: the kernel does not take 198\.51\.100\.1 on net1/,
        );
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toMatch(/net1/);
        expect([await podPorts(node), [...allocations.held]]).toEqual([[], []]);
    });

    it("leaves the Pod's default route to eth0 if only one of several can move to it", async () => {
        const pod = await sandbox("a");
        const routes = [{ dst: "0.0.0.0/0" }, { dst: "::/0", gw: "fd00:100::1" }];
        expect(await refusal("add", pod, "net1", { ...vlan100, ipam: { ...vlan100.ipam, routes } })).toMatch(
            /default-route: the kernel does not take 192\.168\.100\.1 and fd00:100::1 on net1/,
        );
        expect(pod.netns.run("ip", "route", "show", "default")).toMatch(/dev eth0/);
    });

    it("gives the Pod's default route back at its end, to the one before it", async () => {
        const pod = await sandbox("a");
        const eth0 = pod.netns.run("ip", "route", "show", "default");
        const ipam = { ...vlan100.ipam, routes: [{ dst: "0.0.0.0/0" }] };
        await call("add", pod, "net1", { ...vlan100, ipam });
        const net1 = pod.netns.run("ip", "route", "show", "default");
        await call("add", pod, "net2", { ...vlan100, name: "vlan200", ipam: { ...ipam, ippools: ["200"] } });
        expect(pod.netns.run("ip", "route", "show", "default")).toMatch(
            /^default via 192\.168\.200\.1 dev net2 .*\s+$/,
        );
        await call("del", pod, "net2");
        expect(pod.netns.run("ip", "route", "show", "default")).toBe(net1);
        await call("del", pod, "net1");
        expect(pod.netns.run("ip", "route", "show", "default")).toBe(eth0);
    });

    it("stays over a restart of the agent, which knows it for DEL", async () => {
        const pod = await sandbox("a");
        await call("add", pod, "net1");
        await agent.stop();
        agent = await start();
        await agent.resync();
        expect(await podPorts(node)).toHaveLength(1);
        await call("del", pod, "net1");
        expect(await podPorts(node)).toEqual([]);
        expect([...allocations.held]).toEqual([]);
    });
});
