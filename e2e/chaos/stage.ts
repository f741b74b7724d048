import { allNodes, workers } from "../fixture/cluster.ts";
import { bridged, nic, setBridging, vlanPod } from "../fixture/bridging.ts";
import { FixtureError } from "../fixture/error.ts";
import { poolsKey, setIpam, TestPools, type RangeJson } from "../fixture/ipam.ts";
import { addressIn, bridgeNics, NetworkDefinitions, requesting } from "../fixture/networks.ts";
import { PhysicalNetwork } from "../fixture/physical-network.ts";
import { TestNamespace, type PodSpec, type TestPod } from "../fixture/pods.ts";
import { outside, plugRouter, poolRanges, poolsOf, vlans } from "../fixture/vlan-router.ts";
import { WatchedWay } from "../fixture/watched-way.ts";
import { endpointPods, expectNoKubeProxy, ServiceClients } from "./services.ts";

/**
 * Pools on the overlay; pools in the Nodes' network and its VLANs; pools on the overlay and VLAN networks; pools on the overlay and
 * clients of Services, without kube-proxy.
 */
export const modes = ["overlay", "bridging", "networks", "services"] as const;
export type Mode = (typeof modes)[number];

/** What differs between the modes. */
export interface Stage {
    readonly namespace: TestNamespace;
    /** The NIC whose frames are listened to. */
    readonly device: string;
    /** Values for the annotation of Pods that come and go: pools, with an IPv4 range in each. */
    readonly choices: readonly string[];
    /** Value for the annotation of Pods that get networks; undefined: none do. */
    readonly networks: string | undefined;
    /** They stay until the end. */
    readonly pools: TestPools;
    /** The range of a pool that comes and goes; none overlaps with another one of other numbers. */
    readonly passingRange: (number: number, part: 0 | 1) => RangeJson;
    readonly ways: readonly WatchedWay[];
    /** The Pods that are watched and stay. */
    readonly anchors: readonly TestPod[];
    /** Undefined: nobody connects to Services. */
    readonly clients: ServiceClients | undefined;
    /** What is to be taken away at the end, without the Namespace and the pools. */
    readonly surroundings: AsyncDisposable;
}

const name = "chaos";
/** Of each Node, on the physical network. */
const secondNic = "eth2";
const [first = "", second = ""] = workers;

interface Plan {
    readonly device: string;
    readonly pools: Readonly<Record<string, readonly RangeJson[]>>;
    readonly choices: readonly string[];
    readonly passingRange: Stage["passingRange"];
    readonly anchors: readonly PodSpec[];
    /** VLAN networks by name. */
    readonly networks?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    /** Name of the way, where it begins, the address it leads to. */
    readonly ways: (
        pod: (name: string) => TestPod,
        namespace: TestNamespace,
    ) => Promise<readonly (readonly [string, string, string])[]>;
}

const subnetPods: readonly PodSpec[] = [
    { name: "subnet-1", node: first },
    { name: "subnet-1b", node: first },
    { name: "subnet-2", node: second },
];

/** Pools on the overlay: one is small, so that it is full at times. */
function overlay(): Plan {
    const pod = (name: string, node: string, pools: string): PodSpec => ({
        name,
        node,
        annotations: { [poolsKey]: pools },
    });
    return {
        device: "eth0",
        pools: {
            "chaos-small": [{ cidr: "10.60.0.0/28", gateway: "10.60.0.1", prefixLength: 28 }],
            "chaos-large": [{ cidr: "10.60.1.0/24", gateway: "10.60.1.1", prefixLength: 24 }],
            "chaos-six": [{ cidr: "fd00:60::/112", gateway: "fd00:60::1", prefixLength: 112 }],
        },
        choices: ["chaos-small,chaos-large", "chaos-large", "chaos-large,chaos-six", "chaos-small"],
        passingRange: (number, part) => ({
            start: `10.61.${number % 250}.${10 + part * 20}`,
            end: `10.61.${number % 250}.${13 + part * 20}`,
            gateway: `10.61.${number % 250}.1`,
            prefixLength: 24,
        }),
        anchors: [
            ...subnetPods,
            pod("pool-1", first, "chaos-large,chaos-six"),
            pod("pool-1b", first, "chaos-large,chaos-six"),
            pod("pool-2", second, "chaos-large,chaos-six"),
        ],
        ways: async (pod) => [
            ["subnet Pods of one Node", "subnet-1", pod("subnet-1b").ip4],
            ["subnet Pods of two Nodes", "subnet-1", pod("subnet-2").ip4],
            ["subnet Pods of two Nodes, IPv6", "subnet-2", pod("subnet-1").ip6],
            ["pool Pods of one Node", "pool-1", pod("pool-1b").ip4],
            ["a pool Pod and another Node's subnet Pod", "pool-2", pod("subnet-1").ip4],
        ],
    };
}

/** Pools in the Nodes' network and its VLANs. */
async function underlay(): Promise<Plan> {
    const choices = vlans.map((vlan) => poolsOf(vlan).join());
    return {
        device: nic,
        pools: await poolRanges(),
        choices,
        passingRange: (number, part) => ({
            start: `10.212.0.${120 + (number % 12) * 10 + part * 5}`,
            end: `10.212.0.${123 + (number % 12) * 10 + part * 5}`,
            gateway: "10.212.0.1",
            prefixLength: 24,
            vlan: 2,
        }),
        anchors: [
            ...subnetPods,
            ...vlans.map((vlan) => vlanPod(`vlan${vlan}-1`, vlan, first)),
            ...vlans.map((vlan) => vlanPod(`vlan${vlan}-2`, vlan, second)),
        ],
        ways: async (pod) => [
            ["subnet Pods of one Node", "subnet-1", pod("subnet-1b").ip4],
            ["subnet Pods of two Nodes", "subnet-1", pod("subnet-2").ip4],
            ["untagged Pods of two Nodes", "vlan0-1", pod("vlan0-2").ip4],
            ["Pods of VLAN 2 on two Nodes", "vlan2-1", pod("vlan2-2").ip4],
            ["Pods of VLAN 3 on two Nodes, IPv6", "vlan3-2", pod("vlan3-1").ip6],
            ["a Pod of VLAN 2 and one of VLAN 3", "vlan2-2", pod("vlan3-2").ip4],
            ["a Pod of VLAN 2 and the outside", "vlan2-1", outside.ip4],
        ],
    };
}

