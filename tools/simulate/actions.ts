import { podIpsAnnotation, poolsAnnotation, type IpPool, type IpRangeSpec } from "@antrea/crd";
import { type Pod, type StatefulSet } from "@antrea/kube";
import { noFaults, noWatchFaults, requestFaults } from "./api/faults.ts";
import { kindOf } from "./api/server.ts";
import { noRuntimeFaults } from "./cluster/kubelet.ts";
import { Random } from "./time/random.ts";
import { type Station, type World } from "./world.ts";

/** Something that a person, a machine or bad luck does. */
export interface Action {
    readonly name: ActionName;
    /** Since the action before. */
    readonly afterMs: number;
    /** What it is done to follows from this and from the state then. */
    readonly seed: number;
}

type Act = (world: World, random: Random) => Promise<void> | void;

const podKind = kindOf("v1", "pods");
const setKind = kindOf("apps/v1", "statefulsets");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const claimKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const outOfService = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };

/** Each with its weight. */
const acts = {
    createPods: [14, createPods],
    deletePods: [9, (world, random) => deletePods(world, random, undefined)],
    forceDeletePods: [3, (world, random) => deletePods(world, random, 0)],
    recreatePod: [4, recreatePod],
    createSet: [5, createSet],
    scaleSet: [6, scaleSet],
    deleteSet: [2, (world, random) => deleteSet(world, random, "Background")],
    orphanSet: [1.5, (world, random) => deleteSet(world, random, "Orphan")],
    createPool: [2, createPool],
    overlapPool: [1.5, overlapPool],
    growPool: [2, growPool],
    shrinkPool: [1.5, shrinkPool],
    deletePool: [1.5, deletePool],
    touchClaim: [3, touchClaim],
    crashAgent: [5, crashAgent],
    rebootNode: [2, rebootNode],
    loseNode: [1.5, loseNode],
    partitionNode: [3, partitionNode],
    loseOvsDatabase: [1, loseOvsDatabase],
    breakRequests: [4, breakRequests],
    breakWatches: [3, breakWatches],
    stallWatches: [3, stallWatches],
    compact: [3, (world) => compact(world)],
    crashController: [2, crashController],
    partitionController: [2, partitionController],
    stopWebhook: [2, stopWebhook],
    confuseRuntime: [4, confuseRuntime],
    killSandbox: [4, killSandbox],
    collectGarbage: [1, (world, random) => stationOf(world, random)?.kubelet.collect()],
    check: [1, (world, random) => stationOf(world, random)?.kubelet.check()],
    skewClock: [1, skewClock],
} as const satisfies Readonly<Record<string, readonly [weight: number, act: Act]>>;

export type ActionName = keyof typeof acts;
export const actionNames = Object.keys(acts) as readonly ActionName[];

/** The actions of a seed, more than it will come to. */
export function actionsOf(seed: number, count: number): readonly Action[] {
    const random = new Random(seed, 7);
    const total = Object.values(acts).reduce((sum, [weight]) => sum + weight, 0);
    const draw = (): ActionName => {
        let left = random.next() * total;
        for (const name of actionNames) {
            left -= acts[name][0];
            if (left < 0) return name;
        }
        return "createPods";
    };
    return Array.from({ length: count }, () => ({
        ...{ name: draw(), afterMs: random.latency(5, 15_000), seed: random.bits() },
    }));
}

export async function perform({ name, seed }: Action, world: World): Promise<void> {
    world.counters.count(`action.${name}`);
    world.step(() => `--- ${name}`);
    const [, act]: readonly [number, Act] = acts[name];
    await act(world, new Random(seed, 8));
}

const json = (value: unknown): string => JSON.stringify(value);

/** Pools are made in few subnets, so that they meet. */
async function createPool(world: World, random: Random): Promise<void> {
    const name = `pool-${random.below(6)}`;
    const isV6 = random.chance(0.35);
    const spec = { ipVersion: isV6 ? 6 : 4, ipRanges: [rangeOf(random, isV6)] };
    const body = json({ apiVersion: "crd.antrea.io/v1alpha2", kind: "IPPool", metadata: { name }, spec });
    await world.request({ method: "POST", path: "/apis/crd.antrea.io/v1alpha2/ippools", body });
}

