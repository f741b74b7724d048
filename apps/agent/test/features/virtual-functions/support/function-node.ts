import { expect } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parseNetwork, resourceNameAnnotation, type OwnNetwork } from "@antrea/networks";
import { judge } from "../../../../src/features/networks/judge.ts";
import type { AddRequest, DeviceId, PlannedNetwork } from "../../../../src/platform/pod-interfaces/index.ts";
import { FakeKubelet } from "../../../support/fake-kubelet.ts";
import { TestNetns } from "../../../support/namespace.ts";
import { FakeNetworkAllocations } from "../../../support/network-allocations.ts";
import { addNic, testNic, TestSandboxes } from "../../../support/network-node.ts";
import { TestNode, type NodeState, type TestAgent } from "../../../support/test-node.ts";
import type { TestPod } from "../../../support/test-pod.ts";

const resource = "example.com/net_a";

/** The devices of the Node, and the links that they have. */
export const devices = [
    { bus: "pci", id: "0000:af:06.0", link: "vf0" },
    { bus: "pci", id: "0000:af:06.1", link: "vf1" },
    { bus: "auxiliary", id: "mlx5_core.sf.4", link: "sf4" },
] as const;

/** The address at the other end of each device. */
export const onWire = "192.168.100.250";

/** Settings of networks: addresses of a pool, without and with a route. */
export const unrouted = { ipam: { type: "antrea", ippools: ["100"] } };
export const pooled = { ipam: { ...unrouted.ipam, routes: [{ dst: "10.20.0.0/16" }] } };

/** A network of virtual functions, or of another `networkType`. */
export function network(change: Readonly<Record<string, unknown>> = {}, name = "net-a"): OwnNetwork {
    const config = { cniVersion: "1.0.0", type: "antrea", networkType: "sriov", ...change };
    const annotations = { [resourceNameAnnotation]: resource };
    const parsed = parseNetwork({ namespace: "default", name, annotations, config: JSON.stringify(config) });
    if (parsed.kind === "foreign") throw new Error("a network of ours is wanted");
    return parsed;
}

