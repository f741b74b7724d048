import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { answers, inPod, longestGap } from "../fixture/bridging-streams.ts";
import { nothingLeft, tracesAtRest } from "../fixture/churn.ts";
import { allNodes, apply, kubectl, workers } from "../fixture/cluster.ts";
import { startedAt } from "../fixture/containers.ts";
import { FixtureError } from "../fixture/error.ts";
import { allocationsOf, expectConsistent } from "../fixture/ipam.ts";
import { serve } from "../fixture/matrix.ts";
import { callNetwork, callPlugin, installMetaPlugin, sandboxOf } from "../fixture/meta-plugin.ts";
import { vlanExamples } from "../fixture/network-examples.ts";
import { nicsOf, portsOf } from "../fixture/network-stage.ts";
import { bridgeCondition, linksOf, networkStatusOf, requesting } from "../fixture/networks.ts";
import { getJson } from "../fixture/objects.ts";
import { beyond } from "../fixture/physical-network.ts";
import { answersPings } from "../fixture/pings.ts";
import { eventually } from "../fixture/run.ts";
import { refusedPods } from "../fixture/vlan-refused-pods.ts";
import { interfacesOutlive } from "../fixture/vlan-restarts.ts";
import {
    antrea,
    asked4,
    first,
    networks,
    red4,
    red6,
    routers,
    second,
    space,
    VlanStage,
} from "../fixture/vlan-stage.ts";
import { onTheWire } from "../fixture/vlan-wire.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

// Interfaces that the agent makes on VLANs of a physical network.

let stack: AsyncDisposableStack;
let stage: VlanStage;

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    stage = stack.use(await VlanStage.set());
    await stage.fill();
});
// in reverse order, all of it whatever fails
afterAll(() => stack.disposeAsync());

