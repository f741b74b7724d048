import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, killDaemon, waitForAgents, workers } from "../fixture/cluster.ts";
import { DevicePlugin } from "../fixture/device-plugin.ts";
import { allocationsOf, eventNote, eventsAbout, expectConsistent } from "../fixture/ipam.ts";
import { callNetwork, callPlugin, installMetaPlugin, sandboxOf } from "../fixture/meta-plugin.ts";
import { functionExamples } from "../fixture/network-examples.ts";
import { beforeNetworks, makeStage, NetworkStage, ReleaseBefore } from "../fixture/network-stage.ts";
import { linksOf, networkStatusOf, requesting } from "../fixture/networks.ts";
import { manifest, type TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { seeDevices, TestDevices, type TestDevice } from "../fixture/virtual-functions.ts";

// Virtual functions as interfaces of Pods, on the first worker: devices that a device plugin registers with the kubelet.
// left and right are the ends of one cable; of many there are two, as of the resource of the examples; none has no link.

const [node = ""] = workers;
const space = "e2e-functions";
const pool = "e2e-functions";
const left: TestDevice = { bus: "pci", id: "0000:ee:00.0", link: "e2e-vf0" };
const right: TestDevice = { bus: "auxiliary", id: "e2e_nic.sf.1", link: "e2e-sf1" };
const many: readonly TestDevice[] = [
    { bus: "pci", id: "0000:ee:00.3", link: "e2e-vf3" },
    { bus: "pci", id: "0000:ee:00.2", link: "e2e-vf2" },
];
const shown: readonly TestDevice[] = [
    { bus: "pci", id: "0000:ee:01.0", link: "e2e-vf10" },
    { bus: "pci", id: "0000:ee:01.1", link: "e2e-vf11" },
];
const none: TestDevice = { bus: "pci", id: "0000:ee:00.7", link: undefined };
const resources = {
    "e2e.antrea.io/left": [left],
    "e2e.antrea.io/right": [right],
    "e2e.antrea.io/many": many,
    "e2e.antrea.io/none": [none],
    "intel.com/sriov_net_A": shown,
} as const;

let stack: AsyncDisposableStack;
let devices: TestDevices;
let stage: NetworkStage;
let namespace: TestNamespace;
/** What the Node has while no Pod has a device. */
let home: readonly string[];

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    await beforeNetworks();
    devices = stack.use(await TestDevices.make(node, Object.values(resources).flat()));
    stack.use(await ReleaseBefore.remember());
    // the kubelet reports to the API server every ten seconds what it has
    const registered = Object.entries(resources).map(async ([resource, all]) => {
        const ids = all.map(({ id }) => id);
        stack.use(await DevicePlugin.register(node, resource, ids));
    });
    await Promise.all([seeDevices(), ...registered]);
    home = await devices.state();
    expect(home).toHaveLength(6);

    const range = { start: "10.71.0.10", end: "10.71.0.19", gateway: "10.71.0.1", prefixLength: 24 };
    stage = stack.use(new NetworkStage(await makeStage(space, { [pool]: [range] })));
    ({ namespace } = stage);
    const ipam = { type: "antrea", ippools: [pool], routes: [{ dst: "10.98.0.0/16" }] };
    for (const side of ["left", "right", "many", "none"]) {
        const config = { networkType: "sriov", ...(side === "left" || side === "right" ? { mtu: 1400, ipam } : {}) };
        await stage.definitions.define(
            space,
            { [side]: config },
            { "k8s.v1.cni.cncf.io/resourceName": `e2e.antrea.io/${side}` },
        );
    }
    await stage.definitions.define(space, { wired: { vlan: 100 } });
    await stage.start([
        { name: "a", node, annotations: requesting("left"), limits: { "e2e.antrea.io/left": 1 } },
        { name: "b", node, annotations: requesting("right@lan"), limits: { "e2e.antrea.io/right": 1 } },
        { name: "c", node, annotations: requesting("many, many@x"), limits: { "e2e.antrea.io/many": 2 } },
    ]);
});
// in reverse order, all of it whatever fails
afterAll(() => stack.disposeAsync());

const isHome = (): Promise<boolean> =>
    eventually("the Node has its devices as they were", async () => {
        expect(await devices.state()).toEqual(home);
        return true;
    });

