import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { systemClock } from "@antrea/async";
import { Jobs } from "@antrea/runtime";
import { virtualFunctions } from "../../../src/features/virtual-functions/feature.ts";
import { eventually } from "../../support/eventually.ts";
import { silentLogger } from "../../support/logger.ts";
import type { TestPod } from "../../support/test-pod.ts";
import { deviceLinks, devices, FunctionNode, network, pooled, shown, unrouted } from "./support/function-node.ts";

const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();

let node: FunctionNode;

beforeAll(async () => {
    node = await FunctionNode.start();
});
afterAll(() => node?.[Symbol.asyncDispose]());
afterEach(() => node.end());

describe("a virtual function goes home", () => {
    it.each(["ports done", "take", "take done"] as const)("after an agent that was killed at %s", async (stage) => {
        node.allocate("a", "0000:af:06.0", "0000:af:06.1");
        node.plan("a", { eth1: network({ ...pooled, mtu: 1400 }), eth2: network(pooled) });
        const pod = node.sandboxes.make("a");
        const { reached, release } = node.agent.hold(stage, new Error("killed"));
        const adding = node.agent.add(pod).catch(() => undefined);
        await reached;
        await node.restartAgent();
        await node.agent.resync();
        await node.agent.del(pod);
        expect(deviceLinks()).toBe(node.emptyLinks);
        // The one that was killed does nothing before.
        release();
        await adding;
        // Its addresses: the reconciler of allocations frees what has no record.
        node.allocations.held.clear();
    });

    it("when the kernel brought it back, under any name, with what else the Pod changed", async () => {
        node.allocate("a", "0000:af:06.0", "0000:af:06.1");
        const pod = await node.add("a", network(pooled), network(unrouted));
        pod.netns.run("ip", "link", "set", "eth2", "mtu", "1300");
        pod.netns.run("ip", "link", "set", "eth2", "address", "02:00:00:00:00:99");
        node.returnLink(pod, devices[0], "eth1");
        node.returnLink(pod, devices[1], "eth2", "dev7");
        pod.netns.remove();
        await node.agent.resync();
        expect(deviceLinks()).toBe(node.emptyLinks);
        // The other links of the namespace go in the kernel's own time.
        const known = async (): Promise<number> => {
            await node.agent.resync();
            return node.agent.networkTable.list().length;
        };
        expect(await eventually(known, (count) => count === 0)).toBe(0);
        node.allocations.held.clear();
    });

    it("when the kernel brought it back while there was no agent, and no database", async () => {
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network(pooled));
        await node.agent.stop();
        await node.host.loseDatabase();
        node.returnLink(pod, devices[0], "eth1");
        pod.netns.remove();
        await node.startAgent();
        await node.agent.resync();
        expect(deviceLinks()).toBe(node.emptyLinks);
        node.allocations.held.clear();
    });

    /** What a Pod with NET_ADMIN makes of its link. */
    function forge(pod: TestPod, alias: string): void {
        pod.netns.run("ip", "link", "set", "eth1", "down");
        pod.netns.run("ip", "link", "set", "eth1", "name", "mgmt0", "address", "02:00:00:00:00:66", "mtu", "1300");
        pod.netns.run("ip", "link", "set", "mgmt0", "group", "179", "promisc", "on", "alias", alias);
        pod.netns.run("ip", "link", "property", "add", "dev", "mgmt0", "altname", "uplink0");
    }
    const aliases = [
        ["none", ""],
        ["text of its own", "uplink of the Node"],
        ["the mark of another container", "antrea4 0123abcd eth7"],
        ["a name, an MTU and a MAC address that it wants", "antrea4 0123abcd eth1 bond0 1300 02:00:00:00:00:66 up"],
    ] as const;

    it.each([aliases[0], aliases[3]])(
        "whatever its Pod made of it, by the next agent without records: %s",
        async (_, alias) => {
            node.allocate("a", "0000:af:06.1");
            const pod = await node.add("a", network());
            forge(pod, alias);
            await node.agent.stop();
            await node.host.loseDatabase();
            node.returnLink(pod, devices[1], "mgmt0");
            pod.netns.remove();
            await node.startAgent();
            expect(node.agent.networkTable.list()).toEqual([]);
            await node.agent.resync();
            expect(deviceLinks()).toBe(node.emptyLinks);
        },
    );

    it.each(aliases)("after an ordinary DEL that could not find it in the Pod: %s", async (_, alias) => {
        node.allocate("a", "0000:af:06.1");
        const pod = await node.add("a", network());
        forge(pod, alias);
        await node.agent.del(pod);
        expect(deviceLinks()).not.toContain("vf1");
        expect(node.agent.networkTable.list()).toEqual([]);
        node.returnLink(pod, devices[1], "mgmt0");
        await node.agent.resync();
        expect(deviceLinks()).toBe(node.emptyLinks);
    });

    it("by its name in the Pod, which has the mark on another link, that stays there, and names of the Node", async () => {
        node.allocate("a", "0000:af:06.1");
        const pod = await node.add("a", network());
        const [, mark = ""] = /alias (antrea4 \w+ eth1)/.exec(shown(pod, "eth1")) ?? [];
        pod.netns.run("ip", "link", "set", "eth1", "alias", "");
        pod.netns.run("ip", "link", "property", "add", "dev", "eth1", "altname", "sf4");
        pod.netns.run("ip", "link", "add", "decoy", "type", "bridge");
        pod.netns.run("ip", "link", "set", "decoy", "alias", mark);
        await node.agent.del(pod);
        expect(deviceLinks()).toBe(node.emptyLinks);
        expect(shown(pod, "decoy")).toContain(mark);
    });

    it("to the next Pod, before it was made as it was", async () => {
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network());
        await node.agent.stop();
        await node.host.loseDatabase();
        node.returnLink(pod, devices[0], "eth1", "dev7");
        pod.netns.remove();
        await node.startAgent();
        node.kubelet.pods = [];
        node.allocate("b", "0000:af:06.0");
        const next = await node.add("b", network());
        expect(shown(next, "eth1")).toMatch(/alias antrea4 \w+ eth1/);
        node.kubelet.setDevice(devices[0], "vf0");
        await node.agent.del(next);
        expect(deviceLinks()).toBe(node.emptyLinks);
    });

    it.each([
        ["mark", "dev7", []],
        ["name", "eth1", ["alias", ""]],
    ])("as soon as a link with its %s appears", async (_, name, forged) => {
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network());
        pod.netns.run("ip", "link", "set", "eth1", ...forged);
        const jobs = new Jobs({ logger: silentLogger });
        const feature = virtualFunctions(
            {
                clock: systemClock,
                environment: { stateFolder: node.host.stateFolder, bootId },
                jobs,
                logger: silentLogger,
                netlink: node.agent.netlink,
            },
            node.agent.networkTable,
            node.kubelet.places,
        );
        await feature.start?.(new AbortController().signal);
        const stop = new AbortController();
        jobs.start(stop.signal);
        try {
            // The job runs at its start too; after that nothing but an event makes it run within a minute.
            await eventually(
                () => jobs.health().map(({ succeededAtMs }) => succeededAtMs),
                ([time]) => time !== undefined,
            );
            node.returnLink(pod, devices[0], "eth1", name);
            expect(await eventually(deviceLinks, (found) => found === node.emptyLinks, 20_000)).toBe(node.emptyLinks);
        } finally {
            stop.abort();
            await jobs.stop();
            await feature.stop?.();
        }
    });

    it("once the name that it had is free again", async () => {
        node.allocate("a", "0000:af:06.0");
        const pod = await node.add("a", network());
        execFileSync("ip", ["link", "add", "vf0", "type", "veth", "peer", "name", "vf0-peer"]);
        node.kubelet.setDevice(devices[0], "eth1");
        await node.agent.del(pod);
        // It has a name of the kernel, and that of the Pod is no name of the Node.
        const shownLinks = execFileSync("ip", ["-d", "-o", "link", "show"], { encoding: "utf8" });
        const [, name = ""] = /^\d+: (dev\d+)@.*alias antrea4 \w+ eth1/m.exec(shownLinks) ?? [];
        expect(name).toMatch(/^dev/);
        node.kubelet.setDevice(devices[0], name);
        execFileSync("ip", ["link", "delete", "vf0"]);
        await node.agent.resync();
        expect(deviceLinks()).toBe(node.emptyLinks);
    });
});
