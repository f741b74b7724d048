import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { answer } from "../fixture/admission.ts";
import { answers, inPod, longestGap } from "../fixture/bridging-streams.ts";
import { nothingLeft, tracesAtRest } from "../fixture/churn.ts";
import {
    allNodes,
    apply,
    helmRevision,
    helmRollback,
    inAgent,
    isGateOn,
    killDaemon,
    kubectl,
    scaleTo,
    systemNamespace,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { pidOfPod, startedAt } from "../fixture/containers.ts";
import { watchFrames, type Frame, type Place } from "../fixture/frames.ts";
import { claimsOf, eventNote, eventsAbout, expectConsistent, setIpam, TestPools } from "../fixture/ipam.ts";
import { reaches, serve } from "../fixture/matrix.ts";
import { callNetwork, callPlugin, installMetaPlugin, sandboxOf } from "../fixture/meta-plugin.ts";
import {
    addressIn,
    bridgeCondition,
    bridgeNics,
    linksOf,
    looseLinks,
    NetworkDefinitions,
    networkStatusOf,
    requesting,
    secondaryPorts,
    type PodLink,
    type SecondaryPort,
} from "../fixture/networks.ts";
import { getJson } from "../fixture/objects.ts";
import { beyond, PhysicalNetwork, sendFrame, testType } from "../fixture/physical-network.ts";
import { answeredOf, answersPings } from "../fixture/pings.ts";
import { manifest, TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

// Interfaces that the agent makes on VLANs of a physical network. VLAN 100 is red, 200 blue, 300 has no addresses, flat is
// none at all. All Nodes have the NIC eth2 on it; the first has eth3 too, on a segment of its own.

const [first = "", second = ""] = workers;
const space = "e2e-secondary";
const red4 = "e2e-sec-red-4";
const red6 = "e2e-sec-red-6";
const blue = "e2e-sec-blue";
const green = "e2e-sec-green";
const flat = "e2e-sec-flat";
/** One address, which a call requests. */
const asked4 = "e2e-sec-asked";
const pools = [red4, red6, blue, green, flat, asked4] as const;
const routers = { red: "10.70.100.1", blue: "10.70.200.1", flat: "10.70.0.1" } as const;
/** Nobody has them. */
const absent = "10.70.100.250";
const spare = "10.70.100.251";

const antrea = (...ippools: readonly string[]): object => ({ type: "antrea", ippools });
const networks = {
    red: {
        vlan: 100,
        mtu: 1400,
        ipam: {
            ...antrea(red4, red6),
            routes: [{ dst: "10.98.0.0/16" }, { dst: "10.99.0.0/16", gw: "10.70.100.254" }],
            dns: { nameservers: [routers.red], domain: "red.example" },
        },
    },
    // its VLAN is that of its pool
    blue: { ipam: antrea(blue) },
    green: { vlan: 400, ipam: antrea(green) },
    flat: { vlan: 0, ipam: antrea(flat) },
    plain: { vlan: 300 },
    jumbo: { mtu: 9000 },
    "no-pool": { vlan: 100, ipam: antrea("e2e-sec-none") },
};
/** What the webhook refuses. */
const broken = {
    broken: '{"type": "antrea"',
    "vlan-5000": { vlan: 5000 },
    vxlan: { networkType: "vxlan" },
};

let stack: AsyncDisposableStack;
let physical: PhysicalNetwork;
let definitions: NetworkDefinitions;
let namespace: TestNamespace;
/** The revision of the release without the feature gate; undefined once it is off again. */
let off: string | undefined;
let pods: Readonly<Record<string, TestPod>>;
const hosts: { red?: string; flat?: string } = {};

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    if (await isGateOn("SecondaryNetwork"))
        throw new Error("the feature gate SecondaryNetwork is on already: switch it off by helm rollback");
    await setIpam(true);
    physical = stack.use(await PhysicalNetwork.start());
    await Promise.all(allNodes.map((node) => physical.plug(node, "eth2")));
    await physical.plug(first, "eth3", "apart");
    hosts.red = await physical.host(100, `${routers.red}/24`);
    await physical.host(200, `${routers.blue}/24`);
    hosts.flat = await physical.host(0, `${routers.flat}/24`);

    off = await helmRevision();
    stack.defer(async () => {
        if (off !== undefined) await helmRollback({ revision: off });
    });
    await bridgeNics(["eth2", "eth3"]);

    definitions = stack.use(await NetworkDefinitions.install());
    const subnet = (prefix: string, more: object = {}) => [
        { start: `${prefix}.10`, end: `${prefix}.99`, gateway: `${prefix}.1`, prefixLength: 24, ...more },
    ];
    stack.use(
        await TestPools.create({
            [red4]: subnet("10.70.100"),
            [red6]: [{ start: "fd70:100::10", end: "fd70:100::99", gateway: "fd70:100::1", prefixLength: 64 }],
            [blue]: subnet("10.70.200", { vlan: 200 }),
            [green]: subnet("10.70.40"),
            [flat]: subnet("10.70.0"),
            [asked4]: [{ start: "10.70.100.200", end: "10.70.100.200", gateway: "10.70.100.1", prefixLength: 24 }],
        }),
    );
    namespace = stack.use(await TestNamespace.create(space));
    await definitions.define(space, networks);
    const started = await namespace.start([
        { name: "a", node: first, labels: { role: "server" }, annotations: requesting("red,plain") },
        { name: "b", node: second, annotations: requesting("red") },
        { name: "c", node: first, annotations: requesting("blue") },
        { name: "d", node: second, annotations: requesting(`plain, ${space}/blue@dmz`) },
        { name: "flat", node: first, annotations: requesting("flat") },
        { name: "flat-peer", node: first, annotations: requesting("flat") },
        {
            name: "asked",
            node: second,
            annotations: requesting([
                { name: "green", interface: "lan", mac: "02:00:00:00:00:77", ips: ["10.70.40.15"] },
                { name: "plain", namespace: space },
            ]),
        },
        {
            name: "routed",
            node: first,
            annotations: requesting([{ name: "red", "default-route": [routers.red] }]),
        },
    ]);
    pods = Object.fromEntries(started.map((pod) => [pod.name, pod]));
});
// in reverse order, all of it whatever fails
afterAll(() => stack.disposeAsync());

