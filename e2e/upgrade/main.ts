import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { bridged } from "../fixture/bridging.ts";
import { allNodes, clusterName, helmRollback, waitForAgents, workers } from "../fixture/cluster.ts";
import { connectionEndMs, connectionLimitMs, type Outage } from "../fixture/connections.ts";
import { FixtureError } from "../fixture/error.ts";
import { getJson } from "../fixture/objects.ts";
import { expectConsistent, poolsKey, TestPools, type AllocationJson } from "../fixture/ipam.ts";
import { addressIn, NetworkDefinitions, networkValues, requesting } from "../fixture/networks.ts";
import { PhysicalNetwork } from "../fixture/physical-network.ts";
import { TestNamespace, type PodSpec, type TestPod } from "../fixture/pods.ts";
import { run } from "../fixture/run.ts";
import { plugRouter, poolRanges, poolsOf } from "../fixture/vlan-router.ts";
import { WatchedWay, type Gap } from "../fixture/watched-way.ts";
import { writeReport } from "../fixture/written.ts";
import { AgentWatch, outagesOf, recoveryMs } from "./agent-watch.ts";
import { afterRollback } from "./page.ts";
import { endpointLabel, ServiceClients } from "./service-clients.ts";

/** A release, and what its users have switched on. */
interface Release {
    readonly name: string;
    readonly folder: string;
}

type Mode = "subnets" | "pools" | "bridging" | "networks";

/** What one of the releases could do first; what is not listed is as the one before. */
const modes: Readonly<Record<string, Mode>> = {
    routing: "subnets",
    pools: "pools",
    bridging: "bridging",
    networks: "networks",
};

/** The NIC of the Nodes that is on the physical network with VLANs, and the network of the Pods there. */
const nic = "eth2";
const vlanNetwork = { vlan: 100, ipam: { type: "antrea", ippools: ["upgrade-vlan"] } };
const vlanRange = { cidr: "10.70.100.0/24", gateway: "10.70.100.1", prefixLength: 24 };

/** Values of the chart, besides those for a local cluster. */
const modeValues: Readonly<Record<Mode, readonly string[]>> = {
    subnets: [],
    pools: ["featureGates.AntreaIPAM=true"],
    bridging: ["featureGates.AntreaIPAM=true", "enableBridgingMode=true", "noSNAT=true"],
    networks: ["featureGates.AntreaIPAM=true", ...networkValues([nic])],
};

const helmMs = 300_000;
/** Until watched traffic ends by itself. */
const watchSeconds = 1_800;
const [first = "", second = ""] = workers;
const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 23);
const between = (from: number, to: number): string => `from ${clock(from)} to ${clock(to)}`;
const say = (text: string): void => void process.stdout.write(`[${new Date().toISOString().slice(11, 19)}] ${text}\n`);

/** Installs a chart, or upgrades to it. */
async function install(chart: string, tag: string, mode: Mode): Promise<void> {
    const set = modeValues[mode].flatMap((value) => ["--set", value]);
    const command = [`CHART=${chart}`, `TAG=${tag}`, "tools/cluster/install-chart.sh", clusterName, ...set];
    await run("env", command, { timeoutMs: helmMs + 10_000 });
    await waitForAgents(180);
}

/** Addresses, and who holds them. */
interface Held {
    readonly pods: readonly TestPod[];
    readonly uids: readonly string[];
    readonly restarts: number;
    readonly allocations: readonly string[];
}

async function held(namespace: TestNamespace, names: readonly string[], mode: Mode): Promise<Held> {
    const pods = await namespace.ready(names);
    const { items } = await getJson<{
        items: {
            metadata: { name: string; uid: string };
            status: { containerStatuses: { restartCount: number }[] };
        }[];
    }>("pods", { namespace: namespace.name });
    const of = items.filter(({ metadata }) => names.includes(metadata.name));
    const allocations =
        mode === "subnets" ? [] : (await getJson<{ items: readonly AllocationJson[] }>("ipallocations")).items;
    return {
        pods,
        uids: of.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).sort(),
        restarts: of.reduce((sum, { status }) => sum + (status.containerStatuses[0]?.restartCount ?? 0), 0),
        allocations: allocations
            .filter(
                ({ spec }) => !["Node", "Gateway"].includes(spec.owner.kind) && names.includes(spec.pod?.name ?? ""),
            )
            .map(({ metadata, spec }) => `${metadata.name} ${metadata.uid} ${spec.pod?.uid ?? ""}`)
            .sort(),
    };
}

