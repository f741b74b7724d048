import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { allNodes, kubectl, systemNamespace, waitForAgents } from "../fixture/cluster.ts";
import { connectionEndMs, pauseLimitMs } from "../fixture/connections.ts";
import { FixtureError } from "../fixture/error.ts";
import { looseLinks, secondaryPorts } from "../fixture/networks.ts";
import { getJson } from "../fixture/objects.ts";
import { antctl, expectConsistent, type AllocationJson } from "../fixture/ipam.ts";
import { eventually } from "../fixture/run.ts";
import { writeReport } from "../fixture/written.ts";
import { BrokenError, checked, nothingFound, type Check } from "./checks.ts";
import { Churn } from "./churn.ts";
import { faults, isSwitchRunning, stateFolder, stateIsSeparate, type Fault, type Strike } from "./faults.ts";
import { Observer } from "./observer.ts";
import { PortWatch } from "./ports.ts";
import { report } from "./report.ts";
import { expectServed, fewestIn, recoveryMs as switchRecoveryMs, summarize, type Services } from "./services.ts";
import { modes, setStage, type Mode, type Stage } from "./stage.ts";
import { findQuarrels, WireListener } from "./wire.ts";

const { values } = parseArgs({
    options: {
        minutes: { type: "string", default: "30" },
        mode: { type: "string", default: "overlay" },
        write: { type: "boolean", default: false },
    },
});

const say = (text: string): void => void process.stdout.write(`[${new Date().toISOString().slice(11, 19)}] ${text}\n`);

/** Pause between the steps of the churn, and between polls. */
const churnMs = 2_500;
const pollMs = 4_000;
/** After a fault has ended, before the cluster is asked whether it is well again. */
const quietMs = 8_000;
/** kubelet delays the restart of a container that was killed often by up to five minutes. */
const recoveryMs = 330_000;

/** Repeats until the signal, whatever comes of it; resolves with the last error, if there was one. */
async function repeat(signal: AbortSignal, intervalMs: number, action: () => Promise<void>): Promise<unknown> {
    let last: unknown;
    while (!signal.aborted) {
        await action().catch((error: unknown) => (last = error));
        await pause(intervalMs);
    }
    return last;
}

/** Ready agents, controller, webhook and an API server that answers. */
async function well(): Promise<boolean | undefined> {
    const { items } = await getJson<{
        items: { readonly status: { readonly conditions?: readonly { type: string; status: string }[] } }[];
    }>("pods", { namespace: systemNamespace, labelSelector: "app=antrea", timeoutMs: 3_000 });
    const ready = items.filter(({ status }) =>
        status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True"),
    );
    return items.length >= allNodes.length && ready.length === items.length ? true : undefined;
}

async function strike(fault: Fault, node: string): Promise<Strike> {
    const from = Date.now();
    try {
        await fault.begin(node);
        await pause(fault.holdMs);
    } finally {
        await eventually(`${fault.name} ends`, () => fault.end(node).then(() => true));
    }
    const ended = Date.now();
    const isBack = fault.stopsSwitch ? await switchRuns(node) : true;
    const switchBack = fault.stopsSwitch ? Date.now() : undefined;
    await pause(quietMs);
    const wellAgain = isBack
        ? await eventually("all is well", well, recoveryMs, 1_000).then(
              () => Date.now(),
              () => undefined,
          )
        : undefined;
    return { fault: fault.name, node, from, ended, switchBack, wellAgain, to: Date.now() };
}

/** Resolves when Open vSwitch of the Node runs again; with false at the end of the wait for it. */
async function switchRuns(node: string): Promise<boolean> {
    // a process that was killed is still listed for a moment
    await pause(500);
    return eventually(`Open vSwitch runs on ${node}`, () => isSwitchRunning(node), recoveryMs).catch(() => false);
}

/** What must hold of new connections to Services in so many milliseconds. */
async function serviceChecks(
    { attempts, failed, wrong, silent, pauses }: Services,
    ms: number,
): Promise<readonly Check[]> {
    const count = Math.min(...attempts.values());
    const sum = (counts: Iterable<number>): number => [...counts].reduce((one, other) => one + other, 0);
    const all = sum(attempts.values());
    const failures = sum([...failed.values()].map((of) => sum(of.values())));
    const rule = `until ${switchRecoveryMs / 1_000} s after Open vSwitch of a Node on the path was back`;
    return [
        await checked("new connections to Services fail only while Open vSwitch of a Node on the path is away", () =>
            nothingFound(
                wrong.length > 0 ? [`${wrong.length} of ${all}`, ...wrong] : [],
                { count, atLeast: fewestIn(ms) },
                `${all} connections, at least ${count} on each path; ${failures} failed, all of them ${rule}`,
            ),
        ),
        await checked("clients connected to Services all the time", () =>
            nothingFound(
                pauses,
                { count: attempts.size, atLeast: 1 },
                `${attempts.size} paths, no pause of ${pauseLimitMs / 1_000} s`,
            ),
        ),
        await checked("every endpoint of a Service was chosen on each path", () =>
            nothingFound(silent, { count: attempts.size, atLeast: 1 }, `${attempts.size} paths`),
        ),
    ];
}