const pod = (name: string): TestPod => {
    const found = pods[name];
    if (found === undefined) throw new Error(`${name} was not started`);
    return found;
};
const linkOf = async (name: string, ifName: string): Promise<PodLink> => {
    const link = (await linksOf(namespace, name))[ifName];
    if (link === undefined) throw new Error(`${name} has no ${ifName}`);
    return link;
};
/** The MAC address that follows from an IPv4 address. */
const macFrom = (ip: string): string =>
    ["0a", "58", ...ip.split(".").map((byte) => Number(byte).toString(16).padStart(2, "0"))].join(":");
const portsOf = async (node: string): Promise<readonly SecondaryPort[]> => (await secondaryPorts(node)) ?? [];
/** The names of NICs that are ports. */
const nicsOf = async (node: string): Promise<readonly string[]> =>
    (await portsOf(node)).flatMap(({ name }) => (/^eth\d/.test(name) ? [name] : []));
/** Who has allocations of the pools, as `POD/INTERFACE`, in order. */
const holders = async (): Promise<readonly string[]> =>
    (await Promise.all(pools.map(claimsOf)))
        .flat()
        .map(({ spec: { owner, pod: holder } }) => `${holder?.name ?? owner.name}/${holder?.interface ?? "reserved"}`)
        .sort();
