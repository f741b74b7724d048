import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import { parseNetwork, resourceNameAnnotation, type OwnNetwork } from "@antrea/networks";
import { Jobs } from "@antrea/runtime";
import type { CniCommand } from "../../../src/features/cni-server/index.ts";
import { judge } from "../../../src/features/networks/judge.ts";
import { virtualFunctions } from "../../../src/features/virtual-functions/feature.ts";
import {
    toNetworkIds,
    type AddRequest,
    type DeviceId,
    type NetworkRecord,
    type PlannedNetwork,
} from "../../../src/platform/pod-interfaces/index.ts";
import { FakeKubelet } from "../../support/fake-kubelet.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/logger.ts";
import { TestNetns } from "../../support/namespace.ts";
import { FakeNetworkClaims } from "../../support/network-claims.ts";
import { addNic, callNetwork, podPorts, refusalOf, testNic, TestSandboxes } from "../../support/network-node.ts";
import { TestNode, type NodeState, type TestAgent } from "../../support/test-node.ts";
import { type AddAnswer, type TestPod } from "../../support/test-pod.ts";

const resource = "example.com/net_a";
const onWire = "192.168.100.250/24";
const devices = [
    { bus: "pci", id: "0000:af:06.0", link: "vf0" },
    { bus: "pci", id: "0000:af:06.1", link: "vf1" },
    { bus: "auxiliary", id: "mlx5_core.sf.4", link: "sf4" },
] as const;

let node: TestNode;
/** At the other end of each device. */
const wires: TestNetns[] = [];
let agent: TestAgent;
let claims: FakeNetworkClaims;
let kubelet: FakeKubelet;
let empty: NodeState;
let emptyLinks: string;
let plans: Map<string, readonly { readonly ifName: string; readonly network: OwnNetwork }[]>;
const sandboxes = new TestSandboxes();
/** The NIC of a bridge for VLAN networks; undefined: there is no bridge. */
let nic: string | undefined;

/** As the agent plans the networks of an annotation. */
async function plan(request: AddRequest, of: TestAgent): Promise<readonly PlannedNetwork[]> {
    const asked = plans.get(request.podName) ?? [];
    const functions = asked.filter(({ network }) => network.kind === "sriov");
    const demands = functions.map(({ ifName, network }) => ({ ...network, ifName }));
    const found = await of.functions.devices.find(request, demands, new AbortController().signal);
    const surroundings =
        nic === undefined
            ? { bridgeProblem: "there is none", nicMtu: 0, poolOf: () => "100" }
            : { bridgeProblem: undefined, nicMtu: 1500, poolOf: () => "100" };
    return asked.map((one) => {
        const device = found[functions.indexOf(one)];
        const requested = { ifName: one.ifName, mac: undefined, wanted: undefined, defaultGateways: [], device };
        return judge(one.network, requested, surroundings);
    });
}

/** Where agents keep what links were. */
const keptFolder = (): string => join(node.stateFolder, "virtual-functions");
const keptFiles = (): readonly string[] => readdirSync(keptFolder());
const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

const start = (): Promise<TestAgent> => node.startAgent({ networks: { nic, plan, claims, places: kubelet.places } });

/** Name, MTU, MAC address, group, alternative names, alias, state and promiscuous mode of the links that devices have. */
function links(): string {
    const lines = execFileSync("ip", ["-d", "-o", "link", "show"], { encoding: "utf8" }).split("\n");
    const shown = lines.flatMap((line) => {
        const [, name = ""] = /^\d+: ([^:@]+)/.exec(line) ?? [];
        if (!/^(vf|sf)\d$/.test(name)) return [];
        const [, mac] = /link\/ether (\S+)/.exec(line) ?? [];
        const [, mtu] = /mtu (\d+)/.exec(line) ?? [];
        const [, alias = ""] = /alias ([^\\]*)/.exec(line) ?? [];
        const [, group] = / group (\S+)/.exec(line) ?? [];
        const altNames = [...line.matchAll(/altname (\S+)/g)].map(([, altName]) => altName).join();
        const flags = ["UP", "PROMISC"].filter((flag) => new RegExp(`<[^>]*\\b${flag}\\b`).test(line)).join();
        return [`${name} ${mtu} ${mac} ${group} ${altNames} ${alias} ${flags}`];
    });
    return shown.sort().join("\n");
}