function rangeOf(random: Random, isV6: boolean): IpRangeSpec {
    const subnet = random.below(3);
    const first = 2 + random.below(20);
    const last = first + random.below(7);
    const prefix = isV6 ? `fd00:10:${subnet}::` : `10.10.${subnet}.`;
    const text = (at: number): string => `${prefix}${isV6 ? at.toString(16) : at}`;
    return { start: text(first), end: text(last), gateway: text(1), prefixLength: isV6 ? 64 : 24 };
}

/** While no webhook is configured a pool is made of addresses that another has. */
async function overlapPool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    const name = `pool-${random.below(6)}`;
    if (pool === undefined) return;
    const body = json({ ...pool, metadata: { name }, status: undefined });
    world.hasWebhooks = false;
    await world.request({ method: "POST", path: "/apis/crd.antrea.io/v1alpha2/ippools", body });
    world.hasWebhooks = true;
}

async function growPool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    if (pool === undefined) return;
    await changePool(world, pool, [...pool.spec.ipRanges, rangeOf(random, pool.spec.ipVersion === 6)]);
}

async function shrinkPool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    if (pool === undefined) return;
    const [first, ...rest] = pool.spec.ipRanges;
    if (first?.start === undefined) return;
    await changePool(
        world,
        pool,
        random.chance(0.5) && rest.length > 0 ? rest : [{ ...first, end: first.start }, ...rest],
    );
}

async function changePool(world: World, { metadata }: IpPool, ipRanges: readonly IpRangeSpec[]): Promise<void> {
    const path = `/apis/crd.antrea.io/v1alpha2/ippools/${metadata?.name}`;
    await world.request({ method: "PATCH", path, body: json({ spec: { ipRanges } }) });
}

async function deletePool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    const path = `/apis/crd.antrea.io/v1alpha2/ippools/${pool?.metadata?.name}`;
    if (pool !== undefined) await world.request({ method: "DELETE", path });
}

/** What Pods and sets ask for: mostly one pool, often one of each family, sometimes several or none. */
function wishes(world: World, random: Random): Readonly<Record<string, string>> | undefined {
    const pools = poolsOf(world);
    if (random.chance(0.08)) return undefined;
    const one = random.pick(pools);
    const other = random.chance(0.4) ? random.pick(pools) : undefined;
    const names = [one, other].flatMap((pool) => pool?.metadata?.name ?? []);
    return { [poolsAnnotation]: names.length === 0 ? "pool-0" : [...new Set(names)].join(",") };
}

function fixedIn(world: World, random: Random, annotations: Readonly<Record<string, string>>): string | undefined {
    const pool = poolsOf(world).find(({ metadata }) => metadata?.name === annotations[poolsAnnotation]);
    const range = random.pick(pool?.spec.ipRanges ?? []);
    return random.chance(0.5) ? range?.start : range?.end;
}

async function createPods(world: World, random: Random): Promise<void> {
    for (let left = 1 + random.below(4); left > 0; left -= 1) await createPod(world, random, `web-${random.below(12)}`);
}

async function createPod(world: World, random: Random, name: string): Promise<void> {
    const nodeName = world.workloads.schedule();
    if (nodeName === undefined) return;
    const wish = wishes(world, random);
    const fixed = wish !== undefined && random.chance(0.15) ? fixedIn(world, random, wish) : undefined;
    const annotations = wish && { ...wish, ...(fixed !== undefined && { [podIpsAnnotation]: fixed }) };
    const metadata = { name, namespace: "default", ...(annotations && { annotations }) };
    const body = json({ apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName, containers: [] } });
    await world.request({ method: "POST", path: "/api/v1/namespaces/default/pods", body });
}