/** The VLANs of frames from a MAC address. */
const tagsOf = (frames: readonly Frame[], mac: string | undefined): readonly number[] => [
    ...new Set(frames.filter(({ source }) => source === mac).map(({ vlan }) => vlan)),
];
/** Waits until the MAC address of a neighbour is known, for which the first packets may be lost. */
const warmUp = (from: string, ip: string): Promise<string> =>
    eventually(`${ip} answers ${from}`, () => namespace.exec(from, `ping -c 1 -W 1 ${ip}`), 30_000);

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
        const links = await linksOf(namespace, "a");
        expect(Object.keys(links).sort()).toEqual(["eth0", "eth1", "eth2"]);
        const ip = await addressIn(namespace, "a", "eth1");
        expect(links["eth1"]).toEqual({
            mac: macFrom(ip),
            mtu: 1400,
            isUp: true,
            addresses: [
                expect.stringMatching(/^10\.70\.100\.[1-9]\d\/24$/),
                expect.stringMatching(/^fd70:100::[0-9a-f]+\/64$/),
            ],
        });
        const routes = await namespace.exec("a", "ip -4 route");
        expect(routes).toMatch(/^default via \S+ dev eth0/m);
        expect(routes).toMatch(new RegExp(`^10\\.98\\.0\\.0/16 via ${routers.red} dev eth1`, "m"));
        expect(routes).toMatch(/^10\.99\.0\.0\/16 via 10\.70\.100\.254 dev eth1/m);
        expect(routes).not.toContain("eth2");
        // allocated for the sandbox that runs: there was no second one
        const { id } = await sandboxOf(space, "a");
        for (const pool of [red4, red6]) {
            const [claim, ...more] = (await claimsOf(pool)).filter(({ spec }) => spec.pod?.name === "a");
            expect(claim?.spec).toMatchObject({
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
        expect(await linkOf("a", "eth2")).toMatchObject({ mtu: 1500, isUp: true, addresses: [] });
    });

    it("gets the interface name, MAC address and IP address that it requests", async () => {
        const { lan, eth1, ...others } = await linksOf(namespace, "asked");
        expect(lan).toMatchObject({ mac: "02:00:00:00:00:77", isUp: true, addresses: ["10.70.40.15/24"] });
        expect(eth1).toMatchObject({ isUp: true, addresses: [] });
        expect(Object.keys(others)).toEqual(["eth0"]);
    });

    it("has the VLAN of the IPPool where the network has none; it may name network and interface in short", async () => {
        const ports = (await portsOf(second)).filter((port) => port.pod === `${space}/d`);
        expect(Object.fromEntries(ports.map((port) => [port.interface, port.vlan]))).toEqual({ eth1: 300, dmz: 200 });
        for (const ip of [routers.blue, await addressIn(namespace, "c", "eth1")]) await warmUp("d", ip);
    });

    it("has a status of its networks, the one of the Pod network first", async () => {
        const { eth0, eth1, eth2 } = await linksOf(namespace, "a");
        const status = await eventually("the status is written", () => networkStatusOf(namespace, "a"), 30_000);
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
        const { ip4, ip6 } = pod("a");
        expect([...(status[0]?.ips ?? [])].sort()).toEqual([ip4, ip6].sort());
        expect(status.map((entry) => entry.default)).toEqual([true, undefined, undefined]);
    });
});

