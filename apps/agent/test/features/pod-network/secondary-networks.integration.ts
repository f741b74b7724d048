import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync, spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import { eventually } from "../../support/eventually.ts";
import { Interruptions } from "../../support/interruptions.ts";
import { TestNetns } from "../../support/namespace.ts";
import { FakeNetworkAllocations } from "../../support/network-allocations.ts";
import { addNic, podPorts, refusalOf, testNic, TestSandboxes } from "../../support/network-node.ts";
import { plannedNetwork as network } from "../../support/planned-network.ts";
import { TestNode, type NodeState, type TestAgent } from "../../support/test-node.ts";
import { ipsOf, type TestPod } from "../../support/test-pod.ts";
import { podRecord } from "../../support/records.ts";
import {
    fromNetworkAlias,
    toAlias,
    type AddRequest,
    type NetworkRecordAddress,
    type PlannedNetwork,
} from "../../../src/platform/pod-interfaces/index.ts";

let node: TestNode;
let outside: TestNetns;
let agent: TestAgent;
let allocations: FakeNetworkAllocations;
let plans: Map<string, readonly PlannedNetwork[]>;
let steps: Interruptions;
let empty: NodeState;
const sandboxes = new TestSandboxes();

const start = (): Promise<TestAgent> =>
    node.startAgent({
        networks: {
            nic: testNic,
            plan: ({ podName }: AddRequest) => plans.get(podName) ?? [],
            allocations,
            interruptions: steps,
        },
    });

beforeAll(async () => {
    node = await TestNode.start();
    outside = new TestNetns("outside");
    addNic(outside);
    [allocations, plans, steps] = [new FakeNetworkAllocations(), new Map(), new Interruptions()];
    agent = await start();
    empty = await node.state();
});
afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
    outside?.[Symbol.dispose]();
});

beforeEach(() => plans.clear());
// Whatever a test did: after the end of its Pods and one check of the agent nothing of it is left.
afterEach(async () => {
    await sandboxes.end(node, agent, empty);
    expect([await podPorts(node), [...allocations.held]]).toEqual([[], []]);
});

async function add(name: string, ...planned: readonly PlannedNetwork[]): Promise<TestPod> {
    const pod = sandboxes.make(name);
    plans.set(name, planned);
    await agent.add(pod);
    return pod;
}

function addressOf(pod: TestPod, ifName: string): string {
    return /inet (\S+)\//.exec(pod.netns.run("ip", "-4", "-o", "addr", "show", ifName))?.[1] ?? "";
}

interface FoundPort {
    readonly name: string;
    readonly tag: string;
    readonly mode: string;
    /** Whether OVS uses the device. */
    readonly open: boolean;
}

/** The ports of both bridges, as OVS has them. */
async function portsOfBridges(): Promise<readonly FoundPort[]> {
    const bridges = [node.bridge, "br-secondary"];
    const names = await Promise.all(bridges.map((bridge) => node.ovs.vsctl("list-ports", bridge)));
    const found: FoundPort[] = [];
    for (const name of names.flatMap((text) => text.trim().split("\n")).toSorted()) {
        const [tag = "", mode = ""] = (await node.ovs.vsctl("get", "Port", name, "tag", "vlan_mode"))
            .trim()
            .split("\n");
        const [number = ""] = (await node.ovs.vsctl("get", "Interface", name, "ofport")).trim().split("\n");
        found.push({ name, tag, mode, open: Number(number) > 0 });
    }
    return found;
}