interface Step {
    readonly name: string;
    readonly seconds: number;
    /** The longest time without an answer, in milliseconds. */
    readonly longestMs: number;
    readonly on: string;
    /** Without an answer though no agent was away on either Node of the way. */
    readonly unexplained: readonly string[];
    readonly awayMs: number;
    /** New connections to a Service. */
    readonly connections: number;
    readonly failed: number;
    /** What is wrong with them. */
    readonly problems: readonly string[];
}

/** Whether a gap lies in a time in which Open vSwitch of one of these Nodes may not forward. */
function isExplained(gap: Gap, outages: readonly Outage[], nodes: readonly string[]): boolean {
    return outages.some(({ node, from, to }) => nodes.includes(node) && gap.from >= from && gap.to <= to);
}

interface Watched {
    readonly way: WatchedWay;
    readonly nodes: readonly string[];
}

/** All that is watched while the release changes. */
interface Traffic {
    readonly ways: readonly Watched[];
    readonly clients: ServiceClients;
}

/** Changes the release with its traffic watched, and reports what it cost. */
async function step(name: string, { ways, clients }: Traffic, change: () => Promise<void>): Promise<Step> {
    say(name);
    await using watch = new AgentWatch();
    const begin = Date.now();
    await change();
    const seconds = Math.round((Date.now() - begin) / 1_000);
    await pause(recoveryMs);
    const end = Date.now();
    // until all that began before have ended
    await pause(connectionEndMs);
    const away = watch.away();
    const outages = outagesOf(away);
    const { count, failed, problems } = clients.judge(begin, end, outages);
    const lossMs = 700;
    const losses = ways.flatMap(({ way, nodes }) =>
        way
            .gaps(lossMs)
            .filter(({ to }) => to > begin)
            .map((gap) => ({ way: way.name, nodes, gap })),
    );
    for (const { node, from, to } of away) say(`  no agent on ${node} ${between(from, to)}`);
    for (const { way, gap } of losses) say(`  no answer on ${way} ${between(gap.from, gap.to)}`);
    say(`  ${failed} of ${count} new connections to a Service failed`);
    const longest = losses.toSorted((one, other) => other.gap.ms - one.gap.ms)[0];
    return {
        name,
        seconds,
        longestMs: longest?.gap.ms ?? 0,
        on: longest?.way ?? "",
        unexplained: losses
            .filter(({ gap, nodes }) => !isExplained(gap, outages, nodes))
            .map(({ way, gap }) => `${way} ${between(gap.from, gap.to)}`),
        awayMs: Math.max(0, ...away.map(({ from, to }) => to - from)),
        connections: count,
        failed,
        problems,
    };
}

/** Rejects when anything that Pods hold is not as it was. */
function mustBeSame(before: Held, after: Held): void {
    const [one, other] = [JSON.stringify(before), JSON.stringify(after)];
    if (one !== other) throw new FixtureError("WRONG_RESULT", "environment", `before: ${one}\nafter: ${other}`);
}

class Trial {
    readonly steps: Step[] = [];
    readonly problems: string[] = [];
    readonly #namespace: TestNamespace;
    #names: string[] = [];
    #number = 0;

    constructor(namespace: TestNamespace) {
        this.#namespace = namespace;
    }

