import { settleAll, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress, type Prefix } from "@antrea/ip";
import { isNetlinkError, type Link, type Netlink } from "@antrea/netlink";
import { addressesOf } from "@antrea/networks";
import type { Logger } from "@antrea/runtime";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { StoredPort } from "./found-records.ts";
import type { Progress } from "./interface-wiring.ts";
import { Limit } from "./limit.ts";
import { createPair, deletePodLink, releasePodLink, type PodLinkDraft, type PodLinkOptions } from "./link.ts";
import { draftMacOf, hostInterfaceName, macOf } from "./names.ts";
import { configureNetworkEnd, moveDefaultRoutes } from "./network-end.ts";
import { PodNetworkError } from "./errors.ts";
import {
    attachmentKey,
    fromNetworkAlias,
    fromNetworkIds,
    pendingAlias,
    podText,
    toNetworkAlias,
    toNetworkIds,
    type AddRequest,
    type Attachment,
    type Claims,
    type NetworkAddress,
    type NetworkAddresses,
    type NetworkInterface,
    type NetworkInterfaces,
    type NetworkRecord,
    type NetworkRecordAddress,
    type PlannedNetwork,
    type PodAttachment,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/** The ports of the bridge for networks other than the Pod network; the contract of each method is that of SwitchBridge. */
export interface NetworkPorts {
    /** Whether the bridge exists. */
    readonly exists: boolean;
    ports(): readonly StoredPort[];
    ensurePorts(
        ports: readonly {
            readonly name: string;
            readonly vlan: number;
            readonly externalIds: Readonly<Record<string, string>>;
        }[],
        signal?: AbortSignal,
    ): Promise<void>;
    deletePorts(names: readonly string[], signal?: AbortSignal): Promise<void>;
    opened(names: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

/** The IPPools, as further interfaces use them. */
export interface NetworkClaims {
    /** Allocates the addresses of one interface, all or nothing; rejects with the error that ADD returns. */
    claimForNetwork(asked: NetworkAddresses, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Frees the allocations of an interface; resolves when that is done, or after one second. Never rejects. */
    release(attachment: Attachment): Promise<void>;
    /** The interfaces of a container that have allocations and that this agent makes, without eth0. */
    networkInterfacesOf(containerId: string): readonly Attachment[];
    /** The known allocations of an interface, with the settings of their pools. */
    addressesFor(attachment: Attachment): readonly NetworkRecordAddress[];
}

/** Dependencies of FurtherInterfaces. */
export interface FurtherInterfacesComponents {
    /** Written only here. */
    readonly table: NetworkInterfaces;
    readonly ports: NetworkPorts;
    readonly netlink: Netlink;
    /** Undefined if AntreaIPAM is disabled. */
    readonly pools: NetworkClaims | undefined;
    /** The current Service CIDRs. */
    readonly serviceCidrs: () => readonly Prefix[];
    readonly clock: Clock;
    readonly logger: Logger;
}

/** Settings of FurtherInterfaces. */
export interface FurtherInterfacesOptions extends Omit<PodLinkOptions, "mtu"> {
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
}

const openLimitMs = 20_000;
const unwireLimitMs = 5_000;

interface Draft extends PodAttachment, PodLinkDraft {
    readonly planned: PlannedNetwork;
}

/**
 * The interfaces of Pods on networks other than the Pod network, which come and go with the one on the Pod network. Methods
 * about a container are called under its lock.
 */
export class FurtherInterfaces {
    readonly #components: FurtherInterfacesComponents;
    readonly #options: FurtherInterfacesOptions;

    constructor(components: FurtherInterfacesComponents, options: FurtherInterfacesOptions) {
        this.#components = components;
        this.#options = options;
    }

    /** All interfaces, also those being wired or removed. */
    list(): readonly NetworkInterface[] {
        return this.#components.table.list();
    }

    /**
     * Makes all interfaces of a container: claims all addresses at once and beside that creates links and ports, then
     * writes the records, configures the Pod ends and waits until OVS has opened the ports. All or nothing: rejects with
     * the error of a claim, PodNetworkError `VLANS_APART` or `BAD_ROUTE`, or that of a part, after what was made is taken
     * back, or left to the reconcile.
     */
    async add(planned: readonly PlannedNetwork[], request: AddRequest, progress: Progress): Promise<void> {
        if (planned.length === 0) return;
        const { table } = this.#components;
        const drafts = planned.map((one) => this.#draft(one, request));
        try {
            const [claimed] = await settleAll([
                settleAll(drafts.map((draft) => this.#claim(draft, progress.signal))),
                this.#prepare(drafts, progress),
            ]);
            const records = drafts.map((draft, index) => this.#recordOf(draft, claimed[index] ?? []));
            progress.checkpoint();
            for (const record of records) table.put(record);
            await settleAll([
                this.#components.ports.ensurePorts(records.map(portOf), progress.signal),
                ...records.map((record, index) => this.#configure(record, planned[index])),
            ]);
            progress.checkpoint();
            await this.#opened(records, progress.signal);
            await settleAll(records.map((record) => this.#complete(record)));
        } catch (error) {
            await this.#takeBack(drafts);
            throw error;
        }
    }

    /**
     * Moves the default routes of the Pod to the interfaces that ask for that, once all interfaces are configured; also
     * after the interface on the Pod network was configured again.
     */
    async moveDefaultRoutes(own: PodRecord): Promise<void> {
        for (const { record } of this.#components.table.ofContainer(own.containerId)) {
            const netns = record.netns === "" ? own.netns : record.netns;
            await moveDefaultRoutes(
                { ...record, netns },
                own,
                this.#components.serviceCidrs(),
                this.#linkOptions(record),
            );
        }
    }

    /** The families of which another interface than that of the Pod network has the default route. */
    defaultFamilies(containerId: string): ReadonlySet<IpAddress["family"]> {
        const all = this.#components.table.ofContainer(containerId);
        return new Set(all.flatMap(({ record }) => record.defaultGateways.map(({ family }) => family)));
    }

    /**
     * Removes all interfaces of a container: ports with their records in one transaction, then the allocations if
     * `allocations` is "release", also those of an ADD that failed before it wrote a record. False if OVS did not do it
     * within 5 s: the interfaces then stay known until the reconcile has removed them.
     */
    async remove(containerId: string, allocations: Claims): Promise<boolean> {
        const { clock, logger, pools, ports, table } = this.#components;
        const all = table.ofContainer(containerId);
        const fates = all.map(({ record }) => ({ record, fate: table.leave(record, allocations) }));
        await Promise.all(all.map(({ record }) => this.#releaseLink(record)));
        using limit = new Limit(clock, unwireLimitMs, "unwiring");
        try {
            if (all.length > 0)
                await ports.deletePorts(
                    all.map(({ record }) => record.hostIfName),
                    limit.signal,
                );
        } catch (error) {
            logger.warn("unwiring of further interfaces is left to the reconcile", {
                container: containerId,
                reason: messageOf(error),
            });
            return false;
        }
        for (const { record } of all) table.remove(record);
        const released = fates.filter(({ fate }) => fate === "release").map(({ record }) => record as Attachment);
        const left = allocations === "release" ? (pools?.networkInterfacesOf(containerId) ?? []) : [];
        const keys = new Map([...released, ...left].map((one) => [attachmentKey(one), one]));
        if (pools !== undefined) await Promise.all([...keys.values()].map((one) => pools.release(one)));
        for (const { record } of all) {
            logger.info("further Pod interface removed", {
                pod: podText(record),
                container: containerId,
                network: record.network,
                interface: record.ifName,
            });
        }
        return true;
    }

    /** Restores ports and links of a container, where the link exists; rejects with the error of a part. */
    async restore(containerId: string, signal: AbortSignal): Promise<void> {
        const { netlink, ports, table } = this.#components;
        const present = table.ofContainer(containerId).filter(({ leaving }) => leaving === undefined);
        if (present.length === 0) return;
        // Without its link OVS could not open the port.
        const names = new Set((await netlink.links()).map(({ name }) => name));
        const records = present.map(({ record }) => record).filter(({ hostIfName }) => names.has(hostIfName));
        await ports.ensurePorts(records.map(portOf), signal);
        await this.#opened(records, signal);
    }

    /** The containers that have such interfaces. */
    containers(): readonly string[] {
        return [...new Set(this.list().map(({ record }) => record.containerId))];
    }

    /** The containers of other sandboxes of the Pod that have such interfaces; none for UID "". */
    olderContainers({ containerId, podUid }: AddRequest): readonly string[] {
        const others = this.list().filter(({ record }) => podUid !== "" && record.podUid === podUid);
        return [...new Set(others.map(({ record }) => record.containerId))].filter((id) => id !== containerId);
    }

    /**
     * At startup, before any ADD is served: adopts the interfaces that an earlier start has wired, from the ports of the
     * bridge or, if the database was lost, from the links; deletes ports without a valid record. Rejects with
     * OvsdbError if a port cannot be deleted.
     */
    async rebuild(links: readonly Link[], signal: AbortSignal): Promise<void> {
        const { logger, ports, table } = this.#components;
        const { bootId } = this.#options;
        const dropped: string[] = [];
        for (const port of ports.ports()) {
            const record = fromNetworkIds(port.name, port.externalIds);
            if (record !== undefined && record !== "unfinished" && (record.bootId === "" || record.bootId === bootId)) {
                table.put(record);
            } else dropped.push(port.name);
        }
        const known = new Set(this.list().map(({ record }) => record.hostIfName));
        for (const link of links.filter(({ name }) => !known.has(name))) {
            const record = this.#fromLink(link);
            if (record !== undefined) table.put(record);
        }
        if (dropped.length > 0) {
            logger.warn("ports of further interfaces without a valid record are dropped", { ports: dropped });
            await ports.deletePorts(dropped, signal);
        }
        if (this.list().length > 0) logger.info("further Pod interfaces rebuilt", { interfaces: this.list().length });
    }

    /**
     * What the container needs in a round of the reconcile: "remove" if the removal of an interface is not complete, or
     * all links are gone, and so its network namespace; "restore" if a port or link differs; undefined if all is right.
     */
    need(containerId: string, links: ReadonlyMap<string, Link>): "remove" | "restore" | undefined {
        const all = this.#components.table.ofContainer(containerId);
        if (all.some(({ leaving }) => leaving !== undefined)) return "remove";
        const present = all.filter(({ record }) => links.has(record.hostIfName));
        if (present.length === 0) return "remove";
        const ports = new Map(this.#components.ports.ports().map((port) => [port.name, port]));
        const isRight = ({ record: { hostIfName, isolated } }: NetworkInterface): boolean => {
            const link = links.get(hostIfName);
            return (
                (ports.get(hostIfName)?.ofPort ?? -1) > 0 &&
                link?.up === (isolated !== true) &&
                link.group === podLinkGroup
            );
        };
        return present.every(isRight) ? undefined : "restore";
    }

    /** Deletes ports of Pods without a record whose container has no ADD in progress. Rejects with OvsdbError. */
    async dropPorts(isAdding: (containerId: string) => boolean, signal: AbortSignal): Promise<void> {
        const { logger, ports } = this.#components;
        const known = new Set(this.list().map(({ record }) => record.hostIfName));
        const stale = ports.ports().filter(({ name, externalIds }) => {
            return !known.has(name) && !isAdding(externalIds.get("container-id") ?? "");
        });
        if (stale.length === 0) return;
        logger.warn("ports of further interfaces without a record are dropped", {
            ports: stale.map(({ name }) => name),
        });
        await ports.deletePorts(
            stale.map(({ name }) => name),
            signal,
        );
    }

    /** Takes the traffic of an interface whose address belongs to another Pod, or gives it back; see `InterfaceControl`. */
    async setIsolated(record: NetworkRecord, isolated: boolean): Promise<void> {
        const { clock, netlink, ports, table } = this.#components;
        const { isolated: _, ...connected } = record;
        const changed: NetworkRecord = isolated ? { ...connected, isolated } : connected;
        if (isolated) table.put(changed);
        using limit = new Limit(
            clock,
            openLimitMs,
            isolated ? "isolating the interface" : "reconnecting the interface",
        );
        await limit.run(async (signal) => {
            await ports.ensurePorts([portOf(changed)], signal);
            const link = await netlink.link(record.hostIfName);
            if (link !== undefined)
                await netlink.setLink(link.index, { up: !isolated, alias: toNetworkAlias(changed) });
        });
        table.put(changed);
    }

    #draft(planned: PlannedNetwork, request: AddRequest): Draft {
        const { containerId, netns, podNamespace, podName, podUid } = request;
        const { ifName } = planned;
        const taken = new Set(this.list().map(({ record }) => record.hostIfName));
        let attempt = 0;
        while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
        const hostIfName = hostInterfaceName(podName, containerId, ifName, attempt);
        return { containerId, ifName, netns, podNamespace, podName, podUid, hostIfName, planned };
    }

    async #claim(draft: Draft, signal: AbortSignal): Promise<readonly NetworkAddress[]> {
        const { planned, containerId, ifName, podNamespace, podName, podUid } = draft;
        const demands = planned.addresses?.demands ?? [];
        const { pools } = this.#components;
        if (demands.length === 0 || pools === undefined) return [];
        const { network } = planned;
        return pools.claimForNetwork({ containerId, ifName, podNamespace, podName, podUid, network, demands }, signal);
    }

    /** All links, and all ports in one transaction, without addresses: a port without a MAC address is unfinished. */
    async #prepare(drafts: readonly Draft[], { signal, checkpoint }: Progress): Promise<void> {
        const { netlink, ports } = this.#components;
        await settleAll(
            drafts.map((draft) =>
                createPair(netlink, draft, {
                    mac: draft.planned.mac ?? draftMacOf(`${draft.containerId}/${draft.ifName}`),
                    alias: pendingAlias(draft.containerId),
                    mtu: draft.planned.mtu,
                }),
            ),
        );
        checkpoint();
        await ports.ensurePorts(
            drafts.map((draft) => ({
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

    #recordOf(draft: Draft, claimed: readonly NetworkAddress[]): NetworkRecord {
        const { planned, containerId, ifName, podNamespace, podName, podUid, netns, hostIfName } = draft;
        const { network, mtu, defaultGateways } = planned;
        const vlan = planned.vlan ?? vlanOf(claimed, network);
        const addresses = recordAddresses(planned, claimed);
        const first = claimed[0] ?? addresses[0];
        const mac = planned.mac ?? (first === undefined ? draftMacOf(`${containerId}/${ifName}`) : macOf(first.ip));
        const { bootId } = this.#options;
        const pod = { containerId, ifName, podNamespace, podName, podUid };
        return { ...pod, network, netns, hostIfName, mac, addresses, vlan, mtu, defaultGateways, bootId };
    }

    async #configure(record: NetworkRecord, planned: PlannedNetwork | undefined): Promise<void> {
        await configureNetworkEnd(record, planned?.routes ?? [], this.#linkOptions(record));
    }

    async #opened(records: readonly NetworkRecord[], signal: AbortSignal): Promise<void> {
        const { netlink, ports } = this.#components;
        await ports.opened(
            records.map(({ hostIfName }) => hostIfName),
            openLimitMs,
            signal,
        );
        for (const { hostIfName, isolated } of records) {
            const link = await netlink.link(hostIfName);
            if (link === undefined) continue;
            if (link.up !== (isolated !== true)) await netlink.setLink(link.index, { up: isolated !== true });
            if (link.group !== podLinkGroup) await netlink.setLink(link.index, { group: podLinkGroup });
        }
    }

    async #complete(record: NetworkRecord): Promise<void> {
        const { logger, netlink } = this.#components;
        const link = await netlink.link(record.hostIfName);
        if (link !== undefined) await netlink.setLink(link.index, { alias: toNetworkAlias(record) });
        logger.info("further Pod interface added", {
            pod: podText(record),
            container: record.containerId,
            network: record.network,
            interface: record.ifName,
            vlan: record.vlan,
            addresses: record.addresses.map(({ ip }) => formatIp(ip)),
        });
    }

    /** After a failed ADD. Never rejects: what remains is removed by the reconcile. */
    async #takeBack(drafts: readonly Draft[]): Promise<void> {
        const { clock, logger, netlink, pools, ports, table } = this.#components;
        using limit = new Limit(clock, unwireLimitMs, "unwiring");
        for (const draft of drafts) table.leave(draft, "release");
        try {
            await ports.deletePorts(
                drafts.map(({ hostIfName }) => hostIfName),
                limit.signal,
            );
            for (const draft of drafts) {
                await deletePodLink(netlink, draft);
                table.remove(draft);
            }
        } catch (error) {
            logger.warn("further interfaces of a failed ADD are left to the reconcile", {
                container: drafts[0]?.containerId,
                reason: messageOf(error),
            });
        }
        if (pools === undefined) return;
        await Promise.all(drafts.map(({ containerId, ifName }) => pools.release({ containerId, ifName })));
    }

    async #releaseLink(record: NetworkRecord): Promise<void> {
        try {
            await releasePodLink(this.#components.netlink, record);
        } catch (error) {
            if (isNetlinkError(error, "ENODEV")) return;
            this.#components.logger.warn("link of a Pod cannot be set down", {
                link: record.hostIfName,
                reason: messageOf(error),
            });
        }
    }

    #fromLink(link: Link): NetworkRecord | undefined {
        const alias = fromNetworkAlias(link.alias);
        const { bootId } = this.#options;
        if (alias === undefined || !bootId.startsWith(alias.bootId)) return undefined;
        const addresses = this.#components.pools?.addressesFor(alias) ?? [];
        const unknown = { podNamespace: "", podName: "", network: "", netns: "", defaultGateways: [] };
        return { ...unknown, ...alias, bootId, hostIfName: link.name, addresses };
    }

    #linkOptions({ mtu }: NetworkRecord): PodLinkOptions {
        return { ...this.#options, mtu };
    }
}

function portOf(record: NetworkRecord): Parameters<NetworkPorts["ensurePorts"]>[0][number] {
    return { name: record.hostIfName, vlan: record.vlan, externalIds: toNetworkIds(record) };
}

/** The VLAN of the IPPools, which must be the same for all addresses. */
function vlanOf(claimed: readonly NetworkAddress[], network: string): number {
    const [first] = claimed;
    const other = claimed.find(({ vlan }) => vlan !== first?.vlan);
    if (first === undefined || other === undefined) return first?.vlan ?? 0;
    throw new PodNetworkError(
        "VLANS_APART",
        "caller",
        `network ${network}: its IPPools ${first.pool} and ${other.pool} have the VLANs ${first.vlan} and ${other.vlan}, and an interface has one; next: set vlan in the network, or name IPPools of one VLAN`,
    );
}

/** In the order of the network's result, each with the IPPool that it is allocated from. */
function recordAddresses(
    { addresses }: PlannedNetwork,
    claimed: readonly NetworkAddress[],
): readonly NetworkRecordAddress[] {
    if (addresses === undefined) return [];
    const pools = new Map(claimed.map(({ ip, pool }) => [formatIp(ip), pool]));
    return addressesOf(addresses, claimed).map((address) => ({ ...address, pool: pools.get(formatIp(address.ip)) }));
}
