import { describe, expect, it } from "@jest/globals";
import { KubeError, type KubeObject } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { type Allocation, type Gate, type PodInfo } from "../../src/cluster/index.ts";
import { type Facts } from "../../src/explain/facts.ts";
import { poolNamesOf } from "../../src/explain/network-plan.ts";
import { renderExplain } from "../../src/explain/render.ts";
import { explain, type ExplainReport } from "../../src/explain/report.ts";
import { readNetworks } from "../../src/explain/requested-networks.ts";
import { type PoolSet } from "../../src/pools/index.ts";
import {
    allocation,
    node,
    node1,
    now,
    ofSet,
    plain,
    pod,
    poolObject,
    poolSet,
    tiny,
    web,
    web6,
} from "../support/objects.ts";

const bridged = node("node1", {
    networkBridge: { ready: true, connectsPods: true, message: "the NICs eth1 are ports of br-secondary" },
});
/** The pools on a Node of whose bridge something is wrong. */
const withBridge = (connectsPods: boolean, message: string): PoolSet =>
    poolSet([web], [node("node1", { networkBridge: { ready: false, connectsPods, message } })]);
/** A range of VLAN 2 and one of VLAN 3. */
const both = poolObject(
    "both",
    { start: "10.4.0.8", end: "10.4.0.9", gateway: "10.4.0.1", prefixLength: 24, vlan: 2 },
    { start: "10.5.0.8", end: "10.5.0.9", gateway: "10.5.0.1", prefixLength: 24, vlan: 3 },
);
const pools = poolSet([web, web6, tiny, both], [bridged]);
const ippools = (...names: readonly string[]) => ({ type: "antrea", ippools: names });
const vlan = { cniVersion: "1.0.0", type: "antrea", networkType: "vlan" };
const macvlan = { cniVersion: "1.0.0", name: "macnet", type: "macvlan", master: "eth0" };

/** By name, in Namespace shop; undefined: the object is missing. */
const definitions: Readonly<Record<string, unknown>> = {
    vlan100: { ...vlan, vlan: 100, ipam: ippools("web", "web6") },
    ofpools: { ...vlan, ipam: ippools("web") },
    apart: { ...vlan, ipam: ippools("web", "tiny") },
    twice: { ...vlan, ipam: ippools("both") },
    full: { ...vlan, ipam: ippools("tiny") },
    nopool: { ...vlan, ipam: ippools("nope") },
    static: {
        ...vlan,
        ipam: { type: "antrea", addresses: [{ address: "192.0.2.5/24" }, { address: "10.2.0.12/24" }] },
    },
    gateway: { ...vlan, ipam: { type: "antrea", addresses: [{ address: "10.3.0.1/24" }] } },
    plain: { ...vlan, vlan: 7 },
    small: { ...vlan, mtu: 1000, ipam: ippools("web6") },
    sriov: { ...vlan, networkType: "sriov" },
    macnet: { ...macvlan, ipam: ippools("web") },
    macips: { cniVersion: "1.0.0", plugins: [{ ...macvlan, capabilities: { ips: true }, ipam: ippools("web") }] },
    macbad: { ...macvlan, ipam: ippools("A") },
    bridge: { cniVersion: "1.0.0", type: "bridge", ipam: { type: "host-local" } },
    broken: "{",
};

const cluster = {
    find: async (_: unknown, { name }: { readonly name: string }): Promise<never> => {
        if (name === "secret") throw new KubeError("FORBIDDEN", "no");
        const config = definitions[name];
        const text = typeof config === "string" ? config : JSON.stringify(config);
        const annotations = { "k8s.v1.cni.cncf.io/resourceName": "intel.com/a" };
        const object: KubeObject | undefined =
            config === undefined ? undefined : ({ metadata: { annotations }, spec: { config: text } } as KubeObject);
        return object as never;
    },
};

interface Seen extends Partial<Omit<Facts, "networks" | "pod">> {
    readonly secondary?: Gate;
    readonly pod?: Partial<PodInfo>;
}

