import { allocationName } from "@antrea/crd";
import { noFaults, noWatchFaults, requestFaults } from "./api/faults.ts";
import { kindOf } from "./api/server.ts";
import { type SetUp } from "./check/wiring.ts";
import { askFor } from "./people.ts";
import { noRuntimeFaults } from "./cluster/runtime-faults.ts";
import { type Random } from "./time/random.ts";
import { type Station, type World } from "./world.ts";

/** What machines, networks and processes do that nobody asked for. */

const outOfService = {
    key: "node.kubernetes.io/out-of-service",
    value: "nodeshutdown",
    effect: "NoExecute",
};
const maxStations = 6;
/** An agent isolates four minutes after the deletion that it heard of. */
const restartedMs = 220_000;
/** By then an agent has asked several times, however it waits between two requests. */
const refusedSaidMs = 120_000;
const nodeKind = kindOf("v1", "nodes");

export function crashAgent(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined) return;
    world.killAgent(station);
    world.time.after(random.latency(50, 20_000), () => world.startAgent(station));
}

export function rebootNode(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined) return;
    world.powerOff(station);
    const diskLost = random.chance(0.3);
    world.counters.count(diskLost ? "node.rebootWithoutDisk" : "node.reboot");
    world.time.after(random.latency(500, 90_000), () => void back(world, station, diskLost));
}

/** The machine is off for long. Somebody who knows that says so, by deleting the Node or by the taint. */
export function loseNode(world: World, random: Random): void {
    const on = world.stations.filter(({ machine }) => machine.isOn);
    const station = on.length > 1 ? random.pick(on) : undefined;
    if (station === undefined) return;
    world.powerOff(station);
    const { name } = station.machine;
    const path = `/api/v1/nodes/${name}`;
    const kind = random.pick(["deleted", "out-of-service", "unsaid"] as const);
    world.counters.count(`node.lost.${kind}`);
    station.isLost = kind !== "unsaid" && random.chance(0.4);
    world.time.after(random.latency(1_000, 60_000), () => {
        if (station.machine.isOn) return;
        if (kind === "deleted") void world.request({ method: "DELETE", path });
        if (kind === "out-of-service")
            void world.request({
                method: "PATCH",
                path,
                body: JSON.stringify({ spec: { taints: [outOfService] } }),
            });
    });
    if (!station.isLost)
        world.time.after(random.between(60_000, 500_000), () => void back(world, station, random.chance(0.5)));
    // Another machine takes its place, under a name of its own.
    else if (kind === "deleted" && random.chance(0.7))
        world.time.after(random.between(1_000, 120_000), () => {
            world.counters.count("node.replaced");
            void joinNode(world);
        });
}

/**
 * Somebody deletes the Node of a machine that runs. Its Pods end, and its kubelet makes the Node anew when it starts again.
 * Static Pods run on, maybe with addresses of a subnet for which another Node waits.
 */
export async function forgetNode(world: World, random: Random): Promise<void> {
    const station = stationOf(world, random);
    // Without these it could not end its Pods, and after a while their addresses would be others'.
    if (station?.machine.hasOvs !== true || station.isCut || station.isForgotten) return;
    const { name } = station.machine;
    station.isForgotten = true;
    let awayMs = random.between(1_000, 200_000);
    if (random.chance(0.6)) {
        world.counters.count("node.forgottenWithStaticPod");
        awayMs += random.between(0, 150_000);
        const keptMs = random.between(5_000, 20_000);
        station.heldUntil = Math.max(station.heldUntil, world.time.now + keptMs + awayMs);
        placeKept(world, random, station);
        while (world.stations.length < maxStations) await joinNode(world);
        await world.time.sleep(keptMs);
    }
    await world.request({ method: "DELETE", path: `/api/v1/nodes/${name}` });
    world.time.after(awayMs, () => void remember(world, station));
}

/** A static Pod with an address of its Node's subnet. */
function placeKept({ time }: World, random: Random, { kubelet, machine }: Station): void {
    const namespace = "default";
    const name = `kept-${machine.name}`;
    if (kubelet.manifests.has(`${namespace}/${name}`)) return;
    kubelet.place({ namespace, name, hash: random.hex(32), annotations: undefined, mirrorAt: time.now });
}

/**
 * Somebody deletes the Node of a machine that is cut off, while its containers run. Its agent can hear of it again before
 * the controller frees its addresses or after, its kubelet then or later; others are made to ask for the addresses.
 */
