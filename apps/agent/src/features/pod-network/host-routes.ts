import { formatIp, formatPrefix, prefixOf, sameIp, type IpAddress, type Prefix } from "@antrea/ip";
import { RouteTable, type Netlink } from "@antrea/netlink";
import type { PodNetwork } from "./pod-network.ts";
import { isPoolRecord, type PodRecord } from "./record.ts";
import { podRouteProtocol } from "../../platform/kernel-ids.ts";

/** Whether a route leads to a Pod of this Node that is wired: neither being removed nor isolated. */
export function isRoutedToPod(
    network: Pick<PodNetwork, "interfaces" | "isLeaving" | "isCutOff">,
    dst: Prefix,
): boolean {
    const text = formatPrefix(dst);
    return network
        .interfaces()
        .some(
            (known) =>
                known.record.addresses.some(({ ip }) => formatPrefix(prefixOf(ip)) === text) &&
                !network.isLeaving(known) &&
                !network.isCutOff(known),
        );
}

/**
 * The kernel's routes to Pods of this Node whose addresses are of IPPools: no podCIDR leads to them. They make the Node,
 * and so its kubelet, reach such a Pod. Bridged Pods have none: the Node reaches them as all others in the underlay.
 */
export class HostRoutes {
    readonly #netlink: Netlink;
    readonly #gatewayName: string;
    readonly #isRouted: (record: PodRecord) => boolean;

    constructor(
        components: { readonly netlink: Netlink },
        options: { readonly gatewayName: string; readonly bridged: boolean },
    ) {
        this.#netlink = components.netlink;
        this.#gatewayName = options.gatewayName;
        this.#isRouted = (record) => !options.bridged && isPoolRecord(record);
    }

    async add(record: PodRecord): Promise<void> {
        if (!this.#isRouted(record)) return;
        const dev = await this.#gateway();
        if (dev === undefined) return;
        for (const { ip } of record.addresses) await this.#set(ip, dev);
    }

    /** Removes the routes of a record, but those to addresses that another interface has, by what is so at that moment. */
    async remove(record: PodRecord, isConnected: (ip: IpAddress) => boolean): Promise<void> {
        if (!this.#isRouted(record)) return;
        const dev = await this.#gateway();
        if (dev === undefined) return;
        for (const { ip } of record.addresses) if (!isConnected(ip)) await this.#unset(ip, dev);
    }

    /** Makes the routes those of these records; routes without our mark are never touched. */
    async reconcile(records: readonly PodRecord[]): Promise<void> {
        const dev = await this.#gateway();
        if (dev === undefined) return;
        const wanted = records.filter(this.#isRouted).flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
        const present = (await this.#netlink.routes({ table: RouteTable.MAIN, protocol: podRouteProtocol }))
            .filter((route) => route.protocol === podRouteProtocol)
            .map(({ family, dst }): IpAddress => ({ family, value: dst.base }));
        const has = new Set(present.map(formatIp));
        for (const ip of wanted) if (!has.has(formatIp(ip))) await this.#set(ip, dev);
        for (const ip of present) if (!wanted.some((one) => sameIp(one, ip))) await this.#unset(ip, dev);
    }

    #set(ip: IpAddress, dev: number): Promise<void> {
        return this.#netlink.replaceRoute({ dst: prefixOf(ip), dev, protocol: podRouteProtocol });
    }

    async #unset(ip: IpAddress, dev: number): Promise<void> {
        await this.#netlink.deleteRoute({ dst: prefixOf(ip), family: ip.family, dev, protocol: podRouteProtocol });
    }

    async #gateway(): Promise<number | undefined> {
        return (await this.#netlink.link(this.#gatewayName))?.index;
    }
}
