import { allocationName } from "@antrea/crd";
import { noFaults, noWatchFaults, requestFaults } from "./api/faults.ts";
import { kindOf } from "./api/server.ts";
import { type SetUp } from "./check/wiring.ts";
import { askFor } from "./user-actions.ts";
import { noRuntimeFaults } from "./cluster/runtime-faults.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";
import { type Station } from "./station.ts";

/** Faults of machines, networks and processes. */

const outOfService = {
    key: "node.kubernetes.io/out-of-service",
    value: "nodeshutdown",
    effect: "NoExecute",
};
const maxStations = 6;
/** An agent isolates containers four minutes after it learned of the deletion. */
const restartedMs = 220_000;
/** By then an agent has sent several requests, whatever its backoff. */
const rejectionReportedMs = 120_000;
const nodeKind = kindOf("v1", "nodes");

/** Kills an agent and restarts it later. */
export function crashAgent(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station === undefined) return;
    cluster.killAgent(station);
    cluster.time.after(random.latency(50, 20_000), () => cluster.startAgent(station));
}

/** Powers a machine off and on again, sometimes without its disk's data. */
export function rebootNode(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station === undefined) return;
    cluster.powerOff(station);
    const diskLost = random.chance(0.3);
    cluster.counters.count(diskLost ? "node.rebootWithoutDisk" : "node.reboot");
    cluster.time.after(random.latency(500, 90_000), () => void back(cluster, station, diskLost));
}

/** Powers a machine off for long. An administrator who knows deletes the Node or sets the taint. */
export function loseNode(cluster: SimulatedCluster, random: Random): void {
    const on = cluster.stations.filter(({ machine }) => machine.isOn);
    const station = on.length > 1 ? random.pick(on) : undefined;
    if (station === undefined) return;
    cluster.powerOff(station);
    const { name } = station.machine;
    const path = `/api/v1/nodes/${name}`;
    const kind = random.pick(["deleted", "out-of-service", "unmarked"] as const);
    cluster.counters.count(`node.lost.${kind}`);
    station.isLost = kind !== "unmarked" && random.chance(0.4);
    cluster.time.after(random.latency(1_000, 60_000), () => {
        if (station.machine.isOn) return;
        if (kind === "deleted") void cluster.request({ method: "DELETE", path });
        if (kind === "out-of-service")
            void cluster.request({
                method: "PATCH",
                path,
                body: JSON.stringify({ spec: { taints: [outOfService] } }),
            });
    });
    if (!station.isLost)
        cluster.time.after(random.between(60_000, 500_000), () => void back(cluster, station, random.chance(0.5)));
    // Another machine replaces it, under another name.
    else if (kind === "deleted" && random.chance(0.7))
        cluster.time.after(random.between(1_000, 120_000), () => {
            cluster.counters.count("node.replaced");
            void joinNode(cluster);
        });
}

/**
 * An administrator deletes the Node of a running machine. Its Pods end, and its kubelet registers the Node again when
 * it restarts. Static Pods keep running, possibly with addresses of a subnet for which another Node waits.
 */
export async function forgetNode(cluster: SimulatedCluster, random: Random): Promise<void> {
    const station = stationOf(cluster, random);
    // Without these it could not end its Pods, and after a while their addresses would be assigned to others.
    if (station?.machine.hasOvs !== true || station.isCut || station.isForgotten) return;
    const { name } = station.machine;
    station.isForgotten = true;
    let awayMs = random.between(1_000, 200_000);
    if (random.chance(0.6)) {
        cluster.counters.count("node.forgottenWithStaticPod");
        awayMs += random.between(0, 150_000);
        const keptMs = random.between(5_000, 20_000);
        station.heldUntil = Math.max(station.heldUntil, cluster.time.now + keptMs + awayMs);
        placeKept(cluster, random, station);
        while (cluster.stations.length < maxStations) await joinNode(cluster);
        await cluster.time.sleep(keptMs);
    }
    await cluster.request({ method: "DELETE", path: `/api/v1/nodes/${name}` });
    cluster.time.after(awayMs, () => void remember(cluster, station));
}

