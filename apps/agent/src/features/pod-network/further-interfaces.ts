import { settleAll } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { IpAddress } from "@antrea/ip";
import { YieldingMutex } from "../../platform/yielding-mutex.ts";
import type { Progress } from "./progress.ts";
import { FailedAdds, hasPort } from "./failed-adds.ts";
import { findNamespace } from "./find-namespace.ts";
import { Limit } from "./limit.ts";
import { isFunction } from "./function-wiring.ts";
import { noPorts, type FurtherInterfacesComponents, type FurtherInterfacesOptions } from "./further-types.ts";
import { FurtherUpkeep } from "./further-upkeep.ts";
import { kernelNamespaces, type PodLinkOptions } from "./link.ts";
import { PodNetworkError } from "./errors.ts";
import { refuseLost } from "./lost-allocations.ts";
import { hostInterfaceName } from "./names.ts";
import { networkRecordOf, type NetworkDraft } from "./network-draft.ts";
import { configureNetworkEnd, moveDefaultRoutes, returnDefaultRoutes } from "./network-end.ts";
import { PortWiring } from "./port-wiring.ts";
import { ServiceRoutes } from "./service-routes.ts";
import {
    attachmentKey,
    podText,
    type AddRequest,
    type Attachment,
    type ReleasePolicy,
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
    readonly #ports: PortWiring;
    /** Of requests to the kernel, of which many ADDs at once have thousands. */
    readonly #mutex = new YieldingMutex();
    /** What earlier starts, crashes and Open vSwitch have left. */
    readonly upkeep: FurtherUpkeep;
    /** What is undone of ADDs that failed. */
    readonly failedAdds: FailedAdds;
    /** Those of running Pods whose default route leads to a network. */
    readonly serviceRoutes: ServiceRoutes;

    constructor(components: FurtherInterfacesComponents, options: FurtherInterfacesOptions) {
        this.#components = components;
        this.#options = options;
        const { ports = noPorts } = components;
        this.#ports = new PortWiring({ ...components, ports, mutex: this.#mutex }, options);
        this.upkeep = new FurtherUpkeep({ ...components, ports }, options);
        this.failedAdds = new FailedAdds({ ...components, ports: this.#ports });
        this.serviceRoutes = new ServiceRoutes(
            { ...components, defaultFamilies: (containerId) => this.defaultFamilies(containerId), mutex: this.#mutex },
            options,
        );
    }

    /** All interfaces, also those being wired or removed. */
    list(): readonly NetworkInterface[] {
        return this.#components.table.list();
    }

    /** Whether the agent has a bridge for networks; without it the interfaces on one are left as they are. */
    get hasBridge(): boolean {
        return this.#components.ports !== undefined;
    }

    /**
     * Makes all interfaces of a container: claims all addresses at once and beside that creates links and ports, then
     * writes the records, configures the Pod ends and waits until OVS has opened the ports; virtual functions follow. All
     * or nothing: rejects with the error of an allocation, PodNetworkError `VLANS_APART`, `BAD_ROUTE`, `FUNCTION_NOT_TAKEN` or
     * `ALLOCATION_DELETED`, or that of a part, after what was made is taken back, or left to the reconcile.
     *
     * @param own settles with the interface on the Pod network, whose record has the virtual functions
     */
    async add(
        planned: readonly PlannedNetwork[],
        request: AddRequest,
        progress: Progress,
        own: Promise<unknown> = Promise.resolve(),
    ): Promise<void> {
        if (planned.length === 0) return;
        const { functions, pools, table } = this.#components;
        const drafts = this.#drafts(planned, request);
        try {
            const [claimed] = await settleAll([
                settleAll(drafts.map((draft) => this.#claim(draft, progress.signal))),
                this.#ports.prepare(drafts.filter(hasPort), progress),
            ]);
            const records = drafts.map((draft, index) =>
                networkRecordOf(draft, claimed[index] ?? [], this.#options.bootId),
            );
            progress.checkpoint();
            for (const record of records) table.put(record, Infinity);
            const onBridge = records.filter((record) => !isFunction(record));
            const routesOf = ({ ifName }: NetworkRecord): PlannedNetwork["routes"] =>
                planned.find((one) => one.ifName === ifName)?.routes ?? [];
            await settleAll([
                this.#ports.write(onBridge, progress.signal),
                ...onBridge.map((record) =>
                    this.#mutex.run(() => configureNetworkEnd(record, routesOf(record), this.#linkOptions(record))),
                ),
            ]);
            progress.checkpoint();
            const opened = await this.#ports.opened(onBridge, progress.signal);
            await settleAll(onBridge.map((record) => this.#ports.complete(record)));
            const moved = records.filter(isFunction);
            if (moved.length > 0) await own;
            await functions.wire(moved, moved.map(routesOf), progress);
            // A DEL may have given up waiting for this.
            progress.checkpoint();
            for (const record of records) refuseLost(pools, record);
            for (const record of records) table.put(record, this.#components.clock.monotonic());
            for (const record of onBridge) this.#ports.announce(record, opened);
        } catch (error) {
            await this.failedAdds.takeBack(drafts);
            throw error;
        }
    }

    /** Refuses an ADD of which an interface lost an allocation meanwhile: see `refuseLost`. */
    refuseLost(containerId: string): void {
        for (const { record } of this.ofContainer(containerId)) refuseLost(this.#components.pools, record);
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

    /** Whether the link of a record exists: the Pod may have deleted it, or a killed agent only recorded a virtual function. */
    async isThere(record: NetworkRecord): Promise<boolean> {
        if (!isFunction(record)) return (await this.#components.netlink.link(record.hostIfName)) !== undefined;
        const { namespaces = kernelNamespaces } = this.#options;
        using pod = namespaces.openIn(record.netns);
        return (await pod.link(record.ifName)) !== undefined;
    }

    /**
     * Configures the Pod end of an interface whose link exists again: an agent may have been killed after it wrote the record
     * and before that. Idempotent; rejects as `add`.
     */
    async configure(record: NetworkRecord, { network, routes }: PlannedNetwork): Promise<void> {
        // Rebuilt from its link, whose alias is written after that; and without the gateways of its routes.
        if (record.netns === "") return;
        const own = network === record.network ? routes : [];
        if (isFunction(record)) await this.#components.functions.configure(record, own);
        else await this.#mutex.run(() => configureNetworkEnd(record, own, this.#linkOptions(record)));
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
    async remove(containerId: string, allocations: ReleasePolicy, ifName?: string): Promise<boolean> {
        const { clock, functions, logger, pools, table } = this.#components;
        const all = table
            .ofContainer(containerId)
            .filter(({ record }) => ifName === undefined || record.ifName === ifName)
            .map(({ record }) => record);
        const fates = all.map((record) => ({ record, fate: table.leave(record, allocations) }));
        const onBridge = all.filter((record) => !isFunction(record));
        await Promise.all(onBridge.map((record) => this.#ports.releaseLink(record)));
        using limit = new Limit(clock, unwireLimitMs, "unwiring");
        try {
            await this.#ports.deletePorts(onBridge, limit.signal);
            const moved = all.filter(isFunction);
            if (!(await functions.bringHome(moved))) return false;
            // While they are known: what cannot be written is left to the reconcile.
            if (moved.length > 0) await functions.store(containerId, limit.signal);
            for (const record of all) {
                // The namespace goes on without it; with it the kernel removes the link.
                if (ifName !== undefined && !isFunction(record)) await this.#ports.deleteLink(record);
                table.remove(record);
            }
        } catch (error) {
            logger.warn("unwiring of further interfaces is left to the reconcile", {
                container: containerId,
                reason: messageOf(error),
            });
            return false;
        }
        if (ifName !== undefined) await this.#returnDefaultRoutes(containerId, all);
        const released = fates.filter(({ fate }) => fate === "release").map(({ record }) => record as Attachment);
        const left = allocations === "release" ? this.#unwired(containerId, ifName) : [];
        const keys = new Map([...released, ...left].map((one) => [attachmentKey(one), one]));
        if (pools !== undefined) await Promise.all([...keys.values()].map((one) => pools.release(one)));
        for (const record of all) {
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
     * As `remove`, of an ADD that failed: its namespace goes on, so the links are deleted too; that of an interface whose port
     * is not deleted yet is down and goes with the namespace. Never rejects.
     */
    async removeFailed(containerId: string): Promise<void> {
        const made = this.ofContainer(containerId).map(({ record }) => record);
        await this.remove(containerId, "release");
        const removed = made.filter((record) => !isFunction(record) && this.get(record) === undefined);
        await Promise.all(removed.map((record) => this.#ports.deleteLink(record)));
    }

    /** After single interfaces were removed from a container that lives on. Never rejects: what the kernel refuses is logged. */
    async #returnDefaultRoutes(containerId: string, removed: readonly NetworkRecord[]): Promise<void> {
        const { logger, podInterfaces } = this.#components;
        const found = podInterfaces.list().find(({ record }) => record.containerId === containerId)?.record;
        if (found === undefined || removed.every(({ defaultGateways }) => defaultGateways.length === 0)) return;
        try {
            const own = await this.#located(found);
            for (const record of removed) await returnDefaultRoutes(record, own, this.#linkOptions(record));
            // One that had them before may lead there again.
            await this.moveDefaultRoutes(own);
        } catch (error) {
            logger.warn("the default route of a Pod cannot be given back to its interface on the Pod network", {
                pod: podText(found),
                container: containerId,
                reason: messageOf(error),
            });
        }
    }

    /** With its namespace also if it was rebuilt from its link; without it if that is not found. */
    async #located(own: PodRecord): Promise<PodRecord> {
        if (own.netns !== "") return own;
        const { namespaces = kernelNamespaces } = this.#options;
        const netns = await findNamespace(own.hostIfName, this.#components.netlink, namespaces);
        return netns === undefined ? own : { ...own, netns };
    }

    /** The interfaces that may have allocations without a record. */
    #unwired(containerId: string, ifName: string | undefined): readonly Attachment[] {
        if (ifName === undefined) return this.#components.pools?.networkInterfacesOf(containerId) ?? [];
        // Without a bridge it may be a port of an earlier one, and works until the container ends.
        return this.hasBridge ? [{ containerId, ifName }] : [];
    }

    /**
     * As `remove`, for an ADD that needs it done: rejects with PodNetworkError `STILL_REMOVED` if it is not.
     */
    async removeOlder(
        containerId: string,
        allocations: ReleasePolicy,
        request: AddRequest,
        ifName?: string,
    ): Promise<void> {
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
        const { table } = this.#components;
        for (const { record, leaving } of table.ofContainer(containerId)) {
            if (leaving !== undefined) await this.remove(containerId, leaving, record.ifName);
        }
        const present = table.ofContainer(containerId).filter(({ leaving }) => leaving === undefined);
        await this.#ports.restore(
            present.map(({ record }) => record).filter((record) => !isFunction(record)),
            signal,
        );
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
        const { clock, functions, table } = this.#components;
        const { isolated: _, ...connected } = record;
        const changed: NetworkRecord = isolated ? { ...connected, isolated } : connected;
        if (isolated) table.put(changed);
        using limit = new Limit(
            clock,
            openLimitMs,
            isolated ? "isolating the interface" : "reconnecting the interface",
        );
        await limit.run((signal) =>
            isFunction(changed) ? functions.setUp(changed) : this.#ports.setIsolated(changed, signal),
        );
        table.put(changed);
        if (isFunction(changed)) await limit.run((signal) => functions.store(changed.containerId, signal));
    }

    #drafts(all: readonly PlannedNetwork[], request: AddRequest): readonly NetworkDraft[] {
        const { containerId, netns, podNamespace, podName, podUid } = request;
        const known = [...this.list(), ...this.#components.podInterfaces.list()];
        const taken = new Set(known.map(({ record }) => record.hostIfName));
        return all.map((planned) => {
            const { ifName } = planned;
            const identity = { containerId, ifName, netns, podNamespace, podName, podUid, planned };
            if (planned.device !== undefined) return { ...identity, hostIfName: "" };
            let attempt = 0;
            while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
            const hostIfName = hostInterfaceName(podName, containerId, ifName, attempt);
            taken.add(hostIfName);
            return { ...identity, hostIfName };
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

    #linkOptions({ mtu }: NetworkRecord): PodLinkOptions {
        return { ...this.#options, mtu };
    }
}
