import { bridgedPeerFlows, tunnelPeerFlows, type FlowSet, type NextTable } from "@antrea/flows";
import { formatIp, sameIp } from "@antrea/ip";
import type { Change, Operations, Removal } from "@antrea/runtime";
import type { FlowOwner } from "../../platform/ovs/flow-table/index.ts";
import type { PeerRoute } from "./peer-routes.ts";

/** Dependencies of PeerFlows. */
export interface PeerFlowsComponents {
    readonly flowTable: FlowOwner;
    /** The table that follows each table of the pipeline. */
    readonly next: NextTable;
    /** MAC address of this Node's gateway, 6 bytes. */
    readonly gatewayMac: () => Uint8Array;
    /** Whether OVS serves Services, whose endpoints may be in the network of a Node. */
    readonly servesServices: boolean;
}

/** The routes to one Node that need flows: at least one, all through the same tunnel or MAC address. */
export type FlowRoutes = readonly [PeerRoute, ...PeerRoute[]];

/**
 * The flows to other Nodes, by Node name: into the tunnel, and in bridging mode those of bridged Pods to neighbours.
 * Methods reject with OpenFlowError, on abort with `ABORTED`, see FlowOwner.
 */
export class PeerFlows implements Operations<string, FlowRoutes> {
    readonly #flowTable: FlowOwner;
    readonly #next: NextTable;
    readonly #gatewayMac: () => Uint8Array;
    readonly #servesServices: boolean;

    constructor(components: PeerFlowsComponents) {
        this.#flowTable = components.flowTable;
        this.#next = components.next;
        this.#gatewayMac = components.gatewayMac;
        this.#servesServices = components.servesServices;
    }

    /** Stages the flows to one Node before the first replay, which sends them. */
    stage(node: string, routes: FlowRoutes): void {
        this.#flowTable.stage(ownerOf(node), this.#flowsOf(routes));
    }

    /** Sets the flows to one Node; resolves when OVS has them. */
    update({ key, value }: Change<string, FlowRoutes>, signal: AbortSignal | undefined): Promise<void> {
        return this.#flowTable.set(ownerOf(key), this.#flowsOf(value), signal);
    }

    /** Removes the flows to one Node; resolves when OVS has none of them. */
    delete({ key }: Removal<string, FlowRoutes>, signal: AbortSignal | undefined): Promise<void> {
        return this.#flowTable.remove(ownerOf(key), signal);
    }

    #flowsOf(routes: FlowRoutes): FlowSet {
        const [{ remote, mac }] = routes;
        const podPrefixes = routes.map(({ dst }) => dst);
        if (mac !== undefined) {
            const remotes = new Map(routes.map((route) => [formatIp(route.remote), route.remote]));
            return bridgedPeerFlows(this.#next, {
                podPrefixes,
                mac,
                ips: this.#servesServices ? [...remotes.values()] : [],
            });
        }
        return tunnelPeerFlows(this.#next, { podPrefixes, remote, gatewayMac: this.#gatewayMac() });
    }
}

/** Whether a route needs flows: by tunnel, or with the MAC address for bridged Pods. */
export function takesFlows({ kind, mac }: PeerRoute): boolean {
    return kind === "tunnel" || mac !== undefined;
}

/** Groups the routes that need flows by Node name, in their order; a Node without such a route is not in it. */
export function flowRoutesByNode(routes: readonly PeerRoute[]): Map<string, FlowRoutes> {
    const nodes = new Map<string, [PeerRoute, ...PeerRoute[]]>();
    for (const route of routes) {
        if (!takesFlows(route)) continue;
        const known = nodes.get(route.node);
        if (known === undefined) nodes.set(route.node, [route]);
        else known.push(route);
    }
    return nodes;
}

/** Whether two groups of routes need the same flows. Each pass compares those of all Nodes, so it makes no texts. */
export function sameFlows(one: FlowRoutes, other: FlowRoutes): boolean {
    return one.length === other.length && one.every((route, at) => needsSameFlow(route, other[at]));
}

function needsSameFlow(one: PeerRoute, other: PeerRoute | undefined): boolean {
    return (
        other !== undefined &&
        one.podCidr === other.podCidr &&
        sameIp(one.remote, other.remote) &&
        one.mac?.join() === other.mac?.join()
    );
}

function ownerOf(node: string): string {
    return `peer/${node}`;
}
