import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nothingLeft, tracesAtRest } from "../fixture/churn.ts";
import { allNodes, apply, inAgent, kubectl, systemNamespace, waitForAgents, workers } from "../fixture/cluster.ts";
import { watchFrames, type Frame, type Place } from "../fixture/frames.ts";
import { allocationsOf, eventNote, expectConsistent } from "../fixture/ipam.ts";
import { beforeNetworks, makeStage, NetworkStage, portsOf, ReleaseBefore } from "../fixture/network-stage.ts";
import { bridgeCondition, bridgeNics, linksOf, looseLinks, requesting, secondaryPorts } from "../fixture/networks.ts";
import { besidePod, PhysicalNetwork, testType } from "../fixture/physical-network.ts";
import { answersPings } from "../fixture/pings.ts";
import { type TestNamespace } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

// What of VLAN networks takes long: large frames, groups, router advertisements, full pools, eight NICs, many Pods,
// restarts of Nodes. The NIC eth2 of all Nodes is on one segment; eth3 to eth9 of the first are on segments of their own.

const [first = "", second = ""] = workers;
const space = "e2e-networks";
const pools = { red: "e2e-net-red", blue: "e2e-net-blue", small: "e2e-net-small", green: "e2e-net-green" } as const;
const redRouter = "10.72.100.1";
const antrea = (...ippools: readonly string[]): object => ({ type: "antrea", ippools });
const networks = {
    red: { vlan: 100, ipam: antrea(pools.red) },
    blue: { vlan: 200, ipam: antrea(pools.blue) },
    green: { vlan: 400, ipam: antrea(pools.green) },
    small: { vlan: 100, ipam: antrea(pools.small) },
    large: { vlan: 200, mtu: 9000, ipam: antrea(pools.blue) },
    plain: { vlan: 300 },
    flat: { vlan: 0 },
};
const apart = [3, 4, 5, 6, 7, 8, 9].map((number) => ({ nic: `eth${number}`, segment: `apart${number}` }));
const allNics = ["eth2", ...apart.map(({ nic }) => nic)];
const group = "239.1.2.3";

let stack: AsyncDisposableStack;
let physical: PhysicalNetwork;
let stage: NetworkStage;
let release: ReleaseBefore;
let namespace: TestNamespace;

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    await beforeNetworks();
    physical = stack.use(await PhysicalNetwork.start());
    await Promise.all(allNodes.map((node) => physical.plug(node, "eth2", "lan", 9000)));
    for (const { nic, segment } of apart) await physical.plug(first, nic, segment, 9000);
    await physical.host(100, `${redRouter}/24`);
    await physical.host(300, "10.72.30.1/24");
    release = stack.use(await ReleaseBefore.remember());
    await bridgeNics(allNics);
    const subnet = (prefix: string, from = 10, to = 149) => [
        { start: `${prefix}.${from}`, end: `${prefix}.${to}`, gateway: `${prefix}.1`, prefixLength: 24 },
    ];
    const parts = await makeStage(space, {
        [pools.red]: subnet("10.72.100"),
        [pools.blue]: subnet("10.72.200"),
        [pools.green]: subnet("10.72.40"),
        [pools.small]: subnet("10.72.100", 200, 201),
    });
    stage = stack.use(new NetworkStage(parts));
    ({ namespace } = stage);
    await stage.definitions.define(space, networks);
    await stage.start([
        { name: "a", node: first, annotations: requesting("red,plain,large,flat") },
        { name: "near", node: first, annotations: requesting("red") },
        { name: "b", node: second, annotations: requesting("red,plain,large") },
    ]);
});
afterAll(() => stack.disposeAsync());

const reached = (from: string, ip: string, options = ""): Promise<string> => stage.reached(from, ip, options);

it("frames of 9,000 bytes pass between Pods on two Nodes", async () => {
    for (const name of ["a", "b"]) expect((await linksOf(namespace, name))["eth3"]?.mtu).toBe(9000);
    const peer = await stage.address("b", "eth3");
    // headers of IPv4 and ICMP are 28 bytes
    await reached("a", peer, "-M do -s 8972 -I eth3");
    await expect(namespace.exec("a", `ping -c 1 -W 1 -M do -s 8973 -I eth3 ${peer}`)).rejects.toThrow(/too long/i);
});

