import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { AntreaError } from "@antrea/errors";
import { toNetworkIds, type NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { podPorts } from "../../support/network-node.ts";
import { deviceLinks, FunctionNode, network, onWire, pooled, shown, unrouted } from "./support/function-node.ts";

let node: FunctionNode;

beforeAll(async () => {
    node = await FunctionNode.start();
});
afterAll(() => node?.[Symbol.asyncDispose]());
afterEach(() => node.end());

describe("a Pod with virtual functions", () => {
    it("gets the device that the kubelet allocated, with name, address and routes, and gives it back", async () => {
        node.allocate("a", "0000:af:06.1");
        const pod = await node.add("a", network(pooled));
        expect(deviceLinks()).not.toContain("vf1");
        expect(shown(pod, "eth1")).toMatch(/mtu 1500 .*state UP.*alias antrea4 \w+ eth1\b/);
        expect(node.keptFiles()).toEqual(["pci-0000:af:06.1.json"]);
        expect(pod.netns.run("ip", "-4", "-o", "addr", "show", "eth1")).toMatch(/inet 192\.168\.100\.\d+\/24/);
        expect(pod.netns.run("ip", "route", "show", "10.20.0.0/16")).toMatch(/via 192\.168\.100\.1 dev eth1/);
        expect(pod.netns.run("ip", "route", "show", "default")).toContain("dev eth0");
        expect(await pod.ping(onWire, { from: "eth1" })).toBe(1);
        await node.agent.del(pod);
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect(node.keptFiles()).toEqual([]);
    });

    it("gets several of one resource in the order of their names, PCI and auxiliary devices, with their MTU", async () => {
        node.allocate("a", "mlx5_core.sf.4", "0000:af:06.1", "0000:af:06.0");
        const pod = await node.add("a", network(), network({ mtu: 1400 }), network({}, "net-b"));
        const devicesOf = node.agent.networkTable
            .list()
            .map(({ record }) => [record.ifName, record.device?.id, record.mtu]);
        expect(devicesOf).toEqual([
            ["eth1", "0000:af:06.0", 1500],
            ["eth2", "0000:af:06.1", 1400],
            ["eth3", "mlx5_core.sf.4", 1500],
        ]);
        expect(shown(pod, "eth2")).toContain("mtu 1400");
        expect(deviceLinks()).toBe("");
    });

    it("passes CHECK, until it lacks one", async () => {
        node.allocate("a", "0000:af:06.0");
        node.plan("a", { eth1: network(pooled) });
        const pod = node.sandboxes.make("a");
        const answer = await node.agent.add(pod);
        expect(await node.agent.check(pod, answer)).toBe("");
        const [known] = node.agent.networkTable.list();
        const checked = (): Promise<string> =>
            node.agent.checkNetwork(known?.record).then(
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
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network(pooled));
        await node.agent.add(pod);
        expect(shown(pod, "eth1")).toContain("state UP");
        const next = node.sandboxes.make("a", pod.uid);
        await node.agent.add(next);
        expect(shown(next, "eth1")).toContain("state UP");
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toContain("eth1");
        expect([...node.allocations.held.values()].map(({ owner }) => owner)).toEqual([`${next.containerId}/eth1`]);
    });

    it("keeps them over a restart of the agent, and gives them back then", async () => {
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network(pooled));
        const before = node.agent.networkTable.list();
        await node.restartAgent();
        await node.agent.resync();
        const ids = node.agent.networkTable.list().map(({ record }) => toNetworkIds(record));
        expect(ids).toEqual(before.map(({ record }) => toNetworkIds(record)));
        expect(await pod.ping(onWire, { from: "eth1" })).toBe(1);
        await node.agent.del(pod);
        expect(deviceLinks()).toBe(node.emptyLinks);
    });

    it("has no traffic while its address is another Pod's", async () => {
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network(pooled));
        const record = (): NetworkRecord => {
            const [known] = node.agent.networkTable.list();
            if (known === undefined) throw new Error("no record");
            return known.record;
        };
        await node.agent.network.setNetworkIsolated(record(), true);
        expect(shown(pod, "eth1")).toContain("state DOWN");
        await node.restartAgent();
        expect(record().isolated).toBe(true);
        await node.agent.network.setNetworkIsolated(record(), false);
        expect(shown(pod, "eth1")).toContain("state UP");
    });
});

describe("beside an interface on a VLAN network", () => {
    const vlan = network({ networkType: "vlan", vlan: 100, ...unrouted }, "red");
    beforeAll(() => node.addBridge());

    it("a Pod gets both in one ADD, also after a restart, and both end with it", async () => {
        node.allocate("a", "0000:af:06.0");
        node.plan("a", { eth1: vlan, eth2: network(unrouted) });
        const pod = node.sandboxes.make("a");
        const answer = await node.agent.add(pod);
        expect(shown(pod, "eth2")).toContain("state UP");
        expect(await podPorts(node.host)).toHaveLength(1);
        await node.restartAgent();
        await node.agent.resync();
        expect(await node.agent.check(pod, answer)).toBe("");
        for (const { record } of node.agent.networkTable.list()) await node.agent.checkNetwork(record);
        expect(node.agent.networkTable.list()).toHaveLength(2);
        await node.agent.del(pod);
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect(await podPorts(node.host)).toEqual([]);
    });

    it.each([
        ["the virtual function", ["eth1", "dmz"], "dmz", /device 0000:af:06\.0 cannot become dmz/],
        ["the other", ["dmz", "eth2"], "dmz", /dmz/],
    ] as const)("a Pod gets none of them when %s cannot be made", async (_, names, taken, text) => {
        node.allocate("a", "0000:af:06.0");
        const [first, second] = names;
        node.plan("a", { [first]: vlan, [second]: network(unrouted) });
        const pod = node.sandboxes.make("a");
        pod.netns.run("ip", "link", "add", taken, "type", "veth", "peer", "name", "dmz-peer");
        await expect(node.agent.add(pod)).rejects.toThrow(text);
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect(await podPorts(node.host)).toEqual([]);
        expect([...node.allocations.held]).toEqual([]);
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toMatch(/eth\d/);
    });
});
