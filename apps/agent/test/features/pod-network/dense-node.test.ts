import { describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import type { KnownPod } from "../../../src/features/pod-network/index.ts";
import { FakeNode } from "./fake-node.ts";

const { signal } = new AbortController();

/** Pods with addresses as the API server has them, from 10.10.1.2 and fd10:10:0:1::2 on. */
function pods(count: number): readonly KnownPod[] {
    return Array.from({ length: count }, (_, index) => ({
        uid: `uid-${index}`,
        namespace: "default",
        name: `web-${index}`,
        hostNetwork: false,
        ended: false,
        hasSandbox: true,
        podIps: [parseIp(`10.10.1.${index + 2}`), parseIp(`fd10:10:0:1::${(index + 2).toString(16)}`)],
    }));
}

async function rebooted(count: number): Promise<FakeNode> {
    const node = new FakeNode({ podCidrs: ["10.10.1.0/25", "fd10:10:0:1::/64"] });
    node.pods = pods(count);
    await node.reconciler.rebuild(signal);
    return node;
}

const add = (node: FakeNode, index: number, podUid = `uid-${index}`): Promise<unknown> =>
    node.add({ containerId: `${index}`.padStart(64, "c"), podName: `web-${index}`, podUid });

describe("a Node after a reboot, while the API server still shows the addresses of its Pods", () => {
    it("wires all of its Pods again although their addresses fill its podCIDR", async () => {
        const node = await rebooted(110);
        await Promise.all(node.pods.map((_, index) => add(node, index)));
        expect(node.network.interfaces()).toHaveLength(110);
        const used = node.network.interfaces().flatMap(({ record }) => record.addresses.map(({ ip }) => formatIp(ip)));
        expect(new Set(used).size).toBe(220);
        expect(node.subnet.usage()[0]?.used).toBe(110);
    });

    it("gives a Pod the addresses that are held for it, which are its container's from then on", async () => {
        const node = await rebooted(3);
        await add(node, 1);
        const [known] = node.network.interfaces();
        const held = node.pods[1]?.podIps ?? [];
        expect(known?.record.addresses.map(({ ip }) => formatIp(ip))).toEqual(held.map(formatIp));
        await node.reconciler.reconcile(signal);
        await node.network.delete(known?.record.containerId ?? "", "eth0");
        for (const ip of held) expect(node.subnet.ownerOf(ip)).toBeUndefined();
        expect(node.subnet.usage()[0]?.used).toBe(2);
    });

    it("gives nobody what is held for another", async () => {
        const node = await rebooted(125);
        await expect(add(node, 200, "uid-of-another")).rejects.toMatchObject({ code: "EXHAUSTED" });
        await expect(add(node, 201, "")).rejects.toMatchObject({ code: "EXHAUSTED" });
    });
});
