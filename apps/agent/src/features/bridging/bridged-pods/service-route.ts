import { serviceSource } from "@antrea/flows";
import { prefixOf, type Family, type IpAddress } from "@antrea/ip";
import { NeighbourState, type Netlink } from "@antrea/netlink";
import { serviceRouteProtocol } from "../../../platform/kernel-ids.ts";

/** What the host takes for the MAC address of the virtual sources; the flows match only the IP address. */
const mac = "0a:59:ff:ff:ff:fd";

/** The addresses from which the Services' traffic of bridged Pods comes to the host. */
export function serviceSources(families: readonly Family[]): readonly IpAddress[] {
    return families.map(serviceSource);
}

/**
 * The routes of answers from Services to bridged Pods. What a bridged Pod sends to a Service reaches the host by the gateway
 * and from a virtual address, so kube-proxy's answers must leave by the gateway too, wherever the Pod's own address is.
 */
export class ServiceRoute {
    readonly #netlink: Netlink;
    readonly #gatewayName: string;

    constructor(components: { readonly netlink: Netlink }, options: { readonly gatewayName: string }) {
        this.#netlink = components.netlink;
        this.#gatewayName = options.gatewayName;
    }

    /** Puts routes and neighbours in place; what is there stays. */
    async ensure(families: readonly Family[]): Promise<void> {
        const gateway = await this.#netlink.link(this.#gatewayName);
        if (gateway === undefined) return;
        const { index } = gateway;
        await this.#netlink.batch((batch) => {
            for (const ip of serviceSources(families)) {
                batch.replaceNeighbour({ index, ip, mac, state: NeighbourState.PERMANENT });
                batch.replaceRoute({ dst: prefixOf(ip), dev: index, protocol: serviceRouteProtocol });
            }
        });
    }

    /** Removes what another start in bridging mode left. */
    async remove(): Promise<void> {
        const gateway = await this.#netlink.link(this.#gatewayName);
        if (gateway === undefined) return;
        const { index } = gateway;
        await this.#netlink.batch((batch) => {
            for (const ip of serviceSources([4, 6])) {
                batch.deleteNeighbour({ index, ip });
                batch.deleteRoute({ dst: prefixOf(ip), dev: index, protocol: serviceRouteProtocol });
            }
        });
    }
}
