import { rmSync } from "node:fs";
import { namespaces as namespaceResource, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { UnderlaySwitch } from "../bridging/underlay-switch.ts";
import { ApiDoor } from "../data-plane/api-door.ts";
import { LoadNode, placeOf } from "../data-plane/load-node.ts";
import { Helper } from "../helper.ts";
import { runWithin } from "../netns.ts";
import { workPath } from "../paths.ts";
import { PodNamespaces } from "../pod-namespaces.ts";
import { kubeProxyRights } from "./kube-proxy.ts";
import { endpointNode, endpointPrefix, serviceNamespace, servicePort } from "./service-objects.ts";

/** A Node that is connected, without a program on it, and what ends it. */
export interface BareNode {
    readonly node: LoadNode;
    readonly stack: AsyncDisposableStack;
}

/** The place of a client Pod, and what ends it. */
export interface ClientPlace {
    /** The Pod's number. */
    readonly index: number;
    /** Name and path of its network namespace. */
    readonly name: string;
    readonly netnsPath: string;
    readonly client: Helper;
    readonly stack: AsyncDisposableStack;
}

/**
 * A real API server, and a network of Nodes whose switch is also the machine of all endpoints: it answers at each of their
 * addresses.
 */
export class ServicesStage implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    readonly namespaces: PodNamespaces;
    readonly #network: UnderlaySwitch;
    readonly #door: ApiDoor;
    readonly #stack: AsyncDisposableStack;
    #pods = 0;

    private constructor(parts: {
        readonly server: TestApiServer;
        readonly namespaces: PodNamespaces;
        readonly network: UnderlaySwitch;
        readonly door: ApiDoor;
        readonly stack: AsyncDisposableStack;
    }) {
        this.server = parts.server;
        this.api = parts.server.clients().api;
        this.namespaces = parts.namespaces;
        this.#network = parts.network;
        this.#door = parts.door;
        this.#stack = parts.stack;
    }

    /** Without Services. */
    static async start(): Promise<ServicesStage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        await server.apply(kubeProxyRights);
        await server.clients().api.create(namespaceResource, { metadata: { name: serviceNamespace } });
        for (const index of [0, 1]) {
            const { name, address, podCidr } = placeOf(index);
            await server.addNode(name, { podCidrs: [podCidr], internalIps: [address] });
        }
        await server.addNode(endpointNode, { podCidrs: [endpointPrefix], internalIps: [UnderlaySwitch.address] });
        const namespaces = stack.use(new PodNamespaces());
        const network = stack.use(new UnderlaySwitch(namespaces));
        runWithin(network.netnsPath, "ip", "link", "set", "lo", "up");
        runWithin(network.netnsPath, "ip", "route", "add", "local", endpointPrefix, "dev", "lo");
        const answerer = stack.use(new Helper("services/answerer.ts", { netnsPath: network.netnsPath }));
        await answerer.ask("listen", { port: servicePort });
        const door = stack.use(await ApiDoor.open(server));
        return new ServicesStage({ server, namespaces, network, door, stack: stack.move() });
    }

    /** A new Node with this index, 0 or 1, as after its installation. */
    async addNode(index: 0 | 1): Promise<BareNode> {
        await using stack = new AsyncDisposableStack();
        const { name, address, podCidr } = placeOf(index);
        rmSync(workPath(`${name}-state`), { recursive: true, force: true });
        // an agent that stops still calls the API server
        const relay = stack.use(new AsyncDisposableStack());
        const node = stack.use(await LoadNode.start(index, this.api));
        this.#network.connect(node);
        await node.prepare("noEncap");
        runWithin(this.#network.netnsPath, "ip", "route", "replace", podCidr, "via", address);
        relay.use(await this.#door.openIn(node.netnsPath));
        return { node, stack: stack.move() };
    }

    /** A network namespace for a Pod, without an interface, and a process in it that runs `services/client.ts`. */
    addClient(): ClientPlace {
        const index = this.#pods++;
        const name = `services-${index}`;
        const [netnsPath = ""] = this.namespaces.add(name);
        const stack = new AsyncDisposableStack();
        stack.defer(() => this.namespaces.delete(name));
        const client = stack.use(new Helper("services/client.ts", { netnsPath }));
        return { index, name, netnsPath, client, stack };
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#stack.disposeAsync();
    }
}