describe("a Pod with a virtual function", () => {
    it("has it with name, MTU, address and route, and reaches the other end of the cable", async () => {
        const { eth1 } = await linksOf(namespace, "a");
        const mac = home.find((line) => line.startsWith("e2e-vf0 "))?.split(" ")[2];
        expect(eth1).toMatchObject({
            mtu: 1400,
            isUp: true,
            hasCarrier: true,
            mac,
            addresses: [expect.stringMatching(/^10\.71\.0\./)],
        });
        expect(await namespace.exec("a", "ip route show 10.98.0.0/16")).toMatch(
            /^10\.98\.0\.0\/16 via 10\.71\.0\.1 dev eth1/,
        );
        await stage.reached("a", await stage.address("b", "lan"));
        expect(await devices.state()).toEqual(
            home.filter((line) => shown.some(({ link }) => line.startsWith(`${link} `))),
        );
    });

    it("reports the device in its status", async () => {
        expect((await networkStatusOf(namespace, "a"))?.[1]).toMatchObject({
            name: `${space}/left`,
            interface: "eth1",
            mtu: 1400,
            gateway: ["10.71.0.1"],
            "device-info": { type: "pci", version: "1.1.0", pci: { "pci-address": left.id } },
        });
        expect((await networkStatusOf(namespace, "b"))?.[1]).toMatchObject({
            "device-info": { type: "auxiliary", version: "1.1.0", auxiliary: { "device-id": right.id } },
        });
    });

    it("has several of one resource, in the order of their names", async () => {
        const status = (await networkStatusOf(namespace, "c")) ?? [];
        const ids = many.map(({ id }) => id).toSorted();
        expect(status.slice(1).map((one) => [one.interface, one["device-info"]])).toEqual([
            ["eth1", expect.objectContaining({ pci: { "pci-address": ids[0] } })],
            ["x", expect.objectContaining({ pci: { "pci-address": ids[1] } })],
        ]);
        expect(Object.keys(await linksOf(namespace, "c")).sort()).toEqual(["eth0", "eth1", "x"]);
    });

    it("keeps it while the agent is killed, and gives it back at its end, as it was", async () => {
        await killDaemon(node, "agent");
        await stage.reached("a", await stage.address("b", "lan"));
        await waitForAgents();
        // A DEL that comes before is executed later, when the kernel has deleted these links with their namespace.
        const sandbox = await sandboxOf(space, "a");
        await eventually("the agent serves CNI calls again", async () => {
            const status = await callPlugin("STATUS", sandbox, { cniVersion: "1.1.0", name: "antrea", type: "antrea" });
            return status["code"] === undefined ? true : undefined;
        });
        await namespace.delete("a", "b", "c");
        await isHome();
        expect(await allocationsOf(pool)).toEqual([]);
        await expectConsistent();
    });
});

functionExamples(
    () => stage,
    shown.map(({ id }) => id),
);

describe("a Pod is refused", () => {
    const refusals: readonly (readonly [
        what: string,
        name: string,
        networks: string | readonly object[],
        limits: Readonly<Record<string, number>>,
        note: RegExp,
    ])[] = [
        [
            "without the devices",
            "no-device",
            "left",
            {},
            /^network e2e-functions\/left: annotation .*resourceName: e2e\.antrea\.io\/left: the Pod has 0 of .*; next: /,
        ],
        [
            "with too few of them",
            "too-few",
            "many,many",
            { "e2e.antrea.io/many": 1 },
            /^network e2e-functions\/many: .*: the Pod has 1 of these devices, and none is left for eth2; next: /,
        ],
        [
            "with one that has no link",
            "no-link",
            "none",
            { "e2e.antrea.io/none": 1 },
            /^network e2e-functions\/none: device 0000:ee:00\.7 has no link on this Node: .*; next: bind /,
        ],
        [
            "on a VLAN network, without a bridge",
            "no-bridge",
            "wired",
            {},
            /^network e2e-functions\/wired: there is no bridge for it: secondaryNetwork\.ovsBridges .*; next: /,
        ],
        [
            "with a MAC address",
            "mac",
            [{ name: "right", mac: "02:00:00:00:00:07" }],
            { "e2e.antrea.io/right": 1 },
            /^network e2e-functions\/right: mac: 02:00:00:00:00:07 cannot be had, .*; next: request none/,
        ],
    ];

    beforeAll(async () => {
        const of = ([, name, networks, limits]: (typeof refusals)[number]): object =>
            manifest(space, { name, node, annotations: requesting(networks), limits });
        await apply(refusals.map(of));
    });
    afterAll(() => namespace.delete("--ignore-not-found", ...refusals.map(([, name]) => name)));

    it.each(refusals)("%s: the Pod %s has one event, and nothing is left", async (_, name, __, ___, note) => {
        expect(await eventNote(space, "Pod", name, "NetworksNotAttached")).toMatch(note);
        expect(await eventsAbout(space, "Pod", name, "NetworksNotAttached")).toHaveLength(1);
        expect(await devices.state()).toEqual(home);
        expect(await allocationsOf(pool)).toEqual([]);
    });
});

describe("a virtual function that a meta plugin asks for", () => {
    const config = { cniVersion: "1.0.0", name: "left", type: "antrea", networkType: "sriov" };

    it("is that of the Pod which the call names, passes CHECK and goes home with its DEL alone", async () => {
        await installMetaPlugin();
        await namespace.start([{ name: "d", node, limits: { "e2e.antrea.io/left": 1 } }]);
        const sandbox = await sandboxOf(space, "d");
        const network = { ...config, deviceID: left.id };
        const { interfaces } = await callNetwork("ADD", sandbox, network);
        expect(interfaces).toEqual([expect.objectContaining({ name: "net1" })]);
        expect(Object.keys(await linksOf(namespace, "d")).sort()).toEqual(["eth0", "net1"]);
        await callNetwork("CHECK", sandbox, network);
        await callNetwork("DEL", sandbox, network);
        expect(Object.keys(await linksOf(namespace, "d"))).toEqual(["eth0"]);
        expect(await devices.state()).toEqual(home);
        for (const deviceID of [right.id, undefined]) {
            const { code, msg } = await callPlugin("ADD", sandbox, { ...config, deviceID });
            expect([code, msg]).toEqual([
                7,
                expect.stringMatching(/^network e2e-functions\/left: deviceID: .*; next: /),
            ]);
        }
    });
});