/** Every Pod of the churn runs, but those for which only a pool is left that may be full. */
async function allRun(stage: Stage): Promise<string> {
    return eventually(
        "every Pod runs",
        async () => {
            const { items } = await getJson<{
                items: {
                    metadata: { name: string; annotations?: Record<string, string> };
                    status: { phase: string };
                }[];
            }>("pods", { namespace: stage.namespace.name });
            const waiting = items.filter(
                ({ metadata, status }) =>
                    status.phase !== "Running" && metadata.annotations?.["ipam.antrea.io/ippools"] !== "chaos-small",
            );
            if (waiting.length > 0) throw new BrokenError(waiting.map(({ metadata }) => metadata.name).join());
            return `${items.length} Pods`;
        },
        // the scheduler may wait for its restart, and all that it gives a Node then start at once
        recoveryMs + 120_000,
        2_000,
    );
}

async function onlyPods(stage: Stage, names: readonly string[]): Promise<string> {
    return eventually(
        "all other Pods are gone",
        async () => {
            const others = (await stage.namespace.pods()).map(({ metadata }) => metadata.name);
            const left = others.filter((name) => !names.includes(name));
            if (left.length > 0) throw new BrokenError(left.join());
            return "all";
        },
        600_000,
        2_000,
    );
}

/** Of VLAN networks only Pods that run have ports, and nobody a link that is no port. */
async function noPortLeft(staying: readonly string[]): Promise<string> {
    return eventually("ports of Pods that are gone are deleted", async () => {
        const all = await Promise.all(
            allNodes.map(async (node) => [(await secondaryPorts(node)) ?? [], await looseLinks(node)] as const),
        );
        const ports = all.flatMap(([of]) => of).filter(({ pod }) => pod !== undefined);
        const left = [
            ...ports.filter(({ pod }) => !staying.includes(pod?.split("/")[1] ?? "")).map(({ name }) => `port ${name}`),
            ...all.flatMap(([, links]) => links.map((link) => `link ${link}`)),
        ];
        if (left.length > 0) throw new BrokenError(left.join());
        return `${ports.length} ports`;
    });
}

function modeOf(text: string): Mode {
    const found = modes.find((mode) => mode === text);
    if (found === undefined)
        throw new FixtureError("NOT_SET_UP", "caller", `--mode ${text}: must be one of ${modes.join(", ")}`);
    return found;
}

