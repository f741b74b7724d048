import { KeyedLock, systemClock, type Clock, settleAll } from "@antrea/async";
import { formatIp } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { AddsInProgress } from "./adds-in-progress.ts";
import { deleteSoon } from "./delete-soon.ts";
import { refuseDeleted, refuseStopped, reportFailure } from "./ended-by-caller.ts";
import { InterfaceMaker } from "./interface-maker.ts";
import { InterfaceWiring } from "./interface-wiring.ts";
import { mendNetworks } from "./mend-networks.ts";
import type { Progress } from "./progress.ts";
import type { FurtherInterfaces } from "./further-interfaces.ts";
import { checkNamespace, deletePodLink, kernelNamespaces } from "./link.ts";
import { refuseLost } from "./lost-allocations.ts";
import { OfPortNumbers } from "./of-ports.ts";
import { refuseOtherNamespace, refuseOtherNetwork, refuseOthersNamespace, refuseSecond } from "./one-interface.ts";
import { draftOf } from "./parts.ts";
import { Tombstones } from "./tombstones.ts";
import { type PodNetworkComponents, type PodNetworkOptions } from "./types.ts";
import { Unwiring } from "./unwiring.ts";
import { PodNetworkError } from "./errors.ts";
import {
    type AddRequest,
    type ReleasePolicy,
    type InterfaceControl,
    type NetworkRecord,
    type PlannedNetwork,
    type PodInterface,
    type PodInterfaces,
    type PodRecord,
    podText,
} from "../../platform/pod-interfaces/index.ts";

/** A Pod's interface on the Pod network, as all runtimes name it. */
const ownIfName = "eth0";

/**
 * Wires Pods to the bridge and unwires them.
 *
 * ADD: address, veth pair, then the OVS port with the record (one transaction) in parallel with the configuration of
 * the Pod end, then flows, then the result. While addresses are allocated from IPPools, veth pair and port are created
 * without them. DEL: flows, port with record, then the address, which stays in use as long as any part of the wiring
 * may exist. Operations are serialized per container and per interface of a Pod, and parallel across them.
 */
export class PodNetwork implements InterfaceControl {
    readonly #components: PodNetworkComponents;
    readonly #options: PodNetworkOptions;
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #table: PodInterfaces;
    /** The allocator of OpenFlow port numbers. */
    readonly ofPorts: OfPortNumbers = new OfPortNumbers();
    readonly #wiring: InterfaceWiring;
    readonly #unwiring: Unwiring;
    readonly #maker: InterfaceMaker;
    readonly #locks = new KeyedLock();
    readonly #tombstones: Tombstones;
    readonly #adds = new AddsInProgress();

    constructor(components: PodNetworkComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
        this.#clock = components.clock ?? systemClock;
        this.#tombstones = new Tombstones(options.now);
        this.#table = components.podInterfaces;
        const parts = { ...components, ofPorts: this.ofPorts };
        this.#wiring = new InterfaceWiring(parts, options);
        this.#unwiring = new Unwiring(parts);
        this.#maker = new InterfaceMaker({ ...parts, wiring: this.#wiring, unwiring: this.#unwiring }, options);
    }

    /** All interfaces, also those being wired or removed: see `PodInterfaces.list`. */
    interfaces(): readonly PodInterface[] {
        return this.#table.list();
    }

    /** The interface of a container, also while it is being wired or removed; undefined if there is none. */
    find(containerId: string, ifName: string): PodInterface | undefined {
        return this.#table.get({ containerId, ifName });
    }

    /** See `PodInterfaces.reachable`. */
    reachable(): readonly PodInterface[] {
        return this.#table.reachable();
    }

    /** Whether the removal of the interface has begun and is not complete: the reconcile retries one that failed. */
    isLeaving(known: PodInterface): boolean {
        return this.#table.isLeaving(known.record);
    }

    /** Runs the work under the container's lock; rejects with AsyncError `ABORTED` on abort before it starts. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        return this.#locks.run(containerId, work, signal);
    }

    /**
     * Wires an interface, or restores one that is wired already, and returns its record. Rejects with PodNetworkError
     * or the error of a part, on abort with `CANCELLED` or that of the part that waited. What it has created is rolled
     * back then, or by the reconcile, until which its addresses stay in use.
     */
    add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        return this.adding(request, () => this.#add(request, signal), signal);
    }

