import { execFileSync } from "node:child_process";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { podCall } from "../cni-client.ts";
import { Helper } from "../helper.ts";
import { NodeUnderTest } from "../node-under-test.ts";
import { networksNic, PodNamespaces } from "../pod-namespaces.ts";
import { createNetworks, requesting, vlanNetworks, type VlanNetwork } from "./vlan-networks.ts";
import { type PodCall } from "./ways.ts";

/** The Node's bridge of networks. */
export const networksBridge = "br-networks";
const podNamespace = "bench";
/** Every network of a Pod. */
export const networkCount = 16;

/** One Node whose agent attaches VLAN networks: a real API server, Open vSwitch, a NIC, and the networks. */
export class NetworksStage implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly node: NodeUnderTest;
    readonly floor: Helper;
    readonly namespaces: PodNamespaces;
    readonly networks: readonly VlanNetwork[];
    readonly #stack: AsyncDisposableStack;
    #pods = 0;

    private constructor(parts: {
        readonly server: TestApiServer;
        readonly node: NodeUnderTest;
        readonly floor: Helper;
        readonly namespaces: PodNamespaces;
        readonly networks: readonly VlanNetwork[];
        readonly stack: AsyncDisposableStack;
    }) {
        this.server = parts.server;
        this.node = parts.node;
        this.floor = parts.floor;
        this.namespaces = parts.namespaces;
        this.networks = parts.networks;
        this.#stack = parts.stack;
    }

    /** Pods can be attached when this resolves. */
    static async start(): Promise<NetworksStage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        const [nic, far] = networksNic;
        ip("link", "add", nic, "type", "veth", "peer", "name", far);
        stack.defer(() => ip("link", "delete", nic));
        for (const end of networksNic) ip("link", "set", end, "up");
        const bridge = { bridgeName: networksBridge, physicalInterfaces: [nic] };
        const node = stack.use(await NodeUnderTest.start({ pools: true, networks: bridge, server }));
        // The agent is ready before: a NIC without addresses becomes a port after some seconds.
        await node.ovs.vsctl("--timeout=30", "wait-until", "Interface", nic, "ofport>0");
        await node.createPodNamespace();
        const networks = vlanNetworks(networkCount);
        await createNetworks(server, podNamespace, networks);
        const namespaces = stack.use(new PodNamespaces());
        const floor = stack.use(new Helper("floor.ts"));
        await floor.ask("open", { socketPath: node.ovs.dbSocket });
        return new NetworksStage({ server, node, floor, namespaces, networks, stack: stack.move() });
    }

    /**
     * Creates a Pod in the API for each network namespace, which requests the first networks, so many; the calls of their
     * first interfaces.
     */
    async createPods(paths: readonly string[], count: number): Promise<readonly PodCall[]> {
        const first = this.#pods;
        this.#pods += paths.length;
        const names = paths.map((_, index) => `bench-${first + index}`);
        const uids = await this.node.createPods(names, requesting(this.networks.slice(0, count)));
        return paths.map((path, index) => podCall(first + index, path, uids[index] ?? ""));
    }

    /** Deletes the Pods of these calls from the API. */
    async deletePods(calls: readonly PodCall[]): Promise<void> {
        await this.node.deletePods(calls.map(({ args }) => /K8S_POD_NAME=([^;]+)/.exec(args)?.[1] ?? ""));
    }

    /** What a plugin process needs to reach the agent. */
    get environment(): NodeJS.ProcessEnv {
        return { ANTREA_CNI_SOCKET: this.node.cniSocket };
    }

    /** Waits until ovs-vswitchd has applied all changes. */
    async settle(): Promise<void> {
        await this.floor.ask("settle");
    }

    /** Number of ports of Pods on the bridge of networks. */
    async podPorts(): Promise<number> {
        const names = await this.node.ovs.vsctl("list-ports", networksBridge);
        return names.split("\n").filter((name) => name !== "" && name !== networksNic[0]).length;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

function ip(...args: readonly string[]): void {
    execFileSync("ip", args, { stdio: "ignore" });
}
