import { messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import {
    addAdvertisedRoute,
    isNetlinkError,
    RouteProtocol,
    RouteType,
    type Netlink,
    type RouteOptions,
} from "@antrea/netlink";
import { routeText } from "./snapshot-changes.ts";
import { isMoved, movedRoute, type MovedRoute } from "./snapshot.ts";

/** A route via a gateway that is itself behind a gateway needs one more pass per level. */
const maxRoutePasses = 8;

/** A route that the kernel rejected, and why. */
export interface RefusedRoute {
    /** As of `routeText`. */
    readonly route: string;
    /** Message of the kernel's error. */
    readonly reason: string;
}

/**
 * Adds routes to a link (`index` is its ifindex) in their order, and removes the kernel-generated ones that are not
 * among them. Returns the routes that the kernel rejected, with its error; rejects with NetlinkError only if routes
 * cannot be read or removed. Idempotent.
 *
 * A default route from a router advertisement is moved with its remaining lifetime and placed after the one that the
 * kernel adds at the next advertisement, which it solicits when the link-local address is added; the moved route is
 * removed then. Prefixes and more specific routes from advertisements are refreshed in place.
 */
export async function placeRoutes(
    netlink: Netlink,
    index: number,
    wanted: readonly MovedRoute[],
): Promise<readonly RefusedRoute[]> {
    let reason = "";
    const advertised = wanted.filter(isAdvertised);
    wanted = wanted.filter((route) => !isAdvertised(route));
    let missing = absent(wanted, await routesOf(netlink, index));
    for (let pass = 0; pass < maxRoutePasses && missing.length > 0; pass++) {
        try {
            await append(netlink, index, missing);
        } catch (error) {
            if (!isNetlinkError(error)) throw error;
            reason = messageOf(error);
        }
        const left = absent(wanted, await routesOf(netlink, index));
        if (left.length === missing.length) break;
        missing = left;
    }
    const present = await routesOf(netlink, index);
    const refused = placeAdvertised(index, advertised, present.filter(isAdvertised));
    await removeRoutes(netlink, index, absent(present, wanted).filter(isMadeWithAddress));
    return [...refused, ...missing.map((route) => ({ route: routeText(route).trim(), reason }))];
}

/** A default route of a router advertisement; "boot" is the protocol that `addAdvertisedRoute` sets. */
function isAdvertised({ family, dst, via, protocol, expiresSeconds }: MovedRoute): boolean {
    const byKernel = protocol === RouteProtocol.RA || protocol === RouteProtocol.BOOT;
    return family === 6 && dst.length === 0 && via !== undefined && expiresSeconds !== undefined && byKernel;
}

function placeAdvertised(
    index: number,
    wanted: readonly MovedRoute[],
    present: readonly MovedRoute[],
): readonly RefusedRoute[] {
    const done = new Set(present.map(({ via }) => via && formatIp(via)));
    const refused: RefusedRoute[] = [];
    for (const route of wanted) {
        const { via, metric, protocol, expiresSeconds = 0, preference } = route;
        if (via === undefined || done.has(formatIp(via))) continue;
        done.add(formatIp(via));
        const behind = protocol === RouteProtocol.RA ? metric + 1 : metric;
        const rest = Math.max(1, expiresSeconds);
        try {
            addAdvertisedRoute({ index, via, metric: behind, expiresSeconds: rest, preference });
        } catch (error) {
            if (!isNetlinkError(error)) throw error;
            refused.push({ route: routeText(route), reason: messageOf(error) });
        }
    }
    return refused;
}

/** Removes routes from a link; routes that are gone already are ignored. Rejects with NetlinkError. */
export async function removeRoutes(netlink: Netlink, index: number, routes: readonly MovedRoute[]): Promise<void> {
    await netlink.batch((batch) => {
        for (const route of routes) batch.deleteRoute(routeOptionsOf(index, route));
    });
}

/**
 * The routes of a link that must be moved with its name, in kernel order; without those that the kernel maintains in
 * the table local. Rejects with NetlinkError.
 */
export async function routesOf(netlink: Netlink, index: number): Promise<readonly MovedRoute[]> {
    return (await netlink.routes({ dev: index })).filter(isMoved).map(movedRoute);
}

/** Adds routes to links before those that depend on them, each kind in its order. */
async function append(netlink: Netlink, index: number, routes: readonly MovedRoute[]): Promise<void> {
    const direct = routes.filter(({ via }) => via === undefined);
    const indirect = routes.filter(({ via }) => via !== undefined);
    await netlink.batch((batch) => {
        for (const route of [...direct, ...indirect]) batch.appendRoute(routeOptionsOf(index, route));
    });
}

/** The routes of the first list that the second lacks; each route of the second matches one. */
function absent(routes: readonly MovedRoute[], among: readonly MovedRoute[]): readonly MovedRoute[] {
    const counts = new Map<string, number>();
    for (const route of among) counts.set(routeText(route), (counts.get(routeText(route)) ?? 0) + 1);
    return routes.filter((route) => {
        const count = counts.get(routeText(route)) ?? 0;
        counts.set(routeText(route), count - 1);
        return count <= 0;
    });
}

function isMadeWithAddress({ protocol, type }: MovedRoute): boolean {
    return protocol === RouteProtocol.KERNEL && type === RouteType.UNICAST;
}

function routeOptionsOf(index: number, { expiresSeconds, ...route }: MovedRoute): RouteOptions {
    return {
        ...route,
        dev: index,
        expiresSeconds: expiresSeconds === undefined ? undefined : Math.max(1, expiresSeconds),
    };
}
