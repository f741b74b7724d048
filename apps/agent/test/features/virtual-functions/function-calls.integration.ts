import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import type { CniCommand } from "../../../src/features/cni-server/index.ts";
import { callNetwork, refusalOf } from "../../support/network-node.ts";
import type { AddAnswer, TestPod } from "../../support/test-pod.ts";
import { deviceLinks, FunctionNode, pooled } from "./support/function-node.ts";

let node: FunctionNode;

beforeAll(async () => {
    node = await FunctionNode.start();
});
afterAll(() => node?.[Symbol.asyncDispose]());
afterEach(() => node.end());

describe("a virtual function that a meta plugin asks for", () => {
    const config = { name: "net-a", type: "antrea", networkType: "sriov", ...pooled };

    const call = (command: CniCommand, pod: TestPod, more: object = {}): Promise<AddAnswer> =>
        callNetwork(node.agent, command, pod, "net1", { ...config, ...more });
    const refusal = (pod: TestPod, more: object): Promise<string> => refusalOf(call("add", pod, more));

    it("is that of the call, passes CHECK, is kept over a restart and goes home with its DEL alone", async () => {
        node.allocate("a", "0000:af:06.1", "0000:af:06.0");
        const pod = await node.add("a");
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
        await node.restartAgent();
        await call("check", pod, { ...device, prevResult: answer });
        await call("del", pod, device);
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect(pod.netns.run("ip", "-o", "link", "show")).toContain("eth0");
        expect(node.agent.network.interfaces().map(({ record }) => record.functions)).toEqual([undefined]);
    });

    it("is remembered by its container while OVSDB is away at its DEL alone, and forgotten when it is back", async () => {
        node.allocate("a", "0000:af:06.1");
        const pod = await node.add("a");
        const device = { deviceID: "0000:af:06.1" };
        await call("add", pod, device);
        const recorded = async (): Promise<boolean> =>
            (await node.host.ovs.vsctl("--bare", "--columns=external_ids", "list", "Port")).includes("0000:af:06.1");
        expect(await recorded()).toBe(true);
        await node.host.ovs.killDatabase();
        await call("del", pod, device);
        // The link is home, and an agent that was killed now would find the function in the record.
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect(node.agent.networkTable.list().map(({ record }) => record.device?.id)).toEqual(["0000:af:06.1"]);
        await node.host.ovs.startDatabase();
        expect(await recorded()).toBe(true);
        await node.agent.resync();
        expect(await recorded()).toBe(false);
        expect(node.agent.networkTable.list()).toEqual([]);
        expect(pod.netns.run("ip", "-o", "link", "show")).toContain("eth0");
        expect([...node.allocations.held]).toEqual([]);
    });

    it("is refused for a device of another Pod, without one, and with a MAC address", async () => {
        node.allocate("a", "0000:af:06.0");
        node.allocate("b", "0000:af:06.1");
        const pod = await node.add("a");
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
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect([...node.allocations.held]).toEqual([]);
    });
});
