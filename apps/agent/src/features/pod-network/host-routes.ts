import type { Clock } from "@antrea/async";
import { formatIp, prefixOf, sameIp, type IpAddress } from "@antrea/ip";
import { RouteTable, type Netlink } from "@antrea/netlink";
import { Reconciler, type Logger, type MetricsFactory } from "@antrea/runtime";
import { podRouteProtocol } from "../../platform/kernel-ids.ts";
import { isPoolRecord, type PodRecord } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of HostRoutes. */
export interface HostRoutesComponents {
    readonly netlink: Netlink;
    readonly logger: Logger;
    /** Default no metrics. */
    readonly metrics?: MetricsFactory | undefined;
    /** Default the system clock. */
    readonly clock?: Clock | undefined;
}

/**
 * The kernel's host routes to Pods of this Node with IPPool addresses, which no podCIDR route covers. Through them the
 * Node, and thus its kubelet, reaches such a Pod. Bridged Pods have none: the Node reaches them over the physical
 * network. Routes with another protocol number are never modified; while the gateway device is missing, changes are
 * left to the reconcile.
 */
export class HostRoutes {
    readonly #netlink: Netlink;
    readonly #gatewayName: string;
    readonly #isRouted: (record: PodRecord) => boolean;
    readonly #routes: Reconciler<string, IpAddress>;

    constructor(
        { netlink, ...components }: HostRoutesComponents,
        options: { readonly gatewayName: string; readonly bridged: boolean },
    ) {
        this.#netlink = netlink;
        this.#gatewayName = options.gatewayName;
        this.#isRouted = (record) => !options.bridged && isPoolRecord(record);
        this.#routes = new Reconciler<string, IpAddress>(
            components,
            // The caller retries the whole reconcile with its own backoff.
            { name: "pod-network/host-routes", isEqual: sameIp, backoff: { initialMs: 0, maxMs: 0 } },
            {
                update: ({ value }) => this.#set(value),
                delete: ({ last }) => this.#unset(last),
                prune: (desired) => this.#prune(desired),
            },
        );
    }

    /**
     * Adds the routes of a record; no effect for a record that is not routed. Idempotent. Rejects with NetlinkError:
     * `reconcile` retries it.
     */
    async add(record: PodRecord): Promise<void> {
        if (!this.#isRouted(record)) return;
        for (const { ip } of record.addresses) {
            const key = formatIp(ip);
            this.#routes.set(key, ip);
            this.#routes.refresh(key);
            await this.#routes.apply(key);
        }
    }

    /**
     * Removes the routes of a record, except to addresses by which the Node reaches another interface, evaluated at the
     * time of removal. Rejects with NetlinkError: `reconcile` retries it.
     */
    async remove(record: PodRecord, isReachedElsewhere: (ip: IpAddress) => boolean): Promise<void> {
        if (!this.#isRouted(record)) return;
        for (const { ip } of record.addresses) {
            if (isReachedElsewhere(ip)) continue;
            const key = formatIp(ip);
            this.#routes.delete(key, ip);
            await this.#routes.apply(key);
        }
    }

    /**
     * Sets the routes to those of the records and compares them with the kernel: adds missing ones and removes others
     * of this protocol number. Rejects with NetlinkError if routes cannot be read or removed, or, after processing all
     * of them, with the first error if one failed.
     */
    async reconcile(records: readonly PodRecord[]): Promise<void> {
        const ips = records.filter(this.#isRouted).flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
        this.#routes.replace(new Map(ips.map((ip) => [formatIp(ip), ip])));
        this.#routes.askForFull();
        const { failed, error } = await this.#routes.pass();
        if (failed > 0) throw error;
    }

    async #set(ip: IpAddress): Promise<void> {
        const dev = await this.#gateway();
        if (dev !== undefined) await this.#netlink.replaceRoute({ dst: prefixOf(ip), dev, protocol: podRouteProtocol });
    }

    async #unset(ip: IpAddress): Promise<void> {
        const dev = await this.#gateway();
        if (dev === undefined) return;
        await this.#netlink.deleteRoute({ dst: prefixOf(ip), family: ip.family, dev, protocol: podRouteProtocol });
    }

    async #prune(desired: ReadonlyMap<string, IpAddress>): Promise<readonly string[]> {
        if ((await this.#gateway()) === undefined) return [];
        const present = (await this.#netlink.routes({ table: RouteTable.MAIN, protocol: podRouteProtocol }))
            .filter((route) => route.protocol === podRouteProtocol)
            .map(({ family, dst }): IpAddress => ({ family, value: dst.base }));
        for (const ip of present) if (!desired.has(formatIp(ip))) await this.#unset(ip);
        const has = new Set(present.map(formatIp));
        return [...desired.keys()].filter((key) => !has.has(key));
    }

    async #gateway(): Promise<number | undefined> {
        return (await this.#netlink.link(this.#gatewayName))?.index;
    }
}