/** Name, MTU, MAC address, group, alternative names, alias, state and promiscuous mode of the links that devices have. */
export function deviceLinks(): string {
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

/** The interface of a Pod, as ip(8) shows it. */
export const shown = (pod: TestPod, ifName: string): string => pod.netns.run("ip", "-d", "-o", "link", "show", ifName);

/** A Node with devices that its kubelet allocates to Pods, and an agent. */
export class FunctionNode implements AsyncDisposable {
    readonly host: TestNode;
    readonly kubelet: FakeKubelet;
    readonly allocations = new FakeNetworkAllocations();
    readonly sandboxes = new TestSandboxes();
    agent!: TestAgent;
    /** What `deviceLinks` shows while no Pod has one. */
    emptyLinks = "";
    #empty!: NodeState;
    /** By the names of Pods. */
    readonly #plans = new Map<string, readonly { readonly ifName: string; readonly network: OwnNetwork }[]>();
    /** The NIC of a bridge for VLAN networks; undefined: there is no bridge. */
    #nic: string | undefined;
    readonly #wires: TestNetns[] = [];

    private constructor(host: TestNode, kubelet: FakeKubelet) {
        this.host = host;
        this.kubelet = kubelet;
    }

    static async start(): Promise<FunctionNode> {
        await using stack = new AsyncDisposableStack();
        const host = stack.use(await TestNode.start());
        const kubelet = stack.use(new FakeKubelet());
        await kubelet.start();
        const node = new FunctionNode(host, kubelet);
        stack.defer(() => node.#removeWires());
        node.#addDevices();
        await node.startAgent();
        [node.#empty, node.emptyLinks] = [await host.state(), deviceLinks()];
        stack.move();
        return node;
    }

    /** An agent on what an earlier one left; it is the one of the Node from now on. */
    async startAgent(): Promise<void> {
        const { allocations, kubelet } = this;
        const plan = (request: AddRequest, of: TestAgent): Promise<readonly PlannedNetwork[]> =>
            this.#planOf(request, of);
        this.agent = await this.host.startAgent({
            networks: { nic: this.#nic, plan, allocations, places: kubelet.places },
        });
    }

    async restartAgent(): Promise<void> {
        await this.agent.stop();
        await this.startAgent();
    }

    /** Starts the agent again with a bridge of VLAN networks. */
    async addBridge(): Promise<void> {
        await this.agent.stop();
        addNic();
        this.#nic = testNic;
        await this.startAgent();
        this.#empty = await this.host.state();
    }

    /** Where agents keep what links were. */
    get keptFolder(): string {
        return join(this.host.stateFolder, "virtual-functions");
    }

    keptFiles(): readonly string[] {
        // An agent makes the folder with the first file.
        return existsSync(this.keptFolder) ? readdirSync(this.keptFolder) : [];
    }

    /** What the kubelet has allocated to the Pod of this name. */
    allocate(name: string, ...ids: readonly string[]): void {
        const { kubelet } = this;
        kubelet.pods = [...kubelet.pods.filter((one) => one.name !== name), { name, devices: { [resource]: ids } }];
    }

    /** The networks that the annotation of a Pod asks for, by interface. */
    plan(name: string, networks: Readonly<Record<string, OwnNetwork>>): void {
        const all = Object.entries(networks).map(([ifName, one]) => ({ ifName, network: one }));
        this.#plans.set(name, all);
    }

    /** A Pod with one interface for each network: eth1, eth2, … */
    async add(name: string, ...networks: readonly OwnNetwork[]): Promise<TestPod> {
        this.plan(name, Object.fromEntries(networks.map((one, index) => [`eth${index + 1}`, one])));
        const pod = this.sandboxes.make(name);
        await this.agent.add(pod);
        return pod;
    }

    /** What a kernel does with a NIC when a namespace ends, and sysfs; one end of a veth pair it would delete. */
    returnLink(pod: TestPod, device: DeviceId, ifName: string, name = ifName): void {
        const inPod = ["-n", pod.netns.name, "link", "set"];
        this.kubelet.setDevice(device, name);
        execFileSync("ip", [...inPod, ifName, "down"]);
        if (name !== ifName) execFileSync("ip", [...inPod, ifName, "name", name]);
        execFileSync("ip", [...inPod, name, "netns", String(process.pid)]);
    }

    /** Whatever a test did: after the end of its Pods the Node has its devices as they were, and nothing else. */
    async end(): Promise<void> {
        const { agent, allocations, host, kubelet } = this;
        try {
            await this.sandboxes.end(host, agent, this.#empty);
            expect(deviceLinks()).toBe(this.emptyLinks);
            expect([...allocations.held]).toEqual([]);
            expect(agent.networkTable.list()).toEqual([]);
            expect(this.keptFiles()).toEqual([]);
        } finally {
            for (const { link, ...device } of devices) kubelet.setDevice(device, link);
            allocations.held.clear();
            this.#plans.clear();
        }
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.agent.stop();
        await this.kubelet[Symbol.asyncDispose]();
        await this.host[Symbol.asyncDispose]();
        this.#removeWires();
    }

    #addDevices(): void {
        for (const { link, ...device } of devices) {
            this.kubelet.setDevice(device, link);
            const wire = new TestNetns("wire");
            this.#wires.push(wire);
            execFileSync("ip", ["link", "add", link, "type", "veth", "peer", "name", "wire", "netns", wire.name]);
            wire.run("ip", "link", "set", "wire", "up");
            wire.run("ip", "addr", "add", `${onWire}/24`, "dev", "wire");
        }
        execFileSync("ip", ["link", "set", "vf1", "up", "group", "7", "alias", "rack 7, port 1"]);
        execFileSync("ip", ["link", "property", "add", "dev", "vf1", "altname", "enp175s0f0v1"]);
    }

    #removeWires(): void {
        for (const wire of this.#wires.splice(0)) wire[Symbol.dispose]();
    }

    /** As the agent plans the networks of an annotation. */
    async #planOf(request: AddRequest, of: TestAgent): Promise<readonly PlannedNetwork[]> {
        const asked = this.#plans.get(request.podName) ?? [];
        const functions = asked.filter((one) => one.network.kind === "sriov");
        const demands = functions.map((one) => ({ ...one.network, ifName: one.ifName }));
        const found = await of.functions.devices.find(request, demands, new AbortController().signal);
        const surroundings =
            this.#nic === undefined
                ? { bridgeProblem: "there is none", nicMtu: 0, poolOf: () => "100" }
                : { bridgeProblem: undefined, nicMtu: 1500, poolOf: () => "100" };
        return asked.map((one) => {
            const device = found[functions.indexOf(one)];
            const requested = { ifName: one.ifName, mac: undefined, wanted: undefined, defaultGateways: [], device };
            return judge(one.network, requested, surroundings);
        });
    }
}
