import { pods, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { PrivateOvs } from "@antrea/openflow/testing";
import { AgentUnderTest } from "../agent.ts";
import { podCall } from "../cni-client.ts";
import { runWithin } from "../netns.ts";
import { addAddresses, addPhyBridge, phyBridge } from "../phy-bridge.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { LoadPod } from "./load-pod.ts";

export type Mode = "encap" | "noEncap";

export const podNamespace = "bench";
const nic = "eth1";

/** Where Node 0 and Node 1 are. */
export interface NodePlace {
    readonly name: string;
    readonly address: string;
    readonly podCidr: string;
}

export function placeOf(index: number): NodePlace {
    return { name: `bench-node-${index}`, address: `10.201.0.${index + 2}`, podCidr: `10.10.${index + 1}.0/24` };
}

/** A Node in a network namespace of its own: an Open vSwitch, the bundled agent, and a NIC that leads to the other Node. */
export class LoadNode implements AsyncDisposable {
    readonly index: number;
    readonly ovs: PrivateOvs;
    readonly #api: ApiClient;
    readonly #stack: AsyncDisposableStack;
    #agent: AgentUnderTest | undefined;

    private constructor(index: number, ovs: PrivateOvs, api: ApiClient, stack: AsyncDisposableStack) {
        this.index = index;
        this.ovs = ovs;
        this.#api = api;
        this.#stack = stack;
    }

    /** Without an agent, and not connected. */
    static async start(index: number, api: ApiClient): Promise<LoadNode> {
        await using stack = new AsyncDisposableStack();
        const ovs = stack.use(await PrivateOvs.start({ network: "own" }));
        runWithin(ovs.netnsPath, "ip", "link", "set", "lo", "up");
        runWithin(ovs.netnsPath, "sysctl", "-qw", "net.ipv4.ip_forward=1");
        return new LoadNode(index, ovs, api, stack.move());
    }

    /** Joins the NICs of two Nodes. */
    static connect(one: LoadNode, other: LoadNode): void {
        one.run("ip", "link", "add", nic, "type", "veth", "peer", "name", nic, "netns", other.netnsId);
    }

    get netnsPath(): string {
        return this.ovs.netnsPath;
    }

    /** As ip(8) takes it. */
    get netnsId(): string {
        return String(this.ovs.vswitchdPid);
    }

    /** Runs a command on the Node; gives what it printed. */
    run(...command: readonly string[]): string {
        return runWithin(this.netnsPath, ...command);
    }

    /** Starts the agent; the Node is connected already, and its object is there. */
    async startAgent(mode: Mode, server: TestApiServer): Promise<void> {
        const { name, address } = placeOf(this.index);
        const { netnsPath, ovs } = this;
        const addresses = [`${address}/24`];
        if (mode === "encap") {
            await addPhyBridge(ovs, { nic, mac: `02:00:0a:c9:00:0${this.index + 2}`, addresses, netnsPath });
        } else {
            this.run("ip", "link", "set", nic, "up");
            addAddresses(nic, addresses, netnsPath);
        }
        const transportInterface = mode === "encap" ? phyBridge : nic;
        this.#agent = this.#stack.use(
            new AgentUnderTest({
                ...{ nodeName: name, kubeconfig: server.kubeconfig(), ovsRunDir: ovs.runDir, netnsPath },
                config: { trafficEncapMode: mode, transportInterface },
            }),
        );
        await this.#agent.ready();
    }

    /** A Pod of that number, wired by the agent. */
    async addPod(index: number, namespaces: PodNamespaces): Promise<LoadPod> {
        const name = `bench-${index}`;
        const pod = await this.#api.create(pods, {
            metadata: { name, namespace: podNamespace },
            spec: {
                nodeName: placeOf(this.index).name,
                containers: [{ name: "main", image: "example.test/image:1" }],
            },
        });
        const [netnsPath = ""] = namespaces.add(name);
        const answer = await this.#agent?.cni.call("CmdAdd", podCall(index, netnsPath, pod.metadata?.uid));
        const { ips } = JSON.parse(answer ?? "{}") as { readonly ips: readonly [{ readonly address: string }] };
        return this.#stack.use(await LoadPod.start(netnsPath, ips[0].address.replace(/\/.*$/, "")));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}