describe("a Pod with networks", () => {
    it("gets all of them in its ADD, each VLAN for itself, and the addresses of their pools", async () => {
        const both = [network("eth1", { pool: "100" }), network("eth2", { pool: "200" })];
        const [a, b] = [await add("a", ...both), await add("b", ...both)];
        expect(addressOf(a, "eth1")).toMatch(/^192\.168\.100\./);
        expect(await a.ping(addressOf(b, "eth1"), { from: "eth1" })).toBe(1);
        expect(await a.ping(addressOf(b, "eth2"), { from: "eth2" })).toBe(1);
        // Across VLANs nobody is reached, whatever the addresses are.
        const c = await add("c", network("eth1", { pool: "200" }));
        c.netns.run("ip", "addr", "add", "192.168.100.77/24", "dev", "eth1");
        expect(await a.ping("192.168.100.77", { from: "eth1", limitS: 2 })).toBe(0);
        // The default route stays with the Pod network.
        expect(a.netns.run("ip", "route", "show", "default")).toContain("dev eth0");
        expect(a.netns.run("ip", "-o", "link", "show", "eth1")).toMatch(/mtu 1500.*0a:58:c0:a8:64/);
    });

    it("sends with the tag of its VLAN only, and without one in no VLAN", async () => {
        const pod = await add("a", network("eth1", { pool: "100" }), network("eth2", { pool: "0" }));
        // -e shows tags; an ARP request is flooded to the NIC.
        const seen = spawn("ip", ["netns", "exec", outside.name, "tcpdump", "-l", "-n", "-e", "-i", "wire"], {
            stdio: ["ignore", "pipe", "ignore"],
        });
        let output = "";
        seen.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
        try {
            await eventually(
                async () => {
                    await pod.ping("192.168.100.99", { from: "eth1", limitS: 1 });
                    await pod.ping("192.168.0.99", { from: "eth2", limitS: 1 });
                    return output;
                },
                (text) => /100\.99/.test(text) && /192\.168\.0\.99/.test(text),
            );
        } finally {
            seen.kill();
        }
        const lines = output.split("\n").filter((line) => line.includes("who-has"));
        expect(lines.filter((line) => line.includes("192.168.100.99")).every((line) => /vlan 100,/.test(line))).toBe(
            true,
        );
        expect(lines.filter((line) => line.includes("192.168.0.99")).some((line) => /vlan/.test(line))).toBe(false);
    });

    it("gets the requested MAC address, MTU and routes, and an interface without address", async () => {
        const pod = await add(
            "a",
            network("eth1", {
                pool: "100",
                mac: "02:00:00:00:00:07",
                mtu: 1300,
                routes: [{ dst: "10.20.0.0/16" }, { dst: "10.30.0.0/16", gw: "192.168.100.254" }],
            }),
            network("eth2", { vlan: 7 }),
        );
        expect(pod.netns.run("ip", "-o", "link", "show", "eth1")).toMatch(/mtu 1300 .*02:00:00:00:00:07/);
        expect(pod.netns.run("ip", "route", "show", "dev", "eth1")).toMatch(/10\.20\.0\.0\/16 via 192\.168\.100\.1/);
        expect(pod.netns.run("ip", "route", "show", "dev", "eth1")).toMatch(/10\.30\.0\.0\/16 via 192\.168\.100\.254/);
        expect(addressOf(pod, "eth2")).toBe("");
        expect(await node.ovs.vsctl("--bare", "--columns=tag,vlan_mode", "find", "Port", "tag=7")).toContain("access");
    });

    it("gets routes whose destinations have host bits, as upstream's plugins set them, and its default route by one", async () => {
        const six = { ip: parseIp("fd00:100::7"), prefixLength: 64, gateway: parseIp("fd00:100::1") };
        const addresses = {
            demands: [{ pool: "100", fixed: undefined }],
            order: [0, six],
            given: new Map<number, never>(),
        };
        const routes = [{ dst: "10.20.0.5/16" }, { dst: "3ffe:ffff:0:01ff::1/64" }, { dst: "10.0.0.1/0" }];
        const pod = await add("a", network("eth1", { addresses, routes }));
        expect(pod.netns.run("ip", "route", "show", "10.20.0.0/16")).toMatch(/via 192\.168\.100\.1 dev eth1/);
        expect(pod.netns.run("ip", "-6", "route", "show", "3ffe:ffff:0:1ff::/64")).toMatch(/via fd00:100::1 dev eth1/);
        expect(pod.netns.run("ip", "-4", "route", "show", "default")).toMatch(/^default via 192\.168\.100\.1 dev eth1/);
    });

    it("may be on one network twice: the first interface leads to what its routes name", async () => {
        const twice = { pool: "100", routes: [{ dst: "10.20.0.0/16" }] };
        const pod = await add("a", network("eth1", twice), network("eth2", twice));
        const routes = pod.netns.run("ip", "route", "show", "10.20.0.0/16").trim().split("\n");
        expect(routes.map((route) => /dev (\S+)/.exec(route)?.[1]).sort()).toEqual(["eth1", "eth2"]);
    });

    it("moves its default route to a network, and keeps Services with the Pod network, also after a repeated ADD", async () => {
        const pod = await add("a", network("eth1", { pool: "100", defaultGateways: [parseIp("192.168.100.1")] }));
        for (let times = 0; times < 2; times += 1) {
            expect(pod.netns.run("ip", "-4", "route", "show", "default")).toMatch(
                /^default via 192\.168\.100\.1 dev eth1 proto static *\n$/,
            );
            expect(pod.netns.run("ip", "-4", "route", "show", "10.96.0.0/12")).toContain("dev eth0");
            await agent.add(pod);
        }
    });

    it("whose default route leads to a network has routes to the present ranges of Services, while it runs", async () => {
        const pod = await add("a", network("eth1", { pool: "100", defaultGateways: [parseIp("192.168.100.1")] }));
        const ranges = (): readonly string[] =>
            pod.netns.run("ip", "-4", "route", "show", "proto", "182").trim().split("\n").toSorted();
        expect(ranges()).toEqual([expect.stringMatching(/^10\.96\.0\.0\/12 via .* dev eth0/)]);
        const before = agent.serviceCidrs;
        try {
            agent.serviceCidrs = [parsePrefix("10.200.0.0/24")];
            await agent.reconciler.reconcile(AbortSignal.timeout(20_000));
            expect(ranges()).toEqual([expect.stringMatching(/^10\.200\.0\.0\/24 via .* dev eth0/)]);
            expect(pod.netns.run("ip", "-4", "route", "show", "default")).toContain("dev eth1");
            // Its records are rebuilt from the links, which do not name its namespace.
            await agent.stop();
            await node.loseDatabase();
            agent = await start();
            agent.serviceCidrs = [parsePrefix("10.201.0.0/24")];
            await agent.reconciler.reconcile(AbortSignal.timeout(20_000));
            expect(ranges()).toEqual([expect.stringMatching(/^10\.201\.0\.0\/24 via .* dev eth0/)]);
        } finally {
            agent.serviceCidrs = before;
        }
    });

    it("has the default route of the network's own routes, and passes CHECK", async () => {
        const pod = sandboxes.make("a");
        plans.set("a", [network("eth1", { pool: "100", routes: [{ dst: "0.0.0.0/0" }] })]);
        const answer = await agent.add(pod);
        expect(pod.netns.run("ip", "-4", "route", "show", "default")).toMatch(/^default via 192\.168\.100\.1 dev eth1/);
        expect(pod.netns.run("ip", "-4", "route", "show", "10.96.0.0/12")).toContain("dev eth0");
        expect(await agent.check(pod, answer)).toBe("");
    });

    it("has again in a repeated ADD what a killed agent did not configure, and an interface that was deleted", async () => {
        const twice = { pool: "100", routes: [{ dst: "10.20.0.0/16" }] };
        const pod = await add("a", network("eth1", twice), network("eth2", twice), network("eth3", { pool: "6" }));
        const state = (): readonly string[] =>
            ["eth1", "eth2", "eth3"].flatMap((ifName) => [
                pod.netns.run("ip", "-br", "addr", "show", ifName).replace(/@\S+/, ""),
                pod.netns.run("ip", "route", "show", "dev", ifName),
            ]);
        const whole = state();
        await agent.add(pod);
        expect(state()).toEqual(whole);
        for (const ifName of ["eth1", "eth2"]) {
            pod.netns.run("ip", "addr", "flush", "dev", ifName);
            pod.netns.run("ip", "link", "set", ifName, "down");
        }
        pod.netns.run("ip", "link", "del", "eth3");
        await agent.add(pod);
        expect(state()).toEqual(whole);
        expect(await podPorts(node)).toHaveLength(3);
    });

    it("runs on with them while the feature gate is off", async () => {
        const pod = await add("a", network("eth1", { pool: "100" }));
        await agent.stop();
        agent = await node.startAgent({});
        for (let round = 0; round < 3; round += 1) await agent.resync();
        expect(addressOf(pod, "eth1")).not.toBe("");
        await agent.stop();
        agent = await start();
        await agent.resync();
        expect(await podPorts(node)).toHaveLength(1);
    });

    it("keeps them over a restart of the agent, of Open vSwitch and the loss of the database", async () => {
        const [a, b] = [
            await add("a", network("eth1", { pool: "100" })),
            await add("b", network("eth1", { pool: "100" })),
        ];
        const peer = addressOf(b, "eth1");
        await agent.stop();
        agent = await start();
        expect(await a.ping(peer, { from: "eth1" })).toBe(1);
        const before = await portsOfBridges();
        expect([before.length, before.every(({ open }) => open)]).toEqual([6, true]);
        // The bridge for networks switches by itself: it needs no agent for that.
        await node.ovs.restartVswitchd();
        expect(await portsOfBridges()).toEqual(before);
        expect(await a.ping(peer, { from: "eth1" })).toBe(1);
        await agent.resync();
        expect(await portsOfBridges()).toEqual(before);
        expect(await a.ping(peer, { from: "eth1" })).toBe(1);
        expect(await a.ping(addressOf(b, "eth0"))).toBe(1);
        await agent.stop();
        await node.loseDatabase();
        agent = await start();
        await agent.resync();
        expect(await a.ping(peer, { from: "eth1" })).toBe(1);
        expect((await podPorts(node)).length).toBe(2);
        // What the link does not have comes from the allocations and from the Pod's own interface.
        const records = agent.network.further?.list().map(({ record }) => record) ?? [];
        expect(records.map(({ addresses }) => addresses.length)).toEqual([1, 1]);
    });

    it("keep the addresses of deleted allocations when the database is lost then, whatever the Pod changes", async () => {
        const a = await add("a", network("eth1", { pool: "100" }));
        const b = await add("b", network("eth1", { pool: "100" }));
        const [own, peer] = [addressOf(a, "eth1"), addressOf(b, "eth1")];
        a.netns.run("ip", "link", "set", "eth1", "alias", "antrea3 forged");
        a.netns.run("ip", "address", "add", "192.168.100.99/24", "dev", "eth1");
        await agent.stop();
        const held = allocations.held.get(own);
        allocations.held.delete(own);
        await node.loseDatabase();
        agent = await start();
        const found = (): readonly NetworkRecordAddress[] =>
            (agent.network.further?.list() ?? [])
                .flatMap(({ record }) => record.addresses)
                .filter(({ ip }) => formatIp(ip) !== peer);
        const all = (): readonly string[] => found().map(({ ip, pool }) => `${formatIp(ip)} ${pool}`);
        expect(all()).toEqual([`${own} `]);
        await agent.resync();
        expect(all()).toEqual([`${own} `]);
        expect(await a.ping(peer, { from: "eth1" })).toBe(1);
        // Once more: the record that the first loss left has the address in both places.
        await agent.stop();
        await node.loseDatabase();
        agent = await start();
        await agent.resync();
        expect(all()).toEqual([`${own} `]);
        // Claimed again, the settings of its pool are known.
        if (held !== undefined) allocations.held.set(own, held);
        await agent.resync();
        expect(found()).toEqual([
            { ip: parseIp(own), prefixLength: 24, gateway: parseIp("192.168.100.1"), pool: "100" },
        ]);
        expect(await podPorts(node)).toHaveLength(2);
    });

    it("of an earlier agent get aliases with their addresses", async () => {
        const pod = await add("a", network("eth1", { pool: "100" }));
        const { hostIfName = "" } = agent.network.further?.list()[0]?.record ?? {};
        const aliasOf = (): string =>
            execFileSync("ip", ["-d", "link", "show", "dev", hostIfName], { encoding: "utf8" })
                .split("\n")
                .flatMap((line) => /^\s*alias (.*)$/.exec(line)?.[1] ?? [])
                .join();
        const alias = aliasOf();
        await agent.stop();
        execFileSync("ip", ["link", "set", "dev", hostIfName, "alias", alias.split(" ").slice(0, 9).join(" ")]);
        agent = await start();
        await agent.resync();
        expect(aliasOf()).toBe(alias);
        expect(fromNetworkAlias(alias)?.addresses.map(({ ip }) => formatIp(ip))).toEqual([addressOf(pod, "eth1")]);
    });

    it("that cannot be put back keep nothing else from its upkeep", async () => {
        const pod = await add("a", network("eth1", { pool: "100" }));
        const alias = toAlias(podRecord({ containerId: "ended" }));
        execFileSync("ip", ["link", "add", "left0", "type", "veth", "peer", "name", "left1"]);
        execFileSync("ip", ["link", "set", "left0", "alias", alias]);
        const links = (): string => execFileSync("ip", ["-o", "link", "show"], { encoding: "utf8" });
        const losePort = async (): Promise<void> => {
            const [port = ""] = await podPorts(node);
            await node.ovs.vsctl("del-port", "br-secondary", port);
            await eventually(
                () => agent.secondary.ports(),
                (ports) => ports.length === 0,
            );
        };
        await losePort();
        await steps.recorded(() => agent.resync());
        expect(await podPorts(node)).toHaveLength(1);
        // What is left over is removed when it is seen again.
        expect(links()).toContain("left0");
        await losePort();
        await steps.during({ name: "secondary.ensurePorts", nth: 0 }, "not made", () => agent.resync());
        expect([await podPorts(node), links()]).toEqual([[], expect.not.stringContaining("left0")]);
        await agent.resync();
        expect(await podPorts(node)).toHaveLength(1);
        expect(addressOf(pod, "eth1")).not.toBe("");
    });

    it("does not start without one of them, and leaves nothing", async () => {
        const pod = sandboxes.make("a");
        for (const bad of [
            network("eth2", { pool: "full" }),
            network("eth2", { pool: "100", routes: [{ dst: "10.20.0.0/16", gw: "172.31.0.1" }] }),
            // The subnet of the Pod's own interface, and one that another network leads to.
            network("eth2", { pool: "100", routes: [{ dst: "10.10.1.0/24" }] }),
            network("eth2", { pool: "100", routes: [{ dst: "192.168.100.0/24" }] }),
        ]) {
            plans.set("a", [network("eth1", { pool: "100" }), bad]);
            await expect(agent.add(pod)).rejects.toThrow(/no free address in full|network default\/eth2: ipam\.routes/);
            expect([...allocations.held]).toEqual([]);
            expect(await podPorts(node)).toEqual([]);
            expect(pod.netns.run("ip", "-o", "link", "show")).not.toContain("eth");
        }
        plans.set("a", [network("eth1", { pool: "100" })]);
        expect(ipsOf(await agent.add(pod))).toHaveLength(2);
    });

    it("does not start with an address whose allocation was deleted by force meanwhile", async () => {
        const pod = sandboxes.make("a");
        plans.set("a", [network("eth1", { pool: "100" }), network("eth2", { pool: "100" })]);
        const { claimForNetwork } = allocations;
        allocations.claimForNetwork = async (...asked) => {
            const claimed = await claimForNetwork(...asked);
            if (asked[0].ifName === "eth1") allocations.held.clear();
            return claimed;
        };
        expect(await refusalOf(agent.add(pod))).toMatch(/the IPAllocation of 192\.168\.100\.\d+ .* was deleted while/);
        allocations.claimForNetwork = claimForNetwork;
        expect([await podPorts(node), [...allocations.held]]).toEqual([[], []]);
        await agent.add(pod);
        expect(await podPorts(node)).toHaveLength(2);
    });

    it("does not start with IPPools of two VLANs, unless the network has one", async () => {
        const demands = ["100", "200"].map((pool) => ({ pool, fixed: undefined }));
        const both = { addresses: { demands, order: [0, 1], given: new Map<number, never>() } };
        const pod = sandboxes.make("a");
        plans.set("a", [network("eth1", both)]);
        expect(await refusalOf(agent.add(pod))).toMatch(
            /network default\/eth1: its IPPools 100 and 200 have the VLANs 100 and 200, .*; next: /,
        );
        expect([await podPorts(node), [...allocations.held]]).toEqual([[], []]);
        plans.set("a", [network("eth1", { ...both, vlan: 7 })]);
        await agent.add(pod);
        expect(await node.ovs.vsctl("--bare", "--columns=name", "find", "Port", "tag=7")).not.toBe("");
    });

    it("keeps them in a GC that lists its eth0 only, and loses them in one that does not list it", async () => {
        const [kept, gone] = [await add("a", network("eth1", { pool: "100" })), await add("b", network("eth1"))];
        await agent.collect([kept, gone]);
        expect(await podPorts(node)).toHaveLength(2);
        await agent.collect([kept]);
        expect(await podPorts(node)).toHaveLength(1);
        expect(addressOf(kept, "eth1")).not.toBe("");
    });

    it("has all or none of them after two ADDs and a DEL that cross", async () => {
        const planned = ["eth1", "eth2", "eth3"].map((ifName) => network(ifName, { pool: "100" }));
        for (const delay of [0, 2, 5, 10, 20, 40]) {
            const pod = sandboxes.make("a");
            plans.set("a", planned);
            const first = refusalOf(agent.add(pod));
            await pause(delay);
            const deleted = agent.del(pod);
            const second = refusalOf(agent.add(pod));
            await Promise.all([first, deleted, second]);
            const has = pod.netns.run("ip", "-o", "link", "show").match(/eth\d/g) ?? [];
            const state = [new Set(has).size, (await podPorts(node)).length, allocations.held.size];
            // The second one came after the DEL, so nothing takes back what it made; it may be asked to come again.
            expect([delay, state]).toEqual([delay, (await second) === "" ? [4, 3, 3] : [0, 0, 0]]);
            await agent.add(pod);
            expect(await podPorts(node)).toHaveLength(3);
            await agent.del(pod);
            expect([delay, await podPorts(node), [...allocations.held]]).toEqual([delay, [], []]);
        }
    });
});
