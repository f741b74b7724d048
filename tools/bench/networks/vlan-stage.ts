import { basename } from "node:path";
import { namespaces as namespaceResource } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { startController } from "../controller.ts";
import { ApiDoor } from "../data-plane/api-door.ts";
import { LoadNode, placeOf, podNamespace, vlanNic } from "../data-plane/load-node.ts";
import { type LoadPod } from "../data-plane/load-pod.ts";
import { copyNetfilter, PlainBridge, refuseOtherPorts } from "../data-plane/plain-bridge.ts";
import { BenchError } from "../error.ts";
import { runWithin } from "../netns.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { PlainSwitch } from "./plain-switch.ts";
import { createNetworks, requesting, vlanNetworks } from "./vlan-networks.ts";

/** The bridge between two Pods of a VLAN: the agent's, or a plain one. */
export const sides = ["ours", "plain"] as const;
export type Side = (typeof sides)[number];

type Pair<T> = readonly [from: T, to: T];

/**
 * Two Nodes with the agent and two with a plain switch and no agent, each pair connected by a cable for the Pod network and
 * one for VLANs, with a Pod of one VLAN on all of them.
 */
export class VlanStage implements AsyncDisposable {
    readonly #pairs: Readonly<Record<Side, Pair<LoadPod>>>;
    readonly #stack: AsyncDisposableStack;

    private constructor(pairs: Readonly<Record<Side, Pair<LoadPod>>>, stack: AsyncDisposableStack) {
        this.#pairs = pairs;
        this.#stack = stack;
    }

    /** The Pods of each side reach each other in their VLAN when this resolves. */
    static async start(): Promise<VlanStage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        const { api } = server.clients();
        await api.create(namespaceResource, { metadata: { name: podNamespace } });
        const networks = vlanNetworks(1);
        await createNetworks(server, podNamespace, networks);
        stack.use(await startController("networks-controller", server, { AntreaIPAM: true }));
        const door = stack.use(await ApiDoor.open(server));
        const namespaces = stack.use(new PodNamespaces());
        const connected = async (first: number): Promise<Pair<LoadNode>> => {
            const pair = [await LoadNode.start(first, api), await LoadNode.start(first + 1, api)] as const;
            for (const node of pair) stack.use(node);
            LoadNode.connect(...pair);
            LoadNode.connect(...pair, vlanNic);
            for (const node of pair) {
                node.run("ethtool", "-K", vlanNic, "tx", "off", "gro", "off");
                node.run("ip", "link", "set", vlanNic, "up");
            }
            return pair;
        };
        const nodes = await connected(0);
        for (const node of nodes) await startAgent(node, server, door);
        const plains = await connected(2);
        for (const node of plains) await node.prepare("networks");
        const switches = [new PlainSwitch(plains[0]), new PlainSwitch(plains[1])] as const;
        const plainBridge = async (at: 0 | 1, other: LoadNode): Promise<PlainBridge> =>
            stack.use(await PlainBridge.start(plains[at], "noEncap", other, () => switches[at].start()));
        const bridges = [await plainBridge(0, plains[1]), await plainBridge(1, plains[0])] as const;
        // After the gateway port, as the agent does.
        for (const one of switches) await one.addNic(vlanNic);
        copyNetfilter(nodes, plains);
        const made: LoadPod[] = [];
        stack.defer(() => namespaces.delete(...made.map(({ netnsPath }) => basename(netnsPath))));
        const ours = async (at: 0 | 1): Promise<LoadPod> => {
            const pod = await nodes[at].addPod(at, namespaces, requesting(networks));
            made.push(pod);
            return pod.reachedAt(addressOf(pod));
        };
        const theirs = async (at: 0 | 1): Promise<LoadPod> => {
            const pod = await bridges[at].addPod(namespaces);
            made.push(pod);
            const address = `10.99.0.${at + 2}`;
            await switches[at].connect(pod, networks[0]?.vlan ?? 0, `${address}/16`);
            return pod.reachedAt(address);
        };
        const pairs = { ours: [await ours(0), await ours(1)], plain: [await theirs(0), await theirs(1)] } as const;
        for (const at of [0, 1] as const) await refuseOtherPorts(nodes[at], plains[at]);
        for (const side of sides) await pairs[side][0].reaches(pairs[side][1]);
        return new VlanStage(pairs, stack.move());
    }

    /** The Pods of a side. */
    pair(side: Side): Pair<LoadPod> {
        return this.#pairs[side];
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

async function startAgent(node: LoadNode, server: TestApiServer, door: ApiDoor): Promise<void> {
    const { name, address, podCidr } = placeOf(node.index);
    await server.addNode(name, { podCidrs: [podCidr], internalIps: [address] });
    await door.openIn(node.netnsPath);
    await node.startAgent("networks", server);
    // A NIC becomes a port some seconds after the start, and an ADD before it fails.
    await node.ovs.vsctl("--timeout=30", "wait-until", "Interface", vlanNic, "ofport>0");
}

/** The address of eth1, which the agent has given it. */
function addressOf({ netnsPath }: LoadPod): string {
    const shown = runWithin(netnsPath, "ip", "-4", "-o", "address", "show", "eth1");
    const address = /inet ([\d.]+)\//.exec(shown)?.[1];
    if (address !== undefined) return address;
    throw new BenchError("WRONG_RESULT", "internal", `a Pod of a VLAN network has no address on eth1: ${shown}`);
}