async function main(): Promise<number> {
    const mode = modeOf(values.mode);
    if (!(await stateIsSeparate()))
        throw new FixtureError(
            "NOT_SET_UP",
            "caller",
            `${stateFolder} is on the disk of the machine, which would be filled: run tools/chaos.sh without REUSE`,
        );
    const ms = Number(values.minutes) * 60_000;
    say(`setting the stage: ${mode}`);
    const stage = await setStage(mode, ms / 1_000 + 1_800);
    const observer = new Observer(stage);
    const churn = new Churn(stage, (set, replicas) => observer.scaled(set, replicas));
    const ports = new PortWatch();
    const listeners = await Promise.all(allNodes.map((node) => WireListener.on(node, stage.device)));

    const stop = new AbortController();
    const begin = Date.now();
    const background = Promise.all([
        repeat(stop.signal, pollMs, () => observer.poll()),
        repeat(stop.signal, pollMs, () => ports.poll()),
        repeat(stop.signal, churnMs, () => churn.step()),
    ]);
    const strikes: Strike[] = [];
    const rounds = new Map<string, number>();
    for (let n = 0; Date.now() - begin < ms; n += 1) {
        const fault = faults[n % faults.length] as Fault;
        const round = rounds.get(fault.name) ?? 0;
        rounds.set(fault.name, round + 1);
        const node = fault.nodes[round % fault.nodes.length] ?? "";
        say(`${fault.name} (${node})`);
        const done = await strike(fault, node);
        strikes.push(done);
        if (done.wellAgain === undefined) say("  not well again");
    }
    stop.abort();
    const [observerError] = await background;
    const end = Date.now();
    // on the average once for each fault, in whose time many polls fail
    const atLeast = strikes.length;
    const polls = { count: observer.polls, atLeast, lastError: observerError };

    say("at rest: checking for what is left");
    const checks: Check[] = [
        await checked("all was well again after each fault", () =>
            nothingFound(
                strikes.flatMap(({ fault, node, wellAgain }) =>
                    wellAgain === undefined ? [`${fault} (${node})`] : [],
                ),
                { count: strikes.length, atLeast: 1 },
                `${strikes.length} faults, within ${recoveryMs / 1_000} s`,
            ),
        ),
        await checked("users could do what they did", () => {
            const times = [...churn.done.values()].reduce((one, other) => one + other, 0);
            return nothingFound([], { count: times, atLeast }, `${times} times`);
        }),
        // An API server that came back a moment ago may refuse everybody until it has read who may do what.
        await checked("agents are ready again", () =>
            eventually("the agents are ready", () => waitForAgents(180).then(() => "all"), 200_000),
        ),
        await checked("every Pod gets its addresses", () => allRun(stage)),
        await checked("`antctl ipam check` with the Pods that run", () =>
            expectConsistent(120_000).then(() => "clean"),
        ),
        await checked("the Pods that were watched run on, with their addresses", async () => {
            const now = await stage.namespace.ready(stage.anchors.map(({ name }) => name));
            const text = (pods: Stage["anchors"]): string => JSON.stringify(pods);
            if (text(now) !== text(stage.anchors)) throw new BrokenError(`${text(stage.anchors)} became ${text(now)}`);
            return `${now.length} Pods`;
        }),
        await checked("no two Pods had one address (API server)", () =>
            nothingFound(observer.duplicates, polls, `${observer.polls} polls, ${observer.seen.size} Pods`),
        ),
        await checked("no two Pods had one address (OVS of all Nodes)", () => {
            const count = Math.min(...ports.answers.values());
            const text = `${count} polls of the Node that answered least, at most ${ports.most} addresses at once`;
            return nothingFound(ports.duplicates, { count, atLeast, lastError: ports.lastError }, text);
        }),
        await checked("Pods of StatefulSets kept their addresses", () => {
            const count = observer.comparedOfSets.size;
            return nothingFound(observer.lost, { count, atLeast: 1 }, `${count} Pods`);
        }),
        await checked("nobody spoke for another's address on the wire (ARP, ND)", () => {
            const heard = listeners.flatMap((listener) => listener.speeches);
            const quarrels = findQuarrels(heard).map((quarrel) => JSON.stringify(quarrel));
            const addresses = new Set(heard.map(({ vlan, address }) => `${vlan} ${address}`)).size;
            const { length: count } = heard;
            return nothingFound(quarrels, { count, atLeast: 1 }, `${heard.length} frames about ${addresses} addresses`);
        }),
    ];
    const restEnd = Date.now() - connectionEndMs;
    const services =
        stage.clients === undefined
            ? undefined
            : summarize(stage.clients.paths, stage.clients.connections(begin, restEnd), strikes, {
                  from: begin,
                  to: restEnd,
              });
    if (services !== undefined)
        checks.push(
            ...(await serviceChecks(services, restEnd - begin)),
            await checked("Services that came and stayed are served, and one that comes now", () =>
                expectServed(stage.namespace, "subnet-2", churn.services).then((count) => `${count} Services`),
            ),
        );
    await churn.end();
    const staying = stage.anchors.map(({ name }) => name);
    checks.push(
        // kube-controller-manager ends with the API server, and kubelet lets it wait for up to five minutes then
        await checked("Pods that were deleted are gone", () => onlyPods(stage, staying)),
        await checked("only Pods that are there hold addresses", async () => {
            await eventually(
                "allocations of Pods that are gone are freed",
                async () => {
                    const { items } = await getJson<{ items: readonly AllocationJson[] }>("ipallocations");
                    const left = items.filter(
                        ({ spec }) =>
                            !["Node", "Gateway"].includes(spec.owner.kind) && !staying.includes(spec.pod?.name ?? ""),
                    );
                    if (left.length > 0) throw new BrokenError(left.map(({ metadata }) => metadata.name).join());
                    return true;
                },
                90_000,
                2_000,
            );
            return `${staying.length} Pods`;
        }),
        ...(stage.networks === undefined
            ? []
            : [await checked("only Pods that are there have ports of VLAN networks", () => noPortLeft(staying))]),
        await checked("`antctl ipam check` at the end", () => antctl(["ipam", "check"]).then(() => "clean")),
    );
    const restarts = await kubectl([
        "get",
        "pods",
        "-n",
        systemNamespace,
        "-l",
        "app=antrea",
        "-o",
        "jsonpath={range .items[*]}{.metadata.name}: {range .status.containerStatuses[*]}{.name} {.restartCount} {end}\n{end}",
    ]);
    const seconds = Math.round((end - begin) / 1_000);
    const text = report({ mode, seconds, strikes, churn, checks, ways: stage.ways, end, services });
    process.stdout.write(`\n${text}\nrestarts:\n${restarts}\n`);
    if (values.write) await writeReport(`chaos-${mode}`, text);
    for (const one of [...listeners, ...stage.ways]) await one[Symbol.asyncDispose]();
    await stage.namespace[Symbol.asyncDispose]();
    if (churn.passingPool !== undefined) await kubectl(["delete", "ippool", "--ignore-not-found", churn.passingPool]);
    await stage.pools[Symbol.asyncDispose]();
    await stage.surroundings[Symbol.asyncDispose]();
    return checks.every(({ ok }) => ok) ? 0 : 1;
}

process.exitCode = await main();
