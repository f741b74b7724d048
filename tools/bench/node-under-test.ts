import { namespaces, pods, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { PrivateOvs } from "@antrea/openflow/testing";
import { AgentUnderTest } from "./agent.ts";
import { agentKubeconfig, startChartServer } from "@antrea/chart/testing/chart-server";
import { type CniClient } from "./cni-client.ts";
import { startController } from "./controller.ts";
import { type Daemon, type Memory } from "./daemon.ts";

/** The name of the Node. */
export const nodeName = "bench-node";
const podNamespace = "bench";

export interface NodeUnderTestOptions {
    /** Whether the feature gate of IPPools is enabled. Default false. */
    readonly pools?: boolean;
    /** The bridge of networks, by the keys of `secondaryNetwork.ovsBridges`; its NIC must exist. Default: none. */
    readonly networks?: { readonly bridgeName: string; readonly physicalInterfaces: readonly string[] };
    /** A server of `startChartServer`. Default: a new one. */
    readonly server?: TestApiServer;
}

/**
 * One Node as in a cluster: etcd, kube-apiserver, Open vSwitch on the userspace datapath, the bundled controller and
 * the bundled agent, each in its own process.
 */
export class NodeUnderTest implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly api: ApiClient;
    readonly #parts: AsyncDisposableStack;
    readonly #startAgent: () => AgentUnderTest;
    #agent: AgentUnderTest;
    readonly #controller: Daemon;

    private constructor(parts: {
        readonly ovs: PrivateOvs;
        readonly startAgent: () => AgentUnderTest;
        readonly agent: AgentUnderTest;
        readonly controller: Daemon;
        readonly api: ApiClient;
        readonly stack: AsyncDisposableStack;
    }) {
        this.ovs = parts.ovs;
        this.#startAgent = parts.startAgent;
        this.#agent = parts.agent;
        this.#controller = parts.controller;
        this.api = parts.api;
        this.#parts = parts.stack;
    }

    /** Everything is ready to serve when this resolves. */
    static async start(options: NodeUnderTestOptions = {}): Promise<NodeUnderTest> {
        await using stack = new AsyncDisposableStack();
        const server = options.server ?? stack.use(await startChartServer());
        const ovs = stack.use(await PrivateOvs.start());
        await server.addNode(nodeName, {
            podCidrs: ["10.10.0.0/24", "fd00:10:0:1::/64"],
            internalIps: ["192.0.2.10", "2001:db8::10"],
        });
        const { api } = server.clients();
        const { pools = false, networks } = options;
        const featureGates = { AntreaIPAM: pools, SecondaryNetwork: networks !== undefined };
        const controller = stack.use(await startController("controller", server, featureGates));
        const kubeconfig = await agentKubeconfig(server, nodeName);
        const config = networks === undefined ? {} : { secondaryNetwork: { ovsBridges: [networks] } };
        const startAgent = (): AgentUnderTest =>
            new AgentUnderTest({ nodeName, kubeconfig, ovsRunDir: ovs.runDir, featureGates, config });
        const agent = stack.use(startAgent());
        await agent.ready();
        const parts = { ovs, agent, controller, api };
        return new NodeUnderTest({ ...parts, startAgent, stack: stack.move() });
    }

    /** CNI client of the running agent. */
    get cni(): CniClient {
        return this.#agent.cni;
    }

    /** Path of the agent's socket. */
    get cniSocket(): string {
        return this.#agent.cniSocket;
    }

    /** The folder of CNI configurations of the Node. */
    get confFolder(): string {
        return this.#agent.confFolder;
    }

    /** Processor time of the agent since its start, in milliseconds. */
    agentCpuMs(): number {
        return this.#agent.cpuMs();
    }

    /** Deletes Pods from the API. */
    async deletePods(names: readonly string[]): Promise<void> {
        const now = { gracePeriodSeconds: 0 };
        await Promise.all(names.map((name) => this.api.delete(pods, { namespace: podNamespace, name }, now)));
    }

    /** Stops the agent by SIGTERM and starts it again; the seconds from the start of its process until it accepts CNI requests. */
    async restartAgent(): Promise<number> {
        await this.#agent[Symbol.asyncDispose]();
        this.#agent = this.#parts.use(this.#startAgent());
        await this.#agent.ready();
        return (performance.now() - this.#agent.startedAt) / 1000;
    }

    memory(): { readonly agent: Memory; readonly controller: Memory } {
        return { agent: this.#agent.memory(), controller: this.#controller.memory() };
    }

    /** Creates Pods of this Node in the API; returns their UIDs. The Namespace must exist. */
    async createPods(
        names: readonly string[],
        annotations: Readonly<Record<string, string>> = {},
    ): Promise<readonly string[]> {
        const create = async (name: string): Promise<string> => {
            const pod = await this.api.create(pods, {
                metadata: { name, namespace: podNamespace, annotations },
                spec: { nodeName, containers: [{ name: "main", image: "example.test/image:1" }] },
            });
            return pod.metadata?.uid ?? "";
        };
        return Promise.all(names.map(create));
    }

    /** Kills the agent's process, as when its Node fails. */
    async loseAgent(): Promise<void> {
        await this.#agent.kill();
    }

    async createPodNamespace(): Promise<void> {
        await this.api.create(namespaces, { metadata: { name: podNamespace } });
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#parts.disposeAsync();
    }
}
