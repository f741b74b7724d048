import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    bridged,
    linkStateOf,
    nic,
    setBridging,
    setBridgingByConfigMap,
    uplinkCondition,
} from "../fixture/bridging.ts";
import { allNodes, inAgent, nodesFromWorker, shellOnNode, workers } from "../fixture/cluster.ts";
import { families } from "../fixture/addresses.ts";
import { cellOf, explore, paths, setStage, warmUp, type Cells, type Stage } from "../fixture/matrix.ts";
import { unplugRouter } from "../fixture/vlan-router.ts";

describe("back from bridging mode", () => {
    let before: readonly object[];
    let stage: Stage;
    let cells: Cells;

    beforeAll(async () => {
        before = await Promise.all(allNodes.map(linkStateOf));
        // these Pods are kept during the change
        stage = await setStage("e2e-back-from-bridging", nodesFromWorker);
        await setBridging(false);
        await warmUp(stage);
        cells = await explore("noEncap after bridging", stage, nodesFromWorker);
    });
    afterAll(async () => {
        await stage.namespace[Symbol.asyncDispose]();
        await unplugRouter();
    });

    it.each(paths.flatMap((path) => families.map((family) => cellOf(path, family))))("%s", (cell) => {
        expect(cells.get(cell)).toBe("ok");
    });

    it.each(allNodes)("%s has its NIC as it was: addresses, routes and rules", async (node) => {
        expect(await linkStateOf(node)).toEqual(before[allNodes.indexOf(node)]);
        const links = await shellOnNode(node, "ip -d -o link show dev eth0; ls /sys/class/net");
        expect(links).toMatch(/\bveth\b/);
        expect(links).not.toContain(nic);
    });

    it.each(allNodes)("nothing of it is left on %s: no port, flow, journal or true condition", async (node) => {
        const ports = await inAgent(node, "antrea-ovs", ["ovs-vsctl", "list-ports", "br-int"]);
        expect(ports.split("\n").filter((port) => port.startsWith("eth0"))).toEqual([]);
        const flows = await inAgent(node, "antrea-ovs", ["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "br-int"]);
        // 2, 22 and 23 are the tables of the underlay, 32770 and 32771 the ports of NIC and host
        expect(flows.split("\n").filter((flow) => /table=(2|22|23),|\b(32770|32771)\b/.test(flow))).toEqual([]);
        expect(await shellOnNode(node, "find /var/lib/antrea -name 'uplink*.json'")).toBe("");
        expect((await uplinkCondition(node))?.status).not.toBe("True");
    });

    it("goes on and off for a Node by ConfigMap antrea-config as well", async () => {
        const node = workers[0] ?? "";
        await setBridgingByConfigMap(true, node);
        try {
            await bridged([node]);
            expect(await linkStateOf(node)).toEqual(before[allNodes.indexOf(node)]);
            expect(await shellOnNode(node, "ls /sys/class/net")).toContain(nic);
        } finally {
            await setBridgingByConfigMap(false, node);
        }
        expect(await linkStateOf(node)).toEqual(before[allNodes.indexOf(node)]);
        expect(await shellOnNode(node, "ls /sys/class/net")).not.toContain(nic);
    });
});