async function explained(annotation: unknown, seen: Seen = {}): Promise<ExplainReport> {
    const text = typeof annotation === "string" ? annotation : JSON.stringify(annotation);
    const { secondary = { state: "on" }, pod: given, ...others } = seen;
    const about = pod("web-0", { phase: "Pending", annotations: { [networksAnnotation]: text }, ...given });
    return explain({
        pod: about,
        unscheduled: undefined,
        namespaceAnnotations: {},
        gate: { state: "on" },
        controller: "runs",
        pools,
        networks: await readNetworks(cluster, about, async () => secondary),
        allocations: [],
        agent: undefined,
        events: [],
        setEvents: [],
        ...others,
    });
}

const vlan100 = (address: string, pool: string, o: Parameters<typeof allocation>[1] = {}): Allocation =>
    allocation(address, { pool, pod: "web-0", interface: "eth1", network: "shop/vlan100", ...o });
const full: readonly Allocation[] = [
    allocation("10.3.0.8", { pool: "tiny", pod: "a" }),
    allocation("10.3.0.9", { pool: "tiny", pod: "b" }),
];
const ofSetWeb = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "uid-web", controller: true }];

describe("who attaches a network", () => {
    it.each<[string, string, Seen, string]>([
        ["the agent", "vlan100", {}, "eth1 shop/vlan100 Agent 100: antrea-agent"],
        ["the agent, in the VLAN of the pools", "ofpools", {}, "eth1 shop/ofpools Agent 2: antrea-agent"],
        ["the agent, untagged", "static@eth7", {}, "eth7 shop/static Agent 2: antrea-agent"],
        [
            "nobody, with the gate off",
            "vlan100",
            { secondary: { state: "off" } },
            "eth1 shop/vlan100 Nobody 100: nobody: the feature gate SecondaryNetwork is off",
        ],
        [
            "another plugin, with addresses of ours",
            "macnet",
            {},
            'net1 shop/macnet OtherPlugin : plugin "macvlan", if a meta plugin such as Multus calls it; addresses of Antrea',
        ],
        [
            "another plugin",
            '[{"name": "bridge", "interface": "eth5"}]',
            {},
            'eth5 shop/bridge OtherPlugin : plugin "bridge", if a meta plugin such as Multus calls it; no addresses of Antrea',
        ],
        ["not known", "none", {}, "net1 shop/none Unknown : not known"],
    ])("%s", async (_, annotation, seen, line) => {
        const { networks } = await explained(annotation, seen);
        const lines = networks.requested.map(
            (one) => `${one.interface} ${one.network} ${one.attachedBy} ${one.vlans.join()}: ${one.by}`,
        );
        expect(lines).toEqual([line]);
    });
});

