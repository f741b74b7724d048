import { messageOf } from "@antrea/errors";
import { formatIp, formatPrefix, prefixOf, type Prefix } from "@antrea/ip";
import { RouteTable, type Netlink, type Route } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { NodeObject } from "../node-object.ts";
import { peerRoutes, type PeerRoute } from "./peers.ts";

/** Marks the routes of the agent (rtm_protocol, rtnetlink(7)): a number that no routing daemon in iproute2's list has. */
export const antreaRouteProtocol = 178;

export interface NodeRoutesComponents {
    readonly netlink: Netlink;
    readonly logger: Logger;
    readonly nodes: () => readonly NodeObject[];
}

export interface NodeRoutesOptions {
    readonly nodeName: string;
    readonly transportIndex: number;
}

/** Keeps the kernel's routes to the Pods of the other Nodes; routes without our mark are never touched. */
export class NodeRoutes {
    readonly #components: NodeRoutesComponents;
    readonly #options: NodeRoutesOptions;
    #problems = "";

    constructor(components: NodeRoutesComponents, options: NodeRoutesOptions) {
        this.#components = components;
        this.#options = options;
    }

    /** Compares routes with Nodes and sets what differs; the wanted ones are in place before stale ones go. */
    async reconcile(): Promise<void> {
        const { netlink, nodes, logger } = this.#components;
        const { nodeName, transportIndex } = this.#options;
        const wanted = peerRoutes(nodeName, nodes(), await this.#subnets());
        const problems = [...wanted.problems];
        const present = (await netlink.routes({ table: RouteTable.MAIN, protocol: antreaRouteProtocol })).filter(
            (route) => route.protocol === antreaRouteProtocol,
        );
        for (const route of wanted.routes) {
            if (present.some((one) => isRoute(one, route, transportIndex))) continue;
            const problem = await this.#set(route);
            if (problem !== undefined) problems.push({ node: route.node, problem });
        }
        for (const route of present) {
            if (wanted.routes.some((one) => isRoute(route, one, transportIndex))) continue;
            // A changed gateway was replaced above: the same destination must not be deleted with it.
            const replaced = wanted.routes.some((one) => formatPrefix(one.dst) === formatPrefix(route.dst));
            if (replaced && route.family === 4) continue;
            await netlink.deleteRoute({
                dst: route.dst,
                family: route.family,
                dev: route.dev,
                via: route.via,
                protocol: antreaRouteProtocol,
                metric: route.metric,
            });
            logger.info("stale route removed", { podCIDR: formatPrefix(route.dst) });
        }
        const text = problems.map(({ node, problem }) => `${node}: ${problem}`).join("; ");
        if (text !== "" && text !== this.#problems) logger.warn("Nodes without a route", { problems: text });
        this.#problems = text;
    }

    /** One route that the kernel refuses, to an address of our own say, does not keep the others from theirs. */
    async #set({ node, dst, via }: PeerRoute): Promise<string | undefined> {
        const { netlink, logger } = this.#components;
        try {
            await netlink.replaceRoute({
                dst,
                via,
                dev: this.#options.transportIndex,
                protocol: antreaRouteProtocol,
            });
        } catch (error) {
            return messageOf(error);
        }
        logger.info("route to the Pods of a Node set", { node, podCIDR: formatPrefix(dst), via: formatIp(via) });
        return undefined;
    }

    /** The subnets of the transport interface, read each time: a Node may change its addresses. */
    async #subnets(): Promise<readonly Prefix[]> {
        const addresses = await this.#components.netlink.addresses(this.#options.transportIndex);
        return addresses.map(({ ip, prefixLength }) => prefixOf(ip, prefixLength));
    }
}

function isRoute(route: Route, peer: PeerRoute, dev: number): boolean {
    return (
        route.dev === dev &&
        formatPrefix(route.dst) === formatPrefix(peer.dst) &&
        route.via !== undefined &&
        formatIp(route.via) === formatIp(peer.via)
    );
}
