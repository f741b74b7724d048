import { UnderlaySwitch } from "../bridging/underlay-switch.ts";
import { podCall } from "../cni-client.ts";
import { cpuMsOf, memoryOf, type Daemon, type Memory } from "../daemon.ts";
import { placeOf, type LoadNode, type Settings } from "../data-plane/load-node.ts";
import { type Helper } from "../helper.ts";
import { runWithin } from "../netns.ts";
import { workPath } from "../paths.ts";
import { startKubeProxy } from "./kube-proxy.ts";
import { OpenFlowTap } from "./openflow-tap.ts";
import { endpointPrefix } from "./service-objects.ts";
import { type BareNode, type ServicesStage } from "./stage.ts";

/** The agent's bridge, and its table of the addresses of Services. */
const bridge = "br-int";
const serviceTable = 46;

/** A Node whose agent or kube-proxy serves Services to a client Pod. */
export interface ServingNode extends AsyncDisposable {
    readonly node: LoadNode;
    /** Runs `services/client.ts` in the Pod. */
    readonly client: Helper;
    /** Start of the agent's or kube-proxy's process, in milliseconds since 1970. */
    readonly startedAt: number;
    memory(): Memory;
    /** Processor time of the process since its start, and of the programs that it has run, in milliseconds. */
    cpuMs(): number;
    /** The ClusterIPs in the switch or in the kernel. */
    served(): Promise<ReadonlySet<string>>;
}

/** A line of the agent's log. */
export interface ServedLine {
    readonly time: string;
    /** From when the agent knew all Services. */
    readonly seconds: number;
}

/** A Node with the agent, and its ovs-vswitchd. */
export interface AgentNode extends ServingNode {
    /** Path of the client's network namespace. */
    readonly clientNetns: string;
    /** What the agent has logged last when the switch had all Services. */
    lastServed(): ServedLine;
    vswitchdMemory(): Memory;
    /** Processor time of ovs-vswitchd since its start, in milliseconds. */
    vswitchdCpuMs(): number;
}

/** A Node with the agent, of which all messages to the switch are read. */
export interface TappedNode extends AgentNode {
    readonly tap: OpenFlowTap;
    /** Stops the agent by SIGTERM and starts it again; resolves when it accepts CNI requests. */
    restart(): Promise<void>;
}

/** A newly installed Node with the agent, mode noEncap; its client Pod is connected when this resolves. */
export async function startAgentNode(stage: ServicesStage, settings: Settings = {}): Promise<AgentNode> {
    return startOn(stage, await stage.addNode(0), settings);
}

/** The same, with something between the agent and the switch that takes some time of each change. */
export async function startTappedNode(stage: ServicesStage): Promise<TappedNode> {
    await using stack = new AsyncDisposableStack();
    const bare = await stage.addNode(0);
    stack.use(bare.stack);
    const folder = workPath(`${placeOf(bare.node.index).name}-ovs`);
    const tap = await OpenFlowTap.open(bare.node.ovs, bridge, folder);
    bare.stack.use(tap);
    const settings = { ovsRunDir: tap.runDir };
    const node = await startOn(stage, bare, settings);
    stack.move();
    const restart = async (): Promise<void> => {
        await bare.node.stopAgent();
        await bare.node.startAgent("noEncap", stage.server, settings);
    };
    return { ...node, tap, restart };
}

/** Ends the Node with the result, or when it fails. */
async function startOn(stage: ServicesStage, bare: BareNode, settings: Settings): Promise<AgentNode> {
    await using stack = new AsyncDisposableStack();
    const place = stage.addClient();
    // the Pod's links go with the Node, and the end of the namespace waits for that
    stack.use(place.stack);
    stack.use(bare.stack);
    const { node } = bare;
    const uid = await node.createPod(place.index);
    await node.startAgent("noEncap", stage.server, settings);
    await node.cni.call("CmdAdd", podCall(place.index, place.netnsPath, uid));
    const ended = stack.move();
    return {
        node,
        client: place.client,
        clientNetns: place.netnsPath,
        lastServed: () => node.agent.lastLogged("OVS serves Services") as unknown as ServedLine,
        startedAt: performance.timeOrigin + node.agent.startedAt,
        memory: () => node.agent.memory(),
        cpuMs: () => node.agent.cpuMsWithChildren(),
        vswitchdMemory: () => memoryOf(node.ovs.vswitchdPid),
        vswitchdCpuMs: () => cpuMsOf(node.ovs.vswitchdPid),
        served: () => servedBySwitch(node),
        [Symbol.asyncDispose]: () => ended.disposeAsync(),
    };
}

/** A newly installed Node with kube-proxy, whose client Pod the kernel routes for. */
export async function startProxyNode(stage: ServicesStage): Promise<ServingNode> {
    await using stack = new AsyncDisposableStack();
    const bare = await stage.addNode(1);
    stack.use(bare.stack);
    const place = stage.addClient();
    stack.use(place.stack);
    const { node } = bare;
    connectClient(node, place.name, place.netnsPath);
    node.run("ip", "route", "add", endpointPrefix, "via", UnderlaySwitch.address);
    const daemon: Daemon = stack.use(await startKubeProxy(stage.server, placeOf(1).name, node.netnsPath));
    // not before: its account gets a token first
    const startedAt = performance.timeOrigin + performance.now();
    const ended = stack.move();
    return {
        node,
        client: place.client,
        startedAt,
        memory: () => daemon.memory(),
        cpuMs: () => daemon.cpuMsWithChildren(),
        served: () => Promise.resolve(servedByKernel(node)),
        [Symbol.asyncDispose]: () => ended.disposeAsync(),
    };
}

/** The ClusterIPs of TCP ports that the agent's flows translate. */
export async function servedBySwitch({ ovs }: LoadNode): Promise<ReadonlySet<string>> {
    const text = await ovs.ofctl("--no-stats", "dump-flows", bridge, `table=${serviceTable}`);
    return addressesIn(text, /\bnw_dst=([\d.]+),tp_dst=/g);
}

/** The ClusterIPs of TCP ports that kube-proxy's rules translate; none before it has made its table. */
export function servedByKernel(node: LoadNode): ReadonlySet<string> {
    try {
        const text = node.run("nft", "list", "map", "ip", "kube-proxy", "service-ips");
        return addressesIn(text, /([\d.]+) \. tcp \. \d+ :/g);
    } catch {
        return new Set();
    }
}

function addressesIn(text: string, pattern: RegExp): ReadonlySet<string> {
    return new Set(Array.from(text.matchAll(pattern), ([, address = ""]) => address));
}

/** A veth pair to the Node, which routes. */
function connectClient(node: LoadNode, name: string, netnsPath: string): void {
    const subnet = placeOf(node.index).podCidr.replace(/0\/24$/, "");
    node.run("ip", "link", "add", "client", "type", "veth", "peer", "name", "eth0", "netns", name);
    node.run("ip", "link", "set", "client", "up");
    node.run("ip", "address", "add", `${subnet}1/24`, "dev", "client");
    const inside = (...command: readonly string[]): string => runWithin(netnsPath, ...command);
    inside("ip", "address", "add", `${subnet}2/24`, "dev", "eth0");
    inside("ip", "link", "set", "eth0", "up");
    inside("ip", "route", "add", "default", "via", `${subnet}1`);
}
