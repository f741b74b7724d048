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

/** Flags that user space may set. The others are set by the kernel. */
const settableFlags =
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

/** Time for a DHCP client to renew leases that expired while it could not. */
const graceSeconds = 60;

/**
 * A copy with the lifetimes reduced to the time `uptimeSeconds` (since boot). Expired routes are removed. An address
 * keeps at least a minute: its lease may have been renewed unnoticed, and without it the Node is unreachable.
 */
export function aged(snapshot: Snapshot, uptimeSeconds: number): Snapshot {
    const passed = Math.max(0, Math.floor(uptimeSeconds - snapshot.takenAt));
    return {
        ...snapshot,
        takenAt: uptimeSeconds,
        addresses: snapshot.addresses.map((address) => {
            if (address.lifetime === undefined) return address;
            const { preferredSeconds, validSeconds } = address.lifetime;
            const hasExpired = validSeconds <= passed;
            const lifetime = {
                preferredSeconds: hasExpired ? graceSeconds : Math.max(0, preferredSeconds - passed),
                validSeconds: Math.max(graceSeconds, validSeconds - passed),
            };
            return { ...address, lifetime };
        }),
        routes: snapshot.routes.flatMap((route) => {
            if (route.expiresSeconds === undefined) return [route];
            if (route.expiresSeconds <= passed) return [];
            return [{ ...route, expiresSeconds: route.expiresSeconds - passed }];
        }),
    };
}

/**
 * A copy with the lifetimes of the same addresses (IP, prefix length and peer) on other links, where they may have been
 * renewed meanwhile; an address without a lifetime on either is unchanged.
 */
export function renewed(snapshot: Snapshot, others: readonly MovedAddress[]): Snapshot {
    const byKey = new Map(others.map((address) => [addressKey(address), address]));
    return {
        ...snapshot,
        addresses: snapshot.addresses.map((address) => {
            const lifetime = byKey.get(addressKey(address))?.lifetime;
            return address.lifetime === undefined || lifetime === undefined ? address : { ...address, lifetime };
        }),
    };
}

/**
 * A copy of `snapshot` with the changes between two later snapshots of the link applied: `before` and `now`. A plain
 * replacement would include the changes to labels and neighbours that the kernel makes when a link is renamed.
 */
export function changed(snapshot: Snapshot, before: Snapshot, now: Snapshot): Snapshot {
    const { addresses, routes, neighbours, altNames } = renewed(aged(snapshot, now.takenAt), now.addresses);
    const unlabelled = now.addresses.map(({ label: _, ...address }): MovedAddress => address);
    return {
        takenAt: now.takenAt,
        addresses: followed(addresses, before.addresses, unlabelled, addressKey),
        routes: followed(routes, before.routes, now.routes, routeText),
        neighbours: followed(neighbours, before.neighbours, now.neighbours, ({ ip }) => formatIp(ip)),
        altNames,
    };
}

/** Adds the elements that were added between two lists, and drops the removed ones. */
function followed<T>(list: readonly T[], before: readonly T[], now: readonly T[], keyOf: (one: T) => string): T[] {
    const [was, is] = [new Set(before.map(keyOf)), new Set(now.map(keyOf))];
    return [
        ...list.filter((one) => is.has(keyOf(one)) || !was.has(keyOf(one))),
        ...now.filter((one) => !was.has(keyOf(one))),
    ];
}

/** Whether one of the addresses is in scope for other hosts: its scope is wider than `link`. */
export function hasGlobalAddress(addresses: readonly Pick<MovedAddress, "scope">[]): boolean {
    return addresses.some(({ scope }) => scope < RouteScope.LINK);
}

/**
 * Whether two snapshots are equivalent for a later restore: learned neighbours are ignored, and lifetimes must end at
 * the same time within 5 s.
 */
export function sameSnapshot(one: Snapshot, other: Snapshot): boolean {
    return sameTexts(one, other) && sameEnds(one, other);
}

/** The clocks have a resolution of whole seconds and are not read at the same instant. */
const endToleranceSeconds = 5;

function sameTexts(one: Snapshot, other: Snapshot): boolean {
    const text = ({ addresses, routes, neighbours, altNames }: Snapshot): string =>
        JSON.stringify([
            addresses.map(addressText),
            routes.map(routeText),
            neighbours
                .filter(({ state }) => (state & NeighbourState.PERMANENT) !== 0)
                .map(({ ip, mac }) => [formatIp(ip), mac]),
            altNames,
        ]);
    return text(one) === text(other);
}

function sameEnds(one: Snapshot, other: Snapshot): boolean {
    const [ends, others] = [endsOf(one), endsOf(other)];
    return ends.every((end, at) => end === others[at] || Math.abs(end - (others[at] ?? 0)) <= endToleranceSeconds);
}

/** End times of everything with a lifetime, in seconds since boot; a deprecated address counts as always deprecated. */
function endsOf({ takenAt, addresses, routes }: Snapshot): readonly number[] {
    const end = (seconds: number | undefined): number => (seconds === undefined ? Infinity : takenAt + seconds);
    return [
        ...addresses.flatMap(({ lifetime }) => [
            lifetime?.preferredSeconds === 0 ? 0 : end(lifetime?.preferredSeconds),
            end(lifetime?.validSeconds),
        ]),
        ...routes.map(({ expiresSeconds }) => end(expiresSeconds)),
    ];
}

/** The identity of an address in the kernel. */
function addressKey({ ip, prefixLength, peer }: Pick<MovedAddress, "ip" | "prefixLength" | "peer">): string {
    return `${formatIp(ip)}/${prefixLength} ${peer === undefined ? "" : formatIp(peer)}`;
}

/** All attributes of an address that must be restored, without the remaining lifetime, as a key for comparison. */
export function addressText(address: MovedAddress): string {
    const { scope, label, broadcast, metric, lifetime, flags } = address;
    const rest = [scope, label ?? "", broadcast && formatIp(broadcast), metric, lifetime !== undefined];
    return [addressKey(address), ...rest, flags & settableFlags].join(" ");
}

/**
 * All attributes of a route that must be restored, without the remaining lifetime, as a key for comparison; begins with
 * its destination.
 */
export function routeText(route: MovedRoute): string {
    const { dst, from, via, src, metrics } = route;
    return [
        formatPrefix(dst),
        from && formatPrefix(from),
        via && formatIp(via),
        src && formatIp(src),
        route.table,
        route.metric,
        route.tos,
        route.type,
        route.scope,
        route.protocol,
        route.onlink,
        route.preference,
        route.realms,
        metrics && JSON.stringify(metrics),
    ].join(" ");
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
