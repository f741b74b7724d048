import { ofFamily } from "../fixture/addresses.ts";
import { kubectl } from "../fixture/cluster.ts";
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
import { type TestNamespace, type TestPod } from "../fixture/pods.ts";
import { addSteadyService, servicePorts } from "../fixture/services.ts";

/** Of each client. */
const perSecond = 10;
const service = "web";
/** The label of the endpoints. */
export const endpointLabel = { [service]: "yes" } as const;

/** A Pod and its Node that connect to a Service ten times a second. */
export class ServiceClients implements AsyncDisposable {
    readonly #namespace: TestNamespace;
    readonly #paths: readonly ConnectionPath[];
    readonly #clients = new AsyncDisposableStack();
    readonly #running: ConnectingClient[] = [];

    private constructor(namespace: TestNamespace, paths: readonly ConnectionPath[]) {
        this.#namespace = namespace;
        this.#paths = paths;
    }

    /** Creates a Service of these endpoints, and resolves when both clients are answered. */
    static async start(
        namespace: TestNamespace,
        pod: TestPod,
        endpoints: readonly TestPod[],
        seconds: number,
    ): Promise<ServiceClients> {
        const { clusterIps } = await addSteadyService(namespace, service, endpointLabel);
        const ofClient = (client: string): ConnectionPath => ({
            name: `${client} to a ClusterIP`,
            ip: ofFamily(clusterIps, "IPv4"),
            port: servicePorts.http,
            nodes: [pod.node, ...endpoints.map(({ node }) => node)],
            servers: endpoints.map(({ name }) => name),
        });
        const clients = [
            [await pidOfPod({ namespace: namespace.name, pod: pod.name }), ofClient("Pod")],
            [await pidOfContainer(pod.node), ofClient("Node")],
        ] as const;
        await using made = new AsyncDisposableStack();
        const all = made.use(
            new ServiceClients(
                namespace,
                clients.map(([, path]) => path),
            ),
        );
        for (const [pid, path] of clients) {
            const client = await ConnectingClient.start(pid, [path], { perSecond, seconds });
            all.#running.push(all.#clients.use(client));
        }
        made.move();
        return all;
    }

    /** What became of those that began in this time (milliseconds as Date.now() counts) and have ended. */
    judge(from: number, to: number, outages: readonly Outage[]): Judgement {
        const connections = this.#running
            .flatMap((client) => client.connections)
            .filter((one) => one.from >= from && one.from < to);
        const judgement = judge(this.#paths, connections, ((to - from) / 1_000) * perSecond, outages);
        const pauses = pausesIn(this.#paths, connections, { from, to });
        return { ...judgement, problems: [...judgement.problems, ...pauses] };
    }

    /** Deletes the Service too. */
    async [Symbol.asyncDispose](): Promise<void> {
        await this.#clients[Symbol.asyncDispose]();
        await kubectl(["-n", this.#namespace.name, "delete", "service", "--ignore-not-found", service]);
    }
}

/** What new connections there were in a step. */
export interface Judgement {
    readonly count: number;
    readonly failed: number;
    /** Failures that no outage explains, paths with less than half of the connections that were intended, and long pauses. */
    readonly problems: readonly string[];
}

/** @param intended connections of each path */
export function judge(
    paths: readonly ConnectionPath[],
    connections: readonly Connection[],
    intended: number,
    outages: readonly Outage[],
): Judgement {
    const failed = connections.filter(({ failure }) => failure !== undefined);
    const unexplained = failed.filter((connection) => outageOf(connection, outages) === undefined);
    const seldom = paths.flatMap((path) => {
        const count = connections.filter((connection) => connection.path === path).length;
        return count < intended / 2 ? [`${path.name}: ${count} connections only, not ${Math.round(intended)}`] : [];
    });
    return {
        count: connections.length,
        failed: failed.length,
        problems: [
            ...unexplained.map((one) => `a connection failed though no agent restarted: ${describeFailure(one)}`),
            ...seldom,
        ],
    };
}