beforeAll(async () => {
    node = await TestNode.start();
    kubelet = new FakeKubelet();
    await kubelet.start();
    for (const { link, ...device } of devices) {
        kubelet.setDevice(device, link);
        const wire = new TestNetns("wire");
        wires.push(wire);
        execFileSync("ip", ["link", "add", link, "type", "veth", "peer", "name", "wire", "netns", wire.name]);
        wire.run("ip", "link", "set", "wire", "up");
        wire.run("ip", "addr", "add", onWire, "dev", "wire");
    }
    execFileSync("ip", ["link", "set", "vf1", "up", "group", "7", "alias", "rack 7, port 1"]);
    execFileSync("ip", ["link", "property", "add", "dev", "vf1", "altname", "enp175s0f0v1"]);
    [claims, plans] = [new FakeNetworkClaims(), new Map()];
    agent = await start();
    [empty, emptyLinks] = [await node.state(), links()];
});
afterAll(async () => {
    await agent?.stop();
    await kubelet?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
    for (const wire of wires) wire[Symbol.dispose]();
});

beforeEach(() => {
    claims.held.clear();
    plans.clear();
});
// Whatever a test did: after the end of its Pods the Node has its devices as they were, and nothing else.
afterEach(async () => {
    await sandboxes.end(node, agent, empty);
    expect(links()).toBe(emptyLinks);
    expect([...claims.held]).toEqual([]);
    expect(agent.networkTable.list()).toEqual([]);
    expect(keptFiles()).toEqual([]);
    for (const { link, ...device } of devices) kubelet.setDevice(device, link);
});

function network(change: Readonly<Record<string, unknown>> = {}, name = "net-a"): OwnNetwork {
    const config = { cniVersion: "1.0.0", type: "antrea", networkType: "sriov", ...change };
    const annotations = { [resourceNameAnnotation]: resource };
    const parsed = parseNetwork({ namespace: "default", name, annotations, config: JSON.stringify(config) });
    if (parsed.kind === "foreign") throw new Error("a network of ours is wanted");
    return parsed;
}

const unrouted = { ipam: { type: "antrea", ippools: ["100"] } };
const pooled = { ipam: { ...unrouted.ipam, routes: [{ dst: "10.20.0.0/16" }] } };

function allocate(name: string, ...ids: readonly string[]): void {
    kubelet.pods = [...kubelet.pods.filter((one) => one.name !== name), { name, devices: { [resource]: ids } }];
}

/** A Pod with one interface for each network: eth1, eth2, … */
async function add(name: string, ...networks: readonly OwnNetwork[]): Promise<TestPod> {
    plans.set(
        name,
        networks.map((one, index) => ({ ifName: `eth${index + 1}`, network: one })),
    );
    const pod = sandboxes.make(name);
    await agent.add(pod);
    return pod;
}

const shown = (pod: TestPod, ifName: string): string => pod.netns.run("ip", "-d", "-o", "link", "show", ifName);

/** What a kernel does with a NIC when a namespace ends, and sysfs; one end of a veth pair it would delete. */
function returnLink(pod: TestPod, device: DeviceId, ifName: string, name = ifName): void {
    const inPod = ["-n", pod.netns.name, "link", "set"];
    kubelet.setDevice(device, name);
    execFileSync("ip", [...inPod, ifName, "down"]);
    if (name !== ifName) execFileSync("ip", [...inPod, ifName, "name", name]);
    execFileSync("ip", [...inPod, name, "netns", String(process.pid)]);
}

