import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { namespaces, pods, type KubeClients } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { PrivateOvs } from "@antrea/openflow/testing";
import { CniClient, podCall } from "./cni-client.ts";
import { startController } from "./controller.ts";
import { Daemon, type Memory } from "./daemon.ts";
import { workPath } from "./paths.ts";

const nodeName = "bench-node";
const readyLimitMs = 60_000;

/**
 * One Node as it runs in a cluster: etcd, kube-apiserver, Open vSwitch on the userspace datapath, the bundled controller
 * and the bundled agent, each in a process of its own.
 */
export class NodeUnderTest implements AsyncDisposable {
    readonly ovs: PrivateOvs;
    readonly cniSocket: string;
    readonly cni: CniClient;
    readonly #parts: AsyncDisposableStack;
    readonly #agent: Daemon;
    readonly #controller: Daemon;
    readonly #clients: KubeClients;

    private constructor(parts: {
        readonly ovs: PrivateOvs;
        readonly cniSocket: string;
        readonly cni: CniClient;
        readonly agent: Daemon;
        readonly controller: Daemon;
        readonly clients: KubeClients;
        readonly stack: AsyncDisposableStack;
    }) {
        this.ovs = parts.ovs;
        this.cniSocket = parts.cniSocket;
        this.cni = parts.cni;
        this.#agent = parts.agent;
        this.#controller = parts.controller;
        this.#clients = parts.clients;
        this.#parts = parts.stack;
    }

    /** Everything is ready to serve when this resolves. */
    static async start(): Promise<NodeUnderTest> {
        await using stack = new AsyncDisposableStack();
        const api = stack.use(await TestApiServer.start());
        const ovs = stack.use(await PrivateOvs.start());
        await api.addNode(nodeName, {
            podCidrs: ["10.10.0.0/24", "fd00:10:0:1::/64"],
            internalIps: ["192.0.2.10", "2001:db8::10"],
        });
        const clients = api.clients();
        const controller = stack.use(await startController("controller", api));
        const cniSocket = workPath("cni.sock");
        const agent = stack.use(startAgent(api.kubeconfig(), ovs.runDir, cniSocket));
        const cni = stack.use(new CniClient(cniSocket));
        const serves = async (): Promise<boolean> =>
            cni.call("CmdStatus", podCall(0, "")).then(
                () => true,
                () => false,
            );
        await agent.ready(serves, readyLimitMs);
        return new NodeUnderTest({ ovs, cniSocket, cni, agent, controller, clients, stack: stack.move() });
    }

    memory(): { readonly agent: Memory; readonly controller: Memory } {
        return { agent: this.#agent.memory(), controller: this.#controller.memory() };
    }

    /** Pods of this Node in the API, as the kubelet would see them. */
    async createPodObjects(count: number): Promise<void> {
        const { api } = this.#clients;
        await api.create(namespaces, { metadata: { name: "bench" } });
        const create = (index: number): Promise<unknown> =>
            api.create(pods, {
                metadata: { name: `bench-${index}`, namespace: "bench" },
                spec: { nodeName, containers: [{ name: "main", image: "example.test/image:1" }] },
            });
        await Promise.all(Array.from({ length: count }, (_, index) => create(index)));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#parts.disposeAsync();
    }
}

function startAgent(kubeconfig: string, ovsRunDir: string, cniSocket: string): Daemon {
    const confFolder = workPath("net.d");
    mkdirSync(confFolder);
    const configPath = join(workPath(""), "antrea-agent.conf");
    const config = {
        ovsRunDir,
        cniSocket,
        ovsDatapathType: "netdev",
        trafficEncapMode: "noEncap",
        clientConnection: { kubeconfig },
    };
    writeFileSync(configPath, JSON.stringify(config)); // YAML is a superset of JSON
    return new Daemon({
        app: "agent",
        args: ["--config", configPath],
        env: { PATH: process.env.PATH, NODE_NAME: nodeName, POD_NAMESPACE: "kube-system", CNI_CONF_DIR: confFolder },
        logPath: workPath("antrea-agent.log"),
    });
}
