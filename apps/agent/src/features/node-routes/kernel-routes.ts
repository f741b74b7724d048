import { tunnelMac } from "@antrea/flows";
import { formatIp, formatMac, formatPrefix, prefixAt, sameIp, type IpAddress } from "@antrea/ip";
import { NeighbourState, RouteTable, type Netlink, type Route, type RouteOptions } from "@antrea/netlink";
import type { Change, Logger, Operations, Removal } from "@antrea/runtime";
import { antreaRouteProtocol } from "../../platform/kernel-ids.ts";
import type { PeerRoute } from "./peer-routes.ts";

/** A peer route as installed in the kernel's main table. */
export interface KernelRoute {
    readonly peer: PeerRoute;
    /** The ifindex of its output link: the transport interface, or the gateway for a tunnel. */
    readonly dev: number;
}

type NetlinkBatch = Parameters<Parameters<Netlink["batch"]>[0]>[0];

const peerMac = formatMac(tunnelMac);

/**
 * The kernel part of peer routes, by podCIDR as text: a route and, for a tunnel, the permanent neighbour entry of the
 * peer's gateway, which is the next hop. Routes with another protocol number are never changed. Methods reject with
 * NetlinkError; some of the changes may be made then, and repeating the call completes them.
 */
export class KernelRoutes implements Operations<string, KernelRoute> {
    readonly #netlink: Netlink;
    readonly #logger: Logger;
    readonly #gateway: () => number | undefined;

    /**
     * @param components `gateway` returns the ifindex of the gateway; undefined while it does not exist
     */
    constructor(components: {
        readonly netlink: Netlink;
        readonly logger: Logger;
        readonly gateway: () => number | undefined;
    }) {
        this.#netlink = components.netlink;
        this.#logger = components.logger;
        this.#gateway = components.gateway;
    }

    /** Installs changed routes, after removing what the kernel cannot replace, and logs each. */
    async updateMany(changes: readonly Change<string, KernelRoute>[]): Promise<void> {
        await this.#netlink.batch((batch) => {
            for (const { value, before } of changes) if (before !== undefined) removeOld(batch, before, value);
        });
        await this.#netlink.batch((batch) => {
            for (const { value } of changes) addTo(batch, value);
        });
        for (const { value } of changes) {
            const { node, podCidr, kind, remote } = value.peer;
            this.#logger.info("peer route installed", { node, podCIDR: podCidr, kind, via: formatIp(remote) });
        }
    }

    /** See `updateMany`. */
    update(change: Change<string, KernelRoute>): Promise<void> {
        return this.updateMany([change]);
    }

    /** Removes routes and the neighbour entries of tunnels; succeeds for those that are gone. */
    async deleteMany(objects: readonly Removal<string, KernelRoute>[]): Promise<void> {
        await this.#netlink.batch((batch) => {
            for (const { last } of objects) {
                batch.deleteRoute(keyOf(last));
                if (last.peer.kind === "tunnel") batch.deleteNeighbour(neighbourOf(last));
            }
        });
        for (const { last } of objects) {
            this.#logger.info("peer route removed", { node: last.peer.node, podCIDR: last.peer.podCidr });
        }
    }

    /** See `deleteMany`. */
    delete(object: Removal<string, KernelRoute>): Promise<void> {
        return this.deleteMany([object]);
    }

    /**
     * Removes stale routes and neighbour entries from the kernel; resolves with the keys of `desired` that are missing
     * or wrong there.
     */
    async prune(desired: ReadonlyMap<string, KernelRoute>): Promise<readonly string[]> {
        const present = (await this.#netlink.routes({ table: RouteTable.MAIN, protocol: antreaRouteProtocol })).filter(
            (route) => route.protocol === antreaRouteProtocol,
        );
        const routes = new Map(present.map((route) => [textOf(route), route]));
        const neighbours = await this.#ourNeighbours();
        const missing: string[] = [];
        for (const [key, route] of desired) {
            const isRight = routes.delete(textOf(routeOf(route)));
            const hasGateway = route.peer.kind === "route" || neighbours.delete(formatIp(gatewayOf(route.peer)));
            if (!isRight || !hasGateway) missing.push(key);
        }
        // The correct route replaces a wrong one for IPv4; for IPv6 the wrong one must be removed first.
        const stale = [...routes.values()].filter(({ family, dst }) => family === 6 || !desired.has(formatPrefix(dst)));
        await this.#removeStale(stale, [...neighbours.values()]);
        return missing;
    }

    async #removeStale(stale: readonly Route[], neighbours: readonly IpAddress[]): Promise<void> {
        const gateway = this.#gateway();
        await this.#netlink.batch((batch) => {
            for (const { dst, family, dev, via, metric } of stale) {
                batch.deleteRoute({ dst, family, dev, via, protocol: antreaRouteProtocol, metric });
            }
            for (const ip of neighbours) if (gateway !== undefined) batch.deleteNeighbour({ index: gateway, ip });
        });
    }

    /** The permanent neighbours on the gateway that have the MAC address of tunnels, by IP address. */
    async #ourNeighbours(): Promise<Map<string, IpAddress>> {
        const gateway = this.#gateway();
        if (gateway === undefined) return new Map();
        const ours = (await this.#netlink.neighbours(gateway)).filter(
            ({ mac, state }) => mac === peerMac && (state & NeighbourState.PERMANENT) !== 0,
        );
        return new Map(ours.map(({ ip }) => [formatIp(ip), ip]));
    }
}

