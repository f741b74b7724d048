import { noFaults, noWatchFaults } from "./api/faults.ts";
import { back, remember, startOvs } from "./accidents.ts";
import { actionsOf, perform, type Action } from "./actions.ts";
import { unsettled } from "./check/settled.ts";
import { type Violation } from "./check/truth.ts";
import { noRuntimeFaults } from "./cluster/runtime-faults.ts";
import { namespaces } from "./people.ts";
import { poolInCluster } from "./pools.ts";
import { Random } from "./time/random.ts";
import { takeOverGlobals } from "./time/virtual-time.ts";
import { World, type Plant, type Station } from "./world.ts";

export interface RunOptions {
    readonly seed: number;
    /** After this many steps no new actions are performed, and the cluster must settle. */
    readonly steps: number;
    /** Only these of the seed's actions, by number. Default all. */
    readonly only?: readonly number[] | undefined;
    readonly tell?: ((line: string) => void) | undefined;
    readonly plant?: Plant | undefined;
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
const lookMs = 15_000;
/** Longer than the interval between two passes of an agent, which isolates containers that lost their address. */
const firstLookMs = 90_000;

let current: World | undefined;
let unexpected: ((error: unknown) => void) | undefined;

/** Called once, before the first run: makes time and random numbers virtual in the whole process. */
export function prepareProcess(): void {
    const idle = { time: new World({ seed: 0 }).time, random: new Random(0) };
    takeOverGlobals(() => current ?? idle);
    process.on("unhandledRejection", (error) => unexpected?.(error));
}

/** Runs one seed until it has settled, or to the first violation. */
export async function run(options: RunOptions): Promise<RunResult> {
    const { seed, steps: maxSteps, only, tell, plant } = options;
    const world = new World({ seed, tell, plant });
    current = world;
    unexpected = (error) => world.truth.violated("no failure is left unseen", String((error as Error).stack ?? error));
    const failed = (): boolean => world.truth.violations.length > 0;
    const all = actionsOf(seed, maxActions);
    const done: number[] = [];
    let at = 0;
    const next = (): void => {
        const index = at;
        const action: Action | undefined = all[index];
        at += 1;
        if (action === undefined) return;
        world.time.after(action.afterMs, () => {
            if (world.steps >= maxSteps || failed()) return;
            if (only === undefined || only.includes(index)) {
                done.push(index);
                void perform(action, world);
            }
            if (only === undefined || index < Math.max(...only)) next();
            else world.time.after(60_000, () => (world.steps = Math.max(world.steps, maxSteps)));
        });
    };
    void setUp(world).then(next);
    await world.time.run(() => failed() || world.steps >= maxSteps);
    if (!failed()) await rest(world, failed);
    world.end();
    // Pending work of this seed ends before the next seed starts.
    for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    const { steps } = world;
    return {
        seed,
        steps,
        violations: world.truth.violations,
        events: world.time.events,
        actions: done,
        seconds: world.time.now / 1000,
        counters: world.counters.all(),
    };
}

async function setUp(world: World): Promise<void> {
    // Without these objects the run would test nothing.
    const post = async (path: string, object: unknown): Promise<void> => {
        const request = { method: "POST", path, body: JSON.stringify(object) } as const;
        // The webhook may still wait for its first lists.
        for (let tries = 0; tries < setUpTries; tries += 1) {
            if ((await world.request(request)) !== undefined) return;
            await world.time.sleep(setUpPauseMs);
        }
        world.truth.violated("the cluster can be set up", `POST ${path} was refused`);
    };
    for (const name of ["kube-system", ...namespaces]) await post("/api/v1/namespaces", { metadata: { name } });
    const spec = { cidrs: ["10.96.0.0/16"] };
    await post("/apis/networking.k8s.io/v1/servicecidrs", { metadata: { name: "kubernetes" }, spec });
    if (world.random.chance(0.1)) await poolInCluster(world, world.random);
    for (let left = 2 + world.random.below(3), at = 0; at < left; at += 1) {
        await world.register(world.addStation(`node-${at}`, at));
    }
    for (const replica of world.webhooks) world.startWebhook(replica);
    for (const replica of world.controllers) world.startController(replica);
    for (const station of world.stations) world.startAgent(station);
    await world.time.sleep(2_000);
    const pool = (name: string, ipVersion: number, range: unknown): Promise<void> =>
        post("/apis/crd.antrea.io/v1alpha2/ippools", { metadata: { name }, spec: { ipVersion, ipRanges: [range] } });
    const gateway = "10.10.0.1";
    await pool("pool-0", 4, {
        start: "10.10.0.30",
        end: `10.10.0.${33 + world.random.below(8)}`,
        gateway,
        prefixLength: 24,
    });
    const v6 = { start: "fd00:10::30", end: "fd00:10::38", gateway: "fd00:10::1", prefixLength: 64 };
    await pool("pool-6", 6, v6);
}

/** No new actions, all faults end, everything recoverable recovers: the remaining state must be correct. */
async function rest(world: World, failed: () => boolean): Promise<void> {
    world.step(() => "--- rest");
    const heal = async (): Promise<void> => {
        world.requests = noFaults;
        world.watches = noWatchFaults;
        world.runtime = noRuntimeFaults;
        for (const { line } of [...world.controllers, ...world.webhooks]) line?.cut(false);
        for (const replica of world.webhooks) world.startWebhook(replica);
        for (const replica of world.controllers) world.startController(replica);
        for (const station of world.stations) {
            startOvs(station, false);
            if (station.heldUntil <= world.time.now) await bringBack(world, station);
            else world.time.after(station.heldUntil - world.time.now + 1, () => void bringBack(world, station));
        }
        await world.workloads.resync();
    };
    // Some conditions last longer, and only show if they do.
    const heldUntil = Math.max(world.time.now, ...world.stations.map((station) => station.heldUntil));
    const until = heldUntil + restMs;
    let problems: readonly string[] = ["it was not looked yet"];
    let atRest = false;
    const look = (): void => {
        world.checks.forcedClaims.heard();
        world.truth.endUnheard();
        problems = unsettled(world);
        if (problems.length === 0) atRest = true;
        else world.time.after(lookMs, look);
    };
    void heal();
    world.time.after(heldUntil - world.time.now + firstLookMs, look);
    await world.time.run(() => failed() || atRest || world.time.now > until);
    if (!failed() && !atRest) for (const problem of problems) world.truth.violated("all comes to rest", problem);
}

async function bringBack(world: World, station: Station): Promise<void> {
    station.isKubeletCut = false;
    world.cut(station, false);
    await remember(world, station);
    if (!station.isLost) await back(world, station, false);
    startOvs(station, false);
    world.startAgent(station);
    if (station.machine.isOn) station.kubelet.resync();
}
