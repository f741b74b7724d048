import { workers } from "../fixture/cluster.ts";
import { bridged, nic, setBridging, vlanPod } from "../fixture/bridging.ts";
import { poolsKey, setIpam, TestPools, type RangeJson } from "../fixture/ipam.ts";
import { TestNamespace, type PodSpec, type TestPod } from "../fixture/pods.ts";
import { outside, plugRouter, poolRanges, poolsOf, vlans } from "../fixture/vlan-router.ts";
import { WatchedWay } from "../fixture/watched-way.ts";

/** What differs between a run with bridging mode and one without. */
export interface Stage {
    readonly namespace: TestNamespace;
    /** The NIC whose frames are listened to. */
    readonly device: string;
    /** Values for the annotation of Pods that come and go: pools, with an IPv4 range in each. */
    readonly choices: readonly string[];
    /** They stay until the end. */
    readonly pools: TestPools;
    /** The range of a pool that comes and goes; none overlaps with another one of other numbers. */
    readonly passingRange: (number: number, part: 0 | 1) => RangeJson;
    readonly ways: readonly WatchedWay[];
    /** The Pods that are watched and stay. */
    readonly anchors: readonly TestPod[];
}

const name = "chaos";
const [first = "", second = ""] = workers;

interface Plan {
    readonly device: string;
    readonly pools: Readonly<Record<string, readonly RangeJson[]>>;
    readonly choices: readonly string[];
    readonly passingRange: Stage["passingRange"];
    readonly anchors: readonly PodSpec[];
    /** Name of the way, where it begins, the address it leads to. */
    readonly ways: (pod: (name: string) => TestPod) => readonly (readonly [string, string, string])[];
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
        ways: (pod) => [
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
        ways: (pod) => [
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

/** Sets the mode, the pools and the Pods that stay, and watches the ways between these for so many seconds at most. */
export async function setStage(bridging: boolean, seconds: number): Promise<Stage> {
    if (bridging) {
        await plugRouter();
        await setBridging(true);
        await bridged();
        // again: now the Nodes have podCIDRs
        await plugRouter();
    } else {
        await setIpam(true);
        await setBridging(false);
    }
    const { pools, anchors, ways, ...rest } = bridging ? await underlay() : overlay();
    // first the Pods of a run before
    const namespace = await TestNamespace.create(name);
    const made = await TestPools.create(pools);
    const running = await namespace.start(anchors);
    const podNamed = (wanted: string): TestPod => {
        const found = running.find((pod) => pod.name === wanted);
        if (found === undefined) throw new Error(`${wanted} was not started`);
        return found;
    };
    const watched: WatchedWay[] = [];
    for (const [title, from, ip] of ways(podNamed))
        watched.push(await WatchedWay.watch(title, { namespace: name, pod: podNamed(from) }, ip, seconds));
    return { ...rest, namespace, pools: made, ways: watched, anchors: running };
}