describe("a Pod with virtual functions", () => {
    it("gets the device that the kubelet allocated, with name, address and routes, and gives it back", async () => {
        allocate("a", "0000:af:06.1");
        const pod = await add("a", network(pooled));
        expect(links()).not.toContain("vf1");
        expect(shown(pod, "eth1")).toMatch(/mtu 1500 .*state UP.*alias antrea4 \w+ eth1\b/);
        expect(keptFiles()).toEqual(["pci-0000:af:06.1.json"]);
        expect(pod.netns.run("ip", "-4", "-o", "addr", "show", "eth1")).toMatch(/inet 192\.168\.100\.\d+\/24/);
        expect(pod.netns.run("ip", "route", "show", "10.20.0.0/16")).toMatch(/via 192\.168\.100\.1 dev eth1/);
        expect(pod.netns.run("ip", "route", "show", "default")).toContain("dev eth0");
        expect(await pod.ping("192.168.100.250", { from: "eth1" })).toBe(1);
        await agent.del(pod);
        expect(links()).toBe(emptyLinks);
        expect(keptFiles()).toEqual([]);
    });

    it("gets several of one resource in the order of their names, PCI and auxiliary devices, with their MTU", async () => {
        allocate("a", "mlx5_core.sf.4", "0000:af:06.1", "0000:af:06.0");
        const pod = await add("a", network(), network({ mtu: 1400 }), network({}, "net-b"));
        const devicesOf = agent.networkTable.list().map(({ record }) => [record.ifName, record.device?.id, record.mtu]);
        expect(devicesOf).toEqual([
            ["eth1", "0000:af:06.0", 1500],
            ["eth2", "0000:af:06.1", 1400],
            ["eth3", "mlx5_core.sf.4", 1500],
        ]);
        expect(shown(pod, "eth2")).toContain("mtu 1400");
        expect(links()).toBe("");
    });

    it("passes CHECK, until it lacks one", async () => {
        allocate("a", "0000:af:06.0");
        plans.set("a", [{ ifName: "eth1", network: network(pooled) }]);
        const pod = sandboxes.make("a");
        const answer = await agent.add(pod);
        expect(await agent.check(pod, answer)).toBe("");
        const [known] = agent.networkTable.list();
        const checked = (): Promise<string> =>
            agent.checkNetwork(known?.record).then(
                () => "",
                (error: unknown) => (error instanceof AntreaError ? error.code : "another error"),
            );
        expect(await checked()).toBe("");
        pod.netns.run("ip", "link", "set", "eth1", "down");
        expect(await checked()).toBe("INTERFACE");
        pod.netns.run("ip", "link", "set", "eth1", "name", "other");
        expect(await checked()).toBe("INTERFACE");
        // It goes home whatever its name is.
    });

    it("has them after a repeated ADD, and in its next sandbox, which takes them from the one before", async () => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network(pooled));
        await agent.add(pod);
        expect(shown(pod, "eth1")).toContain("state UP");
        const next = sandboxes.make("a", pod.uid);
        await agent.add(next);
        expect(shown(next, "eth1")).toContain("state UP");
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toContain("eth1");
        expect([...claims.held.values()].map(({ owner }) => owner)).toEqual([`${next.containerId}/eth1`]);
    });

    it("keeps them over a restart of the agent, and gives them back then", async () => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network(pooled));
        const before = agent.networkTable.list();
        await agent.stop();
        agent = await start();
        await agent.resync();
        const ids = agent.networkTable.list().map(({ record }) => toNetworkIds(record));
        expect(ids).toEqual(before.map(({ record }) => toNetworkIds(record)));
        expect(await pod.ping("192.168.100.250", { from: "eth1" })).toBe(1);
        await agent.del(pod);
        expect(links()).toBe(emptyLinks);
    });

    it("has no traffic while its address is another Pod's", async () => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network(pooled));
        const record = (): NetworkRecord => {
            const [known] = agent.networkTable.list();
            if (known === undefined) throw new Error("no record");
            return known.record;
        };
        await agent.network.setNetworkIsolated(record(), true);
        expect(shown(pod, "eth1")).toContain("state DOWN");
        await agent.stop();
        agent = await start();
        expect(record().isolated).toBe(true);
        await agent.network.setNetworkIsolated(record(), false);
        expect(shown(pod, "eth1")).toContain("state UP");
    });
});

