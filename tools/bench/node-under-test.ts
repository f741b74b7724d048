import { namespaces, pods, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { PrivateOvs } from "@antrea/openflow/testing";
import { AgentUnderTest } from "./agent.ts";
import { agentKubeconfig, startChartServer } from "@antrea/chart/testing/chart-server";
import { type CniClient } from "./cni-client.ts";
import { startController } from "./controller.ts";
import { type Daemon, type Memory } from "./daemon.ts";

const nodeName = "bench-node";
const podNamespace = "bench";

export interface NodeUnderTestOptions {
    /** Whether the feature gate of IPPools is enabled. Default false. */
    readonly pools?: boolean;
    /** A server of `startChartServer`. Default: a new one. */
    readonly server?: TestApiServer;
}

/**
 * One Node as in a cluster: etcd, kube-apiserver, Open vSwitch on the userspace datapath, the bundled controller and
 * the bundled agent, each in its own process.
 */
export class NodeUnderTest implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly cniSocket: string;
    readonly cni: CniClient;
    readonly api: ApiClient;
    readonly #parts: AsyncDisposableStack;
    readonly #agent: AgentUnderTest;
    readonly #controller: Daemon;

    private constructor(parts: {
        readonly ovs: PrivateOvs;
        readonly agent: AgentUnderTest;
        readonly controller: Daemon;
        readonly api: ApiClient;
        readonly stack: AsyncDisposableStack;
    }) {
        this.ovs = parts.ovs;
        this.cniSocket = parts.agent.cniSocket;
        this.cni = parts.agent.cni;
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
        const featureGates = { AntreaIPAM: options.pools ?? false };
        const controller = stack.use(await startController("controller", server, featureGates));
        const kubeconfig = await agentKubeconfig(server, nodeName);
        const agent = stack.use(new AgentUnderTest({ nodeName, kubeconfig, ovsRunDir: ovs.runDir, featureGates }));
        await agent.ready();
        return new NodeUnderTest({ ovs, agent, controller, api, stack: stack.move() });
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
