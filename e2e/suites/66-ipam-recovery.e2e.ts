import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { inPod } from "../fixture/bridging-streams.ts";
import { apply, inAgent, killDaemon, kubectl, waitForAgents, workers } from "../fixture/cluster.ts";
import { allocationsOf, setIpam, expectConsistent, poolsKey, TestPools, type AllocationJson } from "../fixture/ipam.ts";
import { unanswered, answersPings } from "../fixture/pings.ts";
import { manifest, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";

describe("addresses of pools outlive", () => {
    const [node = "", other = ""] = workers;
    const annotations = { [poolsKey]: "e2e-recovery" };
    let namespace: TestNamespace;
    let pools: TestPools;
    let one: TestPod;
    let two: TestPod;
    let allocations: readonly AllocationJson[];

    beforeAll(async () => {
        await setIpam(true);
        namespace = await TestNamespace.create("e2e-ipam-recovery");
        pools = await TestPools.create({
            "e2e-recovery": [{ cidr: "10.26.0.0/24", gateway: "10.26.0.1", prefixLength: 24 }],
        });
        [one, two] = (await namespace.start([
            { name: "one", node, annotations },
            { name: "two", node, annotations },
        ])) as [TestPod, TestPod];
        allocations = await allocationsOf("e2e-recovery");
    });
    afterAll(async () => {
        await namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
    });

    it("a restart of the agent, without a lost ping", async () => {
        const lost = unanswered(inPod(namespace, "one"), two.ip4, 100);
        await pause(1_000);
        await killDaemon(node, "agent");
        expect(await lost).toEqual([]);
        await waitForAgents();
        expect(await allocationsOf("e2e-recovery")).toEqual(allocations);
    });

    it("a lost conf.db", async () => {
        await inAgent(node, "antrea-ovs", [
            "sh",
            "-c",
            "rm -f /etc/openvswitch/conf.db /etc/openvswitch/.conf.db.*; kill -9 $(pidof ovsdb-server)",
        ]);
        await eventually("Pods reach each other again", () => namespace.exec("one", `ping -c 1 -W 1 ${two.ip4}`));
        await killDaemon(node, "agent");
        await waitForAgents();
        const [three] = await namespace.start([{ name: "three", node, annotations }]);
        expect([one.ip4, two.ip4]).not.toContain(three?.ip4);
        await namespace.exec("three", answersPings(one.ip4));
        await namespace.delete("three");
        expect((await allocationsOf("e2e-recovery")).filter(({ spec }) => spec.pod?.name !== "three")).toEqual(
            allocations,
        );
    });

    it("the deletion of their allocation, which only somebody who insists can do", async () => {
        await expect(kubectl(["delete", "ipallocation", one.ip4])).rejects.toThrow("ipam.antrea.io/force-delete");
        await kubectl(["annotate", "ipallocation", one.ip4, "ipam.antrea.io/force-delete=true"]);
        await kubectl(["delete", "ipallocation", one.ip4]);
        const made = await eventually(
            "the allocation is made again",
            async () => (await allocationsOf("e2e-recovery")).find(({ metadata }) => metadata.name === one.ip4),
            90_000,
        );
        const before = allocations.find(({ metadata }) => metadata.name === one.ip4);
        expect(made.metadata.uid).not.toBe(before?.metadata.uid);
        expect(made.spec).toEqual(before?.spec);
        await namespace.exec("one", answersPings(two.ip4));
    });

    it("an agent that is killed while many Pods come and go", async () => {
        const names = Array.from({ length: 16 }, (_, n) => `burst-${n}`);
        const starts = names.map((name, n) =>
            manifest(namespace.name, { name, node: n % 2 === 0 ? node : other, annotations }),
        );
        await apply(starts);
        await pause(1_500);
        // not on the other Node, where it was killed before: kubelet's restart backoff applies
        await killDaemon(other, "agent");
        const ips = (await namespace.ready(names)).map(({ ip4 }) => ip4);
        expect(new Set([...ips, one.ip4, two.ip4]).size).toBe(names.length + 2);
        const removal = namespace.delete(...names.slice(0, 10));
        await pause(1_000);
        await killDaemon(other, "agent");
        await removal;
        await waitForAgents();
        await eventually(
            "only who is there has addresses",
            async () => {
                const holders = (await allocationsOf("e2e-recovery")).map(({ spec }) => spec.pod?.name);
                expect(holders.sort()).toEqual(["one", "two", ...names.slice(10)].sort());
                return true;
            },
            120_000,
            1_000,
        );
        await expectConsistent();
    });
});