/** A static Pod with an address of its Node's subnet. */
function placeKept({ time }: SimulatedCluster, random: Random, { kubelet, machine }: Station): void {
    const namespace = "default";
    const name = `kept-${machine.name}`;
    if (kubelet.manifests.has(`${namespace}/${name}`)) return;
    kubelet.place({ namespace, name, hash: random.hex(32), annotations: undefined, mirrorAt: time.now });
}

/**
 * An administrator deletes the Node of a partitioned machine while its containers run. Its agent can learn of it
 * before or after the controller releases its addresses, its kubelet at the same time or later; other Pods request
 * the addresses.
 */
export function forgetCutNode(cluster: SimulatedCluster, random: Random): void {
    const inUse = new Set([...cluster.truth.allocations.values()].map(({ spec }) => spec.pod?.nodeName));
    const station = random.pick(cluster.stations.filter(({ machine }) => machine.isOn && inUse.has(machine.name)));
    if (station?.machine.hasOvs !== true || station.isCut || station.isForgotten || station.isLost) return;
    const { name } = station.machine;
    const isSoon = random.chance(0.5);
    const uncutMs = isSoon ? random.between(20_000, 230_000) : random.between(240_000, 400_000);
    const kubeletMs = random.chance(0.3) ? uncutMs : random.between(Math.max(uncutMs, 310_000), 420_000);
    const backMs = kubeletMs + random.between(0, 60_000);
    const { now } = cluster.time;
    Object.assign(station, { isForgotten: true, isKubeletCut: true, heldUntil: now + backMs });
    cluster.cut(station, true);
    cluster.time.after(random.between(0, 5_000), () => {
        cluster.counters.count("node.forgottenUnheard");
        void cluster.request({ method: "DELETE", path: `/api/v1/nodes/${name}` });
        const allocations = [...cluster.truth.allocations.values()].filter(({ spec }) => spec.pod?.nodeName === name);
        cluster.time.after(random.between(296_000, 320_000), () => void askFor(cluster, random, allocations));
    });
    cluster.time.after(uncutMs, () => cluster.cut(station, false));
    // Or its agent learns of it, restarts before it isolates, and is partitioned until its Node exists again.
    const againMs = uncutMs + random.between(62_000, 100_000);
    if (againMs < Math.min(restartedMs, backMs) && random.chance(0.5)) {
        cluster.time.after(againMs, () => {
            cluster.counters.count("node.forgottenAgain");
            cluster.cut(station, true);
            cluster.killAgent(station);
            cluster.time.after(2_000, () => cluster.startAgent(station));
        });
        cluster.time.after(backMs, () => cluster.cut(station, false));
    }
    cluster.time.after(kubeletMs, () => {
        station.isKubeletCut = false;
        cluster.cut(station, station.isCut);
    });
    cluster.time.after(backMs, () => void remember(cluster, station));
}

/** The API server rejects the token of an agent for long, sometimes also after the agent restarts. */
export function refuseToken(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station === undefined || station.isRefused || station.isForgotten) return;
    const ms = random.chance(0.5) ? random.latency(2_000, 60_000) : random.between(60_000, 400_000);
    const set = (isRefused: boolean): void => {
        station.isRefused = isRefused;
        station.agentTransport?.refuse(isRefused);
    };
    set(true);
    station.heldUntil = Math.max(station.heldUntil, cluster.time.now + ms);
    station.agentTransport?.breakWatches();
    const refusedAt = cluster.time.now;
    const isIsolated = (id: string): boolean => station.machine.isIsolated(id);
    const before = new Set([...station.machine.netns.values()].map(({ container }) => container.id).filter(isIsolated));
    cluster.time.after(ms, () => {
        judgeRefused(cluster, station, { refusedAt, isNew: (id) => isIsolated(id) && !before.has(id) });
        set(false);
    });
}

