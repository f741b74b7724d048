import { expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { Port, type PacketOut } from "@antrea/openflow";
import { Announcer, BridgedPods } from "../../src/bridged-pods/index.ts";
import { silentLogger } from "../support/logger.ts";

const hostMac = Uint8Array.of(2, 0, 0, 0, 0, 1);

function make() {
    const owners = new Map<string, number>();
    const announced: number[] = [];
    const pods = new BridgedPods({
        flowTable: {
            stage: (owner, { flows }) => void owners.set(owner, flows.length),
            set: async (owner, { flows }) => void owners.set(owner, flows.length),
            remove: async (owner) => void owners.delete(owner),
        },
        announcer: { announce: ({ ofPort }) => void announced.push(ofPort) },
        hostMac: () => hostMac,
    });
    return { pods, owners, announced };
}

const pod = (key: string, vlan: number, ofPort: number) => ({
    ...{ key, vlan, ofPort, mac: "0a:00:00:00:00:02" },
    ips: [parseIp("10.22.0.5")],
});

it("a VLAN has flows while it has Pods", async () => {
    const { pods, owners } = make();
    pods.stage(pod("a", 2, 32784));
    await pods.add(pod("b", 2, 32785));
    await pods.add(pod("c", 0, 32786));
    expect([...owners.keys()]).toEqual(["vlan/2", "vlan/0"]);
    await pods.remove("a");
    expect(owners.has("vlan/2")).toBe(true);
    await pods.remove("b");
    expect([...owners.keys()]).toEqual(["vlan/0"]);
    await pods.remove("b");
    expect(pods.pods().map(({ key }) => key)).toEqual(["c"]);
});

it("tells of Pods in VLANs only, once each", async () => {
    const { pods } = make();
    let told = 0;
    pods.onTaggedChange(() => (told += 1));
    await pods.add(pod("a", 0, 32784));
    expect(told).toBe(0);
    await pods.add(pod("b", 3, 32785));
    await pods.add(pod("b", 3, 32785));
    expect(told).toBe(1);
    expect(pods.tagged().map(({ key }) => key)).toEqual(["b"]);
    await pods.remove("b");
    expect(told).toBe(2);
});

it("announces one Pod, or all", async () => {
    const { pods, announced } = make();
    await pods.add(pod("a", 0, 32784));
    await pods.add(pod("b", 3, 32785));
    pods.announce("b");
    pods.announce("nobody");
    pods.announceAll();
    expect(announced).toEqual([32785, 32784, 32785]);
});

it("an announcement is sent three times as the Pod would send it, one of each address", async () => {
    const sent: PacketOut[] = [];
    using announcer = new Announcer({ packetOut: (packet) => void sent.push(packet), logger: silentLogger });
    announcer.announce({ ofPort: 7, mac: "0a:00:00:00:00:02", ips: [parseIp("10.22.0.5"), parseIp("fd22::5")] });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(sent.map(({ inPort, actions }) => [inPort, actions])).toEqual(
        Array.from({ length: 6 }, () => [7, [{ type: "output", port: Port.TABLE }]]),
    );
    expect(new Set(sent.map(({ data }) => `${data[12]},${data[13]}`))).toEqual(new Set(["8,6", "134,221"]));
});

it("without a connection nothing is sent, and nothing fails", async () => {
    using announcer = new Announcer({
        packetOut: () => {
            throw new TypeError("not connected");
        },
        logger: silentLogger,
    });
    announcer.announce({ ofPort: 7, mac: "0a:00:00:00:00:02", ips: [parseIp("10.22.0.5")] });
    await new Promise((resolve) => setTimeout(resolve, 150));
});
