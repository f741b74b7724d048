import { settleAll } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { isNetlinkError } from "@antrea/netlink";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import type { Progress } from "./progress.ts";
import { Limit } from "./limit.ts";
import type {
    FurtherInterfacesComponents,
    FurtherInterfacesOptions,
    NetworkPort,
    NetworkPorts,
} from "./further-types.ts";
import { FurtherUpkeep } from "./further-upkeep.ts";
import { createPair, deletePodLink, releasePodLink, type PodLinkOptions } from "./link.ts";
import { PodNetworkError } from "./errors.ts";
import { hostInterfaceName } from "./names.ts";
import { macOfDraft, networkRecordOf, type NetworkDraft } from "./network-draft.ts";
import { configureNetworkEnd, moveDefaultRoutes } from "./network-end.ts";
import {
    attachmentKey,
    pendingAlias,
    podText,
    toNetworkAlias,
    toNetworkIds,
    type AddRequest,
    type Attachment,
    type Claims,
    type NetworkAddress,
    type NetworkInterface,
    type NetworkRecord,
    type PlannedNetwork,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";

const openLimitMs = 20_000;
const unwireLimitMs = 5_000;

/**
 * The interfaces of Pods on networks other than the Pod network, which come and go with the one on the Pod network. Methods
 * about a container are called under its lock.
 */
export class FurtherInterfaces {
    readonly #components: FurtherInterfacesComponents;
    readonly #options: FurtherInterfacesOptions;
    /** What earlier starts, crashes and Open vSwitch have left. */
    readonly upkeep: FurtherUpkeep;

    constructor(components: FurtherInterfacesComponents, options: FurtherInterfacesOptions) {
        this.#components = components;
        this.#options = options;
        this.upkeep = new FurtherUpkeep(components, options);
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
        const drafts = this.#drafts(planned, request);
        try {
            const [claimed] = await settleAll([
                settleAll(drafts.map((draft) => this.#claim(draft, progress.signal))),
                this.#prepare(drafts, progress),
            ]);
            const records = drafts.map((draft, index) =>
                networkRecordOf(draft, claimed[index] ?? [], this.#options.bootId),
            );
            progress.checkpoint();
            for (const record of records) table.put(record, Infinity);
            await settleAll([
                this.#components.ports.ensurePorts(records.map(portOf), progress.signal),
                ...records.map((record, index) => this.#configure(record, planned[index])),
            ]);
            progress.checkpoint();
            const opened = await this.#opened(records, progress.signal);
            await settleAll(records.map((record) => this.#complete(record)));
            // A DEL may have given up waiting for this.
            progress.checkpoint();
            for (const record of records) {
                table.put(record, this.#components.clock.monotonic());
                this.#announce(record, opened);
            }
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

    /** The interface of an attachment; undefined if there is none. */
    get(attachment: Attachment): NetworkInterface | undefined {
        return this.#components.table.get(attachment);
    }

    /** The interfaces of a container. */
    ofContainer(containerId: string): readonly NetworkInterface[] {
        return this.#components.table.ofContainer(containerId);
    }

    /** Marks an interface as being removed: the reconcile completes that. */
    leave(attachment: Attachment): void {
        this.#components.table.leave(attachment, "release");
    }

    /** Does so for all interfaces of a container. */
    leaveAll(containerId: string): void {
        for (const { record } of this.ofContainer(containerId)) this.leave(record);
    }

    /** The families of which another interface than that of the Pod network has the default route. */
    defaultFamilies(containerId: string): ReadonlySet<IpAddress["family"]> {
        const all = this.#components.table.ofContainer(containerId);
        return new Set(all.flatMap(({ record }) => record.defaultGateways.map(({ family }) => family)));
    }

    /**
     * Removes all interfaces of a container, or only the one of this name: ports with their records in one transaction,
     * then the allocations if `allocations` is "release", also those of an ADD that failed before it wrote a record. False
     * if OVS did not do it within 5 s: the interfaces then stay known until the reconcile has removed them.
     */
    async remove(containerId: string, allocations: Claims, ifName?: string): Promise<boolean> {
        const { clock, logger, pools, ports, table } = this.#components;
        const all = table
            .ofContainer(containerId)
            .filter(({ record }) => ifName === undefined || record.ifName === ifName);
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
        for (const { record } of all) {
            // The namespace goes on without it; with it the kernel removes the link.
            if (ifName !== undefined) await this.#deleteLink(record);
            table.remove(record);
        }
        const released = fates.filter(({ fate }) => fate === "release").map(({ record }) => record as Attachment);
        const unwired =
            ifName === undefined ? (pools?.networkInterfacesOf(containerId) ?? []) : [{ containerId, ifName }];
        const left = allocations === "release" ? unwired : [];
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

    /**
     * As `remove`, for an ADD that needs it done: rejects with PodNetworkError `STILL_REMOVED` if it is not.
     */
    async removeOlder(containerId: string, allocations: Claims, request: AddRequest, ifName?: string): Promise<void> {
        if (await this.remove(containerId, allocations, ifName)) return;
        throw new PodNetworkError(
            "STILL_REMOVED",
            "timeout",
            `further interfaces of an earlier sandbox of Pod ${podText(request)} are not removed yet; is ovs-vswitchd up?`,
        );
    }

    /**
     * Restores ports and links of a container, where the link exists, and completes removals of single interfaces; rejects
     * with the error of a part.
     */
    async restore(containerId: string, signal: AbortSignal): Promise<void> {
        const { netlink, ports, table } = this.#components;
        for (const { record, leaving } of table.ofContainer(containerId)) {
            if (leaving !== undefined) await this.remove(containerId, leaving, record.ifName);
        }
        const present = table.ofContainer(containerId).filter(({ leaving }) => leaving === undefined);
        if (present.length === 0) return;
        // Without its link OVS could not open the port. Asked one by one: the Node may have thousands.
        const links = await Promise.all(present.map(({ record }) => netlink.link(record.hostIfName)));
        const records = present.flatMap(({ record }, at) => (links[at] === undefined ? [] : [record]));
        await ports.ensurePorts(records.map(portOf), signal);
        await this.#opened(records, signal);
    }

    /** The containers that have such interfaces. */
    containers(): readonly string[] {
        return [...new Set(this.list().map(({ record }) => record.containerId))];
    }

    /** The containers of other sandboxes of the Pod that have such interfaces, or one of this name; none for UID "". */
    olderContainers({ containerId, podUid }: AddRequest, ifName?: string): readonly string[] {
        const others = this.list().filter(
            ({ record }) =>
                podUid !== "" && record.podUid === podUid && (ifName === undefined || record.ifName === ifName),
        );
        return [...new Set(others.map(({ record }) => record.containerId))].filter((id) => id !== containerId);
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

    #drafts(all: readonly PlannedNetwork[], request: AddRequest): readonly NetworkDraft[] {
        const { containerId, netns, podNamespace, podName, podUid } = request;
        const known = [...this.list(), ...this.#components.podInterfaces.list()];
        const taken = new Set(known.map(({ record }) => record.hostIfName));
        return all.map((planned) => {
            const { ifName } = planned;
            let attempt = 0;
            while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
            const hostIfName = hostInterfaceName(podName, containerId, ifName, attempt);
            taken.add(hostIfName);
            return { containerId, ifName, netns, podNamespace, podName, podUid, hostIfName, planned };
        });
    }

    async #claim(draft: NetworkDraft, signal: AbortSignal): Promise<readonly NetworkAddress[]> {
        const { planned, containerId, ifName, podNamespace, podName, podUid } = draft;
        const demands = planned.addresses?.demands ?? [];
        const { pools } = this.#components;
        if (demands.length === 0 || pools === undefined) return [];
        const { network } = planned;
        return pools.claimForNetwork({ containerId, ifName, podNamespace, podName, podUid, network, demands }, signal);
    }

    /**
     * All links, and the ports whose VLAN is known in one transaction, without addresses: a port without a MAC address is
     * unfinished. A port without its VLAN would let frames out untagged.
     */
    async #prepare(drafts: readonly NetworkDraft[], { signal, checkpoint }: Progress): Promise<void> {
        const { netlink, ports } = this.#components;
        await settleAll(
            drafts.map((draft) =>
                createPair(netlink, draft, {
                    mac: macOfDraft(draft),
                    alias: pendingAlias(draft.containerId),
                    mtu: draft.planned.mtu,
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

    async #configure(record: NetworkRecord, planned: PlannedNetwork | undefined): Promise<void> {
        await configureNetworkEnd(record, planned?.routes ?? [], this.#linkOptions(record));
    }

    async #opened(records: readonly NetworkRecord[], signal: AbortSignal): Promise<readonly NetworkPort[]> {
        const { netlink, ports } = this.#components;
        const opened = await ports.opened(
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
        return opened;
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

    /** A Pod that was on another Node before has the same addresses and MAC address: switches learn its new place. */
    #announce({ addresses, hostIfName, mac }: NetworkRecord, opened: readonly NetworkPort[]): void {
        const { announce } = this.#components;
        const { ofPort } = opened.find(({ name }) => name === hostIfName) ?? {};
        if (ofPort !== undefined && ofPort > 0) announce({ ofPort, mac, ips: addresses.map(({ ip }) => ip) });
    }

    /** After a failed ADD. Never rejects: what remains is removed by the reconcile. */
    async #takeBack(drafts: readonly NetworkDraft[]): Promise<void> {
        const { clock, logger, netlink, pools, ports, table } = this.#components;
        using limit = new Limit(clock, unwireLimitMs, "unwiring");
        for (const draft of drafts) table.leave(draft, "release");
        // With its link down no address is in use, whatever becomes of the ports.
        const isDown = await Promise.all(drafts.map((draft) => this.#releaseLink(draft)));
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
        const ended = drafts.filter((_, index) => isDown[index]);
        await Promise.all(ended.map(({ containerId, ifName }) => pools.release({ containerId, ifName })));
    }

    /** False if the link may still be up. */
    async #releaseLink(record: Pick<NetworkRecord, "containerId" | "hostIfName">): Promise<boolean> {
        try {
            await releasePodLink(this.#components.netlink, record);
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

    async #deleteLink(record: NetworkRecord): Promise<void> {
        try {
            await deletePodLink(this.#components.netlink, record);
        } catch (error) {
            this.#components.logger.warn("link of a Pod cannot be deleted", {
                link: record.hostIfName,
                reason: messageOf(error),
            });
        }
    }

    #linkOptions({ mtu }: NetworkRecord): PodLinkOptions {
        return { ...this.#options, mtu };
    }
}

function portOf(record: NetworkRecord): Parameters<NetworkPorts["ensurePorts"]>[0][number] {
    return { name: record.hostIfName, vlan: record.vlan, externalIds: toNetworkIds(record) };
}
