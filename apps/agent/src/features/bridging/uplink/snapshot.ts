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

export type MovedAddress = Omit<Address, "index" | "secondary" | "tentative" | "dadFailed" | "permanent">;
export type MovedRoute = Omit<Route, "dev" | "cloned" | "nextHops">;
export type MovedNeighbour = Omit<Neighbour, "index">;

/** What a link has that goes with its name: everything in the order in which the kernel lists it. */
export interface Snapshot {
    /** In seconds since the boot: the lifetimes count from here. */
    readonly takenAt: number;
    readonly addresses: readonly MovedAddress[];
    readonly routes: readonly MovedRoute[];
    readonly neighbours: readonly MovedNeighbour[];
    readonly altNames: readonly string[];
}

/** Flags that a program may set. What the kernel adds of its own is not asked for again. */
const settableFlags =
    AddressFlag.NODAD |
    AddressFlag.HOMEADDRESS |
    AddressFlag.MANAGETEMPADDR |
    AddressFlag.NOPREFIXROUTE |
    AddressFlag.MCAUTOJOIN;
const keptNeighbourFlags = NeighbourFlag.ROUTER | NeighbourFlag.EXT_LEARNED;

/** Reads a link, within one turn of the event loop as long as it has few routes. */
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

/** Refuses, before anything is done, what could not be put back as it was. */
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

/** Time for whoever renews leases to do so, when they ended while nobody could. */
const graceSeconds = 60;

/**
 * The snapshot as it is now: time has passed for what has a lifetime. Routes that have expired are gone. An address has
 * a minute at least: its lease may have been renewed unseen, and without it nobody reaches the Node.
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

/** The snapshot with the lifetimes of the same addresses elsewhere, where they may have been renewed meanwhile. */
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
 * The snapshot with what changed on its link between two later ones: the kernel makes other changes when a link is
 * renamed, to labels and neighbours.
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

/** What came between two lists is added, and what went is left out. */
function followed<T>(list: readonly T[], before: readonly T[], now: readonly T[], keyOf: (one: T) => string): T[] {
    const [was, is] = [new Set(before.map(keyOf)), new Set(now.map(keyOf))];
    return [
        ...list.filter((one) => is.has(keyOf(one)) || !was.has(keyOf(one))),
        ...now.filter((one) => !was.has(keyOf(one))),
    ];
}

/** True if the link is of use to the Node: an address that others can reach. */
export function hasGlobalAddress(addresses: readonly Pick<MovedAddress, "scope">[]): boolean {
    return addresses.some(({ scope }) => scope < RouteScope.LINK);
}

/**
 * Whether two snapshots are the same to whoever needs one later: what was learned of neighbours comes and goes, and what
 * has a lifetime ends in both at about the same moment.
 */
export function sameSnapshot(one: Snapshot, other: Snapshot): boolean {
    return sameTexts(one, other) && sameEnds(one, other);
}

/** Clocks are read in whole seconds, and not at one moment. */
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

/** When what has a lifetime ends, in seconds since the boot; an address that is deprecated has been for ever. */
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

/** Which address it is, for the kernel. */
function addressKey({ ip, prefixLength, peer }: Pick<MovedAddress, "ip" | "prefixLength" | "peer">): string {
    return `${formatIp(ip)}/${prefixLength} ${peer === undefined ? "" : formatIp(peer)}`;
}

/** All of an address that must be as it was, without the time that is left to it. */
export function addressText(address: MovedAddress): string {
    const { scope, label, broadcast, metric, lifetime, flags } = address;
    const rest = [scope, label ?? "", broadcast && formatIp(broadcast), metric, lifetime !== undefined];
    return [addressKey(address), ...rest, flags & settableFlags].join(" ");
}

/** All of a route that must be as it was, without the time that is left to it. */
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

/** The gateways of the default routes, each once. */
export function gatewaysOf({ routes }: Pick<Snapshot, "routes">): readonly IpAddress[] {
    const found = routes.flatMap(({ dst, via }) => (dst.length === 0 && via !== undefined ? [via] : []));
    return [...new Map(found.map((ip) => [formatIp(ip), ip])).values()];
}

/** An address without what the kernel decides for each link anew. */
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

/** Of the table of local addresses the kernel keeps its part itself. */
export function isMoved(route: Route): boolean {
    return !route.cloned && !(route.table === RouteTable.LOCAL && route.protocol === RouteProtocol.KERNEL);
}

export function movedRoute(route: Route): MovedRoute {
    const { dev: _dev, cloned: _cloned, nextHops: _nextHops, ...moved } = route;
    return moved;
}

/** Those that are resolved: the others would only have to be asked again. */
function isKnown({ mac, state }: Neighbour): boolean {
    return mac !== undefined && (state & (NeighbourState.FAILED | NeighbourState.NOARP)) === 0;
}

function movedNeighbour({ ip, mac, state, flags }: Neighbour): MovedNeighbour {
    // What was learned is of use at once, and asked about after its first use.
    const kept = state & NeighbourState.PERMANENT ? NeighbourState.PERMANENT : NeighbourState.STALE;
    return { ip, ...(mac !== undefined && { mac }), state: kept, flags: flags & keptNeighbourFlags };
}
