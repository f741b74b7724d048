import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    inAgent,
    killDaemon,
    kubectl,
    onNode,
    systemNamespace,
    systemPod,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { endWhileStarting } from "../fixture/agent-ends.ts";
import { answers, inPod, stream, type Shell } from "../fixture/bridging-streams.ts";
import { EndpointsWatch } from "../fixture/endpoints-watch.ts";
import { unanswered } from "../fixture/pings.ts";
import { hostPort, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";

describe("restarts", () => {
    const [first = "", second = ""] = workers;
    let namespace: TestNamespace;
    let client: TestPod;
    let near: TestPod;
    let far: TestPod;
    let endpoints: EndpointsWatch;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-restarts");
        [client, near, far] = (await namespace.start([
            { name: "client", node: first },
            { name: "near", node: first },
            { name: "far", node: second },
        ])) as [TestPod, TestPod, TestPod];
        endpoints = await EndpointsWatch.start(namespace, [first, second]);
    });
    afterAll(async () => {
        await endpoints[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
    });

    const restartsOf = async (node: string): Promise<number> => {
        const path = "{.status.containerStatuses[?(@.name=='antrea-agent')].restartCount}";
        return Number(
            await kubectl([
                "-n",
                systemNamespace,
                "get",
                "pod",
                await systemPod("antrea-agent", node),
                "-o",
                `jsonpath=${path}`,
            ]),
        );
    };

    it("loses no ping and no byte of a TCP stream while agents restart", async () => {
        const before = await Promise.all([restartsOf(first), restartsOf(second)]);
        // counted in the Pod: 10 pings per second for 20 s to both, concurrently with one long stream of numbered lines
        const pings = [near, far].map((pod) => unanswered(inPod(namespace, client.name), pod.ip4, 200));
        const [from, to] = [client, far].map(({ name }) => inPod(namespace, name)) as [Shell, Shell];
        const streaming = stream(from, to, far.ip4, { port: 9100, lines: 200 });
        await pause(3_000);
        await Promise.all([killDaemon(first, "agent"), killDaemon(second, "agent")]);
        expect(await Promise.all(pings)).toEqual([[], []]);
        await streaming;
        await eventually("both agents were started again", async () => {
            const after = await Promise.all([restartsOf(first), restartsOf(second)]);
            return after.every((count, index) => count > (before[index] ?? 0)) ? true : undefined;
        });
        await waitForAgents();
    });

    it("has traffic back within 5 s after OVS is up again", async () => {
        const script = [
            "kill -9 $(pidof ovs-vswitchd)",
            "while ! ovs-appctl --timeout=1 version >/dev/null 2>&1; do sleep 0.1; done",
            "date +%s%3N",
        ].join("; ");
        const watching = answers(inPod(namespace, client.name), far.ip4, 40);
        await pause(2_000);
        const up = Number((await inAgent(first, "antrea-ovs", ["sh", "-c", script])).trim());
        const back = (await watching).times.find((time) => time > up);
        expect(back).toBeDefined();
        expect((back ?? Infinity) - up).toBeLessThan(5_000);
    });

    it("rebuilds ports and addresses when conf.db is deleted under running Pods, and gives none twice", async () => {
        await inAgent(first, "antrea-ovs", [
            "sh",
            "-c",
            "rm -f /etc/openvswitch/conf.db /etc/openvswitch/.conf.db.*; kill -9 $(pidof ovsdb-server)",
        ]);
        await eventually("Pods reach each other again", async () => {
            await namespace.exec(
                client.name,
                `ping -c 1 -W 1 ${near.ip4} && ping -c 1 -W 1 ${far.ip4} && ping -c 1 -W 1 ${far.ip6}`,
            );
            return true;
        });
        await killDaemon(first, "agent");
        await waitForAgents();
        const more = await namespace.start([1, 2, 3, 4, 5].map((n) => ({ name: `more-${n}`, node: first })));
        const all = [client, near, ...more].flatMap((pod) => [pod.ip4, pod.ip6]);
        expect(new Set(all).size).toBe(all.length);
        const url = `http://${hostPort(more[0]?.ip4 ?? "", 8080)}/hostname`;
        expect(await namespace.exec(far.name, `curl -sS -m 5 ${url}`)).toBe("more-1");
        await namespace.delete(...more.map(({ name }) => name));
    });

    it("lets a second agent on a Node wait, so that two never give out addresses", async () => {
        const pod = await systemPod("antrea-agent", first);
        const log = await kubectl(
            [
                "-n",
                systemNamespace,
                "exec",
                pod,
                "-c",
                "antrea-agent",
                "--",
                "sh",
                "-c",
                [
                    "sed 's/apiPort: .*/apiPort: 10399/' /etc/antrea/antrea-agent.conf > /tmp/second.conf",
                    "antrea-agent --config=/tmp/second.conf > /tmp/second.log 2>&1 & second=$!",
                    "n=0; until grep -q starting /tmp/second.log || [ $((n += 1)) -gt 300 ]; do sleep 0.2; done",
                    "sleep 5; kill -KILL $second; cat /tmp/second.log; rm /tmp/second.log",
                ].join("\n"),
            ],
            { timeoutMs: 120_000 },
        );
        expect(log).toContain("starting");
        expect(log).not.toContain("Pod interfaces rebuilt");
        const [extra] = await namespace.start([{ name: "beside", node: first }]);
        expect([client, near].map(({ ip4 }) => ip4)).not.toContain(extra?.ip4);
        await namespace.delete("beside");
    });

    // more points in time: matrix/20-agent-ends
    it("end at once also when they come while the programs still start", async () => {
        // on the Node whose agent was killed most often: kubelet's restart backoff grows, but does not apply to a new
        // Pod
        await endWhileStarting(first, [0, 450]);
        await waitForAgents();
    });

    it("of agents and their Pods, of ovs-vswitchd and ovsdb-server leave the endpoints of Services ready", async () => {
        // kubelet queries the runtime's network status every 5 s
        await pause(6_000);
        endpoints.expectAllReady();
        // a withdrawn endpoint is not in the updates unless the watch delivered its removal
        await kubectl(["-n", namespace.name, "delete", "pod", "endpoint-2", "--wait=false"]);
        await eventually("an endpoint is ready no more", () =>
            Promise.resolve(endpoints.isReady("endpoint-2") ? undefined : true),
        );
    });

    it("gives a Node that is deleted and registered again its podCIDRs back", async () => {
        const cidrs = (): Promise<string> => kubectl(["get", "node", second, "-o", "jsonpath={.spec.podCIDRs}"]);
        const before = await cidrs();
        await kubectl(["delete", "node", second]);
        await onNode(second, ["systemctl", "restart", "kubelet"]);
        await eventually(
            "the Node has podCIDRs again",
            async () => ((await cidrs()) === "" ? undefined : true),
            90_000,
        );
        expect(await cidrs()).toBe(before);
        await kubectl(["wait", "--for=condition=Ready", `node/${second}`, "--timeout=120s"], { timeoutMs: 130_000 });
        await waitForAgents();
        [far] = (await eventually("a Pod runs there again", async () => {
            await kubectl([
                "-n",
                namespace.name,
                "delete",
                "pod",
                "far",
                "--ignore-not-found",
                "--grace-period=0",
                "--force",
            ]);
            return namespace.start([{ name: "far", node: second }]);
        })) as [TestPod];
        const url = `http://${hostPort(far.ip4, 8080)}/hostname`;
        expect(await eventually("it is reached", () => namespace.exec(client.name, `curl -sS -m 5 ${url}`))).toBe(
            "far",
        );
    });
});