    async of(release: Release, mode: Mode): Promise<void> {
        say(`release ${release.name}`);
        // first, for what it sets on the NICs; again when the Nodes have podCIDRs
        if (mode === "bridging") await plugRouter();
        await using stage = new AsyncDisposableStack();
        if (mode === "networks") {
            const physical = stage.use(await PhysicalNetwork.start());
            for (const node of allNodes) await physical.plug(node, nic);
        }
        await install(`${release.folder}/chart`, release.name, mode);
        if (mode === "bridging") {
            await bridged();
            await plugRouter();
        }
        const pools = await this.#pools(mode);
        await using stack = new AsyncDisposableStack();
        if (mode === "networks") {
            const definitions = stage.use(await NetworkDefinitions.install());
            await definitions.define(this.#namespace.name, { vlan: vlanNetwork });
        }
        const pods = await this.#start(mode);
        const ways: Watched[] = [];
        const all = [...waysBetween(pods, mode), ...(mode === "networks" ? [await this.#wayInVlan(pods)] : [])];
        for (const [title, from, to, ip] of all) {
            const start = { namespace: this.#namespace.name, pod: from };
            const way = stack.use(await WatchedWay.watch(title, start, ip, watchSeconds));
            ways.push({ way, nodes: [from.node, to.node] });
        }
        const endpoints = [podOf(pods, "subnet-1b"), podOf(pods, "subnet-2")];
        const clients = stack.use(
            await ServiceClients.start(this.#namespace, podOf(pods, "subnet-1"), endpoints, watchSeconds),
        );
        const traffic = { ways, clients };
        await this.#changed(`${release.name} to this one`, mode, traffic, () =>
            install(process.env["E2E_CHART"] ?? "charts/antrea", "dev", mode),
        );
        await this.#changed(`back to ${release.name}`, mode, traffic, () => helmRollback({ timeoutMs: helmMs }));
        await stack.disposeAsync();
        await this.#namespace.delete(...this.#names);
        this.#names = [];
        if (pools === undefined) return;
        // the release that is back lets no pool go whose gateway is held
        await run("sh", ["-c", afterRollback()], { timeoutMs: helmMs });
        await pools[Symbol.asyncDispose]();
    }

    async #changed(name: string, mode: Mode, traffic: Traffic, change: () => Promise<void>): Promise<void> {
        const before = await held(this.#namespace, this.#names, mode);
        const done = await step(name, traffic, change);
        this.steps.push(done);
        this.problems.push(...done.unexplained.map((one) => `${name}: no answer though no agent restarted: ${one}`));
        this.problems.push(...done.problems.map((one) => `${name}: ${one}`));
        try {
            if (mode === "bridging") await bridged();
            mustBeSame(before, await held(this.#namespace, this.#names, mode));
            await this.#newPod(mode, before.pods);
            if (mode !== "subnets") await expectConsistent();
        } catch (error) {
            this.problems.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
        }
    }

    #pools(mode: Mode): Promise<TestPools | undefined> {
        if (mode === "subnets") return Promise.resolve(undefined);
        if (mode === "bridging") return poolRanges().then((ranges) => TestPools.create(ranges));
        return TestPools.create({
            "upgrade-4": [{ cidr: "10.70.0.0/24", gateway: "10.70.0.1", prefixLength: 24 }],
            "upgrade-6": [{ cidr: "fd00:70::/112", gateway: "fd00:70::1", prefixLength: 112 }],
            ...(mode === "networks" ? { "upgrade-vlan": [vlanRange] } : {}),
        });
    }

    async #wayInVlan(pods: readonly TestPod[]): Promise<Way> {
        const ip = await addressIn(this.#namespace, "pool-2", "eth1");
        return ["Pods of two Nodes in a VLAN", podOf(pods, "pool-1"), podOf(pods, "pool-2"), ip];
    }

    #start(mode: Mode): Promise<readonly TestPod[]> {
        const annotated = (name: string, node: string): PodSpec => ({ name, node, ...inPools(mode) });
        const specs: readonly PodSpec[] = [
            { name: "subnet-1", node: first },
            { name: "subnet-1b", node: first, labels: endpointLabel },
            { name: "subnet-2", node: second, labels: endpointLabel },
            ...(mode === "subnets"
                ? []
                : [annotated("pool-1", first), annotated("pool-1b", first), annotated("pool-2", second)]),
        ];
        this.#names = specs.map(({ name }) => name);
        return this.#namespace.start(specs);
    }

    /** A Pod that starts now has an address of its own and reaches the others of its kind. */
    async #newPod(mode: Mode, others: readonly TestPod[]): Promise<void> {
        const name = `new-${(this.#number += 1)}`;
        const [pod] = await this.#namespace.start([{ name, node: first, ...inPools(mode) }]);
        this.#names.push(name);
        if (pod === undefined || others.some(({ ip4 }) => ip4 === pod.ip4))
            throw new FixtureError(
                "WRONG_RESULT",
                "environment",
                `${name} got ${pod?.ip4 ?? "nothing"}, which another one has`,
            );
        const peer = others.find((other) => other.name === (mode === "subnets" ? "subnet-2" : "pool-1"));
        await this.#namespace.exec(name, `ping -c 2 -W 2 ${peer?.ip4 ?? ""}`);
        if (mode !== "networks") return;
        const inVlan = await addressIn(this.#namespace, "pool-2", "eth1");
        await this.#namespace.exec(name, `ping -c 2 -W 2 -I eth1 ${inVlan}`);
    }
}

function inPools(mode: Mode): Pick<PodSpec, "annotations"> {
    if (mode === "subnets") return {};
    const annotations = mode === "networks" ? requesting("vlan") : {};
    return {
        annotations: { ...annotations, [poolsKey]: mode === "bridging" ? poolsOf(2).join() : "upgrade-4,upgrade-6" },
    };
}

type Way = readonly [title: string, from: TestPod, to: TestPod, ip: string];

function podOf(pods: readonly TestPod[], name: string): TestPod {
    const found = pods.find((one) => one.name === name);
    if (found === undefined) throw new FixtureError("NOT_FOUND", "internal", `${name} was not started`);
    return found;
}

function waysBetween(pods: readonly TestPod[], mode: Mode): readonly Way[] {
    const pod = (name: string): TestPod => podOf(pods, name);
    const way = (title: string, from: string, to: string, family: "ip4" | "ip6" = "ip4"): Way => [
        title,
        pod(from),
        pod(to),
        pod(to)[family],
    ];
    return [
        way("subnet Pods of one Node", "subnet-1", "subnet-1b"),
        way("subnet Pods of two Nodes", "subnet-1", "subnet-2"),
        way("subnet Pods of two Nodes, IPv6", "subnet-2", "subnet-1", "ip6"),
        ...(mode === "subnets" ? [] : [way("pool Pods of one Node", "pool-1", "pool-1b")]),
        ...(mode === "bridging" ? [way("pool Pods of two Nodes", "pool-2", "pool-1")] : []),
    ];
}

const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

function report(steps: readonly Step[], problems: readonly string[]): string {
    return [
        "# Upgrades and rollbacks",
        "",
        "Written by `tools/upgrade.sh` (`make upgrade WRITE=1`). Releases are built from their commits (`tools/upgrade/releases`).",
        `On three Nodes with Pods that run on: ${problems.length === 0 ? "no address changed its owner, no allocation was lost, no Pod restarted, and nothing was without an answer, and no new connection to a Service failed, but while the agent of one of its Nodes restarted, which restarts Open vSwitch." : "**not all held**, see below."}`,
        "",
        "A Pod and its Node connect to a Service with an endpoint on each worker, ten times a second each; a connection has failed if it",
        `is refused or reset, or has no answer after ${connectionLimitMs / 1_000} s.`,
        "",
        row(
            "From and to",
            "helm took, s",
            "An agent away, at most s",
            "Longest without an answer, s",
            "On the way",
            "New connections to a Service",
            "Failed",
        ),
        row("---", "--:", "--:", "--:", "---", "--:", "--:"),
        ...steps.map(({ name, seconds, longestMs, on, awayMs, connections, failed }) =>
            row(
                name,
                seconds,
                (awayMs / 1_000).toFixed(1),
                (longestMs / 1_000).toFixed(1),
                on || "-",
                connections,
                failed,
            ),
        ),
        "",
        ...problems.map((problem) => `- ${problem}`),
    ].join("\n");
}

const { values: options, positionals } = parseArgs({
    options: { write: { type: "boolean", default: false } },
    allowPositionals: true,
});
const releases = positionals.map((text): Release => {
    const [name = "", folder = ""] = text.split("=");
    return { name, folder };
});
const trial = new Trial(await TestNamespace.create("upgrade"));
let mode: Mode = "subnets";
for (const release of releases) {
    mode = modes[release.name] ?? mode;
    await trial.of(release, mode);
}
const text = report(trial.steps, trial.problems);
process.stdout.write(`\n${text}\n`);
if (options.write) await writeReport("upgrade", text);
process.exitCode = trial.problems.length === 0 ? 0 : 1;
