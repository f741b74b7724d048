import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type FamilyName, ofFamily } from "../fixture/addresses.ts";
import { bridged, linkStateOf, nic, uplinkCondition } from "../fixture/bridging.ts";
import { answers, inNode, inOutside, longestGap, stream } from "../fixture/bridging-streams.ts";
import {
    allNodes,
    daemons,
    inAgent,
    internalIps,
    killDaemon,
    kubectl,
    shellOnNode,
    systemNamespace,
    systemPod,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { eventually, run } from "../fixture/run.ts";
import { onOutside, outside } from "../fixture/vlan-router.ts";

const [first = ""] = allNodes;
const [, last = ""] = workers;

const addressOf = async (node: string, family: FamilyName = "IPv4"): Promise<string> =>
    ofFamily(await internalIps(node), family);

/** As in docs/bridging.md. */
const restoreUplink = [
    "ctr --namespace k8s.io run --rm --privileged --net-host",
    "--mount type=bind,src=/var/lib/antrea,dst=/var/lib/antrea,options=rbind",
    "--mount type=bind,src=/var/lib/antrea/openvswitch,dst=/etc/openvswitch,options=rbind",
    "--mount type=bind,src=/var/run/antrea/openvswitch,dst=/var/run/openvswitch,options=rbind",
    "docker.io/antrea/antrea-agent:dev restore-uplink antrea-agent restore-uplink",
].join(" ");

/** How often the agent of a Node was restarted. */
const restartsOf = async (node: string): Promise<number> => {
    const path = "{.status.containerStatuses[?(@.name=='antrea-agent')].restartCount}";
    const pod = await systemPod("antrea-agent", node);
    return Number(await kubectl(["-n", systemNamespace, "get", "pod", pod, "-o", `jsonpath=${path}`]));
};

// in bridging mode, which an earlier suite has enabled
describe("the uplink", () => {
    beforeAll(async () => {
        await waitForAgents();
        await bridged();
    });

    it.each(allNodes)("of %s has the number that the flows know, and so has the port in its place", async (node) => {
        const columns = ["--format=json", "--columns=name,ofport,external_ids", "list", "interface"];
        const { data } = JSON.parse(await inAgent(node, "antrea-ovs", ["ovs-vsctl", ...columns])) as {
            data: [string, number, unknown][];
        };
        const numbers = Object.fromEntries(data.map(([name, number]) => [name, number]));
        expect(numbers).toMatchObject({ eth0: 32771, [nic]: 32770 });
    });

    // the one with the API server: no connection to it may break
    it("moves back and forth when an agent ends and starts: streams go on, and nothing is away for more than 2 s", async () => {
        const before = { state: await linkStateOf(first), restarts: await restartsOf(first) };
        const [ip4, ip6] = await Promise.all([addressOf(first), addressOf(first, "IPv6")]);
        const watching = Promise.all([ip4, ip6].map((ip) => answers(inOutside, ip, 45)));
        const streaming = [outside.ip4, outside.ip6].map((ip, index) =>
            stream(inNode(first), inOutside, ip, { port: 9300 + index, lines: 420 }),
        );
        await pause(2_000);
        await shellOnNode(first, `kill -TERM $(${daemons.agent})`);
        await eventually("the agent was started again", async () =>
            (await restartsOf(first)) > before.restarts ? true : undefined,
        );
        await waitForAgents();
        await bridged([first]);
        for (const arrivals of await watching) {
            expect(arrivals.times.length).toBeGreaterThan(0);
            // eslint-disable-next-line no-restricted-syntax -- the promised limit of the interruption by the move
            expect(longestGap(arrivals).ms).toBeLessThan(2_000);
        }
        for (const arrivals of await Promise.all(streaming)) {
            // lines are sent every 100 ms, and TCP may take as long again for retransmissions
            // eslint-disable-next-line no-restricted-syntax -- the same limit
            expect(longestGap(arrivals).ms).toBeLessThan(4_000);
        }
        expect(await linkStateOf(first)).toEqual(before.state);
    });

    describe("of a Node whose agent and OVS are gone", () => {
        const multiPath = "10.219.0.0/24";
        let state: object;
        let address: string;
        const reached = (): Promise<string> => onOutside(`ping -c 1 -W 1 ${address}`);

        beforeAll(async () => {
            address = await addressOf(last);
            state = await linkStateOf(last);
            await shellOnNode(last, "systemctl stop kubelet");
            await killDaemon(last, "agent");
            // it would restart them
            await shellOnNode(last, "kill -STOP $(pgrep -f 'bin/start-ovs$')");
            await killDaemon(last, "switch");
            await killDaemon(last, "database");
        });
        // even after a failure the following suites need the Node
        afterAll(async () => {
            await shellOnNode(last, "kill -CONT $(pgrep -f 'bin/start-ovs$'); systemctl start kubelet");
            await shellOnNode(last, `ip route del ${multiPath} 2>/dev/null || true`);
        });

        it("is brought back by antrea-agent restore-uplink", async () => {
            await expect(reached()).rejects.toThrow("100% packet loss");
            // ctr asks for all capabilities that it has itself: those of a program in the container, not of this machine
            await run("docker", ["exec", last, "sh", "-c", restoreUplink]);
            await eventually("the Node is reached", reached, 10_000);
            expect(await linkStateOf(last)).toEqual(state);
            expect(await shellOnNode(last, "ls /sys/class/net")).not.toContain(nic);
        });

        it("stays where it is while the Node has multi-path routes, and the Node's condition reports it", async () => {
            const hops = ["250", "251"].map((host) => `nexthop via ${address.replace(/\d+$/, host)} dev eth0`);
            await shellOnNode(last, `ip route add ${multiPath} ${hops.join(" ")}`);
            await shellOnNode(last, "kill -CONT $(pgrep -f 'bin/start-ovs$'); systemctl start kubelet");
            const condition = await eventually(
                "the Node's condition reports why",
                async () => {
                    const found = await uplinkCondition(last);
                    return found?.reason === "MultipathRoutes" ? found : undefined;
                },
                120_000,
                1_000,
            );
            expect(condition).toMatchObject({ status: "False", message: expect.stringContaining(multiPath) });
            expect(await shellOnNode(last, "ls /sys/class/net")).not.toContain(nic);
            await reached();
        });

        it("is moved once these are gone", async () => {
            await shellOnNode(last, `ip route del ${multiPath}`);
            await bridged([last]);
            await waitForAgents();
            await eventually("the Node is reached", reached, 10_000);
            expect(await linkStateOf(last)).toEqual(state);
        });
    });
});