describe("an ADD that fails leaves nothing", () => {
    const refused = (pod: TestPod): Promise<string> => refusalOf(agent.add(pod));
    // The check of `afterEach` comes after a DEL; here there is none yet.
    const nothing = async (pod: TestPod): Promise<void> => {
        expect(links()).toBe(emptyLinks);
        expect([...claims.held]).toEqual([]);
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toContain("eth0");
        expect(agent.network.interfaces()).toEqual([]);
        expect(agent.networkTable.list()).toEqual([]);
        expect((await node.ovs.vsctl("list-ports", node.bridge)).trim()).toBe(node.gateway);
    };

    it.each<[string, () => readonly OwnNetwork[], RegExp]>([
        [
            "of a route that the kernel does not take",
            () => {
                allocate("a", "0000:af:06.0", "0000:af:06.1");
                const bad = { ...pooled.ipam, routes: [{ dst: "10.20.0.0/16", gw: "172.31.0.1" }] };
                return [network(pooled), network({ ipam: bad })];
            },
            /INVALID_NETWORK_CONFIG: network default\/net-a: ipam\.routes: .*; next: /,
        ],
        [
            "of too few devices",
            () => {
                allocate("a", "0000:af:06.0");
                return [network(pooled), network(pooled)];
            },
            /INVALID_NETWORK_CONFIG: network default\/net-a: .* none is left for eth2; next: /,
        ],
        [
            "of a device without link",
            () => {
                allocate("a", "0000:af:06.0", "0000:af:06.1");
                kubelet.setDevice({ bus: "pci", id: "0000:af:06.1" });
                return [network(pooled), network(pooled)];
            },
            /TRY_AGAIN_LATER: network default\/net-a: device 0000:af:06\.1 has no link .*; next: /,
        ],
        [
            "without devices",
            () => {
                kubelet.pods = [];
                return [network(pooled)];
            },
            /INVALID_NETWORK_CONFIG: network default\/net-a: .* the Pod has 0 of these devices, .*; next: /,
        ],
    ])("because %s", async (_, prepare, text) => {
        plans.set(
            "a",
            prepare().map((one, index) => ({ ifName: `eth${index + 1}`, network: one })),
        );
        const pod = sandboxes.make("a");
        expect(await refused(pod)).toMatch(text);
        await nothing(pod);
    });

    it("because the Pod has an interface of this name", async () => {
        allocate("a", "0000:af:06.0", "0000:af:06.1");
        plans.set("a", [
            { ifName: "eth1", network: network(pooled) },
            { ifName: "dmz", network: network(pooled) },
        ]);
        const pod = sandboxes.make("a");
        pod.netns.run("ip", "link", "add", "dmz", "type", "veth", "peer", "name", "dmz-peer");
        expect(await refused(pod)).toMatch(
            /^TRY_AGAIN_LATER: network default\/net-a: device 0000:af:06\.1 cannot become dmz .*; next: /,
        );
        await nothing(pod);
    });

    it("because what the link is cannot be kept", async () => {
        allocate("a", "0000:af:06.0");
        plans.set("a", [{ ifName: "eth1", network: network(pooled) }]);
        const pod = sandboxes.make("a");
        renameSync(keptFolder(), `${keptFolder()}.away`);
        writeFileSync(keptFolder(), "");
        const file = "virtual-functions/pci-0000:af:06.0.json";
        expect(await refused(pod)).toMatch(
            new RegExp(`^TRY_AGAIN_LATER: network default/net-a: .*/${file} .*; next: `),
        );
        await nothing(pod);
        rmSync(keptFolder());
        renameSync(`${keptFolder()}.away`, keptFolder());
        await agent.add(pod);
    });

    it("because the kubelet is away", async () => {
        allocate("a", "0000:af:06.0");
        plans.set("a", [{ ifName: "eth1", network: network(pooled) }]);
        const pod = sandboxes.make("a");
        kubelet.stop();
        expect(await refused(pod)).toMatch(/TRY_AGAIN_LATER: network default\/net-a: .*kubelet\.sock: .*; next: /);
        await nothing(pod);
        await kubelet.start();
        await agent.add(pod);
    });
});

