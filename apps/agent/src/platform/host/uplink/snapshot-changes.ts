import { formatIp, formatPrefix } from "@antrea/ip";
import { NeighbourState } from "@antrea/netlink";
import { settableFlags, type MovedAddress, type MovedRoute, type Snapshot } from "./snapshot.ts";

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