/** The MAC address that follows from an IPv4 address. */
const macFrom = (ip: string): string =>
    ["0a", "58", ...ip.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"))].join(":");

describe("the bridge", () => {
    it("has the NICs of the Node, which the Node's condition reports", async () => {
        const condition = await eventually("the first Node is ready", async () => {
            const found = await bridgeCondition(first);
            return found?.status === "True" ? found : undefined;
        });
        expect(condition).toMatchObject({ reason: "BridgeReady", message: expect.stringContaining("eth2, eth3") });
        expect(await nicsOf(first)).toEqual(["eth2", "eth3"]);
    });

    it("has the NICs that are there, and the condition names the one that is not, with the next step", async () => {
        for (const node of allNodes.filter((name) => name !== first)) {
            const condition = await eventually(`${node} reports`, () => bridgeCondition(node));
            expect(condition).toMatchObject({
                status: "False",
                reason: "NICMissing",
                message: expect.stringMatching(/^eth3 does not exist; .*add the NIC/),
            });
            expect(await nicsOf(node)).toEqual(["eth2"]);
        }
    });
});

describe("a Pod", () => {
    it("gets all of its networks in one ADD: addresses, MTU, MAC address and routes", async () => {
        const links = await linksOf(stage.namespace, "a");
        expect(Object.keys(links).sort()).toEqual(["eth0", "eth1", "eth2"]);
        const ip = await stage.address("a", "eth1");
        expect(links["eth1"]).toEqual({
            mac: macFrom(ip),
            mtu: 1400,
            isUp: true,
            hasCarrier: true,
            addresses: [
                expect.stringMatching(/^10\.70\.100\.[1-9]\d\/24$/),
                expect.stringMatching(/^fd70:100::[0-9a-f]+\/64$/),
            ],
        });
        const routes = await stage.namespace.exec("a", "ip -4 route");
        expect(routes).toMatch(/^default via \S+ dev eth0/m);
        expect(routes).toMatch(new RegExp(`^10\\.98\\.0\\.0/16 via ${routers.red} dev eth1`, "m"));
        expect(routes).toMatch(/^10\.99\.0\.0\/16 via 10\.70\.100\.254 dev eth1/m);
        expect(routes).not.toContain("eth2");
        // allocated for the sandbox that runs: there was no second one
        const { id } = await sandboxOf(space, "a");
        for (const pool of [red4, red6]) {
            const [allocation, ...more] = (await allocationsOf(pool)).filter(({ spec }) => spec.pod?.name === "a");
            expect(allocation?.spec).toMatchObject({
                state: "Allocated",
                pod: { interface: "eth1", network: `${space}/red`, containerID: id },
            });
            expect(more).toEqual([]);
        }
        const ports = (await portsOf(first)).filter((port) => port.pod === `${space}/a`);
        expect(Object.fromEntries(ports.map((port) => [port.interface, port.vlan]))).toEqual({ eth1: 100, eth2: 300 });
        expect(await kubectl(["get", "ipallocations", "-o", "wide"])).toMatch(/ eth1 +e2e-secondary\/red/);
    });

    it("has no address on a network without ipam, and the interface is up", async () => {
        expect(await stage.link("a", "eth2")).toMatchObject({ mtu: 1500, isUp: true, hasCarrier: true, addresses: [] });
    });

    it("gets the interface name, MAC address and IP address that it requests", async () => {
        const { lan, eth1, ...others } = await linksOf(stage.namespace, "asked");
        expect(lan).toMatchObject({
            mac: "02:00:00:00:00:77",
            isUp: true,
            hasCarrier: true,
            addresses: ["10.70.40.15/24"],
        });
        expect(eth1).toMatchObject({ isUp: true, hasCarrier: true, addresses: [] });
        expect(Object.keys(others)).toEqual(["eth0"]);
    });

    it("has the VLAN of the IPPool where the network has none; it may name network and interface in short", async () => {
        const ports = (await portsOf(second)).filter((port) => port.pod === `${space}/d`);
        expect(Object.fromEntries(ports.map((port) => [port.interface, port.vlan]))).toEqual({ eth1: 300, dmz: 200 });
        for (const ip of [routers.blue, await stage.address("c", "eth1")]) await stage.reached("d", ip);
    });

    it("has a status of its networks, the one of the Pod network first", async () => {
        const { eth0, eth1, eth2 } = await linksOf(stage.namespace, "a");
        const status = await eventually("the status is written", () => networkStatusOf(stage.namespace, "a"), 30_000);
        const bare = (addresses: readonly string[] = []): readonly string[] =>
            addresses.map((address) => address.replace(/\/.*/, ""));
        expect(status).toMatchObject([
            { name: "antrea", interface: "eth0", mac: eth0?.mac, mtu: eth0?.mtu, default: true },
            {
                name: `${space}/red`,
                interface: "eth1",
                ips: bare(eth1?.addresses),
                mac: eth1?.mac,
                mtu: 1400,
                gateway: [routers.red, "fd70:100::1"],
                dns: networks.red.ipam.dns,
            },
            { name: `${space}/plain`, interface: "eth2", ips: [], mac: eth2?.mac, mtu: 1500 },
        ]);
        const { ip4, ip6 } = stage.pod("a");
        expect([...(status[0]?.ips ?? [])].sort()).toEqual([ip4, ip6].sort());
        expect(status.map((entry) => entry.default)).toEqual([true, undefined, undefined]);
    });
});

onTheWire(() => stage);

vlanExamples(() => stage);

it("a default route on a VLAN leads there, and Services are still reached by the Pod network", async () => {
    expect(await stage.namespace.exec("routed", "ip -4 route show default")).toMatch(
        new RegExp(`^default via ${routers.red} dev eth1[^\\n]*\\n$`),
    );
    await stage.reached("routed", beyond);
    await stage.namespace.exec("routed", answersPings(beyond));
    // by its name: DNS is a Service too
    await serve(space, { role: "server" });
    const ask = (): Promise<string> => stage.namespace.exec("routed", "curl -4 -sS -m 5 http://server/hostname");
    expect(await eventually("the Service answers", ask, 60_000)).toBe("a");
    const { spec } = await getJson<{ readonly spec: { readonly clusterIPs: readonly string[] } }>("service", {
        name: "kubernetes",
    });
    const api = `curl -sSk -m 5 -o /dev/null https://${spec.clusterIPs[0]}/version`;
    await stage.namespace.exec("routed", api);
});

it("the Pod of a StatefulSet moves to another Node with its address, and is reached there within 3 s", async () => {
    await apply(statefulSet(space, { name: "kept", replicas: 1, annotations: requesting("red") }));
    await rolledOut(space, "statefulset/kept");
    const [before] = await stage.namespace.ready(["kept-0"]);
    if (before === undefined) throw new FixtureError("NOT_FOUND", "environment", "kept-0 does not run");
    const link = await stage.link("kept-0", "eth1");
    const ip = await stage.address("kept-0", "eth1");
    // both have exchanged packets with it before: one stays on its Node, one is where it comes to
    for (const peer of ["a", "b"]) await stage.reached(peer, ip);
    const watching = Promise.all(["a", "b"].map((peer) => answers(inPod(stage.namespace, peer), ip, 30)));
    await pause(1_000);
    await kubectl(["cordon", before.node]);
    try {
        await stage.namespace.delete("kept-0");
        const [after] = await eventually("the set makes its Pod again", () => stage.namespace.ready(["kept-0"]));
        expect(after?.node).not.toBe(before.node);
    } finally {
        await kubectl(["uncordon", before.node]);
    }
    expect(await stage.link("kept-0", "eth1")).toEqual(link);
    const started = await startedAt({ namespace: space, pod: "kept-0" });
    for (const arrivals of await watching) {
        expect(arrivals.times.at(-1)).toBeGreaterThan(started);
        const { to, ms } = longestGap(arrivals);
        // otherwise it was never away
        expect(ms).toBeGreaterThan(300);
        expect(to - started).toBeLessThan(3_000);
    }
    const [allocation] = (await allocationsOf(red4)).filter(({ spec }) => spec.pod?.name === "kept-0");
    expect(allocation?.spec.owner).toMatchObject({ kind: "StatefulSet", name: "kept", index: 0, interface: "eth1" });
    await kubectl(["-n", space, "delete", "statefulset", "kept", "--wait"]);
    await eventually("its addresses are free", async () =>
        (await stage.holders()).some((holder) => holder.startsWith("kept")) ? undefined : true,
    );
});

describe("an interface that a meta plugin asks for", () => {
    const net = { cniVersion: "1.0.0", name: "red-by-multus", type: "antrea", networkType: "vlan", vlan: 100 };
    const network = { ...net, capabilities: { ips: true, mac: true }, ipam: antrea(asked4) };
    let sandbox: Awaited<ReturnType<typeof sandboxOf>>;

    beforeAll(async () => {
        await installMetaPlugin();
        sandbox = await sandboxOf(space, "c");
    });

    it("is in its VLAN, with the requested addresses, passes CHECK and ends with its DEL alone", async () => {
        const capabilities = { ips: ["10.70.100.200"], mac: "02:00:00:00:00:78" };
        const { interfaces, ips } = await callNetwork("ADD", sandbox, network, { capabilities });
        expect(interfaces?.[1]).toMatchObject({ name: "net1", mac: "02:00:00:00:00:78" });
        expect(ips).toEqual([{ address: "10.70.100.200/24", gateway: routers.red, interface: 1 }]);
        await stage.reached("a", "10.70.100.200");
        await callNetwork("CHECK", sandbox, network, { capabilities });
        expect(await stage.holders()).toContain("c/net1");
        await callNetwork("DEL", sandbox, network, { capabilities });
        expect(await stage.holders()).not.toContain("c/net1");
        expect(Object.keys(await linksOf(stage.namespace, "c")).sort()).toEqual(["eth0", "eth1"]);
        expect((await portsOf(sandbox.node)).filter(({ pod: owner }) => owner === `${space}/c`)).toHaveLength(1);
    });

    it("is refused for what breaks a rule, with the next step, and leaves nothing", async () => {
        const { code, msg } = await callPlugin("ADD", sandbox, { ...net, vlan: 5000 });
        expect([code, msg]).toEqual([
            7,
            expect.stringMatching(
                /^network e2e-secondary\/red-by-multus: vlan: 5000 must be a whole number from 0 to 4094; next: /,
            ),
        ]);
        expect((await callPlugin("ADD", sandbox, { ...net, networkType: "sriov", vlan: undefined }))["msg"]).toMatch(
            /^network e2e-secondary\/red-by-multus: deviceID: is missing, .*; next: name the resource /,
        );
        expect(Object.keys(await linksOf(stage.namespace, "c")).sort()).toEqual(["eth0", "eth1"]);
    });
});

refusedPods(() => stage);

interfacesOutlive(() => stage);

it("five Pods with four networks each leave no port, no address and no link", async () => {
    const held = await stage.holders();
    const before = await tracesAtRest();
    const names = [0, 1, 2, 3, 4].map((number) => `churn-${number}`);
    const annotations = requesting("red,blue,flat,plain");
    await stage.namespace.start(names.map((name, index) => ({ name, node: workers[index % 2] ?? "", annotations })));
    const links = await Promise.all(names.map((name) => linksOf(stage.namespace, name)));
    for (const one of links) expect(Object.keys(one).sort()).toEqual(["eth0", "eth1", "eth2", "eth3", "eth4"]);
    const addresses = links.flatMap(({ eth1, eth2, eth3, eth4 }) =>
        [eth1, eth2, eth3, eth4].flatMap((link) => link?.addresses ?? []),
    );
    // two of red, one each of blue and flat
    expect(new Set(addresses).size).toBe(4 * names.length);
    await stage.namespace.delete(...names);
    expect(await nothingLeft(before)).toBe(true);
    for (const node of workers) {
        const owners = (await portsOf(node)).map((port) => port.pod ?? "");
        expect(owners.filter((owner) => owner.includes("churn"))).toEqual([]);
    }
    await eventually("no address is held", async () => {
        expect(await stage.holders()).toEqual(held);
        return true;
    });
    await expectConsistent();
});