describe("a virtual function goes home", () => {
    it.each(["ports done", "take", "take done"] as const)("after an agent that was killed at %s", async (stage) => {
        allocate("a", "0000:af:06.0", "0000:af:06.1");
        plans.set("a", [
            { ifName: "eth1", network: network({ ...pooled, mtu: 1400 }) },
            { ifName: "eth2", network: network(pooled) },
        ]);
        const pod = sandboxes.make("a");
        const { reached, release } = agent.hold(stage, new Error("killed"));
        const adding = agent.add(pod).catch(() => undefined);
        await reached;
        await agent.stop();
        agent = await start();
        await agent.resync();
        await agent.del(pod);
        expect(links()).toBe(emptyLinks);
        // The one that was killed does nothing before.
        release();
        await adding;
        // Its addresses: the reconciler of allocations frees what has no record.
        claims.held.clear();
    });

    it("when the kernel brought it back, under any name, with what else the Pod changed", async () => {
        allocate("a", "0000:af:06.0", "0000:af:06.1");
        const pod = await add("a", network(pooled), network(unrouted));
        pod.netns.run("ip", "link", "set", "eth2", "mtu", "1300");
        pod.netns.run("ip", "link", "set", "eth2", "address", "02:00:00:00:00:99");
        returnLink(pod, devices[0], "eth1");
        returnLink(pod, devices[1], "eth2", "dev7");
        pod.netns.remove();
        await agent.resync();
        expect(links()).toBe(emptyLinks);
        // The other links of the namespace go in the kernel's own time.
        const known = async (): Promise<number> => {
            await agent.resync();
            return agent.networkTable.list().length;
        };
        expect(await eventually(known, (count) => count === 0)).toBe(0);
        claims.held.clear();
    });

    it("when the kernel brought it back while there was no agent, and no database", async () => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network(pooled));
        await agent.stop();
        await node.loseDatabase();
        returnLink(pod, devices[0], "eth1");
        pod.netns.remove();
        agent = await start();
        await agent.resync();
        expect(links()).toBe(emptyLinks);
        claims.held.clear();
    });

    /** What a Pod with NET_ADMIN makes of its link. */
    function forge(pod: TestPod, alias: string): void {
        pod.netns.run("ip", "link", "set", "eth1", "down");
        pod.netns.run("ip", "link", "set", "eth1", "name", "mgmt0", "address", "02:00:00:00:00:66", "mtu", "1300");
        pod.netns.run("ip", "link", "set", "mgmt0", "group", "179", "promisc", "on", "alias", alias);
        pod.netns.run("ip", "link", "property", "add", "dev", "mgmt0", "altname", "uplink0");
    }
    const aliases = [
        ["none", ""],
        ["text of its own", "uplink of the Node"],
        ["the mark of another container", "antrea4 0123abcd eth7"],
        ["a name, an MTU and a MAC address that it wants", "antrea4 0123abcd eth1 bond0 1300 02:00:00:00:00:66 up"],
    ] as const;

    it.each([aliases[0], aliases[3]])(
        "whatever its Pod made of it, by the next agent without records: %s",
        async (_, alias) => {
            allocate("a", "0000:af:06.1");
            const pod = await add("a", network());
            forge(pod, alias);
            await agent.stop();
            await node.loseDatabase();
            returnLink(pod, devices[1], "mgmt0");
            pod.netns.remove();
            agent = await start();
            expect(agent.networkTable.list()).toEqual([]);
            await agent.resync();
            expect(links()).toBe(emptyLinks);
        },
    );

    it.each(aliases)("after an ordinary DEL that could not find it in the Pod: %s", async (_, alias) => {
        allocate("a", "0000:af:06.1");
        const pod = await add("a", network());
        forge(pod, alias);
        await agent.del(pod);
        expect(links()).not.toContain("vf1");
        expect(agent.networkTable.list()).toEqual([]);
        returnLink(pod, devices[1], "mgmt0");
        await agent.resync();
        expect(links()).toBe(emptyLinks);
    });

    it("by its name in the Pod, which has the mark on another link, that stays there, and names of the Node", async () => {
        allocate("a", "0000:af:06.1");
        const pod = await add("a", network());
        const [, mark = ""] = /alias (antrea4 \w+ eth1)/.exec(shown(pod, "eth1")) ?? [];
        pod.netns.run("ip", "link", "set", "eth1", "alias", "");
        pod.netns.run("ip", "link", "property", "add", "dev", "eth1", "altname", "sf4");
        pod.netns.run("ip", "link", "add", "decoy", "type", "bridge");
        pod.netns.run("ip", "link", "set", "decoy", "alias", mark);
        await agent.del(pod);
        expect(links()).toBe(emptyLinks);
        expect(shown(pod, "decoy")).toContain(mark);
    });

    it("to the next Pod, before it was made as it was", async () => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network());
        await agent.stop();
        await node.loseDatabase();
        returnLink(pod, devices[0], "eth1", "dev7");
        pod.netns.remove();
        agent = await start();
        kubelet.pods = [];
        allocate("b", "0000:af:06.0");
        const next = await add("b", network());
        expect(shown(next, "eth1")).toMatch(/alias antrea4 \w+ eth1/);
        kubelet.setDevice(devices[0], "vf0");
        await agent.del(next);
        expect(links()).toBe(emptyLinks);
    });

    it.each([
        ["mark", "dev7", []],
        ["name", "eth1", ["alias", ""]],
    ])("as soon as a link with its %s appears", async (_, name, forged) => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network());
        pod.netns.run("ip", "link", "set", "eth1", ...forged);
        const jobs = new Jobs({ logger: silentLogger });
        const feature = virtualFunctions(
            {
                clock: systemClock,
                environment: { stateFolder: node.stateFolder, bootId },
                jobs,
                logger: silentLogger,
                netlink: agent.netlink,
            },
            agent.networkTable,
            kubelet.places,
        );
        await feature.start?.(new AbortController().signal);
        const stop = new AbortController();
        jobs.start(stop.signal);
        try {
            // The job runs at its start too; after that nothing but an event makes it run within a minute.
            await eventually(
                () => jobs.health().map(({ succeededAtMs }) => succeededAtMs),
                ([time]) => time !== undefined,
            );
            returnLink(pod, devices[0], "eth1", name);
            expect(await eventually(links, (found) => found === emptyLinks, 20_000)).toBe(emptyLinks);
        } finally {
            stop.abort();
            await jobs.stop();
            await feature.stop?.();
        }
    });

    it("once the name that it had is free again", async () => {
        allocate("a", "0000:af:06.0");
        const pod = await add("a", network());
        execFileSync("ip", ["link", "add", "vf0", "type", "veth", "peer", "name", "vf0-peer"]);
        kubelet.setDevice(devices[0], "eth1");
        await agent.del(pod);
        // It has a name of the kernel, and that of the Pod is no name of the Node.
        const shownLinks = execFileSync("ip", ["-d", "-o", "link", "show"], { encoding: "utf8" });
        const [, name = ""] = /^\d+: (dev\d+)@.*alias antrea4 \w+ eth1/m.exec(shownLinks) ?? [];
        expect(name).toMatch(/^dev/);
        kubelet.setDevice(devices[0], name);
        execFileSync("ip", ["link", "delete", "vf0"]);
        await agent.resync();
        expect(links()).toBe(emptyLinks);
    });
});

