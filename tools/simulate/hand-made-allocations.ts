import { allocationName, blockText, type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { restartAgent, send } from "./user-actions.ts";
import { inCluster, makePool, poolsPath } from "./pools.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";
import { type Station } from "./station.ts";

/** IPAllocations that users create manually and no program would. */

const allocationsPath = "/apis/crd.antrea.io/v1alpha1/ipallocations";
const pollMs = 15_000;
/**
 * An agent that has been running and connected for this long, with a valid token and OVS, has learned of an
 * allocation and isolated where necessary.
 */
const calmMs = 180_000;

/**
 * A user creates a pool with an address that a Pod has from its Node's subnet, while the webhook is disabled, and
 * allocates the address manually, for a Pod on a nonexistent Node. Often the pool is deleted then.
 */
export async function claimInSubnet(cluster: SimulatedCluster, random: Random): Promise<void> {
    const { truth } = cluster;
    const inUse = [...truth.inUse].filter((name) => name.startsWith(inCluster) && !truth.allocations.has(name));
    const address = random.pick(inUse) ?? "";
    const user = truth.usersOf(address)[0];
    const station = cluster.station(user?.node ?? "");
    if (user === undefined || station === undefined) return;
    const pool = `pool-${random.below(6)}`;
    cluster.hasWebhooks = false;
    const range = { start: address, end: address, gateway: address.replace(/[^.]+$/, "1"), prefixLength: 24 };
    const isMade = await makePool(cluster, pool, false, range);
    cluster.hasWebhooks = true;
    if (!isMade) return;
    const pod = { namespace: "default", name: "by-hand", uid: `by-hand-${random.hex(8)}` };
    const made = await send(cluster, "POST", allocationsPath, {
        apiVersion: "crd.antrea.io/v1alpha1",
        kind: "IPAllocation",
        metadata: { name: allocationName(parseIp(address)) },
        spec: {
            address,
            block: blockText(parseIp(address)),
            pool,
            state: "Allocated",
            owner: { kind: "Pod", ...pod },
            pod: { ...pod, nodeName: "nowhere", containerID: pod.uid, interface: "eth0" },
        },
    });
    if (made === undefined) return;
    cluster.counters.count("allocation.byHandInSubnet");
    if (random.chance(0.5)) await loseThePool(cluster, random, station, pool);
    follow(cluster, station, { address, container: user.id, allocation: (made as IpAllocation).metadata?.uid });
}

/** The allocation stays, and the agent of the Node restarts and never learns of its pool. */
async function loseThePool(cluster: SimulatedCluster, random: Random, station: Station, pool: string): Promise<void> {
    restartAgent(cluster, station, { afterMs: 0, awayMs: random.between(5_000, 60_000) });
    cluster.hasWebhooks = false;
    const isGone = (await send(cluster, "DELETE", `${poolsPath}/${pool}`)) !== undefined;
    cluster.hasWebhooks = true;
    if (isGone) cluster.counters.count("allocation.outlivesItsPool");
}

interface Conflict {
    readonly address: string;
    readonly container: string;
    /** UID of the allocation. */
    readonly allocation: string | undefined;
}

/** Checks until the allocation or the use ends. */
function follow(cluster: SimulatedCluster, station: Station, conflict: Conflict): void {
    const { time, truth } = cluster;
    const { address, container, allocation } = conflict;
    let calmSince = time.now;
    const poll = (): void => {
        const isClaimed = truth.allocations.get(address)?.metadata?.uid === allocation;
        if (!isClaimed || !truth.usersOf(address).some(({ id }) => id === container)) {
            if (isClaimed) cluster.counters.count("allocation.byHandInSubnet.isolated");
            return;
        }
        const { agent, isCut, isRefused, machine } = station;
        if (agent?.isReady !== true || isCut || isRefused || !machine.isOn || !machine.hasOvs) calmSince = time.now;
        if (time.now - calmSince < calmMs) return void time.after(pollMs, poll);
        truth.violated(
            "an allocation in the subnet of a Node has one user",
            `${address} of container ${container} on ${machine.name} is allocated from a pool to another Pod`,
        );
    };
    time.after(pollMs, poll);
}
