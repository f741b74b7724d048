import { noFaults, noWatchFaults } from "./api/faults.ts";
import { back, remember, startOvs } from "./fault-actions.ts";
import { actionsOf, perform, type Action } from "./actions.ts";
import { unsettled } from "./check/settled.ts";
import { type Violation } from "./check/truth.ts";
import { noRuntimeFaults } from "./cluster/runtime-faults.ts";
import { setNetworks, setUpNetworks } from "./network-actions.ts";
import { namespaces } from "./user-actions.ts";
import { poolInCluster } from "./pools.ts";
import { Random } from "./time/random.ts";
import { takeOverGlobals } from "./time/virtual-time.ts";
import { SimulatedCluster, type BugHooks } from "./simulated-cluster.ts";
import { type Station } from "./station.ts";

export interface RunOptions {
    readonly seed: number;
    /** After this many steps no new actions are performed, and the cluster must settle. */
    readonly steps: number;
    /** Only these of the seed's actions, by number. Default all. */
    readonly only?: readonly number[] | undefined;
    readonly onHistoryLine?: ((line: string) => void) | undefined;
    readonly hooks?: BugHooks | undefined;
}

export interface RunResult {
    readonly seed: number;
    readonly violations: readonly Violation[];
    readonly steps: number;
    readonly events: number;
    /** Virtual seconds. */
    readonly seconds: number;
    /** Numbers of the performed actions. */
    readonly actions: readonly number[];
    readonly counters: Readonly<Record<string, number>>;
}

const maxActions = 2_000;
/** Limit of virtual time for the cluster to settle after the last action. */
const restMs = 900_000;
const setUpTries = 20;
const setUpPauseMs = 3_000;
const pollMs = 15_000;
/** Longer than the interval between two passes of an agent, which isolates containers that lost their address. */
const firstPollMs = 90_000;

let current: SimulatedCluster | undefined;
let unexpected: ((error: unknown) => void) | undefined;

/** Called once, before the first run: makes time and random numbers virtual in the whole process. */
export function prepareProcess(): void {
    const idle = { time: new SimulatedCluster({ seed: 0 }).time, random: new Random(0) };
    takeOverGlobals(() => current ?? idle);
    process.on("unhandledRejection", (error) => unexpected?.(error));
}

/** Runs one seed until it has settled, or to the first violation. */
export async function run(options: RunOptions): Promise<RunResult> {
    const { seed, steps: maxSteps, only, onHistoryLine, hooks } = options;
    const cluster = new SimulatedCluster({ seed, onHistoryLine, hooks });
    current = cluster;
    unexpected = (error) =>
        cluster.truth.violated("no failure is left unseen", String((error as Error).stack ?? error));
    const failed = (): boolean => cluster.truth.violations.length > 0;
    const all = actionsOf(seed, maxActions);
    const done: number[] = [];
    let at = 0;
    const next = (): void => {
        const index = at;
        const action: Action | undefined = all[index];
        at += 1;
        if (action === undefined) return;
        cluster.time.after(action.afterMs, () => {
            if (cluster.steps >= maxSteps || failed()) return;
            if (only === undefined || only.includes(index)) {
                done.push(index);
                void perform(action, cluster);
            }
            if (only === undefined || index < Math.max(...only)) next();
            else cluster.time.after(60_000, () => (cluster.steps = Math.max(cluster.steps, maxSteps)));
        });
    };
    void setUp(cluster).then(next);
    await cluster.time.run(() => failed() || cluster.steps >= maxSteps);
    if (!failed()) await rest(cluster, failed);
    cluster.end();
    // Pending work of this seed ends before the next seed starts.
    for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    const { steps } = cluster;
    return {
        seed,
        steps,
        violations: cluster.truth.violations,
        events: cluster.time.events,
        actions: done,
        seconds: cluster.time.now / 1000,
        counters: cluster.counters.all(),
    };
}

