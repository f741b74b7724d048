import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { bridged, kinds, nic, setBridgingStage, vlanPod, type BridgingStage } from "../fixture/bridging.ts";
import { warmUpBridging } from "../fixture/bridging-matrix.ts";
import { answers, inNode, inOutside, inPod, longestGap, stream, type Shell } from "../fixture/bridging-streams.ts";
import { apply, inAgent, internalIps, killDaemon, kubectl, waitForAgents, workers } from "../fixture/cluster.ts";
import { startedAt } from "../fixture/containers.ts";
import { FixtureError } from "../fixture/error.ts";
import { expectConsistent, TestPools } from "../fixture/ipam.ts";
import { families, ipOf, ofFamily } from "../fixture/addresses.ts";
import { unanswered } from "../fixture/pings.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";
import { outside, plugRouter, poolRanges } from "../fixture/vlan-router.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

const [first = "", second = ""] = workers;

// in bridging mode, which the previous suite has enabled
describe("bridged Pods", () => {
    let pools: TestPools;
    let stage: BridgingStage;

    beforeAll(async () => {
        await bridged();
        pools = await TestPools.take(await poolRanges());
        stage = await setBridgingStage(await TestNamespace.take("e2e-bridging"), [first, second]);
        await warmUpBridging(stage);
    });
    afterAll(async () => {
        await stage.namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
    });

    const from = (name: string): Shell => inPod(stage.namespace, name);

    it("of a StatefulSet move to another Node with their addresses, and are reached there within 3 s", async () => {
        const { namespace, clients, far } = stage;
        const { annotations = {} } = vlanPod("web", 2);
        await apply(statefulSet(namespace.name, { name: "web", replicas: 1, annotations }));
        await rolledOut(namespace.name, "statefulset/web");
        const [before] = await namespace.ready(["web-0"]);
        if (before === undefined) throw new FixtureError("NOT_FOUND", "environment", "web-0 does not run");
        // of its VLAN on either Node, of another VLAN, and beyond the router: all have exchanged packets with it before
        const peers = [from(clients[2].name), from(far[2].name), from(far[3].name), inOutside];
        const watching = Promise.all(
            peers.flatMap((peer) => families.map((family) => answers(peer, ipOf(before, family), 60))),
        );
        await pause(3_000);
        await kubectl(["cordon", before.node]);
        try {
            await namespace.delete("web-0");
            const [after] = await eventually("the set makes its Pod again", () => namespace.ready(["web-0"]));
            expect(after?.node).not.toBe(before.node);
            expect(after).toMatchObject({ ip4: before.ip4, ip6: before.ip6 });
        } finally {
            await kubectl(["uncordon", before.node]);
        }
        const started = await startedAt({ namespace: namespace.name, pod: "web-0" });
        for (const arrivals of await watching) {
            const { to, ms } = longestGap(arrivals);
            // otherwise it was never interrupted
            expect(ms).toBeGreaterThan(300);
            expect(to - started).toBeLessThan(3_000);
        }
    });

    it("lose no ping and no byte of a stream while agents are killed", async () => {
        const { clients, near, far } = stage;
        const streams = ([0, 2] as const).map((vlan, index) => {
            const to = far[vlan];
            const options = { port: 9200 + index, lines: 200 };
            return stream(from(clients[vlan].name), from(to.name), to.ip4, options);
        });
        const pings = ([0, 2] as const).flatMap((vlan) =>
            [near[vlan], far[vlan], far[3], outside].map((to) => unanswered(from(clients[vlan].name), to.ip4, 150)),
        );
        await pause(3_000);
        await Promise.all([first, second].map((node) => killDaemon(node, "agent")));
        expect(await Promise.all(pings)).toEqual(pings.map(() => []));
        await Promise.all(streams);
        await waitForAgents();
    });

    it("and their Node have traffic back within 5 s after OVS is up again, and streams go on", async () => {
        const { clients, far } = stage;
        const address = ofFamily(await internalIps(first), "IPv4");
        const streams = ([0, 2, 3] as const).map((vlan, index) => {
            const to = far[vlan];
            return stream(from(clients[vlan].name), from(to.name), to.ip4, { port: 9210 + index, lines: 250 });
        });
        const watching = Promise.all([
            answers(from(clients[0].name), far[0].ip4, 20),
            answers(from(clients[2].name), far[3].ip4, 20),
            answers(inOutside, clients[2].ip6, 20),
            answers(inOutside, address, 20),
        ]);
        await pause(2_000);
        // by its process: the API server is reached through the NIC, which OVS has
        const kill = killDaemon(first, "switch");
        const up = eventually(
            "OVS answers again",
            async () => {
                await kill;
                const containers = await inNode(first)("crictl ps -q --name antrea-ovs");
                await inNode(first)(`crictl exec ${containers.trim()} ovs-appctl --timeout=1 version`);
                return Date.now();
            },
            30_000,
            50,
        );
        const back = await up;
        // the promised limit of the interruption
        const tooLong = (await watching).map(longestGap).filter(({ to, ms }) => ms >= 15_000 || to - back >= 5_000);
        expect({ back, tooLong }).toEqual({ back, tooLong: [] });
        await Promise.all(streams);
        await waitForAgents();
    });

    it("come back with their Node after a power cut, those of a StatefulSet with their addresses", async () => {
        const { namespace, clients, near, far } = stage;
        const [sticky] = await namespace.ready(["web-0"]);
        const victim = sticky?.node ?? "";
        await run("docker", ["restart", "--time", "1", victim], { timeoutMs: 120_000 });
        await eventually(
            "its agent has connected the new NIC",
            async () => {
                const ports = await inAgent(victim, "antrea-ovs", ["ovs-vsctl", "list-ports", "br-int"]);
                return ports.split("\n").includes(nic) ? true : undefined;
            },
            120_000,
        );
        await plugRouter();
        await kubectl(["wait", "--for=condition=Ready", `node/${victim}`, "--timeout=120s"], { timeoutMs: 130_000 });
        await waitForAgents();
        await bridged([victim]);
        // kubelet recreates their sandboxes, and a Pod of the subnet may get other addresses then
        const roles = { clients, near, far } as const;
        const names = Object.values(roles).flatMap((pods) => kinds.map((kind) => pods[kind].name));
        const again = await eventually("its Pods run again", () => namespace.ready([...names, "web-0"]), 120_000);
        const podNamed = (name: string): TestPod => {
            const pod = again.find((one) => one.name === name);
            if (pod === undefined) throw new FixtureError("NOT_FOUND", "environment", `${name} does not run`);
            return pod;
        };
        expect(podNamed("web-0")).toMatchObject({ ip4: sticky?.ip4, ip6: sticky?.ip6, node: victim });
        const renewed = (pods: BridgingStage["far"]): BridgingStage["far"] => ({
            subnet: podNamed(pods.subnet.name),
            0: podNamed(pods[0].name),
            2: podNamed(pods[2].name),
            3: podNamed(pods[3].name),
        });
        stage = { ...stage, clients: renewed(clients), near: renewed(near), far: renewed(far) };
        await warmUpBridging(stage);
        await expectConsistent();
    });
});