export function forgetCutNode(world: World, random: Random): void {
    const inUse = new Set([...world.truth.claims.values()].map(({ spec }) => spec.pod?.nodeName));
    const station = random.pick(world.stations.filter(({ machine }) => machine.isOn && inUse.has(machine.name)));
    if (station?.machine.hasOvs !== true || station.isCut || station.isForgotten || station.isLost) return;
    const { name } = station.machine;
    const isSoon = random.chance(0.5);
    const uncutMs = isSoon ? random.between(20_000, 230_000) : random.between(240_000, 400_000);
    const kubeletMs = random.chance(0.3) ? uncutMs : random.between(Math.max(uncutMs, 310_000), 420_000);
    const backMs = kubeletMs + random.between(0, 60_000);
    const { now } = world.time;
    Object.assign(station, { isForgotten: true, isKubeletCut: true, heldUntil: now + backMs });
    world.cut(station, true);
    world.time.after(random.between(0, 5_000), () => {
        world.counters.count("node.forgottenUnheard");
        void world.request({ method: "DELETE", path: `/api/v1/nodes/${name}` });
        const claims = [...world.truth.claims.values()].filter(({ spec }) => spec.pod?.nodeName === name);
        world.time.after(random.between(296_000, 320_000), () => void askFor(world, random, claims));
    });
    world.time.after(uncutMs, () => world.cut(station, false));
    // Or its agent hears of it, and is restarted before it isolates, when it cannot hear any more, until its Node is back.
    const againMs = uncutMs + random.between(62_000, 100_000);
    if (againMs < Math.min(restartedMs, backMs) && random.chance(0.5)) {
        world.time.after(againMs, () => {
            world.counters.count("node.forgottenAgain");
            world.cut(station, true);
            world.killAgent(station);
            world.time.after(2_000, () => world.startAgent(station));
        });
        world.time.after(backMs, () => world.cut(station, false));
    }
    world.time.after(kubeletMs, () => {
        station.isKubeletCut = false;
        world.cut(station, station.isCut);
    });
    world.time.after(backMs, () => void remember(world, station));
}

/** The API server refuses the token of an agent for long, maybe also after it started anew. */
export function refuseToken(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined || station.isRefused || station.isForgotten) return;
    const ms = random.chance(0.5) ? random.latency(2_000, 60_000) : random.between(60_000, 400_000);
    const set = (isRefused: boolean): void => {
        station.isRefused = isRefused;
        station.agentLine?.refuse(isRefused);
    };
    set(true);
    station.heldUntil = Math.max(station.heldUntil, world.time.now + ms);
    station.agentLine?.breakWatches();
    const refusedAt = world.time.now;
    const isIsolated = (id: string): boolean => station.machine.isIsolated(id);
    const before = new Set([...station.machine.netns.values()].map(({ container }) => container.id).filter(isIsolated));
    world.time.after(ms, () => {
        judgeRefused(world, station, { refusedAt, isNew: (id) => isIsolated(id) && !before.has(id) });
        set(false);
    });
}

/** Who was refused for long, and could hear that, says so, and isolates nobody for it. */
function judgeRefused(
    world: World,
    station: Station,
    o: { readonly refusedAt: number; readonly isNew: (containerId: string) => boolean },
): void {
    const { agent, machine, isCut, isForgotten, reachableSince } = station;
    const { name } = machine;
    const ms = world.time.now - Math.max(o.refusedAt, reachableSince);
    const canHear = agent?.isKilled === false && !isCut;
    if (canHear && ms >= refusedSaidMs && agent.tokenProblem === undefined)
        world.truth.violated("a refused token is told", `the agent of ${name} was refused for ${ms} ms`);
    if (isForgotten || world.server.store.get(nodeKind, name) === undefined) return;
    for (const { container } of machine.netns.values()) {
        if (!o.isNew(container.id) || !isClaimed(world, machine.setUpOf(container.id), container.podUid)) continue;
        world.truth.violated("a refused token isolates nobody", `container ${container.id} on ${name}`);
    }
}

function isClaimed({ truth }: World, setUp: SetUp | undefined, podUid: string): boolean {
    const claims = (setUp?.addresses ?? []).map(({ ip }) => truth.claims.get(allocationName(ip)));
    return claims.length > 0 && claims.every((claim) => claim?.spec.pod?.uid === podUid);
}

export async function remember(world: World, station: Station): Promise<void> {
    station.isForgotten = false;
    if (station.machine.isOn) await world.register(station);
}

/** The machine is on again, and the taint, if there is one, is taken away. */
export async function back(world: World, station: Station, diskLost: boolean): Promise<void> {
    if (station.machine.isOn) return;
    await world.powerOn(station, { diskLost });
    const path = `/api/v1/nodes/${station.machine.name}`;
    await world.request({
        method: "PATCH",
        path,
        body: JSON.stringify({ spec: { taints: null } }),
    });
}

