import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { inPod } from "../fixture/bridging-streams.ts";
import { killDaemon, kubectl, nodesFromWorker, onNode, waitForAgents } from "../fixture/cluster.ts";
import { families, ipOf, type FamilyName } from "../fixture/addresses.ts";
import { explore, setStage, warmUp, type Cells, type Stage } from "../fixture/matrix.ts";
import { setMode, settled, type Mode } from "../fixture/modes.ts";
import { unanswered } from "../fixture/pings.ts";
import { type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import {
    captureBetween,
    everyCell,
    fits,
    gatewaysOf,
    hop,
    mtuOf,
    newPodPaths,
    startNewPods,
    type NewPods,
} from "../fixture/tunnels.ts";
import { home, homeOf, placeNode, plugUnderlay, setMtu, type Place } from "../fixture/underlay.ts";

const [first = "", second = "", third = ""] = nodesFromWorker;
const mode: Mode = { trafficEncapMode: "hybrid", tunnelType: "geneve" };

// Node 1 and Node 2 are on one subnet, Node 3 is on another
describe("mode hybrid", () => {
    let stage: Stage;
    let pods: NewPods;
    let cells: Cells;

    beforeAll(async () => {
        [stage] = await Promise.all([setStage("e2e-hybrid", nodesFromWorker), plugUnderlay()]);
        await setMode(mode);
        await settled(mode, home);
        [pods] = await Promise.all([startNewPods(stage.namespace, "new"), warmUp(stage)]);
        cells = await explore("hybrid", stage, nodesFromWorker, newPodPaths(stage, pods));
    });
    afterAll(() => stage.namespace[Symbol.asyncDispose]());

    it.each(everyCell)("%s", (cell) => {
        expect(cells.get(cell)).toBe("ok");
    });

    it("has tunnels to Nodes on another subnet only, and nothing of another mode", () =>
        settled(mode, home, { timeoutMs: 0 }));

    it("gives Pods the MTU that a tunnel leaves", async () => {
        expect(await Promise.all(pods.map((pod) => mtuOf(stage.namespace, pod)))).toEqual([1450, 1450]);
    });

    it.each(families)("carries the longest packet that fits over %s and refuses a longer one", async (family) => {
        const sizes = [1450, 1451].map((size) => fits(stage.namespace, ...pods, family, size));
        expect(await Promise.all(sizes)).toEqual([true, false]);
    });

    it("wraps what goes to the other subnet", async () => {
        const { pings } = await captureBetween(stage.namespace, pods, "geneve");
        for (const family of families) expect(pings[family]).toHaveLength(4);
    });

    it.each(families)("answers %s packets to a routed Node that live too short", async (family) => {
        const own = await gatewaysOf(first);
        expect(await hop(stage.namespace, stage.client, stage.far[0], family, 1)).toBe(own[family]);
    });

    describe("Nodes", () => {
        const moved = (place: Place): ReadonlyMap<string, Place> => new Map([...home, [third, place]]);
        const ping = (to: TestPod, family: FamilyName): Promise<string> =>
            stage.namespace.exec(stage.client.name, `ping -c 1 -W 1 ${ipOf(to, family)}`);
        const answers = (to: TestPod, timeoutMs: number): Promise<readonly string[]> =>
            Promise.all(
                families.map((family) =>
                    eventually(`${to.name} answers over ${family}`, () => ping(to, family), timeoutMs),
                ),
            );

        it("lose no ping while agents restart, and no byte of a TCP stream though OVS restarts as well", async () => {
            const { namespace, client, far } = stage;
            const [, server] = far;
            const lines = 220;
            const streams = families.map(async (family, index) => {
                const port = 9100 + index;
                const file = `/tmp/stream-${index}`;
                const receiver = namespace.exec(
                    server.name,
                    `timeout 60 /usr/bin/nc ${family === "IPv4" ? "-4" : "-6"} -l ${port} > ${file}; wc -l < ${file}; tail -n 1 ${file}`,
                    70_000,
                );
                const listens = `until grep -q :${port.toString(16).toUpperCase()} /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done`;
                await namespace.exec(server.name, listens);
                const count = `for n in $(seq ${lines}); do echo line $n; sleep 0.1; done`;
                await namespace.exec(client.name, `${count} | nc -N -w 30 ${ipOf(server, family)} ${port}`, 70_000);
                return (await receiver).trim().split("\n");
            });
            const agents = (async () => {
                await pause(2_000);
                const pings = families.map((family) =>
                    unanswered(inPod(namespace, client.name), ipOf(server, family), 80),
                );
                await Promise.all([first, third].map((node) => killDaemon(node, "agent")));
                const lost = await Promise.all(pings);
                await Promise.all([first, third].map((node) => killDaemon(node, "switch")));
                return lost;
            })();
            const [lost, ...received] = await Promise.all([agents, ...streams]);
            expect(lost).toEqual(families.map(() => []));
            for (const [count, last] of received) expect([Number(count), last]).toEqual([lines, `line ${lines}`]);
            await waitForAgents();
            await settled(mode, home);
        });

        it("are reached within seconds at another address, and say so in their annotation", async () => {
            const place: Place = { subnet: 202, host: 44 };
            await placeNode(third, place);
            await answers(stage.far[1], 15_000);
            await settled(mode, moved(place));
        });

        it("are routed to once they are on the same subnet, and tunnelled to when they leave it", async () => {
            const place: Place = { subnet: 201, host: 4 };
            await placeNode(third, place);
            await answers(stage.far[1], 15_000);
            await settled(mode, moved(place));
            await placeNode(third, homeOf(third));
            await answers(stage.far[1], 15_000);
            await settled(mode, home);
        });

        it("take a changed MTU of their NIC over, for the gateway, new Pods and running ones", async () => {
            await setMtu(second, 1400);
            try {
                await eventually("the gateway has it", async () =>
                    (await onNode(second, ["cat", "/sys/class/net/antrea-gw0/mtu"])).trim() === "1350"
                        ? true
                        : undefined,
                );
                const [pod] = (await stage.namespace.start([{ name: "narrow", node: second }])) as [TestPod];
                expect(await mtuOf(stage.namespace, pod)).toBe(1350);
                await eventually("running Pods have it", async () =>
                    (await mtuOf(stage.namespace, stage.far[0])) === 1350 ? true : undefined,
                );
                await answers(pod, 5_000);
            } finally {
                await setMtu(second, 1500);
            }
            await settled(mode, home);
        });

        it("leave nothing when they are deleted, and are reached again when they come back", async () => {
            const without = new Map([...home].filter(([node]) => node !== third));
            await kubectl(["delete", "node", third]);
            try {
                await settled(mode, without, { nodes: [first, second], timeoutMs: 10_000 });
            } finally {
                await onNode(third, ["systemctl", "restart", "kubelet"]);
            }
            await kubectl(["wait", "--for=create", `node/${third}`, "--timeout=60s"], { timeoutMs: 70_000 });
            await kubectl(["wait", "--for=condition=Ready", `node/${third}`, "--timeout=120s"], { timeoutMs: 130_000 });
            await waitForAgents();
            await settled(mode, home);
            const pod = await eventually("a Pod runs there again", async () => {
                const [started] = await stage.namespace.start([{ name: "back", node: third }]);
                return started;
            });
            await answers(pod, 10_000);
        });
    });
});