describe("a router advertisement", () => {
    it.each([
        ["with ipam", "eth1", 100],
        ["without ipam", "eth2", 300],
    ] as const)("on a network %s comes to the Pod and moves no route", async (_, device, vlan) => {
        const routes = (): Promise<string> => namespace.exec("a", "ip -6 route show default");
        const before = await routes();
        const seen = await watchFrames({ pod: await stage.inside("a", device) }, () =>
            physical.advertise(vlan, "fd72:300:0:0"),
        );
        expect(seen.pod.filter(({ text }) => text.includes("router advertisement"))).toHaveLength(1);
        expect(await routes()).toBe(before);
        expect(before).toMatch(/^default via \S+ dev eth0/);
    });
});

describe("a group", () => {
    const frames = (seen: readonly Frame[]): number => seen.filter(({ text }) => text.includes(`> ${group}.`)).length;
    /** The frames to the group that come to its member a and to near, which is not one, of five that a host sends. */
    async function received(isKnown: boolean): Promise<readonly [member: number, other: number]> {
        const join = `timeout 15 socat -u UDP4-RECV:5000,ip-add-membership=${group}:eth1 OPEN:/dev/null`;
        const membership = besidePod(space, stage.pod("a"), `${join} || true`, 60_000);
        if (isKnown) {
            await eventually("OVS knows the group", async () => {
                const table = await inAgent(first, "antrea-ovs", ["ovs-appctl", "mdb/show", "br-sec"]);
                return table.includes(group) ? true : undefined;
            });
        }
        const send = `for n in 1 2 3 4 5; do echo $n | socat -u - UDP4-DATAGRAM:${group}:5000,ip-multicast-if=${redRouter}; done`;
        const seen = await watchFrames(
            { member: await stage.inside("a", "eth1"), other: await stage.inside("near", "eth1") },
            () => physical.run(`ip route replace ${group}/32 dev lan-100; ${send}`),
        );
        await membership;
        return [frames(seen.member), frames(seen.other)];
    }

    it("comes to every Pod of its VLAN without snooping", async () => {
        expect(await received(false)).toEqual([5, 5]);
    });

    it("comes to its members only with enableMulticastSnooping", async () => {
        await bridgeNics(allNics, { snooping: true });
        expect(await received(true)).toEqual([5, 0]);
    });
});

describe("a full pool", () => {
    it("lets a Pod wait with an event, and it starts when an address is free", async () => {
        await namespace.start(["one", "two"].map((name) => ({ name, node: first, annotations: requesting("small") })));
        const waiting = namespace.start([{ name: "three", node: second, annotations: requesting("red,small") }]);
        const note = await eventNote(space, "Pod", "three", "IPAllocationFailed", 60_000);
        expect(note).toContain(`no free address in IPPool ${pools.small}`);
        // all or nothing: its address of the other network was given back
        expect((await allocationsOf(pools.red)).filter(({ spec }) => spec.pod?.name === "three")).toEqual([]);
        await namespace.delete("one");
        const [three] = await waiting;
        expect(three?.node).toBe(second);
        await reached("a", await stage.address("three", "eth2"));
        await namespace.delete("two", "three");
    });
});

it("no frame passes from one of eight NICs to another, and each reaches the Pods", async () => {
    const condition = await eventually("the first Node is ready", async () => {
        const found = await bridgeCondition(first);
        return found?.status === "True" ? found : undefined;
    });
    expect(condition.message).toContain(allNics.join(", "));
    const segments = [{ nic: "eth2", segment: "lan" }, ...apart];
    const macOf = (nic: string): string => `02:00:00:00:08:0${nic.slice(3)}`;
    const places: Readonly<Record<string, Place>> = {
        pod: await stage.inside("a", "eth4"),
        ...Object.fromEntries(segments.map(({ nic }) => [nic, physical.cable(first, nic, "in")])),
    };
    const seen = await watchFrames(places, async () => {
        for (const { nic, segment } of segments) await physical.broadcast(segment, macOf(nic));
    });
    const sources = (frames: readonly Frame[] = []): readonly string[] =>
        frames.filter(({ text }) => text.includes(testType)).map(({ source }) => source);
    expect([...sources(seen["pod"])].sort()).toEqual(allNics.map(macOf));
    for (const { nic } of segments) expect([nic, sources(seen[nic])]).toEqual([nic, []]);
});