/** An agent that was rejected for long, and could observe it, reports it, and isolates no container because of it. */
function judgeRefused(
    cluster: SimulatedCluster,
    station: Station,
    o: { readonly refusedAt: number; readonly isNew: (containerId: string) => boolean },
): void {
    const { agent, machine, isCut, isForgotten, reachableSince } = station;
    const { name } = machine;
    const ms = cluster.time.now - Math.max(o.refusedAt, reachableSince);
    const canHear = agent?.isKilled === false && !isCut;
    if (canHear && ms >= rejectionReportedMs && agent.tokenProblem === undefined)
        cluster.truth.violated("a rejected token is reported", `the agent of ${name} was rejected for ${ms} ms`);
    if (isForgotten || cluster.server.store.get(nodeKind, name) === undefined) return;
    for (const { container } of machine.netns.values()) {
        if (!o.isNew(container.id) || !isClaimed(cluster, machine.setUpOf(container.id), container.podUid)) continue;
        cluster.truth.violated("a rejected token isolates no Pod", `container ${container.id} on ${name}`);
    }
}

function isClaimed({ truth }: SimulatedCluster, setUp: SetUp | undefined, podUid: string): boolean {
    const allocations = (setUp?.addresses ?? []).map(({ ip }) => truth.allocations.get(allocationName(ip)));
    return allocations.length > 0 && allocations.every((allocation) => allocation?.spec.pod?.uid === podUid);
}

/** The kubelet registers the deleted Node again, if the machine is on. */
export async function remember(cluster: SimulatedCluster, station: Station): Promise<void> {
    station.isForgotten = false;
    if (station.machine.isOn) await cluster.register(station);
}

/** Powers the machine on again and removes the taint, if any. */
export async function back(cluster: SimulatedCluster, station: Station, diskLost: boolean): Promise<void> {
    if (station.machine.isOn) return;
    await cluster.powerOn(station, { diskLost });
    const path = `/api/v1/nodes/${station.machine.name}`;
    await cluster.request({
        method: "PATCH",
        path,
        body: JSON.stringify({ spec: { taints: null } }),
    });
}

/** Partitions a Node from the API server for a while. */
export function partitionNode(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station === undefined || station.isCut || station.isForgotten || station.isRefused) return;
    cluster.cut(station, true);
    cluster.time.after(random.latency(500, 200_000), () => cluster.cut(station, false));
}

/** ovsdb-server starts with an empty database, and ovs-vswitchd without flows; the agent is restarted with them. */
export function loseOvsDatabase(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station === undefined) return;
    cluster.killAgent(station);
    station.machine.loseDatabase();
    station.machine.loseFlows();
    cluster.time.after(random.latency(200, 5_000), () => cluster.startAgent(station));
}

/** OVS is unavailable for a while; afterwards it has its ports, and its flows unless it was restarted. */
export function stopOvs(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station?.machine.hasOvs !== true || station.isForgotten) return;
    const { machine } = station;
    machine.stopOvs();
    const isAnew = random.chance(0.5);
    cluster.counters.count(isAnew ? "ovs.restart" : "ovs.pause");
    cluster.time.after(random.latency(500, 60_000), () => startOvs(station, isAnew));
}

/** Makes OVS available again, after a restart without flows. */
export function startOvs({ machine }: Station, isAnew: boolean): void {
    if (machine.hasOvs) return;
    if (isAnew) machine.loseFlows();
    machine.startOvs();
}

/** Adds a machine; there are more machines than subnets. */
export async function joinNode(cluster: SimulatedCluster): Promise<void> {
    const at = cluster.stations.length;
    if (at >= maxStations) return;
    cluster.counters.count("node.joined");
    const station = cluster.addStation(`node-${at}`, at);
    await cluster.register(station);
    cluster.startAgent(station);
}