describe("a virtual function that a meta plugin asks for", () => {
    const config = { name: "net-a", type: "antrea", networkType: "sriov", ...pooled };

    const call = (command: CniCommand, pod: TestPod, more: object = {}): Promise<AddAnswer> =>
        callNetwork(agent, command, pod, "net1", { ...config, ...more });
    const refusal = (pod: TestPod, more: object): Promise<string> => refusalOf(call("add", pod, more));

    it("is that of the call, passes CHECK, is kept over a restart and goes home with its DEL alone", async () => {
        allocate("a", "0000:af:06.1", "0000:af:06.0");
        const pod = await add("a");
        const device = { deviceID: "0000:af:06.1" };
        const answer = await call("add", pod, device);
        expect(answer.interfaces).toEqual([
            { name: "net1", mac: expect.stringMatching(/:/), sandbox: pod.netns.path, pciID: "0000:af:06.1" },
        ]);
        expect(answer.ips).toEqual([
            { address: expect.stringMatching(/^192\.168\.100\./), gateway: "192.168.100.1", interface: 0 },
        ]);
        await call("check", pod, { ...device, prevResult: answer });
        await call("add", pod, device);
        await agent.stop();
        agent = await start();
        await call("check", pod, { ...device, prevResult: answer });
        await call("del", pod, device);
        expect(links()).toBe(emptyLinks);
        expect(pod.netns.run("ip", "-o", "link", "show")).toContain("eth0");
        expect(agent.network.interfaces().map(({ record }) => record.functions)).toEqual([undefined]);
    });

    it("is remembered by its container while OVSDB is away at its DEL alone, and forgotten when it is back", async () => {
        allocate("a", "0000:af:06.1");
        const pod = await add("a");
        const device = { deviceID: "0000:af:06.1" };
        await call("add", pod, device);
        const recorded = async (): Promise<boolean> =>
            (await node.ovs.vsctl("--bare", "--columns=external_ids", "list", "Port")).includes("0000:af:06.1");
        expect(await recorded()).toBe(true);
        await node.ovs.killDatabase();
        await call("del", pod, device);
        // The link is home, and an agent that was killed now would find the function in the record.
        expect(links()).toBe(emptyLinks);
        expect(agent.networkTable.list().map(({ record }) => record.device?.id)).toEqual(["0000:af:06.1"]);
        await node.ovs.startDatabase();
        expect(await recorded()).toBe(true);
        await agent.resync();
        expect(await recorded()).toBe(false);
        expect(agent.networkTable.list()).toEqual([]);
        expect(pod.netns.run("ip", "-o", "link", "show")).toContain("eth0");
        expect([...claims.held]).toEqual([]);
    });

    it("is refused for a device of another Pod, without one, and with a MAC address", async () => {
        allocate("a", "0000:af:06.0");
        allocate("b", "0000:af:06.1");
        const pod = await add("a");
        expect(await refusal(pod, { deviceID: "0000:af:06.1" })).toMatch(
            /INVALID_NETWORK_CONFIG: network default\/net-a: deviceID: "0000:af:06\.1" is not a device .*; next: /,
        );
        expect(await refusal(pod, {})).toMatch(/INVALID_NETWORK_CONFIG: .*deviceID: is missing.*; next: /);
        expect(await refusal(pod, { deviceID: 5 })).toMatch(/deviceID: 5 must be a text/);
        const mac = { runtimeConfig: { mac: "02:00:00:00:00:07" } };
        expect(await refusal(pod, { deviceID: "0000:af:06.0", ...mac })).toMatch(
            /INVALID_NETWORK_CONFIG: .*mac: 02:00:00:00:00:07 cannot be had, .*; next: /,
        );
        expect(await refusal(pod, { deviceID: "0000:af:06.0", vlan: 5 })).toMatch(/vlan: 5 has no effect .*; next: /);
        expect(links()).toBe(emptyLinks);
        expect([...claims.held]).toEqual([]);
    });
});

