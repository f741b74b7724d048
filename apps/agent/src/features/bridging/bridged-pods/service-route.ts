import { serviceMac, serviceSource } from "@antrea/flows";
import { formatMac, formatPrefix, prefixOf, sameIp, type Family, type IpAddress } from "@antrea/ip";
import { NeighbourState, RouteTable, type Netlink, type Route } from "@antrea/netlink";
import { proxyRouteProtocol, serviceRouteProtocol } from "../../../platform/kernel-ids.ts";

const mac = formatMac(serviceMac);

/**
 * The virtual source addresses of Service traffic from bridged Pods on the host, one of each family: see
 * `serviceSource`.
 */
export function serviceSources(families: readonly Family[]): readonly IpAddress[] {
    return families.map(serviceSource);
}

/**
 * The routes for replies from Services to bridged Pods. Traffic of a bridged Pod to a Service enters the host through
 * the gateway with a virtual source address, so kube-proxy's replies must leave through the gateway too, wherever the
 * Pod's own address is routed.
 *
 * Not kept by a Reconciler: the one or two objects never change while the process runs, and each is a pair of a neighbour
 * entry and a route, set together. Setting all of them in one batch costs less than the comparison of a full pass, and the
 * job retries it.
 */
export class ServiceRoute {
    readonly #netlink: Netlink;
    readonly #gatewayName: string;

    constructor(components: { readonly netlink: Netlink }, options: { readonly gatewayName: string }) {
        this.#netlink = components.netlink;
        this.#gatewayName = options.gatewayName;
    }

    /**
     * Adds the routes and permanent neighbour entries on the gateway, or replaces differing ones; idempotent. Without
     * the gateway's link does nothing. Rejects with NetlinkError; some may be set then, and the next call completes
     * them.
     *
     * @param o.sparesProxyRoutes leaves the routes of `antreaProxy.proxyAll` to the same addresses, which come once OVS has
     *   all Services; the Node has one route to each
     */
    async ensure(
        families: readonly Family[],
        { sparesProxyRoutes }: { readonly sparesProxyRoutes: boolean },
    ): Promise<void> {
        const gateway = await this.#netlink.link(this.#gatewayName);
        if (gateway === undefined) return;
        const { index } = gateway;
        const spared = sparesProxyRoutes ? await this.#netlink.routes({ protocol: proxyRouteProtocol }) : [];
        await this.#netlink.batch((batch) => {
            for (const ip of serviceSources(families)) {
                batch.replaceNeighbour({ index, ip, mac, state: NeighbourState.PERMANENT });
                if (spared.some((route) => leadsTo(route, ip, index))) continue;
                batch.replaceRoute({ dst: prefixOf(ip), dev: index, protocol: serviceRouteProtocol });
            }
        });
    }

    /**
     * Removes what an earlier start in bridging mode left, of both families; idempotent. Rejects with NetlinkError.
     *
     * @param o.keepsNeighbours the neighbour entries are those of routes to Services now
     */
    async remove({ keepsNeighbours }: { readonly keepsNeighbours: boolean }): Promise<void> {
        const gateway = await this.#netlink.link(this.#gatewayName);
        if (gateway === undefined) return;
        const { index } = gateway;
        const sources = serviceSources([4, 6]);
        // only what is there: a kernel without IPv6 refuses to delete anything of it
        const routes = await this.#netlink.routes({ protocol: serviceRouteProtocol });
        const neighbours = keepsNeighbours ? [] : await this.#netlink.neighbours(index);
        const own = neighbours.filter(({ ip }) => sources.some((source) => sameIp(source, ip)));
        await this.#netlink.batch((batch) => {
            for (const { ip } of own) batch.deleteNeighbour({ index, ip });
            for (const route of routes) {
                if (!sources.some((ip) => leadsTo(route, ip, index))) continue;
                batch.deleteRoute({ dst: route.dst, dev: index, protocol: serviceRouteProtocol });
            }
        });
    }
}

function leadsTo({ dev, dst, table }: Route, ip: IpAddress, index: number): boolean {
    return dev === index && table === RouteTable.MAIN && formatPrefix(dst) === formatPrefix(prefixOf(ip));
}
