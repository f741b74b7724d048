import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import type { OwnNetwork } from "@antrea/networks";
import { refusalOf } from "../../support/network-node.ts";
import type { TestPod } from "../../support/test-pod.ts";
import { deviceLinks, FunctionNode, network, pooled } from "./support/function-node.ts";

let node: FunctionNode;

beforeAll(async () => {
    node = await FunctionNode.start();
});
afterAll(() => node?.[Symbol.asyncDispose]());
afterEach(() => node.end());

describe("an ADD that fails leaves nothing", () => {
    const refused = (pod: TestPod): Promise<string> => refusalOf(node.agent.add(pod));
    // The check of `afterEach` comes after a DEL; here there is none yet.
    const nothing = async (pod: TestPod): Promise<void> => {
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect([...node.allocations.held]).toEqual([]);
        expect(pod.netns.run("ip", "-o", "link", "show")).not.toContain("eth0");
        expect(node.agent.network.interfaces()).toEqual([]);
        expect(node.agent.networkTable.list()).toEqual([]);
        expect((await node.host.ovs.vsctl("list-ports", node.host.bridge)).trim()).toBe(node.host.gateway);
    };

    it.each<[string, () => readonly OwnNetwork[], RegExp]>([
        [
            "of a route that the kernel does not take",
            () => {
                node.allocate("a", "0000:af:06.0", "0000:af:06.1");
                const bad = { ...pooled.ipam, routes: [{ dst: "10.20.0.0/16", gw: "172.31.0.1" }] };
                return [network(pooled), network({ ipam: bad })];
            },
            /INVALID_NETWORK_CONFIG: network default\/net-a: ipam\.routes: .*; next: /,
        ],
        [
            "of too few devices",
            () => {
                node.allocate("a", "0000:af:06.0");
                return [network(pooled), network(pooled)];
            },
            /INVALID_NETWORK_CONFIG: network default\/net-a: .* none is left for eth2; next: /,
        ],
        [
            "of a device without link",
            () => {
                node.allocate("a", "0000:af:06.0", "0000:af:06.1");
                node.kubelet.setDevice({ bus: "pci", id: "0000:af:06.1" });
                return [network(pooled), network(pooled)];
            },
            /TRY_AGAIN_LATER: network default\/net-a: device 0000:af:06\.1 has no link .*; next: /,
        ],
        [
            "without devices",
            () => {
                node.kubelet.pods = [];
                return [network(pooled)];
            },
            /INVALID_NETWORK_CONFIG: network default\/net-a: .* the Pod has 0 of these devices, .*; next: /,
        ],
    ])("because %s", async (_, prepare, text) => {
        const networks = prepare();
        node.plan("a", Object.fromEntries(networks.map((one, index) => [`eth${index + 1}`, one])));
        const pod = node.sandboxes.make("a");
        expect(await refused(pod)).toMatch(text);
        await nothing(pod);
    });

    it("because the Pod has an interface of this name", async () => {
        node.allocate("a", "0000:af:06.0", "0000:af:06.1");
        node.plan("a", { eth1: network(pooled), dmz: network(pooled) });
        const pod = node.sandboxes.make("a");
        pod.netns.run("ip", "link", "add", "dmz", "type", "veth", "peer", "name", "dmz-peer");
        expect(await refused(pod)).toMatch(
            /^TRY_AGAIN_LATER: network default\/net-a: device 0000:af:06\.1 cannot become dmz .*; next: /,
        );
        await nothing(pod);
    });

    it("because what the link is cannot be kept", async () => {
        node.allocate("a", "0000:af:06.0");
        node.plan("a", { eth1: network(pooled) });
        const pod = node.sandboxes.make("a");
        renameSync(node.keptFolder, `${node.keptFolder}.away`);
        writeFileSync(node.keptFolder, "");
        const file = "virtual-functions/pci-0000:af:06.0.json";
        expect(await refused(pod)).toMatch(
            new RegExp(`^TRY_AGAIN_LATER: network default/net-a: .*/${file} .*; next: `),
        );
        await nothing(pod);
        rmSync(node.keptFolder);
        renameSync(`${node.keptFolder}.away`, node.keptFolder);
        await node.agent.add(pod);
    });

    it("because the kubelet is away", async () => {
        node.allocate("a", "0000:af:06.0");
        node.plan("a", { eth1: network(pooled) });
        const pod = node.sandboxes.make("a");
        node.kubelet.stop();
        expect(await refused(pod)).toMatch(/TRY_AGAIN_LATER: network default\/net-a: .*kubelet\.sock: .*; next: /);
        await nothing(pod);
        await node.kubelet.start();
        await node.agent.add(pod);
    });
});