describe("beside an interface on a VLAN network", () => {
    const vlan = network({ networkType: "vlan", vlan: 100, ...unrouted }, "red");
    const both = [
        { ifName: "eth1", network: vlan },
        { ifName: "eth2", network: network(unrouted) },
    ];
    beforeAll(async () => {
        await agent.stop();
        addNic();
        nic = testNic;
        agent = await start();
        empty = await node.state();
    });

    it("a Pod gets both in one ADD, also after a restart, and both end with it", async () => {
        allocate("a", "0000:af:06.0");
        plans.set("a", both);
        const pod = sandboxes.make("a");
        const answer = await agent.add(pod);
        expect(shown(pod, "eth2")).toContain("state UP");
        expect(await podPorts(node)).toHaveLength(1);
        await agent.stop();
        agent = await start();
        await agent.resync();
        expect(await agent.check(pod, answer)).toBe("");
        for (const { record } of agent.networkTable.list()) await agent.checkNetwork(record);
        expect(agent.networkTable.list()).toHaveLength(2);
        await agent.del(pod);
        expect(links()).toBe(emptyLinks);
        expect(await podPorts(node)).toEqual([]);
    });

    it.each([
        ["the virtual function", ["eth1", "dmz"], "dmz", /device 0000:af:06\.0 cannot become dmz/],
        ["the other", ["dmz", "eth2"], "dmz", /dmz/],
    ] as const)("a Pod gets none of them when %s cannot be made", async (_, names, taken, text) => {
        allocate("a", "0000:af:06.0");
        plans.set(
            "a",
            both.map((one, index) => ({ ...one, ifName: names[index] ?? "" })),
        );
        const pod = sandboxes.make("a");
        pod.netns.run("ip", "link", "add", taken, "type", "veth", "peer", "name", "dmz-peer");
        await expect(agent.add(pod)).rejects.toThrow(text);
        expect(links()).toBe(emptyLinks);
        expect(await podPorts(node)).toEqual([]);
        expect([...claims.held]).toEqual([]);
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toMatch(/eth\d/);
    });
});
