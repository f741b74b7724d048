import { ofFamily } from "../fixture/addresses.ts";
import { internalIps, kubectl, systemNamespace, workers } from "../fixture/cluster.ts";
import {
    ConnectingClient,
    describeFailure,
    outageOf,
    pausesIn,
    type Connection,
    type ConnectionPath,
    type Outage,
} from "../fixture/connections.ts";
import { pidOfContainer, pidOfPod } from "../fixture/containers.ts";
import { FixtureError } from "../fixture/error.ts";
import { getJson } from "../fixture/objects.ts";
import { Outside } from "../fixture/outside.ts";
import { type PodSpec, type TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { addSteadyService, requestsBy, servicePorts, type Shell } from "../fixture/services.ts";
import { type Strike } from "./faults.ts";

const [first = "", second = ""] = workers;
/** Of each client on each of its paths. */
const perSecond = 5;

/** Endpoints of the Services: of `near` on the first worker, of `both` on both. */
export const endpointPods: readonly PodSpec[] = [
    { name: "web-1", node: first, labels: { near: "yes", both: "yes" } },
    { name: "web-1b", node: first, labels: { near: "yes", both: "yes" } },
    { name: "web-2", node: second, labels: { both: "yes" } },
    { name: "web-2b", node: second, labels: { both: "yes" } },
];

const serversOf = (service: string): readonly string[] =>
    endpointPods.filter(({ labels }) => labels?.[service] === "yes").map(({ name }) => name);

/** Clients in a Pod and on the Node of the first worker, and outside, that connect to Services all the time. */
export class ServiceClients implements AsyncDisposable {
    readonly paths: readonly ConnectionPath[];
    readonly #clients: readonly ConnectingClient[];
    readonly #stack: AsyncDisposableStack;

    private constructor(
        paths: readonly ConnectionPath[],
        clients: readonly ConnectingClient[],
        stack: AsyncDisposableStack,
    ) {
        this.paths = paths;
        this.#clients = clients;
        this.#stack = stack;
    }

    /** Creates the Services of `endpointPods`, and resolves when the clients are answered on every path. */
    static async start(namespace: TestNamespace, client: TestPod, seconds: number): Promise<ServiceClients> {
        const both = await addSteadyService(namespace, "both", { both: "yes" });
        const near = await addSteadyService(namespace, "near", { near: "yes" });
        const nodeIps = await Promise.all([first, second].map(internalIps));
        const to = (service: "near" | "both", title: string, ip: string, port: number): ConnectionPath => ({
            name: title,
            ip,
            port,
            nodes: service === "near" ? [first] : [first, second],
            servers: serversOf(service),
        });
        const clusterIp = (from: string): readonly ConnectionPath[] => [
            to("both", `${from} to the ClusterIP`, ofFamily(both.clusterIps, "IPv4"), servicePorts.http),
            to(
                "near",
                `${from} to the ClusterIP of Node 1, IPv6`,
                ofFamily(near.clusterIps, "IPv6"),
                servicePorts.http,
            ),
        ];
        const nodePort = (from: string, node: 1 | 2): ConnectionPath =>
            to(
                "both",
                `${from} to the NodePort of Node ${node}`,
                ofFamily(nodeIps[node - 1] ?? [], "IPv4"),
                both.nodePort,
            );
        const nearNodePort = ofFamily(nodeIps[0] ?? [], "IPv6");
        await using stack = new AsyncDisposableStack();
        const outside = stack.use(await Outside.start());
        const plan = [
            [
                await pidOfPod({ namespace: namespace.name, pod: client.name }),
                [...clusterIp("Pod"), nodePort("Pod", 1)],
            ],
            [await pidOfContainer(first), [...clusterIp("Node"), nodePort("Node", 2)]],
            [
                await outside.pid(),
                [
                    nodePort("outside", 1),
                    to("near", "outside to the NodePort of Node 1, IPv6", nearNodePort, near.nodePort),
                ],
            ],
        ] as const;
        const clients: ConnectingClient[] = [];
        for (const [pid, paths] of plan)
            clients.push(stack.use(await ConnectingClient.start(pid, paths, { perSecond, seconds })));
        return new ServiceClients(
            plan.flatMap(([, paths]) => paths),
            clients,
            stack.move(),
        );
    }

    /** Those that began in this time (milliseconds as Date.now() counts) and have ended. */
    connections(from: number, to: number): readonly Connection[] {
        return this.#clients
            .flatMap(({ connections }) => connections)
            .filter((connection) => connection.from >= from && connection.from < to);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack[Symbol.asyncDispose]();
    }
}

/** A Service that comes when all is over. */
const late = "late";

/**
 * Endpoints on both workers answer a Pod by those of these Services that the API server has, and by one that is created now; resolves
 * with how many these are.
 */
export async function expectServed(
    namespace: TestNamespace,
    pod: string,
    services: ReadonlySet<string>,
): Promise<number> {
    await addSteadyService(namespace, late, { both: "yes" });
    const { items } = await getJson<{
        readonly items: readonly {
            readonly metadata: { readonly name: string };
            readonly spec: { readonly clusterIPs: readonly string[] };
        }[];
    }>("services", { namespace: namespace.name });
    const there = items.filter(({ metadata: { name } }) => name === late || services.has(name));
    const shell: Shell = (script, timeoutMs) => namespace.exec(pod, script, timeoutMs);
    for (const { metadata, spec } of there)
        for (const ip of spec.clusterIPs)
            await eventually(`${metadata.name} answers at ${ip}`, async () => {
                const { answered } = await requestsBy(shell, ip, 1);
                return serversOf("both").some((server) => answered.has(server)) || undefined;
            });
    return there.length;
}

/** Rejects with FixtureError where kube-proxy runs: it would serve what AntreaProxy does not. */
export async function expectNoKubeProxy(): Promise<void> {
    const args = ["-n", systemNamespace, "get", "daemonset", "kube-proxy", "--ignore-not-found", "-o", "name"];
    if ((await kubectl(args)).trim() === "") return;
    throw new FixtureError("NOT_SET_UP", "caller", "kube-proxy runs in this cluster: run tools/chaos.sh without REUSE");
}

/**
 * How long after ovs-vswitchd runs again a connection of its Node may still fail: the agent has to connect and to send all
 * flows, and connections that OVS had translated are reset at their next segment.
 */
export const recoveryMs = 5_000;

/** Where the failures of a run belong. */
interface Attribution {
    /** Of each path and fault, how many connections failed; faults by name. */
    readonly failed: ReadonlyMap<ConnectionPath, ReadonlyMap<string, number>>;
    /** Failed though Open vSwitch of every Node on the path was running. */
    readonly wrong: readonly string[];
}

export const noFault = "no fault";

/**
 * Attributes each failure to the fault that explains it: one that took Open vSwitch from a Node on the path, until it was back and
 * `recoveryMs` had passed. What no fault explains is wrong, and belongs to the fault during which the connection began.
 */
function attribute(connections: readonly Connection[], strikes: readonly Strike[]): Attribution {
    const failed = new Map<ConnectionPath, Map<string, number>>();
    const wrong: string[] = [];
    const outages = strikes.flatMap(({ fault, node, from, switchBack }) =>
        switchBack === undefined ? [] : [{ fault, node, from, to: switchBack + recoveryMs }],
    );
    for (const connection of connections.filter(({ failure }) => failure !== undefined)) {
        const outage = outageOf(connection, outages);
        const during = strikes.find(({ from, to }) => connection.from >= from && connection.from < to);
        if (outage === undefined)
            wrong.push(
                `${during === undefined ? noFault : `${during.fault} (${during.node})`}: ${describeFailure(connection)}`,
            );
        const fault = outage?.fault ?? during?.fault ?? noFault;
        const counts = failed.get(connection.path) ?? new Map<string, number>();
        failed.set(connection.path, counts.set(fault, (counts.get(fault) ?? 0) + 1));
    }
    return { failed, wrong };
}

/** The new connections of a run, by path. */
export interface Services extends Attribution {
    readonly paths: readonly ConnectionPath[];
    /** How many there were. */
    readonly attempts: ReadonlyMap<ConnectionPath, number>;
    /** Endpoints that never answered on a path. */
    readonly silent: readonly string[];
    /** Times in which nobody connected on a path. */
    readonly pauses: readonly string[];
}

/** Sums up the connections of a run on these paths, which began in this time. */
export function summarize(
    paths: readonly ConnectionPath[],
    connections: readonly Connection[],
    strikes: readonly Strike[],
    time: Pick<Outage, "from" | "to">,
): Services {
    const of = Map.groupBy(connections, ({ path }) => path);
    const silent = paths.flatMap((path) => {
        const answered = new Set((of.get(path) ?? []).map(({ server }) => server));
        return path.servers.filter((server) => !answered.has(server)).map((server) => `${path.name}: never ${server}`);
    });
    const attempts = new Map(paths.map((path) => [path, of.get(path)?.length ?? 0]));
    const pauses = pausesIn(paths, connections, time);
    return { paths, attempts, silent, pauses, ...attribute(connections, strikes) };
}

/** How many connections of a path there must be in so many milliseconds: half of what a machine with nothing else to do makes. */
export const fewestIn = (ms: number): number => Math.floor(((ms / 1_000) * perSecond) / 2);
