import { networkAttachmentDefinitions } from "@antrea/kube";
import { kindOf } from "./api/server.ts";
import { readNetwork } from "./cluster/network-objects.ts";
import { networkNames, networkNamespaces } from "./network-requests.ts";
import { networksOf, poolsOf } from "./objects.ts";
import { changePool, makePool } from "./pools.ts";
import { restartAgent, send } from "./user-actions.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

/** What users do with networks other than the Pod network, in clusters in which somebody attaches them. */

const networkKind = kindOf("k8s.cni.cncf.io/v1", networkAttachmentDefinitions.plural);

interface PoolPlan {
    readonly isV6: boolean;
    readonly prefix: string;
}

/** The IPPools of networks; users may change and delete them as others. */
const networkPools: Readonly<Record<string, PoolPlan>> = {
    "net-pool-0": { isV6: false, prefix: "10.20.0." },
    "net-pool-1": { isV6: false, prefix: "10.20.1." },
    "net-pool-6": { isV6: true, prefix: "fd00:20::" },
};

/** Creates one of the IPPools of networks, unless it exists. */
export async function createNetworkPool(cluster: SimulatedCluster, random: Random): Promise<void> {
    if (cluster.modes.attacher === "nobody") return;
    const name = random.pick(Object.keys(networkPools)) ?? "";
    await makeNetworkPool(cluster, random, name);
}

async function makeNetworkPool(cluster: SimulatedCluster, random: Random, name: string): Promise<void> {
    const { isV6 = false, prefix = "" } = networkPools[name] ?? {};
    const first = 16 + random.below(3);
    const [start, end, gateway] = [first, first + 4 + random.below(12), 1].map(
        (at) => `${prefix}${at.toString(isV6 ? 16 : 10)}`,
    );
    const vlan = random.chance(0.2) ? { vlan: 1 + random.below(2) } : {};
    await makePool(cluster, name, isV6, { start, end, gateway: gateway ?? "", prefixLength: isV6 ? 64 : 24, ...vlan });
}

/** Before users act: all IPPools of networks, and most networks. */
export async function setUpNetworks(cluster: SimulatedCluster, random: Random): Promise<void> {
    if (cluster.modes.attacher === "nobody") return;
    for (const name of Object.keys(networkPools)) await makeNetworkPool(cluster, random, name);
    for (const namespace of networkNamespaces)
        for (const name of networkNames) if (random.chance(0.7)) await putNetwork(cluster, random, { namespace, name });
}

/** Creates a network. */
export async function createNetwork(cluster: SimulatedCluster, random: Random): Promise<void> {
    if (cluster.modes.attacher === "nobody") return;
    const namespace = random.pick(networkNamespaces) ?? "";
    await putNetwork(cluster, random, { namespace, name: random.pick(networkNames) ?? "" });
}

/** Changes pools, VLAN or type of a network. */
export async function changeNetwork(cluster: SimulatedCluster, random: Random): Promise<void> {
    const network = random.pick(networksOf(cluster));
    if (network === undefined) return;
    const { name = "", namespace = "" } = network.metadata ?? {};
    cluster.counters.count("network.changed");
    const body = { spec: { config: JSON.stringify(configOf(cluster, random, name)) } };
    await send(cluster, "PATCH", pathOf({ namespace, name }), body);
}

/** Deletes a network, often for a short time. */
export async function deleteNetwork(cluster: SimulatedCluster, random: Random): Promise<void> {
    const network = random.pick(networksOf(cluster));
    if (network === undefined) return;
    const { name = "", namespace = "" } = network.metadata ?? {};
    await send(cluster, "DELETE", pathOf({ namespace, name }));
    cluster.counters.count("network.deleted");
    if (!random.chance(0.7)) return;
    cluster.time.after(random.latency(1_000, 120_000), () => void putNetwork(cluster, random, { namespace, name }));
}

/** Removes addresses from a pool that networks name, while no webhook is configured. */
export async function shrinkNetworkPool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const named = new Set(networksOf(cluster).flatMap((one) => readNetwork(one).pools));
    const pool = random.pick(poolsOf(cluster).filter(({ metadata }) => named.has(metadata?.name ?? "")));
    const [first, ...rest] = pool?.spec.ipRanges ?? [];
    if (pool === undefined || first?.start === undefined) return;
    cluster.counters.count("network.poolShrunk");
    cluster.hasWebhooks = false;
    await changePool(cluster, pool, [{ ...first, end: first.start }, ...rest]);
    cluster.hasWebhooks = true;
}

/** Switches the feature gate SecondaryNetwork off and, later, on again; the agents restart one after the other. */
export function switchNetworks(cluster: SimulatedCluster, random: Random): void {
    const { modes, time, counters } = cluster;
    if (!modes.hasNetworks) return;
    counters.count("network.gateOff");
    setNetworks(cluster, random, false);
    time.after(random.latency(5_000, 180_000), () => setNetworks(cluster, random, true));
}

/** Restarts what has the other value of the feature gate. */
export function setNetworks(cluster: SimulatedCluster, random: Random, hasNetworks: boolean): void {
    cluster.modes.hasNetworks = hasNetworks;
    for (const station of cluster.stations) {
        if (station.agent === undefined || station.agent.attachesNetworks === hasNetworks) continue;
        restartAgent(cluster, station, { afterMs: random.latency(10, 20_000), awayMs: random.between(500, 3_000) });
    }
}

async function putNetwork(
    cluster: SimulatedCluster,
    random: Random,
    { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
    const spec = { config: JSON.stringify(configOf(cluster, random, name)) };
    const body = {
        apiVersion: networkKind.apiVersion,
        kind: networkKind.resource.kind,
        metadata: { namespace, name },
        spec,
    };
    await send(cluster, "POST", pathOf({ namespace }), body);
}

function configOf({ modes }: SimulatedCluster, random: Random, name: string): object {
    const hasIpam = random.chance(0.9);
    const pools = Object.keys(networkPools).filter(() => random.chance(0.5));
    const ippools = pools.length === 0 ? ["net-pool-0"] : pools;
    const addresses = random.chance(0.1) ? [{ address: `172.20.0.${2 + random.below(200)}/24` }] : [];
    const ipam = { type: "antrea", ippools, ...(addresses.length > 0 && { addresses }) };
    const isVlan = random.chance(modes.attacher === "antrea" ? 0.92 : 0.4);
    if (!isVlan) {
        const macvlan = { cniVersion: "1.0.0", name, type: "macvlan", master: "eth1" };
        return modes.attacher === "meta plugin" ? { ...macvlan, ipam } : macvlan;
    }
    const vlan = { cniVersion: "1.0.0", name, type: "antrea", networkType: "vlan", vlan: random.below(4) };
    return hasIpam ? { ...vlan, ipam } : vlan;
}

function pathOf({ namespace, name }: { readonly namespace: string; readonly name?: string }): string {
    const path = `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/${networkAttachmentDefinitions.plural}`;
    return name === undefined ? path : `${path}/${name}`;
}
