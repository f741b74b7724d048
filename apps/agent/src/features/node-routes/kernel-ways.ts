import { AntreaError, messageOf } from "@antrea/errors";
import { tunnelMac } from "@antrea/flows";
import { formatIp, formatMac, formatPrefix, prefixAt, sameIp, type IpAddress } from "@antrea/ip";
import { NeighbourState, RouteTable, type Netlink, type Route, type RouteOptions } from "@antrea/netlink";
import type { PeerWay } from "./ways.ts";
import { antreaRouteProtocol } from "../../platform/kernel-ids.ts";

/** The indexes of the links that ways to other Nodes lead by. */
export interface Links {
    readonly transport: number;
    /** Undefined while the gateway is not there. */
    readonly gateway: number | undefined;
}

export interface Change {
    readonly way: PeerWay;
    /** What the way to the same podCIDR was before. */
    readonly before: PeerWay | undefined;
}

const peerMac = formatMac(tunnelMac);

/** The kernel's part of the ways to other Nodes: routes, and what it takes for the MAC addresses of peer gateways. */
export class KernelWays {
    readonly #netlink: Netlink;

    constructor(components: { readonly netlink: Netlink }) {
        this.#netlink = components.netlink;
    }

    /** Sets these ways without a look at what is there. Gives the problems of those that the kernel refused. */
    async set(
        changes: readonly Change[],
        links: Links,
    ): Promise<readonly { readonly node: string; readonly problem: string }[]> {
        const ready = changes.filter(({ way }) => way.kind === "route" || links.gateway !== undefined);
        await this.#removeOld(ready, links);
        try {
            await this.#netlink.batch((batch) => {
                for (const { way } of ready) addTo(batch, way, links);
            });
        } catch (error) {
            if (!(error instanceof AntreaError)) throw error;
            return this.#oneByOne(ready, links);
        }
        return [];
    }

    /** Removes these ways. What is gone is a success. */
    async remove(ways: readonly PeerWay[], links: Links): Promise<void> {
        if (ways.length === 0) return;
        await this.#netlink.batch((batch) => {
            for (const way of ways) {
                const { dst, protocol, via, dev } = routeOf(way, links);
                batch.deleteRoute({ dst, protocol, via, dev });
                if (way.kind === "tunnel" && links.gateway !== undefined) {
                    batch.deleteNeighbour({ index: links.gateway, ip: gatewayOf(way) });
                }
            }
        });
    }

    /** Which of these ways the kernel does not have, and the routes and neighbours of ours that belong to none. */
    async compare(
        ways: readonly PeerWay[],
        links: Links,
    ): Promise<{
        readonly missing: readonly PeerWay[];
        readonly stale: readonly Route[];
        readonly staleNeighbours: readonly IpAddress[];
    }> {
        const present = (await this.#netlink.routes({ table: RouteTable.MAIN, protocol: antreaRouteProtocol })).filter(
            (route) => route.protocol === antreaRouteProtocol,
        );
        const found = new Map(present.map((route) => [textOf(route), route]));
        const neighbours = await this.#ourNeighbours(links.gateway);
        const missing: PeerWay[] = [];
        for (const way of ways) {
            const text = textOf(routeOf(way, links));
            const route = found.get(text);
            const knowsGateway = way.kind === "route" || neighbours.delete(formatIp(gatewayOf(way)));
            if (route === undefined || !knowsGateway) missing.push(way);
            found.delete(text);
        }
        return { missing, stale: [...found.values()], staleNeighbours: [...neighbours.values()] };
    }

    async removeStale(
        stale: readonly Route[],
        neighbours: readonly IpAddress[],
        gateway: number | undefined,
    ): Promise<void> {
        await this.#netlink.batch((batch) => {
            for (const { dst, family, dev, via, metric } of stale) {
                batch.deleteRoute({ dst, family, dev, via, protocol: antreaRouteProtocol, metric });
            }
            for (const ip of neighbours) if (gateway !== undefined) batch.deleteNeighbour({ index: gateway, ip });
        });
    }

    /** One that the kernel refuses, to an address of our own say, does not keep the others from theirs. */
    async #oneByOne(changes: readonly Change[], links: Links): Promise<{ node: string; problem: string }[]> {
        const problems: { node: string; problem: string }[] = [];
        for (const { way } of changes) {
            try {
                await this.#netlink.batch((batch) => addTo(batch, way, links));
            } catch (error) {
                problems.push({ node: way.node, problem: messageOf(error) });
            }
        }
        return problems;
    }

    /**
     * What will not be replaced. Of IPv4 the new route takes the place of the old one; of IPv6 the old one goes first: the
     * kernel refuses a next hop on one link to which a route leads over another.
     */
    async #removeOld(changes: readonly Change[], links: Links): Promise<void> {
        await this.#netlink.batch((batch) => {
            for (const { way, before } of changes) {
                if (before === undefined) continue;
                const [{ dst, protocol, via, dev }, now] = [routeOf(before, links), routeOf(way, links)];
                if (dst.family === 6 && textOf({ dst, via, dev }) !== textOf(now)) {
                    batch.deleteRoute({ dst, protocol, via, dev });
                }
                if (before.kind === "tunnel" && way.kind === "route" && links.gateway !== undefined) {
                    batch.deleteNeighbour({ index: links.gateway, ip: gatewayOf(before) });
                }
            }
        });
    }

    /** The permanent neighbours on the gateway that have the MAC address of tunnels, by their address. */
    async #ourNeighbours(gateway: number | undefined): Promise<Map<string, IpAddress>> {
        if (gateway === undefined) return new Map();
        const ours = (await this.#netlink.neighbours(gateway)).filter(
            ({ mac, state }) => mac === peerMac && (state & NeighbourState.PERMANENT) !== 0,
        );
        return new Map(ours.map(({ ip }) => [formatIp(ip), ip]));
    }
}

/** The gateway of a podCIDR of another Node: its first address. */
function gatewayOf({ dst }: PeerWay): IpAddress {
    return prefixAt(dst, 1n);
}

function addTo(batch: Parameters<Parameters<Netlink["batch"]>[0]>[0], way: PeerWay, links: Links): void {
    if (way.kind === "tunnel") batch.replaceNeighbour({ index: links.gateway ?? 0, ip: gatewayOf(way), mac: peerMac });
    batch.replaceRoute(routeOf(way, links));
}

type KnownRoute = RouteOptions & { readonly dst: PeerWay["dst"]; readonly via: IpAddress; readonly dev: number };

/** By a tunnel: via the peer's gateway, which is taken to be on our own gateway's link. */
function routeOf(way: PeerWay, { transport, gateway }: Links): KnownRoute {
    const common = { dst: way.dst, protocol: antreaRouteProtocol };
    if (way.kind === "route") return { ...common, via: way.remote, dev: transport };
    return { ...common, via: gatewayOf(way), dev: gateway ?? 0, onlink: true };
}

function textOf({ dst, via, dev }: Pick<Route, "dst" | "via" | "dev">): string {
    return `${formatPrefix(dst)} ${via === undefined ? "" : formatIp(via)} ${dev}`;
}

/** Whether two ways to one podCIDR are the same. */
export function sameWay(one: PeerWay | undefined, other: PeerWay): boolean {
    return one !== undefined && one.kind === other.kind && one.node === other.node && sameIp(one.remote, other.remote);
}