describe("where the addresses of a network come from", () => {
    it.each<[string, unknown, Seen, readonly string[]]>([
        ["one of each pool", "vlan100", {}, ["web next 9 of 9 free", "web6 next >9e15 of >9e15 free"]],
        [
            "what it has",
            "vlan100",
            { allocations: [vlan100("10.2.0.12", "web"), vlan100("fd00:2::5", "web6")], pod: { phase: "Running" } },
            ["web gave gave 10.2.0.12", "web6 gave gave fd00:2::5"],
        ],
        [
            "a requested address of a listed pool, which is free",
            [{ name: "vlan100", ips: ["10.2.0.13"] }],
            {},
            ["web next hands out 10.2.0.13, which is free", "web6 next >9e15 of >9e15 free"],
        ],
        [
            "a requested address of another pool, which is held",
            [{ name: "ofpools", ips: ["10.3.0.9/24"] }],
            { allocations: full },
            ["web next 9 of 9 free", "tiny exhausted hands out 10.3.0.9, which is held by Pod shop/b on Node node1"],
        ],
        [
            "a requested address that the pool does not hand out",
            [{ name: "ofpools", ips: ["10.3.0.1"] }],
            {
                pools: poolSet([
                    web,
                    poolObject("tiny", { cidr: "10.3.0.0/24", gateway: "10.3.0.1", prefixLength: 24 }),
                ]),
            },
            [
                "web next 9 of 9 free",
                expect.stringMatching(/^tiny unusable does not hand out 10\.3\.0\.1: it /) as unknown as string,
            ],
        ],
        [
            "static ones, of which one is in a pool",
            "static",
            {},
            [
                "- static 192.0.2.5/24: static; no IPPool hands it out, so nobody sees who else has it",
                "web next hands out 10.2.0.12, which is free",
            ],
        ],
        [
            "a static one that its pool does not hand out",
            "gateway",
            {},
            ["- static 10.3.0.1/24: static; no IPPool hands it out, so nobody sees who else has it"],
        ],
        ["a full pool", "full", { allocations: full }, ["tiny exhausted exhausted: 2 used and 0 reserved of 2"]],
        ["a pool that is missing", "nopool", {}, ["nope unknown does not exist"]],
        [
            "the address kept for the ordinal",
            "ofpools",
            {
                pod: { ownerReferences: ofSetWeb },
                allocations: [allocation("10.2.0.12", { owner: { ...ofSet("web", 0), interface: "eth1" } })],
            },
            ["web reserved keeps 10.2.0.12 for ordinal 0 of StatefulSet web, interface eth1"],
        ],
        [
            "not the address kept for another interface",
            "ofpools",
            {
                pod: { ownerReferences: ofSetWeb },
                allocations: [allocation("10.2.0.12", { owner: { ...ofSet("web", 0), interface: "eth2" } })],
            },
            ["web next 8 of 9 free"],
        ],
        [
            "requested ones of another plugin, with its capability",
            [{ name: "macips", ips: ["10.2.0.13"] }],
            {},
            ["web next hands out 10.2.0.13, which is free"],
        ],
        [
            "requested ones of another plugin, without",
            [{ name: "macnet", ips: ["10.2.0.13"] }],
            {},
            ["web next 9 of 9 free"],
        ],
    ])("%s", async (_, annotation, seen, lines) => {
        const { networks } = await explained(annotation, seen);
        const found = networks.requested.flatMap(({ addresses }) => addresses);
        expect(found.map(({ pool = "-", outcome, text }) => `${pool} ${outcome} ${text}`)).toEqual(lines);
    });

    it("counts the allocations of all pools that it needs", async () => {
        const annotations = { [networksAnnotation]: "vlan100,static,bridge" };
        const networks = await readNetworks(cluster, { annotations, namespace: "shop" }, async () => ({ state: "on" }));
        expect(networks && poolNamesOf(networks, pools)).toEqual(["web", "web6"]);
    });
});