describe("on the wire", () => {
    it("frames have the tag of their VLAN, those of no VLAN have none, and none passes from NIC to NIC", async () => {
        const [red, untagged] = [await linkOf("a", "eth1"), await linkOf("flat", "eth1")];
        await Promise.all([warmUp("a", routers.red), warmUp("flat", routers.flat)]);
        const seen = await watchFrames(
            { eth2: physical.cable(first, "eth2"), eth3: physical.cable(first, "eth3") },
            async () => {
                await namespace.exec("a", answersPings(routers.red));
                await namespace.exec("flat", answersPings(routers.flat));
                // asked of all: goes everywhere that a broadcast may go
                await namespace.exec("a", `ping -c 1 -W 1 ${absent} || true`);
                await physical.run(`ping -c 1 -W 1 ${absent} || true`);
            },
        );
        expect(tagsOf(seen.eth2, red.mac)).toEqual([100]);
        expect(tagsOf(seen.eth2, hosts.red)).toEqual([100]);
        expect(tagsOf(seen.eth2, untagged.mac)).toEqual([0]);
        expect(tagsOf(seen.eth2, hosts.flat)).toEqual([0]);
        expect(tagsOf(seen.eth3, red.mac)).toEqual([100]);
        expect(tagsOf(seen.eth3, hosts.red)).toEqual([]);
    });

    it("Pods of one VLAN on two Nodes reach each other, over IPv4 and IPv6, by ICMP, TCP and UDP", async () => {
        const peer = {
            ...pod("b"),
            ip4: await addressIn(namespace, "b", "eth1"),
            ip6: await addressIn(namespace, "b", "eth1", 6),
        };
        const { mac } = await linkOf("a", "eth1");
        const seen = await watchFrames(
            { from: physical.cable(first, "eth2", "in"), to: physical.cable(second, "eth2", "out") },
            async () => {
                for (const ip of [peer.ip4, peer.ip6]) await warmUp("a", ip);
                await namespace.exec("a", reaches(peer, "IPv4"));
                await namespace.exec("a", reaches(peer, "IPv6"));
            },
        );
        expect([tagsOf(seen.from, mac), tagsOf(seen.to, mac)]).toEqual([[100], [100]]);
    });

    it.each([
        ["another VLAN", "c"],
        ["no VLAN", "flat"],
    ])("a Pod of %s does not reach them, whatever address it takes", async (_, name) => {
        const targets = [await addressIn(namespace, "a", "eth1"), await addressIn(namespace, "b", "eth1"), routers.red];
        await namespace.exec(name, `ip address add ${spare}/24 dev eth1`);
        try {
            for (const ip of targets) {
                const ping = namespace.exec(name, `ping -c 2 -i 0.2 -W 1 -I eth1 ${ip}`);
                await expect(ping).rejects.toThrow("100% packet loss");
            }
        } finally {
            await namespace.exec(name, `ip address del ${spare}/24 dev eth1`);
        }
        // its own it reaches
        await warmUp(name, name === "flat" ? routers.flat : routers.blue);
    });

    it("a frame that a Pod of no VLAN tags itself reaches nobody of that VLAN", async () => {
        const { mac } = await linkOf("flat", "eth1");
        const inPodOf = async (name: string): Promise<Place> => ({
            pid: await pidOfPod({ namespace: space, pod: name }),
            device: "eth1",
            direction: "in",
        });
        const seen = await watchFrames(
            {
                peer: await inPodOf("flat-peer"),
                near: await inPodOf("a"),
                far: await inPodOf("b"),
                wire: physical.cable(first, "eth2", "in"),
            },
            async () => {
                await sendFrame(space, pod("flat"), { ifName: "eth1", mac, vlan: 100 });
                await sendFrame(space, pod("flat"), { ifName: "eth1", mac });
            },
        );
        const vlans = Object.fromEntries(
            Object.entries(seen).map(([place, frames]) => [
                place,
                frames.filter(({ source, text }) => source === mac && text.includes(testType)).map(({ vlan }) => vlan),
            ]),
        );
        // the one without a tag shows that frames are sent and seen
        expect(vlans).toEqual({ peer: [0], near: [], far: [], wire: [0] });
    });
});

it("a default route on a VLAN leads there, and Services are still reached by the Pod network", async () => {
    expect(await namespace.exec("routed", "ip -4 route show default")).toMatch(
        new RegExp(`^default via ${routers.red} dev eth1[^\\n]*\\n$`),
    );
    await warmUp("routed", beyond);
    await namespace.exec("routed", answersPings(beyond));
    // by its name: DNS is a Service too
    await serve(space, { role: "server" });
    const ask = (): Promise<string> => namespace.exec("routed", "curl -4 -sS -m 5 http://server/hostname");
    expect(await eventually("the Service answers", ask, 60_000)).toBe("a");
    const { spec } = await getJson<{ readonly spec: { readonly clusterIPs: readonly string[] } }>("service", {
        name: "kubernetes",
    });
    const api = `curl -sSk -m 5 -o /dev/null https://${spec.clusterIPs[0]}/version`;
    await namespace.exec("routed", api);
});

