import { AntreaError } from "@antrea/errors";
import { formatPrefix, prefixContains, prefixesOverlap, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import type { AgentConfig } from "@antrea/settings";
import { bridgedMacOf, podPrefixesOf, transportIpsOf, type NodeObject } from "../../platform/node/node-object.ts";

/** The path to Pods of another Node: a kernel route, or a tunnel to the Node. */
export interface PeerRoute {
    readonly kind: "route" | "tunnel";
    readonly node: string;
    /** One podCIDR of the Node. */
    readonly dst: Prefix;
    /** `dst` as text. */
    readonly podCidr: string;
    /** The address of the Node that is the next hop of the route, or the remote end of the tunnel. */
    readonly remote: IpAddress;
    /**
     * The destination MAC address for bridged Pods of this Node, 6 bytes; only for a route, and if the peer announces
     * one.
     */
    readonly mac?: Uint8Array | undefined;
}

/** A problem of a Node, in words for users, as a clause: "it is on another subnet: …". A Node may have several. */
export interface PeerProblem {
    readonly node: string;
    readonly problem: string;
}

/** The routes to all other Nodes and the problems found. */
export interface PeerRoutes {
    /** One for each podCIDR that can be reached. */
    readonly routes: readonly PeerRoute[];
    /** A podCIDR each that gets no route, and why: its Pods are reached only if the network between the Nodes routes it. */
    readonly problems: readonly PeerProblem[];
    /** Announcements of Nodes that are invalid and ignored; their Pods can be reached nevertheless. */
    readonly ignored: readonly PeerProblem[];
}

/** The settings that determine how peers are reached. */
export interface PeerContext {
    readonly mode: Extract<AgentConfig["trafficEncapMode"], "encap" | "noEncap" | "hybrid">;
    /** The networks of our transport interface: Nodes with an address in them are neighbours. */
    readonly subnets: readonly Prefix[];
    /** The address family of tunnels. */
    readonly tunnelFamily: Family;
    /** In bridging mode bridged Pods send to the Pods of a neighbour by its Node's MAC address. */
    readonly bridging: boolean;
}

/** This Node and the podCIDRs of its Pods; its Node object may have none. */
export interface OwnPods {
    readonly nodeName: string;
    /** At most one of each family; another Node's podCIDR that overlaps one gets no route. */
    readonly podPrefixes: readonly Prefix[];
}

/**
 * Computes the routes to the Pods of all other Nodes from the Node objects. By tunnel in mode encap, and in mode hybrid
 * to Nodes that are not on a subnet of ours; else by a route via the Node's address on that subnet. Otherwise the
 * network between the Nodes must route the traffic (mode noEncap). A podCIDR of two Nodes gets no route, since either
 * would be wrong for half of the Pods; nor does one that overlaps ours, as its route could divert traffic of our own
 * Pods. Pure function; an invalid Node is among the problems.
 */
export function routesToPeers(self: OwnPods, nodes: readonly NodeObject[], context: PeerContext): PeerRoutes {
    const routes: PeerRoute[] = [];
    const problems: PeerProblem[] = [];
    const ignored: PeerProblem[] = [];
    const holders = new Map<string, string[]>();
    const known = nodes.map(peerOf);
    for (const { name, podCidrs } of known) {
        for (const { text } of podCidrs) {
            const names = holders.get(text);
            if (names === undefined) holders.set(text, [name]);
            else names.push(name);
        }
    }
    for (const peer of known) {
        if (peer.name === self.nodeName) continue;
        if (peer.problem !== undefined) problems.push({ node: peer.name, problem: peer.problem });
        if (context.bridging && peer.macProblem !== undefined) {
            ignored.push({ node: peer.name, problem: peer.macProblem });
        }
        for (const podCidr of peer.podCidrs) {
            const others = (holders.get(podCidr.text) ?? []).filter((holder) => holder !== peer.name);
            const route =
                others.length > 0
                    ? `its podCIDR is also that of Node ${others.join(", ")}`
                    : self.podPrefixes.some((prefix) => prefixesOverlap(prefix, podCidr.prefix))
                      ? "its podCIDR overlaps that of this Node"
                      : routeTo(peer, podCidr, context);
            if (typeof route === "string") problems.push({ node: peer.name, problem: route });
            else routes.push(route);
        }
    }
    return { routes, problems, ignored };
}

/** All valid podCIDRs of the cluster, this Node's included, which are excluded from masquerading. Pure function. */
export function allPodPrefixes(nodes: readonly NodeObject[]): readonly Prefix[] {
    return nodes.flatMap((node) => peerOf(node).podCidrs.map(({ prefix }) => prefix));
}

interface PodCidr {
    readonly prefix: Prefix;
    readonly text: string;
}

interface Peer {
    readonly name: string;
    /** Empty if they are invalid. */
    readonly podCidrs: readonly PodCidr[];
    readonly problem: string | undefined;
    readonly ips: readonly IpAddress[];
    readonly mac: Uint8Array | undefined;
    /** Why the announced MAC address is ignored. */
    readonly macProblem: string | undefined;
}

/** The route to one podCIDR, or why there is none. */
function routeTo(
    { name, ips, mac }: Peer,
    podCidr: PodCidr,
    { mode, subnets, tunnelFamily, bridging }: PeerContext,
): PeerRoute | string {
    const { prefix: dst, text } = podCidr;
    const neighbour = (wanted: Family): IpAddress | undefined =>
        // A Node may have several addresses; one on a subnet of ours is its neighbour address.
        ips.find((ip) => ip.family === wanted && subnets.some((subnet) => prefixContains(subnet, ip)));
    const via = mode === "encap" ? undefined : neighbour(dst.family);
    if (via !== undefined) {
        const route = { kind: "route", node: name, dst, podCidr: text, remote: via } as const;
        return bridging && mac !== undefined ? { ...route, mac } : route;
    }
    if (mode === "noEncap") {
        return ips.some((ip) => ip.family === dst.family)
            ? "it is on another subnet: the network must route its podCIDR"
            : `it has no address of family IPv${dst.family}`;
    }
    const remote = neighbour(tunnelFamily) ?? ips.find((ip) => ip.family === tunnelFamily);
    if (remote !== undefined) return { kind: "tunnel", node: name, dst, podCidr: text, remote };
    return `it has no address of family IPv${tunnelFamily}, which tunnels are carried by`;
}

// Node objects are immutable, and most are unchanged from one pass to the next.
const peers = new WeakMap<NodeObject, Peer>();

function peerOf(node: NodeObject): Peer {
    const seen = peers.get(node);
    if (seen !== undefined) return seen;
    const prefixes = prefixesOf(node);
    const announced = bridgedMacOf(node);
    const peer = {
        name: node.metadata?.name ?? "",
        ...(typeof prefixes === "string"
            ? { podCidrs: [], problem: prefixes }
            : { podCidrs: prefixes.map((prefix) => ({ prefix, text: formatPrefix(prefix) })), problem: undefined }),
        ips: transportIpsOf(node),
        mac: announced.mac,
        macProblem: announced.problem,
    };
    peers.set(node, peer);
    return peer;
}

function prefixesOf(node: NodeObject): readonly Prefix[] | string {
    try {
        return podPrefixesOf(node);
    } catch (error) {
        if (error instanceof AntreaError) return error.message;
        throw error;
    }
}
