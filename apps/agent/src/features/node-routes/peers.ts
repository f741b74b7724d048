import type { Clock } from "@antrea/async";
import type { NextTable } from "@antrea/flows";
import type { Netlink } from "@antrea/netlink";
import { Reconciler, type Logger, type MetricsFactory } from "@antrea/runtime";
import type { NodeObject } from "../../platform/node/node-object.ts";
import { KernelRoutes, sameRoute, type KernelRoute } from "./kernel-routes.ts";
import {
    flowRoutesByNode,
    PeerFlows,
    sameFlows,
    takesFlows,
    type FlowRoutes,
    type PeerFlowTable,
} from "./peer-flows.ts";
import { routesToPeers, type OwnPods, type PeerContext, type PeerProblem, type PeerRoute } from "./peer-routes.ts";

export interface PeersComponents {
    readonly netlink: Netlink;
    readonly flowTable: PeerFlowTable;
    readonly next: NextTable;
    readonly logger: Logger;
    readonly metrics?: MetricsFactory | undefined;
    readonly clock?: Clock | undefined;
    readonly nodes: () => readonly NodeObject[];
    readonly context: () => PeerContext;
    /** The link to the other Nodes. */
    readonly transportIndex: () => number;
    readonly gatewayMac: () => Uint8Array;
}

export interface PeersOptions extends OwnPods {
    readonly gatewayName: string;
}

/** The indexes of the links that peer routes lead by. */
interface Links {
    readonly transport: number;
    /** Undefined while the gateway is not there. */
    readonly gateway: number | undefined;
}

export interface PeersResult {
    /** Whether OVS has the flows to all Nodes. */
    readonly hasAllFlows: boolean;
    /** After so many milliseconds a retry is due. */
    readonly againInMs: number | undefined;
}

/**
 * Keeps the routes to the Pods of the other Nodes: a flow into the tunnel and a route to the gateway, or a route to the
 * Node. What changed is written and nothing else; what is refused of one Node is retried by itself.
 */
export class Peers {
    readonly #components: PeersComponents;
    readonly #options: PeersOptions;
    readonly #flows: Reconciler<string, FlowRoutes>;
    readonly #routes: Reconciler<string, KernelRoute>;
    readonly #peerFlows: PeerFlows;
    #links: Links | undefined;
    #problems = "";
    #ignored = "";

    constructor(components: PeersComponents, options: PeersOptions) {
        this.#components = components;
        this.#options = options;
        this.#peerFlows = new PeerFlows(components);
        this.#flows = new Reconciler<string, FlowRoutes>(
            components,
            { name: "node-routes/peer-flows", isEqual: sameFlows, concurrency: Infinity },
            this.#peerFlows,
        );
        const kernel = new KernelRoutes({ ...components, gateway: () => this.#links?.gateway });
        this.#routes = new Reconciler<string, KernelRoute>(
            components,
            { name: "node-routes/peer-routes", isEqual: sameRoute, keyText: (podCidr) => this.#textOf(podCidr) },
            kernel,
        );
    }

    /** Hands the flows to all Nodes to the table before the first replay, which brings them into OVS. */
    stage(): void {
        for (const [node, routes] of flowRoutesByNode(this.#desired().routes)) {
            this.#peerFlows.stage(node, routes);
            this.#flows.adopt(node, routes);
        }
    }

    /** The next pass compares the kernel's routes: others may have changed them. */
    askForFull(): void {
        this.#routes.askForFull();
    }

    /** Brings what changed since the last pass into OVS and into the kernel; compares all when that is due. */
    async pass(signal?: AbortSignal): Promise<PeersResult> {
        const links = await this.#currentLinks();
        if (this.#links?.transport !== links.transport || this.#links.gateway !== links.gateway) this.askForFull();
        this.#links = links;
        const { routes, problems, ignored } = this.#desired();
        // Before the kernel's routes: OVS must know where to send what these bring into it.
        this.#flows.replace(flowRoutesByNode(routes));
        const flows = await this.#flows.pass(signal);
        this.#routes.replace(this.#kernelRoutes(routes, links));
        const kernel = await this.#routes.pass(signal);
        this.#report(problems, ignored);
        const due = [flows.againInMs, kernel.againInMs].filter((ms) => ms !== undefined);
        return {
            hasAllFlows: flows.againInMs === undefined,
            againInMs: due.length === 0 ? undefined : Math.min(...due),
        };
    }

    #desired(): ReturnType<typeof routesToPeers> {
        const { nodes, context } = this.#components;
        return routesToPeers(this.#options, nodes(), context());
    }

    /** By podCIDR. One whose flows OVS refuses stays as it is; a tunnel waits for the gateway. */
    #kernelRoutes(routes: readonly PeerRoute[], { transport, gateway }: Links): ReadonlyMap<string, KernelRoute> {
        const desired = new Map<string, KernelRoute>();
        for (const peer of routes) {
            const hasFlows = !takesFlows(peer) || this.#flows.status(peer.node)?.state === "done";
            const dev = peer.kind === "route" ? transport : gateway;
            const before = this.#routes.desired.get(peer.podCidr);
            if (!hasFlows && before !== undefined) desired.set(peer.podCidr, before);
            else if (hasFlows && dev !== undefined) desired.set(peer.podCidr, { peer, dev });
        }
        return desired;
    }

    async #currentLinks(): Promise<Links> {
        const gateway = await this.#components.netlink.link(this.#options.gatewayName);
        return { transport: this.#components.transportIndex(), gateway: gateway?.index };
    }

    #textOf(podCidr: string): string {
        const node = this.#routes.desired.get(podCidr)?.peer.node;
        return node === undefined ? podCidr : `${podCidr} of Node ${node}`;
    }

    /** Once for each change of them. */
    #report(problems: readonly PeerProblem[], ignored: readonly PeerProblem[]): void {
        const { logger } = this.#components;
        const [unreached, unusable] = [textOfProblems(problems), textOfProblems(ignored)];
        if (unreached !== "" && unreached !== this.#problems)
            logger.warn("Nodes whose Pods cannot be reached", { problems: unreached });
        if (unusable !== "" && unusable !== this.#ignored)
            logger.warn("what Nodes announce is ignored; bridged Pods reach their Pods by the underlay's router", {
                problems: unusable,
            });
        this.#problems = unreached;
        this.#ignored = unusable;
    }
}

function textOfProblems(problems: readonly PeerProblem[]): string {
    return problems.map(({ node, problem }) => `${node}: ${problem}`).join("; ");
}
