import { formatIp, formatPrefix, type IpAddress } from "@antrea/ip";
import {
    AddressFlag,
    NeighbourFlag,
    NeighbourState,
    RouteProtocol,
    RouteScope,
    RouteTable,
    type Address,
    type Link,
    type Neighbour,
    type Netlink,
    type Route,
} from "@antrea/netlink";
import { UplinkError } from "./errors.ts";

/** An Address without the attributes that the kernel sets per link; lifetimes in seconds. */
export type MovedAddress = Omit<Address, "index" | "secondary" | "tentative" | "dadFailed" | "permanent">;
/** A route without its link and read-only attributes. */
export type MovedRoute = Omit<Route, "dev" | "cloned" | "nextHops">;
/** A neighbour entry without its link. */
export type MovedNeighbour = Omit<Neighbour, "index">;

/** The configuration of a link that is tied to its name; all lists in kernel order. Immutable. */
export interface Snapshot {
    /** Seconds since boot; the lifetimes are relative to this time. */
    readonly takenAt: number;
    readonly addresses: readonly MovedAddress[];
    readonly routes: readonly MovedRoute[];
    readonly neighbours: readonly MovedNeighbour[];
    readonly altNames: readonly string[];
}

/** Flags of an address that user space may set. The others are set by the kernel. */
export const settableFlags =
    AddressFlag.NODAD |
    AddressFlag.HOMEADDRESS |
    AddressFlag.MANAGETEMPADDR |
    AddressFlag.NOPREFIXROUTE |
    AddressFlag.MCAUTOJOIN;
const keptNeighbourFlags = NeighbourFlag.ROUTER | NeighbourFlag.EXT_LEARNED;

/**
 * Reads a link, within one turn of the event loop unless it has many routes. Without addresses that failed duplicate
 * address detection and unresolved neighbours; alternative names are those of `link`. Rejects with NetlinkError.
 *
 * @param uptimeSeconds seconds since boot, now
 */
export async function takeSnapshot(netlink: Netlink, link: Link, uptimeSeconds: number): Promise<Snapshot> {
    const [addresses, routes, neighbours] = await Promise.all([
        netlink.addresses(link.index),
        netlink.routes({ dev: link.index }),
        netlink.neighbours(link.index),
    ]);
    return {
        takenAt: uptimeSeconds,
        addresses: addresses.filter(({ dadFailed }) => !dadFailed).map(movedAddress),
        routes: routes.filter(isMoved).map(movedRoute),
        neighbours: neighbours.filter(isKnown).map(movedNeighbour),
        altNames: link.altNames,
    };
}

/**
 * Rejects routes that could not be restored, before anything is changed: with UplinkError `MULTIPATH_ROUTES`,
 * `NEXT_HOP_OBJECTS` or `ENCAPSULATING_ROUTES` for the first such route, with details. Rejects also with NetlinkError.
 */
export async function refuseRoutes(netlink: Netlink, link: Link): Promise<void> {
    for (const route of await netlink.routes({ dev: link.index })) {
        const text = `route ${formatPrefix(route.dst)} in table ${route.table}`;
        const refused = (
            code: "MULTIPATH_ROUTES" | "NEXT_HOP_OBJECTS" | "ENCAPSULATING_ROUTES",
            what: string,
        ): never => {
            throw new UplinkError(
                code,
                "environment",
                `${link.name} cannot become the uplink: its ${text} ${what}; replace it by a route with one next hop ("ip route replace"), then restart the agent`,
                { details: { link: link.name, dst: formatPrefix(route.dst), table: route.table } },
            );
        };
        if (route.nextHopId !== undefined) refused("NEXT_HOP_OBJECTS", `uses next hop object ${route.nextHopId}`);
        if (route.nextHops.length > 0) refused("MULTIPATH_ROUTES", `has ${route.nextHops.length} next hops`);
        if (route.encapType !== undefined) refused("ENCAPSULATING_ROUTES", "leads into a light-weight tunnel");
    }
}

/** Whether one of the addresses is in scope for other hosts: its scope is wider than `link`. */
export function hasGlobalAddress(addresses: readonly Pick<MovedAddress, "scope">[]): boolean {
    return addresses.some(({ scope }) => scope < RouteScope.LINK);
}

/** The distinct gateways of the default routes, both families, in the order of the routes. */
export function gatewaysOf({ routes }: Pick<Snapshot, "routes">): readonly IpAddress[] {
    return distinctGateways(routes.filter(({ dst }) => dst.length === 0));
}

/** The distinct gateways of the routes, both families, in their order. */
export function distinctGateways(routes: readonly Pick<MovedRoute, "via">[]): readonly IpAddress[] {
    const found = routes.flatMap(({ via }) => (via === undefined ? [] : [via]));
    return [...new Map(found.map((ip) => [formatIp(ip), ip])).values()];
}

/** An address without the attributes that the kernel sets per link; of its flags those that user space may set. */
export function movedAddress({ ip, prefixLength, peer, scope, label, flags, ...rest }: Address): MovedAddress {
    const { broadcast, lifetime, metric, protocol } = rest;
    return {
        ip,
        prefixLength,
        scope,
        flags: flags & settableFlags,
        ...(peer !== undefined && { peer }),
        ...(label !== undefined && { label }),
        ...(broadcast !== undefined && { broadcast }),
        ...(lifetime !== undefined && { lifetime }),
        ...(metric !== undefined && { metric }),
        ...(protocol !== undefined && { protocol }),
    };
}

/**
 * Whether the route must be moved with the name of its link: not cached (cloned) ones, nor those that the kernel
 * maintains itself in the local table.
 */
export function isMoved(route: Route): boolean {
    return !route.cloned && !(route.table === RouteTable.LOCAL && route.protocol === RouteProtocol.KERNEL);
}

/** A route without its link and read-only attributes. */
export function movedRoute(route: Route): MovedRoute {
    const { dev: _dev, cloned: _cloned, nextHops: _nextHops, ...moved } = route;
    return moved;
}

/** Whether the neighbour is resolved; the others would only be resolved again. */
function isKnown({ mac, state }: Neighbour): boolean {
    return mac !== undefined && (state & (NeighbourState.FAILED | NeighbourState.NOARP)) === 0;
}

function movedNeighbour({ ip, mac, state, flags }: Neighbour): MovedNeighbour {
    // A learned entry is usable at once, and is verified after its first use.
    const kept = state & NeighbourState.PERMANENT ? NeighbourState.PERMANENT : NeighbourState.STALE;
    return { ip, ...(mac !== undefined && { mac }), state: kept, flags: flags & keptNeighbourFlags };
}
