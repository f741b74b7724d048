import { messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import {
    addAdvertisedRoute,
    AddressFlag,
    isNetlinkError,
    RouteProtocol,
    RouteType,
    type AddressOptions,
    type Netlink,
    type RouteOptions,
} from "@antrea/netlink";
import {
    addressText,
    isMoved,
    movedAddress,
    movedRoute,
    routeText,
    type MovedAddress,
    type MovedNeighbour,
    type MovedRoute,
} from "./snapshot.ts";

/** A route via a gateway that is itself behind a gateway needs one more pass per level. */
const maxRoutePasses = 8;

/**
 * Sets the addresses of a link to exactly these, in order, with IPv6 addresses usable at once. Addresses that are
 * correct already are not changed.
 */
export async function placeAddresses(netlink: Netlink, index: number, wanted: readonly MovedAddress[]): Promise<void> {
    const present = (await netlink.addresses(index)).map(movedAddress);
    const four = changes4(present.filter(isFour), wanted.filter(isFour));
    const six = changes6(present.filter(isSix), wanted.filter(isSix));
    if (four.removed.length + four.added.length + six.removed.length + six.added.length === 0) return;
    await netlink.batch((batch) => {
        for (const address of [...four.removed, ...six.removed]) batch.deleteAddress({ index, ...address });
        for (const address of four.added) batch.addAddress(optionsOf(index, address));
        for (const address of six.added) {
            const options = optionsOf(index, address);
            batch.addAddress({ ...options, noDad: true });
            // The flag would remain visible; without it an address that is usable already stays usable.
            if ((address.flags & AddressFlag.NODAD) === 0) batch.replaceAddress(options);
        }
    });
}

/** Removes the IPv4 addresses of a link. Secondary ones first: the kernel would remove them with their primary. */
export async function removeAddresses4(netlink: Netlink, index: number): Promise<void> {
    const present = (await netlink.addresses(index)).filter(isFour);
    await netlink.batch((batch) => {
        for (const address of present.reverse()) batch.deleteAddress(address);
    });
}

/** A route that the kernel rejected, and why. */
export interface RefusedRoute {
    readonly route: string;
    readonly reason: string;
}

/**
 * Adds routes to a link in their order, and removes the kernel-generated ones that are not among them. Returns the
 * routes that the kernel rejected, with its error.
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

/** Removes routes from a link; routes that are gone already are ignored. */
export async function removeRoutes(netlink: Netlink, index: number, routes: readonly MovedRoute[]): Promise<void> {
    await netlink.batch((batch) => {
        for (const route of routes) batch.deleteRoute(routeOptionsOf(index, route));
    });
}

/** The routes of a link that must be moved with its name. */
export async function routesOf(netlink: Netlink, index: number): Promise<readonly MovedRoute[]> {
    return (await netlink.routes({ dev: index })).filter(isMoved).map(movedRoute);
}

/** Adds the neighbour entries that have a MAC address to a link. */
export async function placeNeighbours(
    netlink: Netlink,
    index: number,
    neighbours: readonly MovedNeighbour[],
): Promise<void> {
    await netlink.batch((batch) => {
        for (const { ip, mac, state, flags } of neighbours) {
            if (mac !== undefined) batch.replaceNeighbour({ index, ip, mac, state, flags });
        }
    });
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

interface AddressChanges {
    readonly removed: readonly MovedAddress[];
    readonly added: readonly MovedAddress[];
}

/** The order of IPv4 addresses determines the primary one: all after the first mismatch are recreated. */
function changes4(present: readonly MovedAddress[], wanted: readonly MovedAddress[]): AddressChanges {
    let same = 0;
    const text = (list: readonly MovedAddress[]): string | undefined => {
        const address = list[same];
        return address && addressText(address);
    };
    while (text(present) !== undefined && text(present) === text(wanted)) same++;
    return { removed: present.slice(same).reverse(), added: wanted.slice(same) };
}

/** The kernel inserts a new IPv6 address before the others. */
function changes6(present: readonly MovedAddress[], wanted: readonly MovedAddress[]): AddressChanges {
    const have = new Set(present.map(addressText));
    const want = new Set(wanted.map(addressText));
    return {
        removed: present.filter((address) => !want.has(addressText(address))),
        added: wanted.filter((address) => !have.has(addressText(address))).reverse(),
    };
}

function optionsOf(index: number, { broadcast, ...address }: MovedAddress): AddressOptions {
    return { index, ...address, broadcast: broadcast ?? "none" };
}

function routeOptionsOf(index: number, { expiresSeconds, ...route }: MovedRoute): RouteOptions {
    return {
        ...route,
        dev: index,
        expiresSeconds: expiresSeconds === undefined ? undefined : Math.max(1, expiresSeconds),
    };
}

function isFour({ ip }: Pick<MovedAddress, "ip">): boolean {
    return ip.family === 4;
}

function isSix({ ip }: Pick<MovedAddress, "ip">): boolean {
    return ip.family === 6;
}
