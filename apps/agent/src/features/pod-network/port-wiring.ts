import { settleAll } from "@antrea/async";
import { isErrorOf, messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { isNetlinkError } from "@antrea/netlink";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import { OvsBridgeError } from "../../platform/ovs/bridge/index.ts";
import {
    pendingAlias,
    podText,
    toNetworkAlias,
    toNetworkIds,
    type NetworkRecord,
} from "../../platform/pod-interfaces/index.ts";
import type {
    FurtherInterfacesComponents,
    FurtherInterfacesOptions,
    NetworkPort,
    NetworkPorts,
} from "./further-types.ts";
import { createPair, deletePodLink, releasePodLink } from "./link.ts";
import { macOfDraft, type NetworkDraft } from "./network-draft.ts";
import { prepareNetworkEnd } from "./network-end.ts";
import type { YieldingMutex } from "../../platform/yielding-mutex.ts";
import type { Progress } from "./progress.ts";

const openLimitMs = 20_000;

/** Dependencies of PortWiring; the ports are those of a bridge, or of none. */
export interface PortWiringComponents extends Pick<FurtherInterfacesComponents, "announce" | "logger" | "netlink"> {
    readonly ports: NetworkPorts;
    /** Of requests to the kernel. */
    readonly mutex: YieldingMutex;
}

/**
 * The parts of interfaces on VLAN networks: veth pairs, and ports of the bridge with their records. Methods reject with the
 * error of the part that failed and undo nothing then.
 */
export class PortWiring {
    readonly #components: PortWiringComponents;
    readonly #options: FurtherInterfacesOptions;

    constructor(components: PortWiringComponents, options: FurtherInterfacesOptions) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * All links, with what their Pod ends need whatever their addresses, and the ports whose VLAN is known in one transaction,
     * without addresses: a port without a MAC address is unfinished. A port without its VLAN would let frames out untagged.
     */
    async prepare(drafts: readonly NetworkDraft[], { signal, checkpoint }: Progress): Promise<void> {
        const { netlink, ports, mutex } = this.#components;
        if (drafts.length === 0) return;
        await settleAll(
            drafts.map((draft) =>
                mutex.run(async () => {
                    const { addresses, mtu } = draft.planned;
                    const alias = pendingAlias(draft.containerId);
                    await createPair(netlink, draft, { mac: macOfDraft(draft), alias, mtu });
                    prepareNetworkEnd(draft, addresses !== undefined && addresses.order.length > 0, this.#options);
                }),
            ),
        );
        checkpoint();
        const withVlan = drafts.filter(
            ({ planned }) => planned.vlan !== undefined || (planned.addresses?.demands ?? []).length === 0,
        );
        await ports.ensurePorts(
            withVlan.map((draft) => ({
                name: draft.hostIfName,
                vlan: draft.planned.vlan ?? 0,
                externalIds: {
                    "antrea-type": "container",
                    "secondary-network": draft.planned.network,
                    "container-id": draft.containerId,
                    "if-dev": draft.ifName,
                    "boot-id": this.#options.bootId,
                },
            })),
            signal,
        );
    }

    /** Writes the ports with their records, in one transaction. */
    async write(records: readonly NetworkRecord[], signal: AbortSignal): Promise<void> {
        if (records.length === 0) return;
        await this.#components.ports.ensurePorts(records.map(portOf), signal);
    }

    /**
     * Waits until OVS has opened the ports, at most 20 s, and sets the links up that are not isolated. Resolves with the ports.
     * An OvsBridgeError `PORT_REFUSED` names network and interface in place of the port.
     */
    async opened(records: readonly NetworkRecord[], signal: AbortSignal): Promise<readonly NetworkPort[]> {
        const { netlink, ports, mutex } = this.#components;
        if (records.length === 0) return [];
        const names = records.map(({ hostIfName }) => hostIfName);
        const opened = await ports.opened(names, openLimitMs, signal).catch((error: unknown) => {
            throw ofInterface(error, records);
        });
        const correct = async ({ hostIfName, isolated }: NetworkRecord): Promise<void> => {
            const link = await netlink.link(hostIfName);
            if (link === undefined) return;
            if (link.up !== (isolated !== true)) await netlink.setLink(link.index, { up: isolated !== true });
            if (link.group !== podLinkGroup) await netlink.setLink(link.index, { group: podLinkGroup });
        };
        for (const record of records) await mutex.run(() => correct(record));
        return opened;
    }

    /** Writes the record onto the alias of its link. */
    async complete(record: NetworkRecord): Promise<void> {
        const { logger, netlink, mutex } = this.#components;
        await mutex.run(async () => {
            const link = await netlink.link(record.hostIfName);
            if (link !== undefined) await netlink.setLink(link.index, { alias: toNetworkAlias(record) });
        });
        logger.info("further Pod interface added", {
            pod: podText(record),
            container: record.containerId,
            network: record.network,
            interface: record.ifName,
            vlan: record.vlan,
            addresses: record.addresses.map(({ ip }) => formatIp(ip)),
        });
    }

    /** A Pod that was on another Node before has the same addresses and MAC address: switches learn its new place. */
    announce({ addresses, hostIfName, mac }: NetworkRecord, opened: readonly NetworkPort[]): void {
        const { announce } = this.#components;
        const { ofPort } = opened.find(({ name }) => name === hostIfName) ?? {};
        if (ofPort !== undefined && ofPort > 0) announce({ ofPort, mac, ips: addresses.map(({ ip }) => ip) });
    }

    /** Restores ports and links with their aliases, of records whose link exists: without it OVS could not open the port. */
    async restore(records: readonly NetworkRecord[], signal: AbortSignal): Promise<void> {
        if (records.length === 0) return;
        const { netlink } = this.#components;
        // Asked one by one: the Node may have thousands.
        const links = await Promise.all(records.map(({ hostIfName }) => netlink.link(hostIfName)));
        for (const [at, record] of records.entries()) {
            const [link, alias] = [links[at], toNetworkAlias(record)];
            if (link !== undefined && link.alias !== alias) await netlink.setLink(link.index, { alias });
        }
        const present = records.filter((_, at) => links[at] !== undefined);
        await this.write(present, signal);
        await this.opened(present, signal);
    }

    /** Writes a record that is isolated now, or no longer, and sets its link down or up. */
    async setIsolated(record: NetworkRecord, signal: AbortSignal): Promise<void> {
        const { netlink } = this.#components;
        await this.write([record], signal);
        const link = await netlink.link(record.hostIfName);
        if (link !== undefined)
            await netlink.setLink(link.index, { up: record.isolated !== true, alias: toNetworkAlias(record) });
    }

    /** Deletes ports in one transaction; no effect for what is not there. */
    async deletePorts(records: readonly Pick<NetworkRecord, "hostIfName">[], signal: AbortSignal): Promise<void> {
        if (records.length === 0) return;
        await this.#components.ports.deletePorts(
            records.map(({ hostIfName }) => hostIfName),
            signal,
        );
    }

    /** Releases a link, see `releasePodLink`. Never rejects: false if the link may still be up. */
    async releaseLink(record: Pick<NetworkRecord, "containerId" | "hostIfName">): Promise<boolean> {
        try {
            await this.#components.mutex.run(() => releasePodLink(this.#components.netlink, record));
            return true;
        } catch (error) {
            if (isNetlinkError(error, "ENODEV")) return true;
            this.#components.logger.warn("link of a Pod cannot be set down", {
                link: record.hostIfName,
                reason: messageOf(error),
            });
            return false;
        }
    }

    /** Deletes a veth pair. Never rejects: a failure is logged. */
    async deleteLink(record: NetworkRecord): Promise<void> {
        try {
            await deletePodLink(this.#components.netlink, record);
        } catch (error) {
            this.#components.logger.warn("link of a Pod cannot be deleted", {
                link: record.hostIfName,
                reason: messageOf(error),
            });
        }
    }
}

/** As each sandbox of a Pod has a port of another name: without it, all attempts of the Pod are one event. */
function ofInterface(error: unknown, records: readonly NetworkRecord[]): unknown {
    if (!isErrorOf(OvsBridgeError, error, "PORT_REFUSED")) return error;
    const { details } = error;
    const { port = "", reason = "" } = details;
    const record = records.find(({ hostIfName }) => hostIfName === port);
    if (record === undefined) return error;
    const text = `network ${record.network}: OVS could not add the port of interface ${record.ifName}: ${reason.replaceAll(` ${port}`, "")}; next: see the log of ovs-vswitchd on this Node`;
    return new OvsBridgeError(error.code, error.fault, text, { details });
}

function portOf(record: NetworkRecord): Parameters<NetworkPorts["ensurePorts"]>[0][number] {
    return { name: record.hostIfName, vlan: record.vlan, externalIds: toNetworkIds(record) };
}
