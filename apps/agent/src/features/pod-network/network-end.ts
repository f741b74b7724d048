import { routeDestination, type CniRoute } from "@antrea/cni";
import { isErrorOf } from "@antrea/errors";
import { formatIp, formatPrefix, parseIp, sameIp, type IpAddress, type Prefix } from "@antrea/ip";
import { isNetlinkError, NetlinkError, RouteTable, type Netlink } from "@antrea/netlink";
import { kernelNamespaces, preparePodEnd, type PodLinkDraft, type PodLinkOptions } from "./link.ts";
import { podServiceRouteProtocol } from "../../platform/kernel-ids.ts";
import { PodNetworkError } from "./errors.ts";
import type {
    NetworkRecord,
    NetworkRecordAddress,
    PlannedNetwork,
    PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/**
 * Sets up of the Pod end of an interface of a network what depends on none of its addresses, so that it can be done while these
 * are claimed. Router advertisements never move the Pod's default route. Idempotent. Throws PodLinkError or NetlinkError.
 *
 * @param hasAddresses whether the interface gets any
 */
export function prepareNetworkEnd(
    link: PodLinkDraft,
    hasAddresses: boolean,
    options: Omit<PodLinkOptions, "mtu">,
): void {
    const { namespaces = kernelNamespaces } = options;
    const { ifName, netns } = link;
    // With IPAM the addresses are ours; without it the Pod may take some, but no default route.
    const key = hasAddresses ? "accept_ra" : "accept_ra_defrtr";
    try {
        namespaces.setSysctl(netns, `net/ipv6/conf/${ifName}/${key}`, "0");
    } catch (error) {
        // A kernel without IPv6 has no router advertisements.
        if (!isNetlinkError(error, "ENOENT")) throw error;
    }
    // Neighbours of one network learn nothing of the Pod's addresses in others.
    namespaces.setSysctl(netns, `net/ipv4/conf/${ifName}/arp_ignore`, "1");
    namespaces.setSysctl(netns, `net/ipv4/conf/${ifName}/arp_announce`, "2");
    preparePodEnd(link, options);
}

/**
 * Configures the Pod end of an interface of a network after `prepareNetworkEnd`: addresses, routes and link-up in one batch,
 * through a netlink socket in the Pod's namespace. Idempotent. Rejects with PodNetworkError `BAD_ROUTE` if the kernel does not
 * take a route, `LINK_VANISHED`, with PodLinkError or NetlinkError.
 */
export async function configureNetworkEnd(
    record: NetworkRecord,
    routes: readonly CniRoute[],
    options: PodLinkOptions,
): Promise<void> {
    const { namespaces = kernelNamespaces } = options;
    const { addresses, ifName, netns, network } = record;
    if (addresses.some(({ ip }) => ip.family === 6))
        namespaces.setSysctl(netns, `net/ipv6/conf/${ifName}/disable_ipv6`, "0");
    using pod = namespaces.openIn(netns);
    const link = await pod.link(ifName);
    if (link === undefined) {
        throw new PodNetworkError(
            "LINK_VANISHED",
            "environment",
            `network ${network}: interface ${ifName} vanished from ${netns} while it was set up; next: wait, as the kubelet tries again; if it stays so, see what else changes the interfaces of Pods on this Node`,
        );
    }
    await pod.batch((batch) => {
        if (link.mac !== record.mac) batch.setLink(link.index, { mac: record.mac });
        batch.setLink(link.index, { up: true });
        for (const { ip, prefixLength } of addresses) {
            batch.replaceAddress({ index: link.index, ip, prefixLength, noDad: true });
        }
    });
    for (const route of routes.filter((one) => !isDefaultRoute(one))) {
        await addRoute(pod, link.index, routeOf(route, record), record);
    }
}

/** Adds a route of the network, never in the place of another one of the Pod, such as that of its own subnet. */
async function addRoute(
    pod: Pick<Netlink, "batch" | "links" | "routes">,
    dev: number,
    { dst, via }: NetworkRoute,
    { network, ifName }: NetworkRecord,
): Promise<void> {
    const { family } = dst;
    const bad = (text: string, cause: unknown): PodNetworkError => {
        const gateway = via === undefined ? "" : ` via ${formatIp(via)}`;
        const route = `the route to ${formatPrefix(dst)}${gateway} on ${ifName}`;
        return new PodNetworkError("BAD_ROUTE", "caller", `network ${network}: ipam.routes: ${route} ${text}`, {
            cause,
        });
    };
    try {
        await pod.batch((batch) => batch.addRoute({ dst, family, dev, via }));
    } catch (cause) {
        if (!isNetlinkError(cause)) throw cause;
        if (!isErrorOf(NetlinkError, cause, "EEXIST")) {
            throw bad(
                `is not taken by the kernel: ${cause.message}; next: correct the route; its gateway must be in the subnet of an address of the interface`,
                cause,
            );
        }
        const there = (await pod.routes({ family, table: RouteTable.MAIN })).filter(
            (one) => formatPrefix(one.dst) === formatPrefix(dst),
        );
        const same = there.filter((one) => isSameGateway(one.via, via));
        if (same.some((one) => one.dev === dev)) return;
        if (via !== undefined && same.length > 0) {
            // Two interfaces on one network: the earlier one goes on to lead there.
            await pod.batch((batch) => batch.appendRoute({ dst, family, dev, via }));
            return;
        }
        const holder = (await pod.links()).find(({ index }) => there.some((one) => one.dev === index));
        throw bad(
            `cannot be added, as ${holder?.name ?? "the Pod"} has a route to that range; next: remove the route or narrow its range`,
            cause,
        );
    }
}

function isSameGateway(one: IpAddress | undefined, other: IpAddress | undefined): boolean {
    return one === undefined || other === undefined ? one === other : sameIp(one, other);
}

/** Whether the route takes the place of the Pod's default route. */
function isDefaultRoute(route: CniRoute): boolean {
    return routeDestination(route).length === 0;
}

/**
 * The gateways to which the Pod's default routes move: those of the annotation, and of each other family the first default
 * route of the network. Throws PodNetworkError `BAD_ROUTE` for one without a gateway.
 */
export function defaultGatewaysOf(
    { defaultGateways, routes, network }: PlannedNetwork,
    addresses: readonly NetworkRecordAddress[],
): readonly IpAddress[] {
    const found = [...defaultGateways];
    for (const route of routes.filter(isDefaultRoute)) {
        const { dst, via } = routeOf(route, { addresses });
        if (found.some(({ family }) => family === dst.family)) continue;
        if (via === undefined) {
            throw new PodNetworkError(
                "BAD_ROUTE",
                "caller",
                `network ${network}: ipam.routes: ${route.dst} has no gateway, and no address of the interface has one; next: write gw`,
            );
        }
        found.push(via);
    }
    return found;
}

interface NetworkRoute {
    readonly dst: Prefix;
    readonly via: IpAddress | undefined;
}

/** A route without a gateway uses the first one of its family, if the interface has any. */
function routeOf(route: CniRoute, { addresses }: Pick<NetworkRecord, "addresses">): NetworkRoute {
    const dst = routeDestination(route);
    const first = addresses.find(({ gateway }) => gateway?.family === dst.family)?.gateway;
    return { dst, via: route.gw === undefined ? first : parseIp(route.gw) };
}

/**
 * Moves the Pod's default routes to the gateways of an interface of a network; the ranges of Services stay with the
 * interface on the Pod network. Idempotent; rejects as `configureNetworkEnd`.
 *
 * @param own the Pod's interface on the Pod network
 */
export async function moveDefaultRoutes(
    record: NetworkRecord,
    own: PodRecord,
    serviceCidrs: readonly Prefix[],
    { namespaces = kernelNamespaces }: PodLinkOptions,
): Promise<void> {
    if (record.defaultGateways.length === 0) return;
    using pod = namespaces.openIn(record.netns);
    const [ownLink, link] = [await pod.link(own.ifName), await pod.link(record.ifName)];
    if (ownLink === undefined || link === undefined) return;
    try {
        await pod.batch((batch) => {
            for (const gateway of record.defaultGateways) {
                const { family } = gateway;
                const former = own.addresses.find(({ ip }) => ip.family === family)?.gateway;
                for (const dst of serviceCidrs.filter((cidr) => cidr.family === family)) {
                    if (former === undefined) continue;
                    batch.replaceRoute({ dst, via: former, dev: ownLink.index, protocol: podServiceRouteProtocol });
                }
                // Takes the place of the default route of the Pod network.
                batch.replaceRoute({ dst: "default", family, via: gateway, dev: link.index });
            }
        });
    } catch (cause) {
        if (!isNetlinkError(cause)) throw cause;
        const texts = record.defaultGateways.map(formatIp).join(" and ");
        throw new PodNetworkError(
            "BAD_ROUTE",
            "caller",
            `network ${record.network}: default-route: the kernel does not take ${texts} on ${record.ifName}: ${cause.message}; next: name a gateway in the subnet of an address of the interface`,
            { cause },
        );
    }
}

/**
 * Gives default routes that an interface of a network had back to the Pod's interface on the Pod network, once it is removed;
 * a family of which the Pod has another default route keeps that. No effect if the namespace has ended. Rejects with
 * NetlinkError or PodLinkError.
 *
 * @param own the Pod's interface on the Pod network
 */
export async function returnDefaultRoutes(
    record: NetworkRecord,
    own: PodRecord,
    { namespaces = kernelNamespaces }: PodLinkOptions,
): Promise<void> {
    const isLost = (family: IpAddress["family"]): boolean =>
        record.defaultGateways.some((gateway) => gateway.family === family);
    const gateways = own.addresses.flatMap(({ gateway }) => (isLost(gateway.family) ? [gateway] : []));
    if (gateways.length === 0) return;
    try {
        using pod = namespaces.openIn(own.netns);
        const link = await pod.link(own.ifName);
        if (link === undefined) return;
        for (const via of gateways) {
            const { family } = via;
            const routes = await pod.routes({ family, table: RouteTable.MAIN });
            if (routes.some(({ dst }) => dst.length === 0)) continue;
            await pod.batch((batch) => batch.addRoute({ dst: "default", family, via, dev: link.index }));
        }
    } catch (error) {
        if (!isNetlinkError(error, "ENOENT", "NOT_A_NETNS")) throw error;
    }
}
