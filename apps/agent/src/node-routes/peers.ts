import { AntreaError } from "@antrea/errors";
import { prefixContains, prefixesOverlap, type IpAddress, type Prefix } from "@antrea/ip";
import { internalIpsOf, podPrefixesOf, type NodeObject } from "../node-object.ts";

/** A route to the Pods of another Node. */
export interface PeerRoute {
    readonly node: string;
    readonly dst: Prefix;
    readonly via: IpAddress;
}

export interface PeerRoutes {
    readonly routes: readonly PeerRoute[];
    /** What a user should know: Nodes that get no route, and why. */
    readonly problems: readonly { readonly node: string; readonly problem: string }[];
}

/**
 * The routes to the Pods of all other Nodes, from the Node objects: `podCIDR via InternalIP` for Nodes on a subnet of
 * the transport interface. To others the network between the Nodes must know the way (mode noEncap). Two Nodes with one
 * podCIDR get none for it: either would be wrong for half of the Pods. Nor does one whose podCIDR overlaps ours: its
 * route could take the traffic to our own Pods away. Pure.
 */
export function peerRoutes(self: string, nodes: readonly NodeObject[], subnets: readonly Prefix[]): PeerRoutes {
    const routes: PeerRoute[] = [];
    const problems: { node: string; problem: string }[] = [];
    const holders = new Map<string, string[]>();
    const parsed = nodes.flatMap((node) => {
        const name = node.metadata?.name ?? "";
        const prefixes = prefixesOf(node);
        if (typeof prefixes === "string") {
            if (name !== self) problems.push({ node: name, problem: prefixes });
            return [];
        }
        for (const prefix of prefixes) holders.set(keyOf(prefix), [...(holders.get(keyOf(prefix)) ?? []), name]);
        return [{ name, prefixes, ips: internalIpsOf(node) }];
    });
    const own = parsed.find(({ name }) => name === self)?.prefixes ?? [];
    for (const { name, prefixes, ips } of parsed) {
        if (name === self) continue;
        for (const dst of prefixes) {
            const others = (holders.get(keyOf(dst)) ?? []).filter((holder) => holder !== name);
            const candidates = ips.filter((ip) => ip.family === dst.family);
            // A Node may have several; one on a subnet of ours is its neighbour address.
            const via = candidates.find((ip) => subnets.some((subnet) => prefixContains(subnet, ip)));
            if (others.length > 0)
                problems.push({ node: name, problem: `its podCIDR is also that of Node ${others.join(", ")}` });
            else if (own.some((prefix) => prefixesOverlap(prefix, dst)))
                problems.push({ node: name, problem: "its podCIDR overlaps that of this Node" });
            else if (candidates.length === 0)
                problems.push({ node: name, problem: `it has no InternalIP of family IPv${dst.family}` });
            else if (via !== undefined) routes.push({ node: name, dst, via });
            else problems.push({ node: name, problem: "it is on another subnet: the network must route its podCIDR" });
        }
    }
    return { routes, problems };
}

/** All podCIDRs of the cluster that can be read, for the exception from masquerading. Pure. */
export function allPodPrefixes(nodes: readonly NodeObject[]): readonly Prefix[] {
    return nodes.flatMap((node) => {
        const prefixes = prefixesOf(node);
        return typeof prefixes === "string" ? [] : prefixes;
    });
}

function prefixesOf(node: NodeObject): readonly Prefix[] | string {
    try {
        return podPrefixesOf(node);
    } catch (error) {
        if (error instanceof AntreaError) return error.message;
        throw error;
    }
}

function keyOf(prefix: Prefix): string {
    return `${prefix.family}/${prefix.base}/${prefix.length}`;
}