it("the Pod of a StatefulSet moves to another Node with its address, and is reached there within 3 s", async () => {
    await apply(statefulSet(space, { name: "kept", replicas: 1, annotations: requesting("red") }));
    await rolledOut(space, "statefulset/kept");
    const [before] = await namespace.ready(["kept-0"]);
    if (before === undefined) throw new Error("kept-0 does not run");
    const link = await linkOf("kept-0", "eth1");
    const ip = await addressIn(namespace, "kept-0", "eth1");
    // both have exchanged packets with it before: one stays on its Node, one is where it comes to
    for (const peer of ["a", "b"]) await warmUp(peer, ip);
    const watching = Promise.all(["a", "b"].map((peer) => answers(inPod(namespace, peer), ip, 30)));
    await pause(1_000);
    await kubectl(["cordon", before.node]);
    try {
        await namespace.delete("kept-0");
        const [after] = await eventually("the set makes its Pod again", () => namespace.ready(["kept-0"]));
        expect(after?.node).not.toBe(before.node);
    } finally {
        await kubectl(["uncordon", before.node]);
    }
    expect(await linkOf("kept-0", "eth1")).toEqual(link);
    const started = await startedAt({ namespace: space, pod: "kept-0" });
    for (const arrivals of await watching) {
        expect(arrivals.times.at(-1)).toBeGreaterThan(started);
        const { to, ms } = longestGap(arrivals);
        // otherwise it was never away
        expect(ms).toBeGreaterThan(300);
        expect(to - started).toBeLessThan(3_000);
    }
    const [claim] = (await claimsOf(red4)).filter(({ spec }) => spec.pod?.name === "kept-0");
    expect(claim?.spec.owner).toMatchObject({ kind: "StatefulSet", name: "kept", index: 0, interface: "eth1" });
    await kubectl(["-n", space, "delete", "statefulset", "kept", "--wait"]);
    await eventually("its addresses are free", async () =>
        (await holders()).some((holder) => holder.startsWith("kept")) ? undefined : true,
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
        await warmUp("a", "10.70.100.200");
        await callNetwork("CHECK", sandbox, network, { capabilities });
        expect(await holders()).toContain("c/net1");
        await callNetwork("DEL", sandbox, network, { capabilities });
        expect(await holders()).not.toContain("c/net1");
        expect(Object.keys(await linksOf(namespace, "c")).sort()).toEqual(["eth0", "eth1"]);
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
        expect(Object.keys(await linksOf(namespace, "c")).sort()).toEqual(["eth0", "eth1"]);
    });
});