describe("what keeps a Pod from its networks", () => {
    it.each<[string, unknown, Seen, RegExp, RegExp]>([
        [
            "an annotation that is wrong",
            "a,,b",
            {},
            /^annotation k8s\.v1\.cni\.cncf\.io\/networks, item 2: "" is empty$/,
            /^remove the comma/,
        ],
        ["a missing network", "none", {}, /^network shop\/none: there is no NetworkAttachmentDefinition/, /^create it/],
        [
            "a broken network",
            "broken",
            {},
            /^network shop\/broken: spec\.config: "\{" is not valid JSON/,
            /^write a JSON/,
        ],
        [
            "a broken section of another plugin",
            "macbad",
            {},
            /^network shop\/macbad: ipam\.ippools: /,
            /^correct spec\.config/,
        ],
        [
            "devices of SR-IOV that the Pod does not request",
            "sriov",
            {},
            /^network shop\/sriov: the Pod requests 0 of the devices intel.com\/a, and its networks need 1/,
            /resources\.limits/,
        ],
        [
            "a MAC address of a virtual function",
            [{ name: "sriov", mac: "02:00:00:00:00:07" }],
            { pod: { limits: { "intel.com/a": 1 } } },
            /^network shop\/sriov: the MAC address 02:00:00:00:00:07 cannot be had/,
            /request none/,
        ],
        ["a missing pool", "nopool", {}, /^network shop\/nopool: IPPool nope does not exist$/, /create the IPPool/],
        [
            "a full pool",
            "full",
            { allocations: full },
            /^network shop\/full: IPPool tiny has no free address$/,
            /add a range/,
        ],
        [
            "an address that another has",
            [{ name: "full", ips: ["10.3.0.9"] }],
            { allocations: full },
            /the address 10\.3\.0\.9 is held by Pod shop\/b/,
            /choose another/,
        ],
        [
            "an address without prefix length",
            [{ name: "full", ips: ["192.0.2.9"] }],
            {},
            /^network shop\/full: ips: 192\.0\.2\.9 has no prefix length, and no IPPool contains it$/,
            /^write it with its prefix length/,
        ],
        [
            "VLANs apart",
            "apart",
            {},
            /^network shop\/apart: its IPPools have different VLANs \(web: 2, tiny: 0\), and an interface has one$/,
            /set vlan in the network/,
        ],
        [
            "addresses of a network without",
            [{ name: "plain", ips: ["10.2.0.12"] }],
            {},
            /has no ipam/,
            /request no address/,
        ],
        ["a small MTU", "small", {}, /mtu: 1000 is under 1280, the minimum of IPv6/, /raise it/],
        [
            "pools with the gate off",
            "ofpools",
            { gate: { state: "off" } },
            /the feature gate AntreaIPAM is off/,
            /AntreaIPAM=true/,
        ],
        ["no bridge", "plain", { pools: poolSet([web], [node1]) }, /Node node1 reports no bridge for it/, /ovsBridges/],
        [
            "a bridge without a NIC",
            "plain",
            { pools: withBridge(false, "eth1 does not exist; no NIC of the bridge is connected") },
            /^network shop\/plain: the bridge of Node node1 connects no Pod: eth1 does not exist; no NIC of the bridge/,
            /correct/,
        ],
        [
            "an ordinal's address that the earlier Pod holds",
            "ofpools",
            {
                pod: { ownerReferences: ofSetWeb },
                allocations: [
                    allocation("10.2.0.12", {
                        pod: "web-0",
                        uid: "old",
                        node: "node9",
                        interface: "eth1",
                        network: "shop/ofpools",
                        owner: { ...ofSet("web", 0), interface: "eth1" },
                    }),
                ],
            },
            /^network shop\/ofpools: 10\.2\.0\.12, kept for ordinal 0 .*still held by the earlier Pod \(UID old\) on Node node9, which is gone$/,
            /5 minutes/,
        ],
    ])("%s", async (_, annotation, seen, what, next) => {
        const { blocks, networks, verdict } = await explained(annotation, seen);
        expect(blocks[0]?.what).toMatch(what);
        expect(blocks[0]?.next).toMatch(next);
        expect(blocks).toHaveLength(1);
        expect(networks.notes).toEqual([]);
        expect(verdict).toBe("What blocks now:");
    });

    it.each<[string, unknown, Seen, RegExp]>([
        ["with the gate off", "vlan100", { secondary: { state: "off" } }, /Antrea does not attach it/],
        ["with a wrong annotation and the gate off", "a,,b", { secondary: { state: "off" } }, /is empty/],
        ["a network that the user may not read", "secret", {}, /you may not read/],
        [
            "a NIC that is not usable beside others",
            "plain",
            { pools: withBridge(true, "eth1 has an address") },
            /^network shop\/plain: the bridge of Node node1 connects Pods, but is not as configured: eth1 has an address$/,
        ],
        [
            "keys without effect",
            [{ name: "plain", "cni-args": {} }],
            {},
            /the keys cni-args of the annotation have no effect/,
        ],
        ["requested ones that do not arrive", [{ name: "macnet", ips: ["10.2.0.13"] }], {}, /no capability ips/],
        ["VLANs that may be apart", "twice", {}, /have different VLANs \(both: 2 or 3\)/],
        ["a running Pod without", "vlan100", { pod: { phase: "Running" } }, /the running Pod has no address .* on it/],
        [
            "a running Pod whose next would fail",
            "nopool",
            { pod: { phase: "Running" }, allocations: [vlan100("10.2.0.12", "gone", { network: "shop/nopool" })] },
            /IPPool nope does not exist/,
        ],
    ])("is no block: %s", async (_, annotation, seen, what) => {
        const { blocks, networks } = await explained(annotation, seen);
        expect(blocks).toEqual([]);
        expect(networks.notes.map((note) => note.what)).toEqual([expect.stringMatching(what)]);
    });

    it.each<[string, Partial<PodInfo>]>([
        ["has ended", { phase: "Succeeded" }],
        ["is being deleted", { deleting: true }],
    ])("is nothing for a Pod that %s", async (_, given) => {
        const { blocks, networks } = await explained("nopool", { pod: given });
        expect([blocks, networks.notes]).toEqual([[], []]);
    });
});

