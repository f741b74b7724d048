import { serviceMac } from "@antrea/flows";
import { formatMac, formatPrefix, prefixOf, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { NeighbourState, RouteTable, type Netlink, type Route, type RouteOptions, type Rule } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { NodeSysctls } from "../../platform/host/gateway/index.ts";
import { proxyRouteProtocol, serviceMark, serviceRulePriority, serviceTable } from "../../platform/kernel-ids.ts";
import { nextHop, virtualPrefixes } from "./addresses.ts";

/** `rp_filter`: a packet is accepted if its source is reachable by any link (ip-sysctl.txt of the kernel). */
const loose = "2";

const neighbourMac = formatMac(serviceMac);

/** Dependencies of HostServiceRoutes. */
export interface HostServiceRoutesComponents {
    readonly logger: Logger;
    readonly netlink: Netlink;
    readonly sysctls: Pick<NodeSysctls, "set" | "undo">;
}

/** Settings of HostServiceRoutes. */
export interface HostServiceRoutesOptions {
    readonly gatewayName: string;
    readonly families: readonly Family[];
}

/** What the routes depend on besides the gateway. */
export interface RouteTargets {
    /** Undefined while they are not known: the routes to them stay as they are. */
    readonly serviceCidrs: readonly Prefix[] | undefined;
    /** Those that were last known, for routes that are added while `serviceCidrs` is undefined. */
    readonly lastCidrs?: readonly Prefix[] | undefined;
    /**
     * Addresses of the Node, of each family the first that endpoints in its network have: their programs answer the virtual
     * source from it, also those that listen at all addresses and leave the choice to the kernel. Undefined while the Node is
     * not known: the source stays as it is.
     */
    readonly sources: readonly IpAddress[] | undefined;
}

type WantedRoute = Pick<RouteOptions, "onlink" | "protocol"> &
    Pick<Route, "dst" | "src" | "table"> & { readonly dev: number; readonly via: IpAddress };

/**
 * The routes from the Node to Services in OVS: those to the Service CIDRs and to the virtual addresses by the gateway, with
 * a permanent neighbour as next hop, and a rule that leads marked packets to a table with a default route there. All have
 * the protocol `proxyRouteProtocol`. Answers come by the gateway from any address, so its reverse path filter is loose.
 */
export class HostServiceRoutes {
    readonly #components: HostServiceRoutesComponents;
    readonly #options: HostServiceRoutesOptions;

    constructor(components: HostServiceRoutesComponents, options: HostServiceRoutesOptions) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * Adds what is missing and removes what is not wanted any more; writes nothing else. Without the gateway's link does
     * nothing. Rejects with NetlinkError; some may be done then, and the next call completes it.
     */
    async ensure({ serviceCidrs, lastCidrs, sources }: RouteTargets): Promise<void> {
        const { logger, netlink } = this.#components;
        const { families, gatewayName } = this.#options;
        const gateway = await netlink.link(gatewayName);
        if (gateway === undefined) return;
        this.#components.sysctls.set(this.#reversePath, loose);
        await this.#ensureNeighbours(gateway.index);
        const present = await this.#ownRoutes();
        const wanted = this.#wanted(gateway.index, serviceCidrs ?? lastCidrs, sources ?? sourcesOf(present));
        const texts = new Set(wanted.map(textOf));
        const known = new Set(present.map(textOf));
        const missing = wanted.filter((route) => !known.has(textOf(route)));
        const stale = present.filter(
            (route) => !texts.has(textOf(route)) && (serviceCidrs !== undefined || isVirtual(route)),
        );
        await netlink.batch((batch) => {
            for (const route of stale) batch.deleteRoute(deletionOf(route));
            for (const route of missing) batch.replaceRoute(route);
        });
        for (const { dst, table } of missing) {
            logger.info("route to Services installed", { dst: formatPrefix(dst), table });
        }
        await this.#ensureRules(families.map(ruleOf));
    }

    /**
     * Removes all of it, of both families; idempotent. Rejects with NetlinkError.
     *
     * @param o.keepsNeighbours the neighbour entries are those of bridged Pods now
     */
    async remove({ keepsNeighbours }: { readonly keepsNeighbours: boolean }): Promise<void> {
        const { logger, netlink, sysctls } = this.#components;
        sysctls.undo(this.#reversePath);
        await this.#ensureRules([]);
        const present = await this.#ownRoutes();
        if (present.length === 0) return;
        const gateway = await netlink.link(this.#options.gatewayName);
        const neighbours = gateway === undefined || keepsNeighbours ? [] : await netlink.neighbours(gateway.index);
        // a kernel without IPv6 refuses to delete one of it
        const own = neighbours.filter(({ ip }) => ip.value === nextHop(ip.family).value);
        await netlink.batch((batch) => {
            for (const route of present) batch.deleteRoute(deletionOf(route));
            for (const { index, ip } of own) batch.deleteNeighbour({ index, ip });
        });
        logger.info("routes to Services removed", { routes: present.length });
    }

    get #reversePath(): string {
        return `net/ipv4/conf/${this.#options.gatewayName}/rp_filter`;
    }

    async #ensureNeighbours(index: number): Promise<void> {
        const { netlink } = this.#components;
        const present = await netlink.neighbours(index);
        const missing = this.#options.families
            .map(nextHop)
            .filter(
                (ip) =>
                    !present.some(
                        (one) =>
                            one.ip.value === ip.value &&
                            one.mac === neighbourMac &&
                            (one.state & NeighbourState.PERMANENT) !== 0,
                    ),
            );
        await netlink.batch((batch) => {
            for (const ip of missing)
                batch.replaceNeighbour({ index, ip, mac: neighbourMac, state: NeighbourState.PERMANENT });
        });
    }

    #wanted(dev: number, serviceCidrs: readonly Prefix[] = [], sources: readonly IpAddress[]): readonly WantedRoute[] {
        const common = { dev, protocol: proxyRouteProtocol, onlink: true };
        return this.#options.families.flatMap((family) => {
            const via = nextHop(family);
            const cidrs = serviceCidrs.filter((prefix) => prefix.family === family);
            const byName = new Map(
                [...cidrs, ...virtualPrefixes[family]].map((dst) => [
                    formatPrefix(dst),
                    { ...common, dst, via, table: RouteTable.MAIN },
                ]),
            );
            const src = sources.find((ip) => ip.family === family);
            const back = { ...common, dst: prefixOf(via), via, table: RouteTable.MAIN };
            const all = prefixOf({ family, value: 0n }, 0);
            return [
                ...byName.values(),
                src === undefined ? back : { ...back, src },
                { ...common, dst: all, via, table: serviceTable },
            ];
        });
    }

    async #ownRoutes(): Promise<readonly Route[]> {
        const all = await this.#components.netlink.routes({ protocol: proxyRouteProtocol });
        return all.filter(({ protocol }) => protocol === proxyRouteProtocol);
    }

    async #ensureRules(wanted: readonly Rule[]): Promise<void> {
        const { netlink } = this.#components;
        const present = (await netlink.rules()).filter(({ protocol }) => protocol === proxyRouteProtocol);
        const missing = wanted.filter((rule) => !present.some((one) => sameRule(one, rule)));
        const stale = present.filter((rule) => !wanted.some((one) => sameRule(one, rule)));
        await netlink.batch((batch) => {
            for (const rule of stale) batch.deleteRule(rule);
            for (const rule of missing) batch.addRule(rule);
        });
    }
}

