import { setTxChecksumOffload, type Link, type Netlink } from "@antrea/netlink";
import { UplinkError } from "./errors.ts";
import type { JournalEntry } from "./journal-codec.ts";
import { beginIpv6, endIpv6, placeAltNames } from "./links.ts";
import { placeAddresses, placeNeighbours, removeAddresses4 } from "./place-addresses.ts";
import { placeRoutes, removeRoutes, routesOf } from "./place-routes.ts";
import type { Snapshot } from "./snapshot.ts";
import { copySysctls, writeSysctl } from "./sysctls.ts";
import type { UplinkOptions } from "./types.ts";

/** Settings of SwitchOver. */
export type SwitchOverOptions = Pick<UplinkOptions, "copiesFrames" | "linkGroup" | "mustComputeChecksums">;

/**
 * Transfers the kernel configuration of the NIC to the host port, in two steps: `prepare`, then `run`, which interrupts
 * the Node's traffic. Both may be repeated. They reject with NetlinkError; the caller then rolls back.
 */
export class SwitchOver {
    readonly #netlink: Netlink;
    readonly #options: SwitchOverOptions;

    constructor(components: { readonly netlink: Netlink }, options: SwitchOverOptions) {
        this.#netlink = components.netlink;
        this.#options = options;
    }

    /**
     * Applies sysctls and settings of the NIC to the host port, but no addresses yet, and sets it up unless the
     * datapath copies frames.
     */
    async prepare({ nic, physicalName }: JournalEntry, host: Link): Promise<void> {
        copySysctls(physicalName, host.name);
        if (this.#options.mustComputeChecksums) setTxChecksumOffload(host.name, false);
        beginIpv6(host.name, nic);
        // Frames that the kernel datapath takes from the NIC reach the Node through this port from then on. A datapath
        // that receives copies would deliver them twice: there the port stays down until the switch.
        if (!this.#options.copiesFrames) await this.#netlink.setLink(host.index, { up: true });
    }

    /**
     * Moves everything within a few turns of the event loop, without waiting. Rejects with UplinkError `NIC_UNSUITABLE`
     * if the kernel rejects a route: the addresses are on the host port then.
     */
    async run({ nic, physicalName }: JournalEntry, host: Link, saved: Snapshot): Promise<void> {
        const netlink = this.#netlink;
        await netlink.setLink(host.index, { up: true });
        await placeAddresses(netlink, host.index, saved.addresses);
        await this.#takeFromNic(nic.index, physicalName);
        await this.#placeRoutes(host, saved);
        await placeNeighbours(netlink, host.index, saved.neighbours);
        await endIpv6(netlink, host, nic, saved.addresses);
        await this.#placeRoutes(host, saved);
        await placeAltNames(netlink, host.index, saved.altNames, nic.index);
    }

    async #takeFromNic(index: number, physicalName: string): Promise<void> {
        const netlink = this.#netlink;
        const { copiesFrames, linkGroup } = this.#options;
        if (copiesFrames) await netlink.setLink(index, { group: linkGroup });
        writeSysctl("ipv6", physicalName, "disable_ipv6", "1");
        await removeAddresses4(netlink, index);
        await removeRoutes(netlink, index, await routesOf(netlink, index));
    }

    async #placeRoutes(host: Link, saved: Snapshot): Promise<void> {
        const [refused] = await placeRoutes(this.#netlink, host.index, saved.routes);
        if (refused === undefined) return;
        throw new UplinkError(
            "NIC_UNSUITABLE",
            "environment",
            `route ${refused.route} cannot go from the NIC to ${host.name}: ${refused.reason}`,
        );
    }
}