async function deletePods(world: World, random: Random, gracePeriodSeconds: number | undefined): Promise<void> {
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const pod = random.pick(podsOf(world));
        const path = `/api/v1/namespaces/default/pods/${pod?.metadata?.name}`;
        if (pod !== undefined) await world.request({ method: "DELETE", path, body: json({ gracePeriodSeconds }) });
    }
}

/** The same name at once again: another Pod. */
async function recreatePod(world: World, random: Random): Promise<void> {
    const pod = random.pick(podsOf(world).filter(({ metadata }) => metadata?.name?.startsWith("web-")));
    const { name = "" } = pod?.metadata ?? {};
    if (pod === undefined) return;
    const path = `/api/v1/namespaces/default/pods/${name}`;
    await world.request({ method: "DELETE", path, body: json({ gracePeriodSeconds: 0 }) });
    await createPod(world, random, name);
}

async function createSet(world: World, random: Random): Promise<void> {
    const name = `set-${random.below(3)}`;
    const annotations = wishes(world, random);
    const template = {
        metadata: { labels: { app: name }, ...(annotations && { annotations }) },
        spec: { containers: [] },
    };
    const spec = {
        ...{ replicas: random.below(5), serviceName: name, selector: { matchLabels: { app: name } }, template },
        ...(random.chance(0.3) && { ordinals: { start: random.below(3) } }),
    };
    const body = json({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name, namespace: "default" }, spec });
    await world.request({ method: "POST", path: "/apis/apps/v1/namespaces/default/statefulsets", body });
}

async function scaleSet(world: World, random: Random): Promise<void> {
    const set = random.pick(setsOf(world));
    const path = `/apis/apps/v1/namespaces/default/statefulsets/${set?.metadata?.name}`;
    if (set !== undefined)
        await world.request({ method: "PATCH", path, body: json({ spec: { replicas: random.below(6) } }) });
}

async function deleteSet(world: World, random: Random, propagationPolicy: string): Promise<void> {
    const set = random.pick(setsOf(world));
    const path = `/apis/apps/v1/namespaces/default/statefulsets/${set?.metadata?.name}`;
    if (set !== undefined) await world.request({ method: "DELETE", path, body: json({ propagationPolicy }) });
}

