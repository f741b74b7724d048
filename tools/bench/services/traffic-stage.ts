import { setTimeout as sleep } from "node:timers/promises";
import { basename } from "node:path";
import { namespaces as namespaceResource, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { UnderlaySwitch } from "../bridging/underlay-switch.ts";
import { ApiDoor } from "../data-plane/api-door.ts";
import { LoadNode, placeOf, type Settings } from "../data-plane/load-node.ts";
import { LoadPod } from "../data-plane/load-pod.ts";
import { BenchError } from "../error.ts";
import { runWithin } from "../netns.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { kubeProxyRights, startKubeProxy } from "./kube-proxy.ts";
import { createServices, endpointNode, endpointPrefix, serviceNamespace } from "./service-objects.ts";
import { servedByKernel, servedBySwitch } from "./serving-node.ts";
import { createTrafficService, type TrafficService } from "./traffic-services.ts";

/** Who serves the Services of a pair of Nodes: the switch, the switch where there are few, or kube-proxy. */
export const sides = ["ours", "few", "peer"] as const;
export type Side = (typeof sides)[number];
export type Mode = "noEncap" | "encap";

const settingsOf: Readonly<Record<Side, Settings>> = {
    ours: { antreaProxy: { proxyAll: true } },
    few: { antreaProxy: { proxyAll: true, serviceProxyName: "few" } },
    peer: { antreaProxy: { enable: false } },
};
/** Services of the side that has few, its two for traffic among them. */
const fewServices = 10;
/** Numbers of Services for traffic. */
const firstNumber: Readonly<Record<Side, number>> = { ours: 0, peer: 10, few: 20 };
const manyNumber = 40;
const settleMs = 3_000;
const limitMs = 300_000;
const pollMs = 500;

/** Two Nodes of one side. */
export interface Pair {
    /** A Pod of the first Node, and the Node itself. */
    readonly from: LoadPod;
    readonly host: LoadPod;
    /** A Pod of the first Node and one of the other, each with a Service of which it is the only endpoint. */
    readonly same: Target;
    readonly across: Target;
    /** The first Node's address. */
    readonly address: string;
}

export interface Target {
    readonly pod: LoadPod;
    readonly service: TrafficService;
}

interface Parts {
    readonly server: TestApiServer;
    readonly door: ApiDoor;
    readonly network: UnderlaySwitch;
    readonly namespaces: PodNamespaces;
    readonly stack: AsyncDisposableStack;
}

/** Pairs of Nodes with Pods between which there is traffic, in a cluster with many other Services. */
export class TrafficStage implements AsyncDisposable {
    readonly api: ApiClient;
    /** A machine on the network of the Nodes, which also answers at the addresses of all endpoints without a Pod. */
    readonly outside: LoadPod;
    readonly #pairs: ReadonlyMap<Side, Pair>;
    readonly #nodes: readonly LoadNode[];
    readonly #stack: AsyncDisposableStack;

    private constructor(
        parts: {
            readonly api: ApiClient;
            readonly outside: LoadPod;
            readonly pairs: ReadonlyMap<Side, Pair>;
            readonly nodes: readonly LoadNode[];
        },
        stack: AsyncDisposableStack,
    ) {
        this.api = parts.api;
        this.outside = parts.outside;
        this.#pairs = parts.pairs;
        this.#nodes = parts.nodes;
        this.#stack = stack;
    }

    /** All Services are served on all Nodes when this resolves. */
    static async start(mode: Mode, wanted: readonly Side[], services: number): Promise<TrafficStage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        await server.apply(kubeProxyRights);
        const { api } = server.clients();
        await api.create(namespaceResource, { metadata: { name: serviceNamespace } });
        await server.addNode(endpointNode, { podCidrs: [endpointPrefix], internalIps: [UnderlaySwitch.address] });
        await createServices(api, services);
        const door = stack.use(await ApiDoor.open(server));
        const namespaces = stack.use(new PodNamespaces());
        const network = stack.use(new UnderlaySwitch(namespaces));
        runWithin(network.netnsPath, "ip", "link", "set", "lo", "up");
        runWithin(network.netnsPath, "ip", "route", "add", "local", endpointPrefix, "dev", "lo");
        const outside = stack.use(await LoadPod.start(network.netnsPath, UnderlaySwitch.address));
        const parts: Parts = { server, door, network, namespaces, stack };
        const pairs = new Map<Side, Pair>();
        const firsts: LoadNode[] = [];
        for (const side of wanted) {
            const { pair, first } = await pairOf(parts, mode, side, firsts.length * 2);
            pairs.set(side, pair);
            firsts.push(first);
        }
        await sleep(settleMs);
        return new TrafficStage({ api, outside, pairs, nodes: firsts }, stack.move());
    }

    pair(side: Side): Pair {
        const pair = this.#pairs.get(side);
        if (pair !== undefined) return pair;
        throw new BenchError("BAD_ARGUMENT", "internal", `the stage was started without ${side}`);
    }

    /** Adds a Service of so many endpoints without Pods; resolves when the switch of `ours` has it. */
    async addMany(at: number, addresses: readonly string[]): Promise<TrafficService> {
        const service = await createTrafficService(this.api, manyNumber + at, addresses);
        const [node] = this.#nodes;
        if (node !== undefined) await untilServed("ours", node, [service]);
        await sleep(settleMs);
        return service;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}

async function pairOf(
    { server, door, network, namespaces, stack }: Parts,
    mode: Mode,
    side: Side,
    index: number,
): Promise<{ readonly pair: Pair; readonly first: LoadNode }> {
    const { api } = server.clients();
    const start = async (at: number): Promise<LoadNode> => {
        const { name, address, podCidr } = placeOf(at);
        await server.addNode(name, { podCidrs: [podCidr], internalIps: [address] });
        const node = stack.use(await LoadNode.start(at, api));
        network.connect(node);
        await door.openIn(node.netnsPath);
        await node.prepare(mode);
        node.run("ip", "route", "add", "default", "via", UnderlaySwitch.address);
        runWithin(network.netnsPath, "ip", "route", "add", podCidr, "via", address);
        await node.startAgent(mode, server, settingsOf[side]);
        return node;
    };
    const nodes = [await start(index), await start(index + 1)] as const;
    const [first] = nodes;
    const addPod = async (node: LoadNode, pod: number): Promise<LoadPod> => {
        const added = await node.addPod(10 * index + pod, namespaces);
        stack.defer(() => namespaces.delete(basename(added.netnsPath)));
        return added;
    };
    const [from, same, across] = [await addPod(first, 0), await addPod(first, 1), await addPod(nodes[1], 2)];
    const proxyName = side === "few" ? side : undefined;
    const number = firstNumber[side];
    const serviceOf = (at: number, { ip }: LoadPod): Promise<TrafficService> =>
        createTrafficService(api, number + at, [ip], proxyName);
    const targets = [
        { pod: same, service: await serviceOf(0, same) },
        { pod: across, service: await serviceOf(1, across) },
    ] as const;
    for (let at = targets.length; side === "few" && at < fewServices; at++) await serviceOf(at, across);
    if (side === "peer") stack.use(await startKubeProxy(server, placeOf(first.index).name, first.netnsPath));
    await from.reaches(same);
    await from.reaches(across);
    const services = targets.map(({ service }) => service);
    await untilServed(side, first, services);
    const { address } = placeOf(first.index);
    const host = stack.use(await LoadPod.start(first.netnsPath, address));
    return { pair: { from, host, same: targets[0], across: targets[1], address }, first };
}

async function untilServed(side: Side, node: LoadNode, services: readonly TrafficService[]): Promise<void> {
    const end = performance.now() + limitMs;
    for (;;) {
        const served = side === "peer" ? servedByKernel(node) : await servedBySwitch(node);
        const missing = services.find(({ clusterIp }) => !served.has(clusterIp));
        if (missing === undefined) return;
        if (performance.now() > end) {
            throw new BenchError(
                "NOT_READY",
                "environment",
                `${missing.clusterIp} is not served on ${placeOf(node.index).name}`,
            );
        }
        await sleep(pollMs);
    }
}
