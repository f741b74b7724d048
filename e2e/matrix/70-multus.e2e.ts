import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    allNodes,
    helmRevision,
    helmRollback,
    kubectl,
    shellOnNode,
    systemNamespace,
    workers,
} from "../fixture/cluster.ts";
import { allocationsOf, setIpam, TestPools } from "../fixture/ipam.ts";
import { installMetaPlugin } from "../fixture/meta-plugin.ts";
import { bridgeNics, linksOf, NetworkDefinitions, networkStatusOf, requesting } from "../fixture/networks.ts";
import { PhysicalNetwork } from "../fixture/physical-network.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut } from "../fixture/workloads.ts";

// Multus reads the annotation in the place of the agent: networks of macvlan and of Antrea.

const manifest = new URL("../examples/multus/multus.yaml", import.meta.url);
const [, image = ""] = /image: (\S+)/.exec(readFileSync(manifest, "utf8")) ?? [];
const images = await Promise.all(allNodes.map((node) => shellOnNode(node, "ctr -n k8s.io images list -q")));
const isThere = images.every((list) => list.split("\n").includes(image));
const space = "e2e-multus";
const pool = "e2e-multus";
const ipam = { type: "antrea", ippools: [pool] };

(isThere ? describe : describe.skip)(`Multus, which needs the image ${image} on each Node`, () => {
    const [first = "", second = ""] = workers;
    let stack: AsyncDisposableStack;
    let namespace: TestNamespace;

    beforeAll(async () => {
        stack = new AsyncDisposableStack();
        await setIpam(true);
        const physical = stack.use(await PhysicalNetwork.start());
        await Promise.all(allNodes.map((node) => physical.plug(node, "eth2")));
        const revision = await helmRevision();
        stack.defer(() => helmRollback({ revision }));
        await bridgeNics(["eth2"]);
        await installMetaPlugin();
        const definitions = stack.use(await NetworkDefinitions.install());
        stack.use(
            await TestPools.create({
                [pool]: [{ start: "10.71.0.10", end: "10.71.0.99", gateway: "10.71.0.1", prefixLength: 24 }],
            }),
        );
        await kubectl(["apply", "-f", manifest.pathname]);
        stack.defer(async () => {
            await kubectl(["delete", "-f", manifest.pathname, "--wait"]);
            // The configuration of Multus would be read first, and nobody would answer it.
            const isGone = "ls /etc/cni/net.d | grep -q multus && exit 1; true";
            await eventually("its configuration is gone", () =>
                Promise.all(allNodes.map((node) => shellOnNode(node, isGone))),
            );
        });
        await rolledOut(systemNamespace, "daemonset/multus");
        await eventually("its configuration is there", () =>
            Promise.all(allNodes.map((node) => shellOnNode(node, "ls /etc/cni/net.d | grep multus"))),
        );
        namespace = stack.use(await TestNamespace.create(space));
        const macvlan = { cniVersion: "1.0.0", name: "mac", type: "macvlan", master: "eth0", mode: "bridge", ipam };
        await definitions.define(space, { red: { vlan: 100, ipam }, mac: JSON.stringify(macvlan) });
        await namespace.start([
            { name: "a", node: first, annotations: requesting("mac,red") },
            { name: "b", node: second, annotations: requesting("mac,red") },
        ]);
    });
    afterAll(() => stack?.disposeAsync());

    it("attaches both networks, once each, under its own names", async () => {
        for (const pod of ["a", "b"]) {
            expect(Object.keys(await linksOf(namespace, pod)).sort()).toEqual(["eth0", "net1", "net2"]);
            const names = (await networkStatusOf(namespace, pod))?.map(({ interface: ifName }) => ifName);
            expect(names?.sort()).toEqual(["eth0", "net1", "net2"]);
        }
        const allocations = await allocationsOf(pool);
        expect(allocations.map(({ spec }) => `${spec.pod?.name}/${spec.pod?.interface}`).sort()).toEqual([
            "a/net1",
            "a/net2",
            "b/net1",
            "b/net2",
        ]);
    });

    it.each(["net1", "net2"])("connects %s across Nodes", async (ifName) => {
        const [address = ""] = (await linksOf(namespace, "b"))[ifName]?.addresses ?? [];
        const ping = `ping -c 1 -W 2 -I ${ifName} ${address.replace(/\/.*/, "")}`;
        await eventually("it is reached", () => namespace.exec("a", ping), 20_000);
    });

    it("leaves no address when its Pods end", async () => {
        await kubectl(["-n", space, "delete", "pod", "a", "b", "--wait"]);
        await eventually("the addresses are free", async () =>
            (await allocationsOf(pool)).length === 0 ? true : undefined,
        );
    });
});
