import { basename } from "node:path";
import { ipPools, poolsAnnotation } from "@antrea/crd";
import { namespaces as namespaceResource, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { startController } from "../controller.ts";
import { ApiDoor } from "../data-plane/api-door.ts";
import { LoadNode, placeOf, podNamespace, underlay } from "../data-plane/load-node.ts";
import { type LoadPod } from "../data-plane/load-pod.ts";
import { PlainBridge, refuseOtherPorts, type Plain } from "../data-plane/plain-bridge.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { UnderlaySwitch } from "./underlay-switch.ts";
import { untilBridged } from "./until-bridged.ts";

/**
 * The data path of the packets: that of bridged Pods, that of Pods of the Nodes' subnets without bridging mode, or
 * that of a plain bridge, which is a learning switch or also does a conntrack lookup per packet.
 */
export const sides = ["bridged", "plain", "ct", "subnet", "bridged-vlan", "plain-vlan"] as const;
export type Side = (typeof sides)[number];

/** The kind of plain bridge of a side; the agent's sides have none. */
const bridgeOf: Partial<Record<Side, Plain>> = { plain: "plain", ct: "ct", "plain-vlan": "plain" };

type Annotations = Readonly<Record<string, string>>;
type Pair = readonly [from: LoadPod, to: LoadPod];

const vlan = 2;
/** The annotations of bridged Pods without a VLAN, and of those in one. */
export const untagged = { [poolsAnnotation]: "untagged" } as const;
const tagged = { [poolsAnnotation]: "tagged" } as const;

/**
 * Six Nodes on one switch: two in bridging mode, two without it, and two with a plain bridge and no agent. Each side
 * has a Pod on both Nodes of a pair.
 */
export class BridgingStage implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    readonly network: UnderlaySwitch;
    /** The Nodes in bridging mode. */
    readonly nodes: readonly [LoadNode, LoadNode];
    readonly #pairs: Readonly<Record<Side, Pair>>;
    readonly #bridges: readonly PlainBridge[];
    readonly #stack: AsyncDisposableStack;
    #current: Plain | undefined;

    private constructor(parts: {
        readonly server: TestApiServer;
        readonly api: ApiClient;
        readonly network: UnderlaySwitch;
        readonly nodes: readonly [LoadNode, LoadNode];
        readonly pairs: Readonly<Record<Side, Pair>>;
        readonly bridges: readonly PlainBridge[];
        readonly stack: AsyncDisposableStack;
    }) {
        this.server = parts.server;
        this.api = parts.api;
        this.network = parts.network;
        this.nodes = parts.nodes;
        this.#pairs = parts.pairs;
        this.#bridges = parts.bridges;
        this.#stack = parts.stack;
    }

    /** The Pods of each side have connectivity when this resolves. */
    static async start(): Promise<BridgingStage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        const { api } = server.clients();
        await api.create(namespaceResource, { metadata: { name: podNamespace } });
        await createPools(api);
        stack.use(await startController("bridging-controller", server, { AntreaIPAM: true }));
        const door = stack.use(await ApiDoor.open(server));
        const namespaces = stack.use(new PodNamespaces());
        const network = stack.use(new UnderlaySwitch(namespaces));
        const connected = async (index: number): Promise<LoadNode> => {
            const node = stack.use(await LoadNode.start(index, api));
            network.connect(node);
            return node;
        };
        const withAgent = async (index: number, mode: "bridging" | "noEncap"): Promise<LoadNode> => {
            const { name, address, podCidr } = placeOf(index);
            await server.addNode(name, { podCidrs: [podCidr], internalIps: [address] });
            const node = await connected(index);
            await door.openIn(node.netnsPath);
            await node.startAgent(mode, server);
            if (mode === "bridging") await untilBridged(api, name);
            return node;
        };
        const nodes = [await withAgent(0, "bridging"), await withAgent(1, "bridging")] as const;
        const others = [await withAgent(2, "noEncap"), await withAgent(3, "noEncap")] as const;
        const plains = [await connected(4), await connected(5)] as const;
        const bridges = [
            stack.use(await PlainBridge.start(plains[0], "bridging", plains[1])),
            stack.use(await PlainBridge.start(plains[1], "bridging", plains[0])),
        ] as const;
        const made: LoadPod[] = [];
        stack.defer(() => namespaces.delete(...made.map(({ netnsPath }) => basename(netnsPath))));
        const pairOf = async (add: (at: 0 | 1) => Promise<LoadPod>): Promise<Pair> => {
            const pair = [await add(0), await add(1)] as const;
            made.push(...pair);
            return pair;
        };
        const ours = async (on: readonly [LoadNode, LoadNode], annotations?: Annotations): Promise<Pair> =>
            pairOf((at) => on[at].addPod(made.length + at, namespaces, annotations));
        const theirs = async (tag?: number): Promise<Pair> => pairOf((at) => bridges[at].addPod(namespaces, tag));
        const plain = await theirs();
        const pairs: Record<Side, Pair> = {
            bridged: await ours(nodes, untagged),
            "bridged-vlan": await ours(nodes, tagged),
            plain,
            ct: plain,
            "plain-vlan": await theirs(vlan),
            subnet: await ours(others),
        };
        const stage = new BridgingStage({
            server,
            api,
            network,
            nodes,
            pairs,
            bridges,
            stack: stack.move(),
        });
        for (const at of [0, 1] as const) await refuseOtherPorts(nodes[at], plains[at]);
        for (const side of sides) {
            const [from, to] = await stage.pair(side);
            await from.reaches(to);
        }
        return stage;
    }

    /** The Pods of a side, ready to be measured. */
    async pair(side: Side): Promise<Pair> {
        const wanted = bridgeOf[side];
        if (wanted !== undefined && wanted !== this.#current) {
            for (const bridge of this.#bridges) await bridge.become(wanted);
            this.#current = wanted;
        }
        return this.#pairs[side];
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

async function createPools(api: ApiClient): Promise<void> {
    const pools = [
        { name: "untagged", network: underlay.base, vlan: 0 },
        { name: "tagged", network: "10.202", vlan },
    ];
    for (const { name, network, vlan: tag } of pools) {
        const range = {
            cidr: `${network}.128.0/18`,
            gateway: `${network}.0.1`,
            prefixLength: underlay.length,
            vlan: tag,
        };
        await api.create(ipPools, { metadata: { name }, spec: { ipVersion: 4, ipRanges: [range] } });
    }
}