/** Whether two routes to one podCIDR are the same for the kernel and for the log. */
export function sameRoute(one: KernelRoute, other: KernelRoute): boolean {
    const [a, b] = [one.peer, other.peer];
    return one.dev === other.dev && a.kind === b.kind && a.node === b.node && sameIp(a.remote, b.remote);
}

/**
 * Removes what cannot be replaced. For IPv4 the new route replaces the old one; for IPv6 the old one is removed first:
 * the kernel rejects a next hop on one link that is routed over another.
 */
function removeOld(batch: NetlinkBatch, before: KernelRoute, now: KernelRoute): void {
    if (now.peer.dst.family === 6 && textOf(routeOf(before)) !== textOf(routeOf(now))) batch.deleteRoute(keyOf(before));
    if (before.peer.kind === "tunnel" && now.peer.kind === "route") batch.deleteNeighbour(neighbourOf(before));
}

function addTo(batch: NetlinkBatch, route: KernelRoute): void {
    if (route.peer.kind === "tunnel") batch.replaceNeighbour({ ...neighbourOf(route), mac: peerMac });
    batch.replaceRoute(routeOf(route));
}

/** The gateway address of another Node's podCIDR: its first address. */
function gatewayOf({ dst }: PeerRoute): IpAddress {
    return prefixAt(dst, 1n);
}

function neighbourOf({ peer, dev }: KernelRoute): { readonly index: number; readonly ip: IpAddress } {
    return { index: dev, ip: gatewayOf(peer) };
}

type KnownRoute = RouteOptions & { readonly dst: PeerRoute["dst"]; readonly via: IpAddress; readonly dev: number };

/** For a tunnel: via the peer's gateway, marked as on-link on our own gateway interface. */
function routeOf({ peer, dev }: KernelRoute): KnownRoute {
    const common = { dst: peer.dst, dev, protocol: antreaRouteProtocol };
    if (peer.kind === "route") return { ...common, via: peer.remote };
    return { ...common, via: gatewayOf(peer), onlink: true };
}

/** The attributes that identify the route for deletion. */
function keyOf(route: KernelRoute): RouteOptions {
    const { dst, protocol, via, dev } = routeOf(route);
    return { dst, protocol, via, dev };
}

function textOf({ dst, via, dev }: Pick<Route, "dst" | "via" | "dev">): string {
    return `${formatPrefix(dst)} ${via === undefined ? "" : formatIp(via)} ${dev}`;
}