const vlanRouter = "10.62.100.1";

/** VLANs of a second NIC, for Pods with pools on the overlay: four networks each, one of them dual-stack, one without ipam. */
function withNetworks(): Plan {
    const base = overlay();
    const range = (subnet: string): RangeJson => ({
        start: `${subnet}.10`,
        end: `${subnet}.250`,
        gateway: `${subnet}.1`,
        prefixLength: 24,
    });
    const ipam = (...ippools: readonly string[]) => ({ ipam: { type: "antrea", ippools } });
    const networks = {
        red: { vlan: 100, ...ipam("chaos-red", "chaos-red-six") },
        blue: { vlan: 200, ...ipam("chaos-blue") },
        flat: ipam("chaos-flat"),
        plain: { vlan: 300 },
    };
    const annotations = requesting(Object.keys(networks).join());
    return {
        ...base,
        device: secondNic,
        pools: {
            ...base.pools,
            "chaos-red": [range("10.62.100")],
            "chaos-red-six": [{ start: "fd00:62::10", end: "fd00:62::ffff", gateway: "fd00:62::1", prefixLength: 64 }],
            "chaos-blue": [range("10.62.200")],
            "chaos-flat": [range("10.62.0")],
        },
        networks,
        anchors: [
            ...subnetPods,
            { name: "networks-1", node: first, annotations },
            { name: "networks-1b", node: first, annotations },
            { name: "networks-2", node: second, annotations },
        ],
        ways: async (pod, namespace) => [
            ["subnet Pods of two Nodes", "subnet-1", pod("subnet-2").ip4],
            ["VLAN 100, one Node", "networks-1", await addressIn(namespace, "networks-1b", "eth1")],
            ["VLAN 100, two Nodes", "networks-1", await addressIn(namespace, "networks-2", "eth1")],
            ["VLAN 100, two Nodes, IPv6", "networks-2", await addressIn(namespace, "networks-1", "eth1", 6)],
            ["VLAN 200, two Nodes", "networks-2", await addressIn(namespace, "networks-1", "eth2")],
            ["no VLAN, two Nodes", "networks-1", await addressIn(namespace, "networks-2", "eth3")],
            ["VLAN 100 and a host of the physical network", "networks-1", vlanRouter],
        ],
    };
}

/** Pools on the overlay, and endpoints of Services. */
function withServices(): Plan {
    const base = overlay();
    return { ...base, anchors: [...base.anchors, ...endpointPods] };
}

const plans: Readonly<Record<Mode, () => Plan | Promise<Plan>>> = {
    overlay,
    bridging: underlay,
    networks: withNetworks,
    services: withServices,
};

/** A switch with a cable to each Node, the gate and the bridge, and the CustomResourceDefinition of networks. */
async function secondaryNetworks(): Promise<AsyncDisposableStack & { readonly definitions: NetworkDefinitions }> {
    const stack = new AsyncDisposableStack();
    const physical = stack.use(await PhysicalNetwork.start());
    await Promise.all(allNodes.map((node) => physical.plug(node, secondNic)));
    await physical.host(100, `${vlanRouter}/24`);
    await bridgeNics([secondNic]);
    const definitions = stack.use(await NetworkDefinitions.install());
    return Object.assign(stack, { definitions });
}

/** Sets the mode, the pools and the Pods that stay, and watches the ways between these for so many seconds at most. */
export async function setStage(mode: Mode, seconds: number): Promise<Stage> {
    if (mode === "services") await expectNoKubeProxy();
    if (mode === "bridging") {
        await plugRouter();
        await setBridging(true);
        await bridged();
        // again: now the Nodes have podCIDRs
        await plugRouter();
    } else {
        await setIpam(true);
        await setBridging(false);
    }
    const { pools, anchors, ways, networks = {}, ...rest } = await plans[mode]();
    const surroundings = new AsyncDisposableStack();
    // first the Pods of a run before
    const namespace = await TestNamespace.create(name);
    const made = await TestPools.create(pools);
    if (mode === "networks") {
        const { definitions } = surroundings.use(await secondaryNetworks());
        await definitions.define(name, networks);
    }
    const running = await namespace.start(anchors);
    const podNamed = (wanted: string): TestPod => {
        const found = running.find((pod) => pod.name === wanted);
        if (found === undefined) throw new FixtureError("NOT_FOUND", "internal", `${wanted} was not started`);
        return found;
    };
    const watched: WatchedWay[] = [];
    for (const [title, from, ip] of await ways(podNamed, namespace))
        watched.push(await WatchedWay.watch(title, { namespace: name, pod: podNamed(from) }, ip, seconds));
    const clients =
        mode === "services"
            ? surroundings.use(await ServiceClients.start(namespace, podNamed("subnet-1"), seconds))
            : undefined;
    return {
        ...rest,
        clients,
        networks: mode === "networks" ? Object.keys(networks).join() : undefined,
        namespace,
        pools: made,
        ways: watched,
        anchors: running,
        surroundings,
    };
}