describe("a Pod is refused", () => {
    const notAttached = "NetworksNotAttached";
    const refusals: readonly (readonly [
        what: string,
        name: string,
        networks: string | readonly object[],
        reason: string,
        note: RegExp,
    ])[] = [
        [
            "for a network that does not exist",
            "unknown",
            "nowhere",
            notAttached,
            /^network e2e-secondary\/nowhere: there is no NetworkAttachmentDefinition .*next: create it/,
        ],
        [
            "for a configuration that is no JSON",
            "no-json",
            "broken",
            notAttached,
            /^network e2e-secondary\/broken: spec\.config: .* is not valid JSON \(.*\); next: write a JSON object/,
        ],
        [
            "for a VLAN that there is not",
            "vlan-5000",
            "vlan-5000",
            notAttached,
            /^network e2e-secondary\/vlan-5000: vlan: 5000 must be a whole number from 0 to 4094; next: /,
        ],
        [
            "for a type of network that is not known",
            "vxlan",
            "vxlan",
            notAttached,
            /^network e2e-secondary\/vxlan: networkType: "vxlan" is not supported; next: write "vlan"/,
        ],
        [
            "for an MTU above that of the NIC",
            "jumbo",
            "jumbo",
            notAttached,
            /^network e2e-secondary\/jumbo: mtu: 9000 is above 1500, .*next: lower it/,
        ],
        [
            "for a pool that does not exist",
            "no-pool",
            "red,no-pool",
            "IPAllocationFailed",
            /^network e2e-secondary\/no-pool, interface eth2: IPPool e2e-sec-none does not exist; create it, or correct /,
        ],
        [
            "for an interface that every Pod has",
            "eth-0",
            [{ name: "red", interface: "eth0" }],
            notAttached,
            /networks, element 1\.interface: "eth0" is the name of an interface that every Pod has; next: choose another/,
        ],
        [
            "for an interface that it requests twice",
            "twice",
            "red@lan,blue@lan",
            notAttached,
            /networks, item 2\.interface: "lan" is requested by item 1 too; next: change one of the two/,
        ],
        [
            "for addresses of a network without ipam",
            "ips",
            [{ name: "plain", ips: ["10.70.30.9/24"] }],
            notAttached,
            /^network e2e-secondary\/plain: ips: 10\.70\.30\.9 cannot be had, as the network has no ipam; next: /,
        ],
        [
            "for two default routes",
            "two-ways",
            [
                { name: "red", "default-route": [routers.red] },
                { name: "blue", "default-route": [routers.blue] },
            ],
            notAttached,
            /element 2\.default-route: "10\.70\.200\.1" is a second default route of IPv4, .*next: keep one of each family/,
        ],
        [
            "for an annotation that is no JSON",
            "annotation",
            '[{"name": "red"',
            notAttached,
            /^annotation k8s\.v1\.cni\.cncf\.io\/networks: .* is not valid JSON \(.*\); next: /,
        ],
    ];
    const names = refusals.map(([, name]) => name);
    const manifests = refusals.map(([, name, requested]) =>
        manifest(space, { name, node: second, annotations: requesting(requested) }),
    );
    let before: readonly string[];

    beforeAll(async () => {
        before = await holders();
        // It fails open: the agent refuses what it did not see.
        await scaleTo({ "antrea-webhook": 0 });
        try {
            await definitions.define(space, broken);
            await eventually("the Pods are accepted", () => apply(manifests).then(() => true), 60_000);
        } finally {
            await scaleTo({ "antrea-webhook": 2 });
            await rolledOut(systemNamespace, "deployment/antrea-webhook");
        }
    });
    afterAll(() => namespace.delete("--ignore-not-found", "after", ...names));

    it.each(refusals)("%s: the Pod %s has one event", async (_, name, __, reason, note) => {
        expect(await eventNote(space, "Pod", name, reason)).toMatch(note);
    });

    it("by kubectl apply already, in the same words, while the webhook is there", async () => {
        for (const name of ["eth-0", "twice", "two-ways", "annotation"]) {
            const [, , requested = "", , note] = refusals.find(([, one]) => one === name) ?? [];
            const again = manifest(space, { name: `${name}-again`, annotations: requesting(requested) });
            const words = new RegExp(note?.source.replace(/^\^/, "") ?? "nothing");
            await eventually(`${name} is refused`, async () => {
                const { accepted, text } = await answer(again);
                expect(text).toMatch(words);
                return accepted ? undefined : true;
            });
        }
    });

    it("again at each attempt, but with no second event, and it waits without a container", async () => {
        await eventually("each was tried twice", async () => {
            const tries = await Promise.all(
                names.map((name) => eventsAbout(space, "Pod", name, "FailedCreatePodSandBox")),
            );
            return tries.every(({ length }) => length >= 2) ? true : undefined;
        });
        for (const [, name, , reason] of refusals) {
            const events = await eventsAbout(space, "Pod", name);
            const ours = events.filter((event) => [notAttached, "IPAllocationFailed"].includes(event.reason));
            expect([name, ...ours.map((event) => event.reason)]).toEqual([name, reason]);
        }
        const states = await Promise.all(
            names.map((name) =>
                kubectl([
                    "-n",
                    space,
                    "get",
                    "pod",
                    name,
                    "-o",
                    "jsonpath={.status.phase} {.status.containerStatuses[*].state.waiting.reason}",
                ]),
            ),
        );
        expect(states).toEqual(names.map(() => "Pending ContainerCreating"));
    });

    it("and nothing of it is left: no address, no port, no link", async () => {
        // an attempt may be under way
        await eventually("nothing is left", async () => {
            expect(await holders()).toEqual(before);
            const owners = (await portsOf(second)).map((port) => port.pod);
            expect(owners.filter((owner) => owner?.startsWith(`${space}/`) === false)).toEqual([]);
            expect(owners.filter((owner) => names.includes(owner?.slice(space.length + 1) ?? ""))).toEqual([]);
            expect(await looseLinks(second)).toEqual([]);
            return true;
        });
    });

    it("until what is wrong is corrected; another starts meanwhile", async () => {
        await definitions.define(space, { nowhere: networks.plain });
        await namespace.start([{ name: "after", node: second, annotations: requesting("red,blue") }]);
        await warmUp("a", await addressIn(namespace, "after", "eth1"));
        await namespace.ready(["unknown"]);
        expect(await linkOf("unknown", "eth1")).toMatchObject({ isUp: true, addresses: [] });
    });
});

