import { parseIp } from "@antrea/ip";
import { type Endpoint, type ServedPort } from "@antrea/services";
import {
    nodeAddressFlows,
    OfPort,
    podFlows,
    rejectMeter,
    servicePortFlows,
    tunnelPeerFlows,
    type PodInput,
    type ServicePortFlows,
    type ServicePortInput,
    type ServicesInput,
} from "../src/index.ts";
import {
    exampleBridgedPod,
    exampleBridgingNode,
    exampleNode,
    examplePeer,
    examplePod,
    exampleTunnelNode,
    exampleVlan,
    pipelineFlows,
    pipelineOf,
    vlanFlows,
    type ExampleNode,
} from "./examples.ts";
import { TestSwitch } from "./switch.ts";

/** A Node whose switch serves Services, in each mode; in hybrid it has tunnels too, but not to all Nodes. */
export function serviceNode(mode: "encap" | "noEncap" | "hybrid" | "bridging", proxyAll: boolean): ExampleNode {
    if (mode === "bridging") return { ...exampleBridgingNode(), services: { proxyAll, keepsFragments: true } };
    if (mode === "noEncap") return { ...exampleNode(), services: { proxyAll, keepsFragments: true } };
    const services: ServicesInput = { proxyAll, keepsFragments: true, tunnel: { ofPort: OfPort.tunnel } };
    return { ...exampleTunnelNode(), services };
}

/** MAC addresses of the Pods of `servicePods`, a, b, p, q, r, s, of the Node, and of a neighbour and the router in its network. */
export const mac = {
    gw: "0e:00:00:00:00:01",
    service: "0a:59:ff:ff:ff:fd",
    host: "52:54:00:00:00:01",
    peer: "52:54:00:00:00:02",
    router: "52:54:00:00:00:fe",
    a: "0a:00:00:00:00:02",
    b: "0a:00:00:00:00:03",
    p: "0a:00:00:00:00:04",
    q: "0a:00:00:00:00:05",
    r: "0a:00:00:00:00:06",
    s: "0a:00:00:00:00:07",
};

/** The ports of those that send packets. */
export const ofPort = {
    gw: OfPort.gateway,
    uplink: OfPort.uplink,
    a: 32784,
    b: 32785,
    p: 32786,
    q: 32787,
    r: 32788,
    s: 32789,
};

/** The begin of a packet that a Pod or the gateway sends: its port and MAC address. */
export function sentBy(sender: keyof typeof ofPort & keyof typeof mac): string {
    return `in_port=${ofPort[sender]},dl_src=${mac[sender]}`;
}

/** An endpoint: on this Node if it has an address of it. */
export function endpoint(text: string, port = 8080): Endpoint {
    const ip = parseIp(text);
    const local = /^(10\.10\.0\.|fd00:10::[^:]+$|172\.18\.0\.100|fd00:18::100)/.test(text);
    const host = /^(172\.18\.0\.100|fd00:18::100)$/.test(text);
    return { ip, port, nodeName: local ? "own" : "other", local, host, ready: true };
}

/** A port of a Service at a ClusterIP with these endpoints, TCP port 80. */
export function servedPort(
    clusterIp: string,
    endpoints: readonly Endpoint[],
    more: Partial<ServedPort> = {},
): ServedPort {
    const ip = parseIp(clusterIp);
    return {
        name: "http",
        family: ip.family,
        protocol: "TCP",
        port: 80,
        addresses: [{ kind: "cluster", ip, inside: "cluster", outside: "cluster" }],
        nodePort: undefined,
        endpoints: { cluster: endpoints, local: endpoints.filter(({ local }) => local) },
        serving: endpoints,
        mode: "nat",
        sourceRanges: undefined,
        ...more,
    };
}

/** The input for such a port on a Node. */
export function portInput(
    { bridging, services }: ExampleNode,
    number: number,
    port: ServedPort,
    more: Partial<ServicePortInput> = {},
): ServicePortInput {
    return {
        uid: `uid-${number}`,
        port,
        affinitySeconds: undefined,
        number,
        groupIds: { cluster: 2 * number, local: 2 * number + 1 },
        salt: 0n,
        bridging: bridging !== undefined,
        proxyAll: services?.proxyAll === true,
        keepsFragments: services?.keepsFragments,
        standIns: new Map(),
        ...more,
    };
}

/** Its groups and flows. */
export function portFlows(
    node: ExampleNode,
    ...input: Parameters<typeof portInput> extends [unknown, ...infer R] ? R : never
): ServicePortFlows {
    return servicePortFlows(pipelineOf(node), portInput(node, ...input));
}

/** All addresses of the Node, with NodePorts at those of its interface. */
export const nodeAddresses = {
    own: ["10.10.0.1", "fd00:10::1", "172.18.0.100", "fd00:18::100"].map(parseIp),
    nodePorts: ["172.18.0.100", "fd00:18::100"].map(parseIp),
};

/** Pods of the Node: 1, 2 in its podCIDRs; in bridging mode 3, 4 in VLAN 0 and 5, 6 in VLAN 2. */
export function servicePods(node: ExampleNode): readonly PodInput[] {
    const pods = [1, 2].map((index) => examplePod(index));
    const bridged = [3, 4, 5, 6].map((index) => exampleBridgedPod(index, index < 5 ? 0 : 2));
    return [...pods, ...(node.bridging === undefined ? [] : bridged)].map((pod) => ({ ...pod, services: true }));
}

/** A switch with the flows of a Node, its Pods and Services, and ports for them: a, b, p, q, r, s, gw, tun, uplink, host. */
export async function startServiceSwitch(node: ExampleNode, ports: readonly ServicePortFlows[]): Promise<TestSwitch> {
    const next = pipelineOf(node);
    const sets = [
        pipelineFlows(node),
        ...servicePods(node).map((pod) => podFlows(next, pod)),
        ...(node.services?.proxyAll === true ? [nodeAddressFlows(next, nodeAddresses)] : []),
        ...(node.tunnel === undefined ? [] : [tunnelPeerFlows(next, examplePeer())]),
        ...(node.bridging === undefined ? [] : [exampleVlan(0, 3, 4), exampleVlan(2, 5, 6)].map(vlanFlows)),
    ];
    const ovs = await TestSwitch.start([]);
    try {
        await ovs.addMeter(rejectMeter);
        await ovs.addFlows(sets.flatMap(({ flows }) => flows));
        await ovs.serve(ports);
        return ovs;
    } catch (error) {
        await ovs[Symbol.asyncDispose]();
        throw error;
    }
}

/** Adds the ports of the Node as devices that nobody reads. */
export async function addServicePorts(ovs: TestSwitch, node: ExampleNode): Promise<void> {
    const names = ["a", "b", "p", "q", "r", "s"];
    for (const [at, pod] of servicePods(node).entries()) await ovs.addPort(names[at] ?? "", pod.ofPort);
    await ovs.addPort("gw", OfPort.gateway);
    if (node.tunnel !== undefined) await ovs.addPort("tun", OfPort.tunnel);
    if (node.bridging === undefined) return;
    await ovs.addPort("uplink", OfPort.uplink);
    await ovs.addPort("host", OfPort.host);
}