it("30 Pods with four networks each, three times, leave nothing", async () => {
    const held = await stage.holders();
    const before = await tracesAtRest();
    const names = Array.from({ length: 30 }, (_, number) => `churn-${number}`);
    for (let round = 0; round < 3; round += 1) {
        const annotations = requesting("red,blue,green,plain");
        await namespace.start(names.map((name, index) => ({ name, node: workers[index % 2] ?? "", annotations })));
        const allocations = (await Promise.all([pools.red, pools.blue, pools.green].map(allocationsOf))).flat();
        const addresses = allocations
            .filter(({ spec }) => spec.pod?.name.startsWith("churn-"))
            .map(({ spec }) => spec.address);
        expect(new Set(addresses).size).toBe(3 * names.length);
        await namespace.delete(...names);
    }
    expect(await nothingLeft(before)).toBe(true);
    for (const node of workers) {
        const owners = (await portsOf(node)).map((port) => port.pod ?? "");
        expect(owners.filter((owner) => owner.includes("churn"))).toEqual([]);
        expect(await looseLinks(node)).toEqual([]);
    }
    await eventually("no address is held", async () => {
        expect(await stage.holders()).toEqual(held);
        return true;
    });
    await expectConsistent();
});

describe("the networks of Pods", () => {
    it("go on while antrea-controller is away, also of new Pods", async () => {
        const scale = (replicas: number): Promise<string> =>
            kubectl(["-n", systemNamespace, "scale", "deployment/antrea-controller", `--replicas=${replicas}`]);
        await scale(0);
        try {
            await namespace.start([{ name: "new", node: second, annotations: requesting("red") }]);
            await reached("a", await stage.address("new", "eth1"));
            await namespace.delete("new");
        } finally {
            await scale(1);
            await rolledOut(systemNamespace, "deployment/antrea-controller");
        }
    });

    it("come back with their Node after a power cut, those of a StatefulSet with their addresses", async () => {
        await apply(statefulSet(space, { name: "kept", replicas: 2, annotations: requesting("red") }));
        await rolledOut(space, "statefulset/kept");
        const names = ["kept-0", "kept-1"];
        const addresses = await Promise.all(names.map((name) => stage.address(name, "eth1")));
        await run("docker", ["restart", "--time", "1", second], { timeoutMs: 120_000 });
        // the container of the Node took its end of the cable along
        await physical.plug(second, "eth2", "lan", 9000);
        await kubectl(["wait", "--for=condition=Ready", `node/${second}`, "--timeout=120s"], { timeoutMs: 130_000 });
        await waitForAgents();
        await eventually("its NIC is a port again", async () => {
            const ports = await portsOf(second);
            return ports.some(({ name, ofPort = -1 }) => name === "eth2" && ofPort > 0) ? true : undefined;
        });
        await eventually("its Pods run again", () => namespace.ready(["b", ...names]), 180_000);
        expect(await Promise.all(names.map((name) => stage.address(name, "eth1")))).toEqual(addresses);
        for (const ip of [...addresses, await stage.address("b", "eth1")]) await reached("a", ip);
        await namespace.exec("b", answersPings(redRouter));
        await expectConsistent();
        await kubectl(["-n", space, "delete", "statefulset", "kept", "--wait"]);
    });
});

describe("the feature gate off", () => {
    beforeAll(async () => {
        await stage.endAllBut("a");
        await release.rollBack();
    });

    it("leaves a running Pod its networks, though nothing maintains them", async () => {
        await namespace.exec("a", answersPings(redRouter));
    });

    it("deletes the bridge of a Node without such Pods, and the condition of all Nodes", async () => {
        await eventually("the bridge is gone", async () =>
            (await secondaryPorts(second)) === undefined ? true : undefined,
        );
        for (const node of allNodes)
            await eventually(`${node} reports no bridge`, async () =>
                (await bridgeCondition(node)) === undefined ? true : undefined,
            );
    });

    it("deletes ports, addresses and bridge once the last of them is gone; a new Pod gets an event that it has none", async () => {
        const [, late] = await Promise.all([
            stage.endAllBut(),
            namespace.start([{ name: "late", node: first, annotations: requesting("red") }]),
        ]);
        expect(late[0]?.ip4).not.toBe("");
        expect(Object.keys(await linksOf(namespace, "late"))).toEqual(["eth0"]);
        await eventually("the bridge is gone", async () =>
            (await secondaryPorts(first)) === undefined ? true : undefined,
        );
        const note = await eventNote(space, "Pod", "late", "SecondaryNetworksIgnored", 90_000);
        expect(note).toContain("k8s.v1.cni.cncf.io/networks");
        await eventually(
            "no address is held",
            async () => {
                expect(await stage.holders()).toEqual([]);
                return true;
            },
            180_000,
            1_000,
        );
        for (const node of workers) expect([node, await looseLinks(node)]).toEqual([node, []]);
        await expectConsistent();
    });
});