async function setUp(cluster: SimulatedCluster): Promise<void> {
    // Without these objects the run would test nothing.
    const post = async (path: string, object: unknown): Promise<void> => {
        const request = { method: "POST", path, body: JSON.stringify(object) } as const;
        // The webhook may still wait for its first lists.
        for (let tries = 0; tries < setUpTries; tries += 1) {
            if ((await cluster.request(request)) !== undefined) return;
            await cluster.time.sleep(setUpPauseMs);
        }
        cluster.truth.violated("the cluster can be set up", `POST ${path} was refused`);
    };
    for (const name of ["kube-system", ...namespaces]) await post("/api/v1/namespaces", { metadata: { name } });
    const spec = { cidrs: ["10.96.0.0/16"] };
    await post("/apis/networking.k8s.io/v1/servicecidrs", { metadata: { name: "kubernetes" }, spec });
    if (cluster.random.chance(0.1)) await poolInCluster(cluster, cluster.random);
    for (let left = 2 + cluster.random.below(3), at = 0; at < left; at += 1) {
        await cluster.register(cluster.addStation(`node-${at}`, at));
    }
    for (const replica of cluster.webhooks) cluster.startWebhook(replica);
    for (const replica of cluster.controllers) cluster.startController(replica);
    for (const station of cluster.stations) cluster.startAgent(station);
    await cluster.time.sleep(2_000);
    const pool = (name: string, ipVersion: number, range: unknown): Promise<void> =>
        post("/apis/crd.antrea.io/v1alpha2/ippools", { metadata: { name }, spec: { ipVersion, ipRanges: [range] } });
    const gateway = "10.10.0.1";
    await pool("pool-0", 4, {
        start: "10.10.0.30",
        end: `10.10.0.${33 + cluster.random.below(8)}`,
        gateway,
        prefixLength: 24,
    });
    const v6 = { start: "fd00:10::30", end: "fd00:10::38", gateway: "fd00:10::1", prefixLength: 64 };
    await pool("pool-6", 6, v6);
    await setUpNetworks(cluster, cluster.random);
}

/** No new actions, all faults end, everything recoverable recovers: the remaining state must be correct. */
async function rest(cluster: SimulatedCluster, failed: () => boolean): Promise<void> {
    cluster.step(() => "--- rest");
    const heal = async (): Promise<void> => {
        cluster.requests = noFaults;
        cluster.watches = noWatchFaults;
        cluster.runtime = noRuntimeFaults;
        for (const { transport } of [...cluster.controllers, ...cluster.webhooks]) transport?.cut(false);
        for (const replica of cluster.webhooks) cluster.startWebhook(replica);
        for (const replica of cluster.controllers) cluster.startController(replica);
        for (const station of cluster.stations) {
            startOvs(station, false);
            if (station.heldUntil <= cluster.time.now) await bringBack(cluster, station);
            else cluster.time.after(station.heldUntil - cluster.time.now + 1, () => void bringBack(cluster, station));
        }
        setNetworks(cluster, cluster.random, cluster.modes.usesNetworks);
        await cluster.workloads.resync();
    };
    // Some conditions last longer, and only show if they do.
    const heldUntil = Math.max(cluster.time.now, ...cluster.stations.map((station) => station.heldUntil));
    const until = heldUntil + restMs;
    let problems: readonly string[] = ["not checked yet"];
    let atRest = false;
    const poll = (): void => {
        cluster.checks.forcedAllocations.heard();
        cluster.truth.endUnheard();
        problems = unsettled(cluster);
        if (problems.length === 0) atRest = true;
        else cluster.time.after(pollMs, poll);
    };
    void heal();
    cluster.time.after(heldUntil - cluster.time.now + firstPollMs, poll);
    await cluster.time.run(() => failed() || atRest || cluster.time.now > until);
    if (!failed() && !atRest) for (const problem of problems) cluster.truth.violated("all comes to rest", problem);
}

async function bringBack(cluster: SimulatedCluster, station: Station): Promise<void> {
    station.isKubeletCut = false;
    cluster.cut(station, false);
    await remember(cluster, station);
    if (!station.isLost) await back(cluster, station, false);
    startOvs(station, false);
    cluster.startAgent(station);
    if (station.machine.isOn) station.kubelet.resync();
}