function ruleOf(family: Family): Rule {
    return {
        family,
        priority: serviceRulePriority,
        table: serviceTable,
        mark: serviceMark,
        mask: serviceMark,
        protocol: proxyRouteProtocol,
    };
}

function sameRule(a: Rule, b: Rule): boolean {
    return (
        a.family === b.family &&
        a.priority === b.priority &&
        a.table === b.table &&
        a.mark === b.mark &&
        a.mask === b.mask
    );
}

/** Of the routes that do not depend on Service CIDRs. */
function isVirtual({ family, dst, table }: Route): boolean {
    const text = formatPrefix(dst);
    const isBack = text === formatPrefix(prefixOf(nextHop(family)));
    return table === serviceTable || isBack || virtualPrefixes[family].some((prefix) => formatPrefix(prefix) === text);
}

/** The sources that the routes to the virtual source have. */
function sourcesOf(routes: readonly Route[]): readonly IpAddress[] {
    const back = routes.filter(({ family, dst }) => formatPrefix(dst) === formatPrefix(prefixOf(nextHop(family))));
    return back.flatMap(({ src }) => src ?? []);
}

function textOf({ dst, via, dev, src, table }: Pick<Route, "dst" | "via" | "dev" | "src" | "table">): string {
    return `${table} ${formatPrefix(dst)} ${via?.value ?? ""} ${dev} ${src?.value ?? ""}`;
}

function deletionOf({ dst, family, dev, via, metric, table }: Route): RouteOptions {
    return { dst, family, dev, via, metric, table, protocol: proxyRouteProtocol };
}