/** Enables some request faults for a while. */
export function breakRequests(cluster: SimulatedCluster, random: Random): void {
    const faults = { ...noFaults };
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const fault = random.pick(requestFaults);
        if (fault !== undefined) faults[fault] = random.between(0.02, 0.3);
    }
    cluster.requests = faults;
    cluster.time.after(random.latency(500, 60_000), () => (cluster.requests = noFaults));
}

/** A client with the token of an Antrea program sends more requests than its priority level has seats for. */
export function floodFlows(cluster: SimulatedCluster, random: Random): void {
    const until = cluster.time.now + random.latency(1_000, 30_000);
    const count = 2 + random.below(20);
    const again = (): void => {
        cluster.isFlooded = cluster.time.now < until;
        if (!cluster.isFlooded) return;
        cluster.flows.flood(count);
        cluster.time.after(random.between(200, 1_000), again);
    };
    again();
}

/** Breaks watches now and for a while. */
export function breakWatches(cluster: SimulatedCluster, random: Random): void {
    for (const transport of cluster.transports) if (random.chance(0.5)) transport.breakWatches();
    cluster.watches = {
        ...cluster.watches,
        broken: random.between(0, 0.2),
        expired: random.between(0, 0.5),
    };
    cluster.time.after(random.latency(500, 30_000), () => (cluster.watches = noWatchFaults));
}

/** Delays watch events for a while. */
export function stallWatches(cluster: SimulatedCluster, random: Random): void {
    cluster.watches = { ...cluster.watches, stalled: random.between(0.05, 0.5) };
    cluster.time.after(random.latency(500, 60_000), () => (cluster.watches = noWatchFaults));
}

/** Compacts the store of the API server. */
export function compact(cluster: SimulatedCluster): void {
    cluster.server.compact();
}

/** Kills a controller, preferably the leader, and restarts it later. */
export function crashController(cluster: SimulatedCluster, random: Random): void {
    const replica =
        random.pick(cluster.controllers.filter(({ process }) => process?.leads)) ?? random.pick(cluster.controllers);
    if (replica === undefined) return;
    cluster.kill(replica);
    cluster.time.after(random.latency(200, 60_000), () => cluster.startController(replica));
}

/** Partitioned while it leads, it must stop before another starts to lead. */
export function partitionController(cluster: SimulatedCluster, random: Random): void {
    const replica = random.pick(cluster.controllers.filter(({ process }) => process?.leads));
    const transport = replica?.transport;
    transport?.cut(true);
    cluster.time.after(random.latency(1_000, 60_000), () => transport?.cut(false));
}

/** Kills a webhook replica and restarts it later. */
export function stopWebhook(cluster: SimulatedCluster, random: Random): void {
    const [replica] = cluster.webhooks;
    if (replica?.process === undefined) return;
    cluster.kill(replica);
    cluster.time.after(random.latency(1_000, 60_000), () => cluster.startWebhook(replica));
}

/** Enables some container runtime faults for a while. */
export function confuseRuntime(cluster: SimulatedCluster, random: Random): void {
    const faults = { ...noRuntimeFaults };
    const names = Object.keys(faults) as (keyof typeof faults)[];
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const name = random.pick(names);
        if (name !== undefined) faults[name] = random.between(0.1, 0.6);
    }
    cluster.runtime = faults;
    cluster.time.after(random.latency(2_000, 60_000), () => (cluster.runtime = noRuntimeFaults));
}

/** Kills a random sandbox on a Node. */
export function killSandbox(cluster: SimulatedCluster, random: Random): void {
    stationOf(cluster, random)?.kubelet.killSandbox();
}

/** Sets the wall clock of a Node or controller off by up to ten minutes. */
export function skewClock(cluster: SimulatedCluster, random: Random): void {
    const clocks = [...cluster.stations, ...cluster.controllers];
    const one = random.pick(clocks);
    if (one !== undefined) one.skewMs = random.between(-600_000, 600_000);
}

/** A random machine that is powered on. */
export function stationOf({ stations }: SimulatedCluster, random: Random): Station | undefined {
    return random.pick(stations.filter(({ machine }) => machine.isOn));
}