    /** Runs an ADD under the lock of its container, see `AddsInProgress.run`. */
    adding<T>(request: AddRequest, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
        const { containerId } = request;
        return this.#adds.run(request, () => this.exclusively(containerId, work, signal), signal);
    }

    /** The progress of an ADD, which a DEL of its container ends, or an abort. */
    progress(request: AddRequest, signal: AbortSignal): Progress {
        const isDeleted = (): boolean => this.#tombstones.hasSince(request.containerId, request.receivedAt);
        return { signal, isDeleted, checkpoint: () => this.#checkpoint(request, signal) };
    }

    /** Whether the container has an interface on the Pod network that is not being removed. */
    hasContainer(containerId: string): boolean {
        return this.interfaces().some((one) => one.record.containerId === containerId && !this.isLeaving(one));
    }

    /** Whether an ADD of this container, or of the Pod with this UID, is in progress. */
    isAdding(containerIdOrPodUid: string): boolean {
        return this.#adds.has(containerIdOrPodUid);
    }

    /** Registers a listener, for good, that is called once no ADD of a container, or of a Pod, is in progress any more. */
    onAddsEnd(listener: (containerIdOrPodUid: string) => void): void {
        this.#adds.onEnd(listener);
    }

    /**
     * Unwires an interface, if it is there: waits 5 s for other work on the container and 5 s for OVS; the rest is
     * logged and left to the reconcile. Refuses an ADD of the container in progress, or requested before.
     */
    async delete(containerId: string, ifName: string): Promise<void> {
        this.#tombstones.add(containerId);
        const work = async (): Promise<void> => {
            const found = this.find(containerId, ifName);
            if (found !== undefined) await this.remove(found, "release");
            else {
                // An ADD that failed before it wrote a record may have allocated addresses already. Those of an interface on
                // another network, made before the agent stopped making them, are in use until the container ends.
                if (ifName === ownIfName) await this.#components.pools?.release({ containerId, ifName });
                // A container that lives keeps the others.
                if (this.hasContainer(containerId)) return;
                await this.#components.further?.remove(containerId, "release");
            }
        };
        const run = (limit: AbortSignal, begin: () => Promise<void>): Promise<void> =>
            this.exclusively(containerId, begin, limit);
        await deleteSoon(this.#clock, { run, work, leave: (why) => this.#leaveToReconcile(containerId, ifName, why) });
    }

    /** An ADD in progress holds the lock, finds the tombstone and rolls back. */
    #leaveToReconcile(containerId: string, ifName: string, reason: string): void {
        const found = this.find(containerId, ifName);
        if (found !== undefined) this.#table.leave(found.record, "release");
        this.#components.further?.leaveAll(containerId);
        this.#logger.warn("unwiring is left to the reconcile", {
            ...(found === undefined ? {} : { pod: podText(found.record) }),
            container: containerId,
            reason,
        });
    }

    /** Adopts an interface at startup whose addresses the caller has marked as used. See `isUndecided`. */
    adopt(record: PodRecord, ofPort: number, o: { readonly isUndecided?: boolean | undefined } = {}): void {
        this.ofPorts.note(ofPort);
        this.#table.put({ record, ofPort, addedAt: 0 });
        if (o.isUndecided === true) this.#table.setUndecided(record);
        if (record.isolated !== true) this.#wiring.stage(record, ofPort);
    }

    /** Replaces the record of a known interface in memory, with its Pod's names; to be called inside `exclusively`. */
    rename(record: PodRecord): void {
        const known = this.#table.get(record);
        if (known !== undefined) this.#table.put({ ...known, record });
    }

    /**
     * Restores port and flows of a known interface that is not being removed; to be called inside `exclusively`. Rejects
     * if OVS does not answer within 20 s: the next replay sends the flows, the next reconcile restores the rest.
     */
    async restore(known: PodInterface, signal?: AbortSignal): Promise<void> {
        if (!this.isLeaving(known)) await this.#wiring.restoreSoon(known, signal);
    }

    /** The MTU of new interfaces, which running ones get with the next `restore`. */
    get mtu(): number {
        return this.#options.mtu;
    }

    /** Whether the interface is isolated, or being reconnected, according to its current record. */
    isIsolated(known: PodInterface): boolean {
        return this.#table.isIsolated(known.record);
    }

    /**
     * Isolates an interface whose address belongs to another Pod. Port and record stay until the container ends, and
     * the record stores the state across restarts of the agent. Rejects if a part failed: retry then.
     */
    isolate(known: PodInterface): Promise<void> {
        return this.#wiring.isolate(known);
    }

    /**
     * Undoes `isolate`. The record stays isolated until everything is in place; rejects otherwise, with PodNetworkError
     * `ADDRESS_IN_USE` while another interface of this Node uses one of its addresses: retry then.
     */
    reconnect(known: PodInterface): Promise<void> {
        return this.#wiring.reconnect(known);
    }

    /** See `InterfaceControl`. */
    async setNetworkIsolated(record: NetworkRecord, isolated: boolean): Promise<void> {
        await this.#components.further?.setIsolated(record, isolated);
    }

    /**
     * Removes a wired interface, and with it those of its container on other networks; to be called inside `exclusively`.
     * False if flows or port cannot be removed within 5 s: the interface then stays known and its address in use until the next reconcile. `allocations`: "keep" leaves
     * them to the next sandbox of the Pod.
     */
    async remove(known: PodInterface, allocations: ReleasePolicy): Promise<boolean> {
        const [own, further = true] = await Promise.all([
            this.#unwiring.remove(known, allocations),
            this.#components.further?.remove(known.record.containerId, allocations),
        ]);
        return own && further;
    }

    /** The interfaces on other networks; undefined if the agent makes none. */
    get further(): FurtherInterfaces | undefined {
        return this.#components.further;
    }

    async #add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        refuseDeleted(request, this.#tombstones);
        const existing = this.#table.get(request);
        if (existing !== undefined) {
            const repeated = await this.#repeated(existing, request, signal);
            if (repeated !== undefined) return repeated;
        }
        await this.#refuseMisplaced(request);
        const planned = (await this.#components.planNetworks?.(request, signal)) ?? [];
        const wanted = await this.#components.pools?.requestOf(request, signal);
        if (wanted === undefined) await this.#components.confirmSubnet?.();
        this.#checkpoint(request, signal);
        const networksHash = this.#components.networksHash?.(request);
        const draft = draftOf(request, this.interfaces(), { bootId: this.#options.bootId, networksHash });
        const progress = this.progress(request, signal);
        const addOwn = async (): Promise<PodRecord> => {
            if (wanted === undefined) return this.#maker.fromSubnet(draft, progress);
            await this.#removeOlder(request, signal);
            return this.#maker.fromPools(draft, wanted, progress);
        };
        const record = planned.length === 0 ? await addOwn() : await this.#addAll(addOwn, planned, request, signal);
        await this.#components.reportNetworks?.(record, planned);
        this.#noteAnswer(record);
        this.#logger.info("Pod interface added", {
            pod: podText(record),
            container: record.containerId,
            addresses: record.addresses.map((address) => formatIp(address.ip)),
        });
        return record;
    }

    /** All interfaces of the container, or none: what was made when one of them fails is taken back. */
    async #addAll(
        addOwn: () => Promise<PodRecord>,
        planned: readonly PlannedNetwork[],
        request: AddRequest,
        signal: AbortSignal,
    ): Promise<PodRecord> {
        const { further, netlink, pools } = this.#components;
        if (further === undefined)
            throw new PodNetworkError("NO_FURTHER", "internal", "networks are planned without a bridge");
        const progress = this.progress(request, signal);
        let own: Promise<PodRecord> | undefined;
        try {
            // What a DEL could not remove yet: its records would be taken for those of this ADD.
            await further.removeOlder(request.containerId, "keep", request);
            for (const older of further.olderContainers(request)) {
                checkNamespace(request.netns, this.#options);
                // Two sandboxes of a Pod never have one address: see `#removeOlder`.
                await this.exclusively(older, () => further.removeOlder(older, "keep", request), signal);
            }
            own = addOwn();
            const [record] = await settleAll([own, further.add(planned, request, progress, own)]);
            await further.moveDefaultRoutes(record);
            this.#checkpoint(request, signal);
            // Each may have waited long for the others.
            refuseLost(pools, record);
            further.refuseLost(request.containerId);
            return record;
        } catch (error) {
            const failedOwn: unknown = await own?.then(
                () => undefined,
                (reason: unknown) => reason,
            );
            // What fails on the Pod network is no failure of the others.
            if (error !== failedOwn) reportFailure(request, error, progress, this.#components.networksFailed);
            const known = this.find(request.containerId, request.ifName);
            const removed = known && this.#unwiring.remove(known, "release");
            await Promise.all([removed, further.removeFailed(request.containerId)]);
            if (known !== undefined) await deletePodLink(netlink, known.record).catch(() => undefined);
            throw error;
        }
    }

    /** Removes what earlier sandboxes of the Pod left of this interface; the allocation is kept for the new one. */
    async #removeOlder({ containerId, ifName, netns, podUid }: AddRequest, signal: AbortSignal): Promise<void> {
        if (podUid === "") return;
        for (const { record } of this.interfaces()) {
            if (record.podUid !== podUid || record.ifName !== ifName || record.containerId === containerId) continue;
            // A late ADD may be of a sandbox that is gone, and the other one the Pod's current one.
            checkNamespace(netns, this.#options);
            // No deadlock: a holder of an older container's lock never waits for the one that this ADD holds.
            const remove = async (): Promise<void> => {
                const older = this.find(record.containerId, ifName);
                if (older === undefined || (await this.remove(older, "keep"))) return;
                throw new PodNetworkError(
                    "STILL_REMOVED",
                    "timeout",
                    `the interface ${ifName} of an earlier sandbox of Pod ${podText(record)} is not removed yet; is ovs-vswitchd up?`,
                );
            };
            await this.exclusively(record.containerId, remove, signal);
        }
    }

    /** The record of a repeated ADD; undefined if the wired interface is gone and has to be recreated. */
    async #repeated(existing: PodInterface, request: AddRequest, signal: AbortSignal): Promise<PodRecord | undefined> {
        const link = this.isLeaving(existing)
            ? undefined
            : await this.#components.netlink.link(existing.record.hostIfName);
        if (link !== undefined) {
            refuseOtherNetwork(existing, request);
            refuseOtherNamespace(existing, request);
            return this.#mend(existing, request, signal);
        }
        if (await this.remove(existing, "keep")) return undefined;
        throw new PodNetworkError(
            "STILL_REMOVED",
            "timeout",
            `an earlier interface ${request.ifName} of container ${request.containerId} is not removed yet; is ovs-vswitchd up?`,
        );
    }

    /** Restores all parts of a wired interface that are missing, and completes a rebuilt record. */
    async #mend(existing: PodInterface, request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        const { netns, podNamespace, podName, podUid, network } = request;
        const record = { ...existing.record, netns, podNamespace, podName, podUid, network };
        await this.#wiring.configurePodEnd(record);
        await this.#wiring.restore({ ...existing, record, addedAt: Infinity }, signal);
        const planned = await this.#mendFurther(request, signal);
        await this.#components.further?.moveDefaultRoutes(record);
        this.#checkpoint(request, signal);
        await this.#components.reportNetworks?.(record, planned);
        this.#noteAnswer(record);
        return record;
    }

    /** The agent may have been killed after it made the interface on the Pod network and before it completed the others. */
    async #mendFurther(request: AddRequest, signal: AbortSignal): Promise<readonly PlannedNetwork[]> {
        const { further, planNetworks } = this.#components;
        if (further === undefined) return [];
        await further.restore(request.containerId, signal);
        const planned = (await planNetworks?.(request, signal)) ?? [];
        const progress = this.progress(request, signal);
        try {
            await mendNetworks(further, planned, request, progress);
        } catch (error) {
            reportFailure(request, error, progress, this.#components.networksFailed);
            throw error;
        }
        return planned;
    }

    #noteAnswer(record: PodRecord): void {
        const known = this.#table.get(record);
        if (known !== undefined) this.#table.put({ ...known, addedAt: this.#options.now() });
    }

    /** The progress of an ADD, which a DEL of its container ends, or an abort. */
    #checkpoint(request: AddRequest, signal: AbortSignal): void {
        refuseStopped(request, signal);
        refuseDeleted(request, this.#tombstones);
    }

    async #refuseMisplaced(request: AddRequest): Promise<void> {
        const others = this.interfaces().filter((one) => !this.isLeaving(one));
        refuseSecond(request, others);
        const { namespaces = kernelNamespaces } = this.#options;
        await refuseOthersNamespace(request, this.#components.netlink, namespaces);
    }
}
