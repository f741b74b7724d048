import { pods, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { agentKubeconfig } from "@antrea/chart/testing/chart-server";
import { PrivateOvs } from "@antrea/openflow/testing";
import { AgentUnderTest } from "../agent.ts";
import { podCall, type CniClient } from "../cni-client.ts";
import { type Gates } from "../controller.ts";
import { BenchError } from "../error.ts";
import { runWithin } from "../netns.ts";
import { addAddresses, addPhyBridge, phyBridge } from "../phy-bridge.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { LoadPod } from "./load-pod.ts";

/** `bridging` is noEncap with the NIC as a port of the bridge, `networks` noEncap with a bridge of networks on `vlanNic`. */
export type Mode = "encap" | "noEncap" | "bridging" | "networks";

/** The Namespace of all Pods. */
export const podNamespace = "bench";
/** The NIC of a Node, connected to the other Nodes. */
export const nic = "eth1";
/** The NIC of networks, in the mode `networks`. */
export const vlanNic = "eth2";
/** The network of all Nodes. */
export const underlay = { base: "10.201", length: 16 } as const;

/** Name and addresses of a Node. */
export interface NodePlace {
    readonly name: string;
    readonly address: string;
    readonly podCidr: string;
}

/** Name and addresses of the Node with this index, from 0. */
export function placeOf(index: number): NodePlace {
    return {
        name: `bench-node-${index}`,
        address: `${underlay.base}.0.${index + 2}`,
        podCidr: `10.10.${index + 1}.0/24`,
    };
}

/** Settings of antrea-agent.conf. */
export type Settings = Readonly<Record<string, unknown>>;

/** A Node in its own network namespace: Open vSwitch, a NIC, and optionally the bundled agent. */
export class LoadNode implements AsyncDisposable {
    readonly index: number;
    readonly ovs: PrivateOvs;
    readonly #api: ApiClient;
    readonly #stack: AsyncDisposableStack;
    #agent: AgentUnderTest | undefined;
    #isPrepared = false;

    private constructor(index: number, ovs: PrivateOvs, api: ApiClient, stack: AsyncDisposableStack) {
        this.index = index;
        this.ovs = ovs;
        this.#api = api;
        this.#stack = stack;
    }

    /** Starts without an agent and without a connection. */
    static async start(index: number, api: ApiClient): Promise<LoadNode> {
        await using stack = new AsyncDisposableStack();
        const ovs = stack.use(await PrivateOvs.start({ network: "own" }));
        runWithin(ovs.netnsPath, "ip", "link", "set", "lo", "up");
        runWithin(ovs.netnsPath, "sysctl", "-qw", "net.ipv4.ip_forward=1");
        return new LoadNode(index, ovs, api, stack.move());
    }

    /** Connects the NICs of two Nodes. */
    static connect(one: LoadNode, other: LoadNode, link = nic): void {
        one.run("ip", "link", "add", link, "type", "veth", "peer", "name", link, "netns", other.netnsId);
    }

    get netnsPath(): string {
        return this.ovs.netnsPath;
    }

    /** The namespace as ip(8) accepts it. */
    get netnsId(): string {
        return String(this.ovs.vswitchdPid);
    }

    /** Runs a command on the Node; returns its output. */
    run(...command: readonly string[]): string {
        return runWithin(this.netnsPath, ...command);
    }

    /** Assigns the Node's address where its mode requires it; call once, after the Node is connected. */
    async prepare(mode: Mode): Promise<void> {
        if (this.#isPrepared) return;
        this.#isPrepared = true;
        const { netnsPath, ovs } = this;
        const addresses = [`${placeOf(this.index).address}/${underlay.length}`];
        if (mode === "encap") {
            return addPhyBridge(ovs, { nic, mac: `02:00:0a:c9:00:0${this.index + 2}`, addresses, netnsPath });
        }
        this.run("ip", "link", "set", nic, "up");
        addAddresses(nic, addresses, netnsPath);
    }

    /**
     * Starts the agent, with further settings; the Node must be connected and its object must exist. Resolves when it
     * accepts CNI requests.
     */
    async startAgent(mode: Mode, server: TestApiServer, settings: Settings = {}): Promise<void> {
        await this.prepare(mode);
        const { netnsPath, ovs } = this;
        const nodeName = placeOf(this.index).name;
        const kubeconfig = await agentKubeconfig(server, nodeName);
        this.#agent = this.#stack.use(
            new AgentUnderTest({
                nodeName,
                kubeconfig,
                ovsRunDir: ovs.runDir,
                netnsPath,
                config: { ...configOf[mode], ...settings },
                featureGates: gatesOf[mode],
            }),
        );
        await this.#agent.ready();
    }

    /** Stops it with SIGTERM and waits. */
    async stopAgent(): Promise<void> {
        await this.#agent?.[Symbol.asyncDispose]();
        this.#agent = undefined;
    }

    /** CNI client of the running agent. */
    get cni(): CniClient {
        return this.agent.cni;
    }

    /** The running agent. */
    get agent(): AgentUnderTest {
        if (this.#agent !== undefined) return this.#agent;
        throw new BenchError("NOT_READY", "internal", `no agent runs on ${placeOf(this.index).name}`);
    }

    /** A Pod with this number, wired by the agent. */
    async addPod(
        index: number,
        namespaces: PodNamespaces,
        annotations: Readonly<Record<string, string>> = {},
    ): Promise<LoadPod> {
        const name = `bench-${index}`;
        const uid = await this.createPod(index, annotations);
        const [netnsPath = ""] = namespaces.add(name);
        const answer = await this.cni.call("CmdAdd", podCall(index, netnsPath, uid));
        const { ips } = JSON.parse(answer) as { readonly ips: readonly [{ readonly address: string }] };
        return this.#stack.use(await LoadPod.start(netnsPath, ips[0].address.replace(/\/.*$/, "")));
    }

    /** Creates a Pod object on this Node; returns its UID. */
    async createPod(index: number, annotations: Readonly<Record<string, string>> = {}): Promise<string> {
        const pod = await this.#api.create(pods, {
            metadata: { name: `bench-${index}`, namespace: podNamespace, annotations },
            spec: {
                nodeName: placeOf(this.index).name,
                containers: [{ name: "main", image: "example.test/image:1" }],
            },
        });
        return pod.metadata?.uid ?? "";
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

const configOf: Readonly<Record<Mode, Settings>> = {
    encap: { trafficEncapMode: "encap", transportInterface: phyBridge },
    noEncap: { trafficEncapMode: "noEncap", transportInterface: nic },
    bridging: { trafficEncapMode: "noEncap", transportInterface: nic, enableBridgingMode: true, noSNAT: true },
    networks: {
        trafficEncapMode: "noEncap",
        transportInterface: nic,
        secondaryNetwork: { ovsBridges: [{ bridgeName: "br-networks", physicalInterfaces: [vlanNic] }] },
    },
};
const gatesOf: Readonly<Record<Mode, Gates>> = {
    encap: {},
    noEncap: {},
    bridging: { AntreaIPAM: true },
    networks: { AntreaIPAM: true, SecondaryNetwork: true },
};
