import { formatPrefix, type IpAddress } from "@antrea/ip";
import { isNetlinkError, RouteTable } from "@antrea/netlink";
import { podServiceRouteProtocol } from "../../platform/kernel-ids.ts";
import { podText, type PodRecord } from "../../platform/pod-interfaces/index.ts";
import type { YieldingMutex } from "../../platform/yielding-mutex.ts";
import { findNamespace } from "./find-namespace.ts";
import type { FurtherInterfacesComponents, FurtherInterfacesOptions } from "./further-types.ts";
import { kernelNamespaces } from "./link.ts";

/** Dependencies of ServiceRoutes. */
export interface ServiceRoutesComponents extends Pick<
    FurtherInterfacesComponents,
    "areServiceCidrsKnown" | "logger" | "netlink" | "serviceCidrs"
> {
    /** The families of which another interface than that of the Pod network has the default route. */
    readonly defaultFamilies: (containerId: string) => ReadonlySet<IpAddress["family"]>;
    readonly mutex: Pick<YieldingMutex, "run">;
}

/**
 * The routes that keep the ranges of Services with a Pod's interface on the Pod network where another one has the default
 * route. An ADD sets them; a running Pod gets those of changed ranges from here.
 */
export class ServiceRoutes {
    readonly #components: ServiceRoutesComponents;
    readonly #options: Pick<FurtherInterfacesOptions, "namespaces">;
    /** The ranges for which `ensure` succeeded last, by container. */
    readonly #ensured = new Map<string, string>();

    constructor(components: ServiceRoutesComponents, options: Pick<FurtherInterfacesOptions, "namespaces">) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * Which of these containers may have other routes than they need; forgets all other containers. None until the API server
     * has answered: what a Pod got in its ADD stays until then.
     */
    due(containers: readonly string[]): readonly string[] {
        const moved = containers.filter((id) => this.#components.defaultFamilies(id).size > 0);
        const present = new Set(moved);
        for (const id of this.#ensured.keys()) if (!present.has(id)) this.#ensured.delete(id);
        if (!this.#components.areServiceCidrsKnown()) return [];
        const ranges = this.#text();
        return moved.filter((id) => this.#ensured.get(id) !== ranges);
    }

    /**
     * Adds missing routes and deletes those to ranges that are no longer of Services; called under the container's lock. A range
     * to which the Pod has a route of another origin keeps that. No effect if the namespace has ended, nor, with an entry in the
     * log, if it is not found. Rejects with NetlinkError.
     *
     * @param own the Pod's interface on the Pod network
     */
    async ensure(own: PodRecord): Promise<void> {
        const ranges = this.#text();
        try {
            const netns = own.netns === "" ? await this.#findNamespace(own) : own.netns;
            if (netns !== undefined) await this.#components.mutex.run(() => this.#ensure({ ...own, netns }));
        } catch (error) {
            if (!isNetlinkError(error, "ENOENT", "NOT_A_NETNS")) throw error;
        }
        this.#ensured.set(own.containerId, ranges);
    }

    async #ensure(own: PodRecord): Promise<void> {
        const { namespaces = kernelNamespaces } = this.#options;
        const { defaultFamilies, serviceCidrs } = this.#components;
        using pod = namespaces.openIn(own.netns);
        const link = await pod.link(own.ifName);
        if (link === undefined) return;
        const dev = link.index;
        for (const family of defaultFamilies(own.containerId)) {
            const via = own.addresses.find(({ ip }) => ip.family === family)?.gateway;
            if (via === undefined) continue;
            const cidrs = serviceCidrs().filter((cidr) => cidr.family === family);
            const wanted = new Set(cidrs.map(formatPrefix));
            const found = await pod.routes({ family, table: RouteTable.MAIN });
            const present = new Set(found.map(({ dst }) => formatPrefix(dst)));
            const missing = cidrs.filter((dst) => !present.has(formatPrefix(dst)));
            const stale = found.filter(
                (route) => route.protocol === podServiceRouteProtocol && !wanted.has(formatPrefix(route.dst)),
            );
            if (missing.length + stale.length === 0) continue;
            await pod.batch((batch) => {
                for (const dst of missing) batch.addRoute({ dst, via, dev, protocol: podServiceRouteProtocol });
                for (const { dst } of stale) batch.deleteRoute({ dst, protocol: podServiceRouteProtocol });
            });
        }
    }

    /** Of a record that was rebuilt from its link. */
    async #findNamespace(own: PodRecord): Promise<string | undefined> {
        const { namespaces = kernelNamespaces } = this.#options;
        const { logger, netlink } = this.#components;
        const found = await findNamespace(own.hostIfName, netlink, namespaces);
        if (found === undefined && (await netlink.link(own.hostIfName)) !== undefined) {
            logger.warn(
                "a Pod's routes to the Service CIDRs are not compared with these, as its network namespace is not known any more since the OVS database was lost; next: delete the Pod, so that it is made anew",
                { pod: podText(own), container: own.containerId },
            );
        }
        return found;
    }

    #text(): string {
        return this.#components.serviceCidrs().map(formatPrefix).toSorted().join(" ");
    }
}