export function partitionNode(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined || station.isCut || station.isForgotten || station.isRefused) return;
    world.cut(station, true);
    world.time.after(random.latency(500, 200_000), () => world.cut(station, false));
}

/** ovsdb-server starts with an empty database, and ovs-vswitchd without flows; the agent starts anew with them. */
export function loseOvsDatabase(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined) return;
    world.killAgent(station);
    station.machine.loseDatabase();
    station.machine.loseFlows();
    world.time.after(random.latency(200, 5_000), () => world.startAgent(station));
}

/** OVS answers nobody for a while; when it is back it has its ports, and its flows only if it was not started anew. */
export function stopOvs(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station?.machine.hasOvs !== true || station.isForgotten) return;
    const { machine } = station;
    machine.stopOvs();
    const isAnew = random.chance(0.5);
    world.counters.count(isAnew ? "ovs.restart" : "ovs.pause");
    world.time.after(random.latency(500, 60_000), () => startOvs(station, isAnew));
}

export function startOvs({ machine }: Station, isAnew: boolean): void {
    if (machine.hasOvs) return;
    if (isAnew) machine.loseFlows();
    machine.startOvs();
}

/** A machine more; there are more of them than subnets. */
export async function joinNode(world: World): Promise<void> {
    const at = world.stations.length;
    if (at >= maxStations) return;
    world.counters.count("node.joined");
    const station = world.addStation(`node-${at}`, at);
    await world.register(station);
    world.startAgent(station);
}

export function breakRequests(world: World, random: Random): void {
    const faults = { ...noFaults };
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const fault = random.pick(requestFaults);
        if (fault !== undefined) faults[fault] = random.between(0.02, 0.3);
    }
    world.requests = faults;
    world.time.after(random.latency(500, 60_000), () => (world.requests = noFaults));
}

/** Somebody with the token of one of our programs asks the API server for more than its level has seats for. */
export function floodFlows(world: World, random: Random): void {
    const until = world.time.now + random.latency(1_000, 30_000);
    const count = 2 + random.below(20);
    const again = (): void => {
        world.isFlooded = world.time.now < until;
        if (!world.isFlooded) return;
        world.flows.flood(count);
        world.time.after(random.between(200, 1_000), again);
    };
    again();
}

export function breakWatches(world: World, random: Random): void {
    for (const line of world.lines) if (random.chance(0.5)) line.breakWatches();
    world.watches = {
        ...world.watches,
        broken: random.between(0, 0.2),
        expired: random.between(0, 0.5),
    };
    world.time.after(random.latency(500, 30_000), () => (world.watches = noWatchFaults));
}

export function stallWatches(world: World, random: Random): void {
    world.watches = { ...world.watches, stalled: random.between(0.05, 0.5) };
    world.time.after(random.latency(500, 60_000), () => (world.watches = noWatchFaults));
}

export function compact(world: World): void {
    world.server.compact();
}

export function crashController(world: World, random: Random): void {
    const replica =
        random.pick(world.controllers.filter(({ process }) => process?.leads)) ?? random.pick(world.controllers);
    if (replica === undefined) return;
    world.kill(replica);
    world.time.after(random.latency(200, 60_000), () => world.startController(replica));
}

/** Cut off while it leads, it must stop before another begins. */
export function partitionController(world: World, random: Random): void {
    const replica = random.pick(world.controllers.filter(({ process }) => process?.leads));
    const line = replica?.line;
    line?.cut(true);
    world.time.after(random.latency(1_000, 60_000), () => line?.cut(false));
}

export function stopWebhook(world: World, random: Random): void {
    const [replica] = world.webhooks;
    if (replica?.process === undefined) return;
    world.kill(replica);
    world.time.after(random.latency(1_000, 60_000), () => world.startWebhook(replica));
}

export function confuseRuntime(world: World, random: Random): void {
    const faults = { ...noRuntimeFaults };
    const names = Object.keys(faults) as (keyof typeof faults)[];
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const name = random.pick(names);
        if (name !== undefined) faults[name] = random.between(0.1, 0.6);
    }
    world.runtime = faults;
    world.time.after(random.latency(2_000, 60_000), () => (world.runtime = noRuntimeFaults));
}

export function killSandbox(world: World, random: Random): void {
    stationOf(world, random)?.kubelet.killSandbox();
}

export function skewClock(world: World, random: Random): void {
    const clocks = [...world.stations, ...world.controllers];
    const one = random.pick(clocks);
    if (one !== undefined) one.skewMs = random.between(-600_000, 600_000);
}

export function stationOf({ stations }: World, random: Random): Station | undefined {
    return random.pick(stations.filter(({ machine }) => machine.isOn));
}