describe("interfaces outlive", () => {
    it("a restart of the agents, without a lost ping; a NIC that was added is a port then", async () => {
        const ports = await portsOf(first);
        const peer = await addressIn(namespace, "b", "eth1");
        await physical.plug(second, "eth3", "apart-too");
        await warmUp("a", peer);
        const pings = [
            answeredOf(inPod(namespace, "a"), peer, 120),
            answeredOf(inPod(namespace, "a"), routers.red, 120),
            answeredOf(inPod(namespace, "flat"), routers.flat, 120),
        ];
        await pause(1_000);
        await Promise.all([first, second].map((node) => killDaemon(node, "agent")));
        expect(await Promise.all(pings)).toEqual(pings.map(() => 120));
        await waitForAgents();
        expect(await portsOf(first)).toEqual(ports);
        await eventually("the second Node is ready", async () => {
            const condition = await bridgeCondition(second);
            if (condition?.status === "True") return true;
            throw new Error(JSON.stringify(condition));
        });
        expect(await nicsOf(second)).toEqual(["eth2", "eth3"]);
    });

    it.each([
        ["a restart of OVS", "kill -9 $(pidof ovs-vswitchd)"],
        [
            "a lost database of OVS",
            "rm -f /etc/openvswitch/conf.db /etc/openvswitch/.conf.db.*; kill -9 $(pidof ovsdb-server)",
        ],
    ])("%s: the ports come back", async (_, script) => {
        const peer = await addressIn(namespace, "b", "eth1");
        const bare = async (): Promise<readonly object[]> =>
            (await portsOf(second)).map(({ ofPort, ...port }) => ({ ...port, isOpen: (ofPort ?? -1) > 0 }));
        const before = await bare();
        await inAgent(second, "antrea-ovs", ["sh", "-c", script]);
        await eventually("OVS has the same ports", async () => {
            expect(await bare()).toEqual(before);
            return true;
        });
        await eventually("the Pod is reached", () => namespace.exec("a", `ping -c 1 -W 1 ${peer}`));
        await namespace.exec("d", answersPings(routers.blue));
        await waitForAgents();
    });
});

it("five Pods with four networks each leave no port, no address and no link", async () => {
    const held = await holders();
    const before = await tracesAtRest();
    const names = [0, 1, 2, 3, 4].map((number) => `churn-${number}`);
    const annotations = requesting("red,blue,flat,plain");
    await namespace.start(names.map((name, index) => ({ name, node: workers[index % 2] ?? "", annotations })));
    const links = await Promise.all(names.map((name) => linksOf(namespace, name)));
    for (const one of links) expect(Object.keys(one).sort()).toEqual(["eth0", "eth1", "eth2", "eth3", "eth4"]);
    const addresses = links.flatMap(({ eth1, eth2, eth3, eth4 }) =>
        [eth1, eth2, eth3, eth4].flatMap((link) => link?.addresses ?? []),
    );
    // two of red, one each of blue and flat
    expect(new Set(addresses).size).toBe(4 * names.length);
    await namespace.delete(...names);
    expect(await nothingLeft(before)).toBe(true);
    for (const node of workers) {
        const owners = (await portsOf(node)).map((port) => port.pod ?? "");
        expect(owners.filter((owner) => owner.includes("churn"))).toEqual([]);
    }
    await eventually("no address is held", async () => {
        expect(await holders()).toEqual(held);
        return true;
    });
    await expectConsistent();
});

describe("the feature gate off again", () => {
    beforeAll(async () => {
        await namespace.delete(...Object.keys(pods).filter((name) => name !== "a"));
        await helmRollback({ revision: off ?? "" });
        off = undefined;
    });

    it("leaves a running Pod its networks, though nobody looks after them", async () => {
        await namespace.exec("a", answersPings(routers.red));
    });

    it("deletes the bridge of a Node without such Pods, and the condition of all Nodes", async () => {
        await eventually("the bridge is gone", async () =>
            (await secondaryPorts(second)) === undefined ? true : undefined,
        );
        for (const node of allNodes)
            await eventually(`${node} reports no bridge`, async () =>
                (await bridgeCondition(node)) === undefined ? true : undefined,
            );
    });

    it("deletes ports, addresses and bridge once the last of them is gone; a new Pod gets an event that it has none", async () => {
        const [, late] = await Promise.all([
            namespace.delete("a"),
            namespace.start([{ name: "late", node: first, annotations: requesting("red") }]),
        ]);
        expect(late[0]?.ip4).not.toBe("");
        expect(Object.keys(await linksOf(namespace, "late"))).toEqual(["eth0"]);
        await eventually("the bridge is gone", async () =>
            (await secondaryPorts(first)) === undefined ? true : undefined,
        );
        const note = await eventNote(space, "Pod", "late", "SecondaryNetworksIgnored", 90_000);
        expect(note).toContain("k8s.v1.cni.cncf.io/networks");
        await eventually(
            "no address is held",
            async () => {
                expect(await holders()).toEqual([]);
                return true;
            },
            180_000,
            1_000,
        );
        for (const node of workers) expect([node, await looseLinks(node)]).toEqual([node, []]);
        await expectConsistent();
    });
});