describe("the allocations of networks", () => {
    const running = { phase: "Running" };

    it("are those of the interface and the network, also with a name that a meta plugin chose", async () => {
        const { networks } = await explained("macnet,vlan100@eth9,vlan100,macnet", {
            pod: running,
            allocations: [
                allocation("10.2.0.12", { pod: "web-0", interface: "net3", network: "macnet" }),
                allocation("10.2.0.13", { pod: "web-0", interface: "net1", network: "macnet" }),
                vlan100("10.2.0.14", "web", { interface: "eth9" }),
                vlan100("10.2.0.15", "web", { interface: "net2" }),
                vlan100("10.2.0.16", "web", { interface: "eth9", uid: "earlier" }),
                allocation("10.2.0.17", { pod: "web-0", interface: "net7", network: "elsewhere" }),
                allocation("10.2.0.18", { pod: "web-0" }),
            ],
        });
        const texts = networks.requested.map(
            (one) => `${one.interface}: ${one.has.map(({ address }) => address).join()}`,
        );
        expect(texts).toEqual(["net1: 10.2.0.13", "eth9: 10.2.0.14", "net2: 10.2.0.15", "net3: 10.2.0.12"]);
        expect(networks.others.map(({ address }) => address)).toEqual(["10.2.0.17"]);
    });

    it("are read without an annotation too", async () => {
        const report = await explained("", {
            pod: running,
            allocations: [allocation("10.2.0.17", { pod: "web-0", interface: "net1", network: "default" })],
        });
        expect(report.networks).toMatchObject({
            gate: "unknown",
            requested: [],
            notes: [],
            others: [{ interface: "net1" }],
        });
    });
});

describe("renderExplain", () => {
    it("shows each network, where its addresses come from, and what it has", async () => {
        const report = await explained("vlan100,macnet,static", {
            pod: { phase: "Running", ips: ["10.10.1.5"] },
            allocations: [vlan100("10.2.0.13", "web"), vlan100("fd00:2::5", "web6")],
        });
        const text = renderExplain(report, plain, now);
        expect(text).toMatch(
            /\nNetworks\nINTERFACE +NETWORK +VLAN +ATTACHED BY\neth1 +shop\/vlan100 +100 +antrea-agent\n/,
        );
        expect(text).toMatch(/\nnet2 +shop\/macnet +- +plugin "macvlan", if a meta plugin/);
        expect(text).toMatch(/\neth1 +web6 +IPv6 +gave fd00:2::5\n/);
        expect(text).toMatch(/\neth3 +- +IPv4 +192\.0\.2\.5\/24: static/);
        expect(text).toMatch(/\n10\.2\.0\.13 +web +eth1 +2h\n/);
        expect(text).toMatch(/\nAbout its networks:\n {2}- network shop\/macnet: the running Pod has no address/);
        expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    });

    it("keeps text of others on its line", async () => {
        const report = await explained('[{"name": "plain", "a\\nb": 1}]');
        expect(renderExplain(report, plain, now)).toMatch(/the keys a b of the annotation/);
    });
});
