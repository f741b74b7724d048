import { describe, expect, it } from "@jest/globals";
import { bridgingTables, nodeTables, Pipeline } from "@antrea/flows";
import { ManualClock } from "@antrea/async/testing";
import { parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { flowKey, OpenFlowError, Port, type PacketOut } from "@antrea/openflow";
import { BridgedPods } from "../../../../src/features/bridging/bridged-pods/index.ts";
import { Announcer } from "../../../../src/platform/ovs/announcer.ts";
import { FlowTable } from "../../../../src/platform/ovs/flow-table/index.ts";
import { FakeSwitch } from "../../../platform/ovs/flow-table/fake-switch.ts";
import { silentLogger } from "../../../support/logger.ts";

const next = new Pipeline([...nodeTables, ...bridgingTables]);
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
        next,
        announcer: { announce: ({ ofPort }) => void announced.push(ofPort) },
        hostMac: () => hostMac,
        logger: silentLogger,
    });
    return { pods, owners, announced };
}

const pod = (key: string, vlan: number, ofPort: number) => ({
    key,
    vlan,
    ofPort,
    mac: "0a:00:00:00:00:02",
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

it("the flows of a VLAN whose only Pod is of an earlier start end with that Pod", async () => {
    const { pods, owners } = make();
    pods.stage(pod("a", 2, 32784));
    await pods.remove("a");
    expect([...owners.keys()]).toEqual([]);
});

it("reports Pods in VLANs only, once each", async () => {
    const { pods } = make();
    let calls = 0;
    pods.onTaggedChange(() => (calls += 1));
    await pods.add(pod("a", 0, 32784));
    expect(calls).toBe(0);
    await pods.add(pod("b", 3, 32785));
    await pods.add(pod("b", 3, 32785));
    expect(calls).toBe(1);
    expect(pods.tagged().map(({ key }) => key)).toEqual(["b"]);
    await pods.remove("b");
    expect(calls).toBe(2);
});

describe("the flows of a VLAN in OVS", () => {
    const full = { error: new OpenFlowError("BUFFER_FULL", "environment", "OVS reads slowly"), applied: false };

    function onSwitch() {
        const ovs = new FakeSwitch();
        const clock = new ManualClock();
        const flowTable = new FlowTable({ link: ovs, logger: silentLogger });
        flowTable.useRound(1);
        const pods = new BridgedPods({
            flowTable,
            next,
            announcer: { announce: () => undefined },
            hostMac: () => hostMac,
            logger: silentLogger,
            clock,
        });
        /** The Pods' ports that broadcasts of the VLAN go to; undefined without flows. */
        const ports = (vlan: number): readonly number[] | undefined => {
            const wanted = new Set(flowTable.flowsOf(`vlan/${vlan}`).map((flow) => flowKey(flow)));
            const present = ovs.flows.filter((flow) => wanted.has(flowKey(flow)));
            if (present.length === 0 || present.length < wanted.size) return undefined;
            const outputs = present.flatMap(({ actions }) =>
                actions.flatMap((action) => (action.type === "output" ? [Number(action.port)] : [])),
            );
            return [...new Set(outputs)].filter((port) => port >= 32784).sort();
        };
        return { ovs, pods, ports, clock };
    }

    it.each([
        ["the DEL of the last Pod before the ADD of the next", ["remove", "add"]],
        ["the ADD before the DEL", ["add", "remove"]],
    ] as const)("%s, at once: it keeps them, of the Pod that stays", async (_name, order) => {
        const { ovs, pods, ports } = onSwitch();
        await pods.add(pod("a", 2, 32784));
        // The first of the two is sent again later.
        ovs.failures.push(full);
        const work = { add: () => pods.add(pod("b", 2, 32785)), remove: () => pods.remove("a") };
        await Promise.all(order.map((what) => work[what]()));
        expect(ports(2)).toEqual([32785]);
        await pods.remove("b");
        expect(ovs.flows).toEqual([]);
    });

    it("of many Pods that come and go at once are those of the ones that stayed", async () => {
        const { ovs, pods, ports } = onSwitch();
        const keys = Array.from({ length: 12 }, (_, at) => at);
        ovs.failures.push(full, full);
        await Promise.all(keys.map((at) => pods.add(pod(`p${at}`, 2, 32784 + at))));
        ovs.failures.push(full);
        await Promise.all([
            ...keys.slice(1).map((at) => pods.remove(`p${at}`)),
            pods.add(pod("late", 2, 33000)),
            pods.remove("p0"),
            pods.remove("p0"),
        ]);
        expect(pods.pods().map(({ key }) => key)).toEqual(["late"]);
        expect(ports(2)).toEqual([33000]);
    });

    it("are not held up by another VLAN, and a Pod that moves takes its port along", async () => {
        const { pods, ports, ovs } = onSwitch();
        await Promise.all([pods.add(pod("a", 2, 32784)), pods.add(pod("b", 3, 32785))]);
        expect([ports(2), ports(3)]).toEqual([[32784], [32785]]);
        await pods.add(pod("a", 3, 32784));
        expect(ports(3)).toEqual([32784, 32785]);
        expect(pods.pods()).toHaveLength(2);
        await Promise.all([pods.remove("a"), pods.remove("b")]);
        expect(ovs.flows).toEqual([]);
    });

    it("that OVS did not remove with the last Pod are removed by the next pass", async () => {
        const { ovs, pods, clock } = onSwitch();
        await pods.add(pod("a", 2, 32784));
        ovs.failures.push({ error: new OpenFlowError("REFUSED", "caller", "no"), applied: false });
        await expect(pods.remove("a")).rejects.toMatchObject({ code: "REFUSED" });
        expect(pods.pods()).toEqual([]);
        expect(ovs.flows).not.toEqual([]);
        const { againInMs = 0 } = await pods.pass();
        expect(againInMs).toBeGreaterThan(0);
        await clock.advance(againInMs);
        expect(await pods.pass()).toMatchObject({ failed: 0, againInMs: undefined });
        expect(ovs.flows).toEqual([]);
    });

    it("that OVS refuses make the Pod none of the VLAN", async () => {
        const { ovs, pods } = onSwitch();
        ovs.failures.push({ error: new OpenFlowError("REFUSED", "caller", "no"), applied: false });
        await expect(pods.add(pod("a", 2, 32784))).rejects.toMatchObject({ code: "REFUSED" });
        expect(pods.pods()).toEqual([]);
        await pods.add(pod("a", 2, 32784));
        expect(ovs.flows).not.toEqual([]);
    });
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
    await eventually(() => sent.length === 6);
    await new Promise((resolve) => setTimeout(resolve, 100));
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
