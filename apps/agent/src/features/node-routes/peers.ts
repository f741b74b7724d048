import type { Clock } from "@antrea/async";
import type { NextTable } from "@antrea/flows";
import type { Netlink } from "@antrea/netlink";
import { Reconciler, type Logger, type MetricsFactory, type PassResult } from "@antrea/runtime";
import type { NodeObject } from "../../platform/node/node-object.ts";
import type { FlowOwner } from "../../platform/ovs/flow-table/index.ts";
import { KernelRoutes, sameRoute, type KernelRoute } from "./kernel-routes.ts";
import { flowRoutesByNode, PeerFlows, sameFlows, takesFlows, type FlowRoutes } from "./peer-flows.ts";
import { routesToPeers, type OwnPods, type PeerContext, type PeerProblem, type PeerRoute } from "./peer-routes.ts";

/** Dependencies of Peers. */
export interface PeersComponents {
    readonly netlink: Netlink;
    readonly flowTable: FlowOwner;
    readonly next: NextTable;
    readonly logger: Logger;
    /** Default no metrics. */
    readonly metrics?: MetricsFactory | undefined;
    /** Default the system clock. */
    readonly clock?: Clock | undefined;
    /** The current Nodes; the objects are immutable. */
    readonly nodes: () => readonly NodeObject[];
    /** The current settings; read at each pass. */
    readonly context: () => PeerContext;
    /** The ifindex of the transport interface. */
    readonly transportIndex: () => number;
    /** MAC address of the gateway, 6 bytes. */
    readonly gatewayMac: () => Uint8Array;
    /** Whether OVS serves Services. */
    readonly servesServices: boolean;
}

/** Settings of Peers. */
export interface PeersOptions extends OwnPods {
    /** Name of the gateway's link, the output of tunnel routes. */
    readonly gatewayName: string;
}

/** The ifindexes of the output links of peer routes. */
interface Links {
    readonly transport: number;
    /** Undefined while the gateway does not exist. */
    readonly gateway: number | undefined;
}

/** The result of a pass over flows and kernel routes. */
export interface PeersResult extends PassResult {
    /** Whether OVS has the flows to all Nodes. */
    readonly hasAllFlows: boolean;
}

/**
 * Maintains the routes to the Pods of the other Nodes: a flow into the tunnel and a route to the gateway, or a route to
 * the Node. Its owner repeats `pass`, which alone changes OVS and the kernel: only what differs is written, and a
 * failure for one Node is retried separately. podCIDRs that get no route are logged, once per change.
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

    /**
     * Stages the flows to all Nodes before the first replay, which sends them to OVS. To be called at most once, when
     * the Nodes are known.
     */
    stage(): void {
        for (const [node, routes] of flowRoutesByNode(this.#desired().routes)) {
            this.#peerFlows.stage(node, routes);
            this.#flows.adopt(node, routes);
        }
    }

    /**
     * Requests a full comparison with the kernel's routes in the next pass, since other programs may have changed them.
     * Starts no pass.
     */
    askForFull(): void {
        this.#routes.askForFull();
    }

    /**
     * Applies the changes since the last pass to OVS and the kernel; compares everything if that is due. Failures of
     * single Nodes are in the result, with the time to the next try. Rejects with NetlinkError if links or routes
     * cannot be read, and if the signal aborts.
     */
    async pass(signal?: AbortSignal): Promise<PeersResult> {
        const links = await this.#currentLinks();
        if (this.#links?.transport !== links.transport || this.#links.gateway !== links.gateway) this.askForFull();
        this.#links = links;
        const { routes, problems, ignored } = this.#desired();
        // Before the kernel routes: OVS must have the flows for the traffic that these direct to it.
        this.#flows.replace(flowRoutesByNode(routes));
        const flows = await this.#flows.pass(signal);
        this.#routes.replace(this.#kernelRoutes(routes, links));
        const kernel = await this.#routes.pass(signal);
        this.#report(problems, ignored);
        const due = [flows.againInMs, kernel.againInMs].filter((ms) => ms !== undefined);
        return {
            hasAllFlows: flows.againInMs === undefined,
            failed: flows.failed + kernel.failed,
            error: flows.error ?? kernel.error,
            againInMs: due.length === 0 ? undefined : Math.min(...due),
        };
    }

    #desired(): ReturnType<typeof routesToPeers> {
        const { nodes, context } = this.#components;
        return routesToPeers(this.#options, nodes(), context());
    }

    /** By podCIDR. A route whose flows OVS rejected is not changed; a tunnel waits for the gateway. */
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

    /** Logs the problems once per change. */
    #report(problems: readonly PeerProblem[], ignored: readonly PeerProblem[]): void {
        const { logger } = this.#components;
        const [unreached, unusable] = [textOfProblems(problems), textOfProblems(ignored)];
        if (unreached !== "" && unreached !== this.#problems)
            logger.warn("podCIDRs of Nodes that get no route", { problems: unreached });
        if (unusable !== "" && unusable !== this.#ignored)
            logger.warn(
                "subnets announced by Nodes are ignored; bridged Pods reach their Pods by the underlay's router",
                {
                    problems: unusable,
                },
            );
        this.#problems = unreached;
        this.#ignored = unusable;
    }
}

function textOfProblems(problems: readonly PeerProblem[]): string {
    return problems.map(({ node, problem }) => `${node}: ${problem}`).join("; ");
}