/** Somebody writes the object of a claim, and whoever read it before has an old version. */
async function touchClaim(world: World, random: Random): Promise<void> {
    const claim = random.pick([...world.server.store.all(claimKind)])?.object.metadata?.name;
    const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${claim}`;
    const body = json({ metadata: { annotations: { note: random.hex(4) } } });
    if (claim !== undefined) await world.request({ method: "PATCH", path, body });
}

function crashAgent(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined) return;
    world.killAgent(station);
    world.time.after(random.latency(50, 20_000), () => world.startAgent(station));
}

function rebootNode(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined) return;
    world.powerOff(station);
    const diskLost = random.chance(0.3);
    world.counters.count(diskLost ? "node.rebootWithoutDisk" : "node.reboot");
    world.time.after(random.latency(500, 90_000), () => void back(world, station, diskLost));
}

/** The machine is off for long. Somebody who knows that says so, by deleting the Node or by the taint. */
function loseNode(world: World, random: Random): void {
    const on = world.stations.filter(({ machine }) => machine.isOn);
    const station = on.length > 1 ? random.pick(on) : undefined;
    if (station === undefined) return;
    world.powerOff(station);
    const { name } = station.machine;
    const path = `/api/v1/nodes/${name}`;
    const kind = random.pick(["deleted", "out-of-service", "unsaid"] as const);
    world.counters.count(`node.lost.${kind}`);
    station.isLost = kind === "deleted" && random.chance(0.4);
    world.time.after(random.latency(1_000, 60_000), () => {
        if (station.machine.isOn) return;
        if (kind === "deleted") void world.request({ method: "DELETE", path });
        if (kind === "out-of-service")
            void world.request({ method: "PATCH", path, body: json({ spec: { taints: [outOfService] } }) });
    });
    if (!station.isLost)
        world.time.after(random.between(60_000, 500_000), () => void back(world, station, random.chance(0.5)));
}

/** The machine is on again, and the taint, if there is one, is taken away. */
export async function back(world: World, station: Station, diskLost: boolean): Promise<void> {
    if (station.machine.isOn) return;
    await world.powerOn(station, { diskLost });
    const path = `/api/v1/nodes/${station.machine.name}`;
    await world.request({ method: "PATCH", path, body: json({ spec: { taints: null } }) });
}

function partitionNode(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined || station.isCut) return;
    world.cut(station, true);
    world.time.after(random.latency(500, 200_000), () => world.cut(station, false));
}

/** ovsdb-server starts with an empty database, and ovs-vswitchd without flows; the agent starts anew with them. */
function loseOvsDatabase(world: World, random: Random): void {
    const station = stationOf(world, random);
    if (station === undefined) return;
    world.killAgent(station);
    station.machine.ports.clear();
    station.machine.loseFlows();
    world.time.after(random.latency(200, 5_000), () => world.startAgent(station));
}

function breakRequests(world: World, random: Random): void {
    const faults = { ...noFaults };
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const fault = random.pick(requestFaults);
        if (fault !== undefined) faults[fault] = random.between(0.02, 0.3);
    }
    world.requests = faults;
    world.time.after(random.latency(500, 60_000), () => (world.requests = noFaults));
}

function breakWatches(world: World, random: Random): void {
    for (const line of world.lines) if (random.chance(0.5)) line.breakWatches();
    world.watches = { ...world.watches, broken: random.between(0, 0.2), expired: random.between(0, 0.5) };
    world.time.after(random.latency(500, 30_000), () => (world.watches = noWatchFaults));
}

function stallWatches(world: World, random: Random): void {
    world.watches = { ...world.watches, stalled: random.between(0.05, 0.5) };
    world.time.after(random.latency(500, 60_000), () => (world.watches = noWatchFaults));
}

function compact(world: World): void {
    world.server.compact();
}

function crashController(world: World, random: Random): void {
    const replica =
        random.pick(world.controllers.filter(({ process }) => process?.leads)) ?? random.pick(world.controllers);
    if (replica === undefined) return;
    world.kill(replica);
    world.time.after(random.latency(200, 60_000), () => world.startController(replica));
}

/** Cut off while it leads, it must stop before another begins. */
function partitionController(world: World, random: Random): void {
    const replica = random.pick(world.controllers.filter(({ process }) => process?.leads));
    const line = replica?.line;
    line?.cut(true);
    world.time.after(random.latency(1_000, 60_000), () => line?.cut(false));
}

function stopWebhook(world: World, random: Random): void {
    const [replica] = world.webhooks;
    if (replica?.process === undefined) return;
    world.kill(replica);
    world.time.after(random.latency(1_000, 60_000), () => world.startWebhook(replica));
}

function confuseRuntime(world: World, random: Random): void {
    const faults = { ...noRuntimeFaults };
    const names = Object.keys(faults) as (keyof typeof faults)[];
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const name = random.pick(names);
        if (name !== undefined) faults[name] = random.between(0.1, 0.6);
    }
    world.runtime = faults;
    world.time.after(random.latency(2_000, 60_000), () => (world.runtime = noRuntimeFaults));
}

function killSandbox(world: World, random: Random): void {
    stationOf(world, random)?.kubelet.killSandbox();
}

function skewClock(world: World, random: Random): void {
    const clocks = [...world.stations, ...world.controllers];
    const one = random.pick(clocks);
    if (one !== undefined) one.skewMs = random.between(-600_000, 600_000);
}

function stationOf({ stations }: World, random: Random): Station | undefined {
    return random.pick(stations.filter(({ machine }) => machine.isOn));
}

function poolsOf({ server }: World): readonly IpPool[] {
    return [...server.store.all(poolKind)].map(({ object }) => object as IpPool);
}

function podsOf({ server }: World): readonly Pod[] {
    return [...server.store.all(podKind)].map(({ object }) => object as Pod);
}

function setsOf({ server }: World): readonly StatefulSet[] {
    return [...server.store.all(setKind)].map(({ object }) => object as StatefulSet);
}
