import { KeyedLock, systemClock, type Clock, settleAll } from "@antrea/async";
import { AntreaError, messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { InterfaceWiring, type Progress } from "./interface-wiring.ts";
import { KnownInterfaces } from "./known-interfaces.ts";
import { checkNamespace, completePodLink, createPodLink, kernelNamespaces } from "./link.ts";
import { Limit } from "./limit.ts";
import { hostInterfaceName } from "./names.ts";
import { heldOwner } from "./node-subnet.ts";
import type { OfPortNumbers } from "./of-ports.ts";
import { refuseOtherNetwork, refuseOthersNamespace, refuseSecond } from "./one-interface.ts";
import { recordOf, type PodDraft } from "./parts.ts";
import { Tombstones } from "./tombstones.ts";
import { type PodNetworkComponents, type PodNetworkOptions } from "./types.ts";
import { Unwiring } from "./unwiring.ts";
import { PodNetworkError } from "./errors.ts";
import {
    type AddRequest,
    type AddressRequest,
    attachmentKey,
    type Claims,
    type InterfaceControl,
    type PodInterface,
    type PodInterfaces,
    type PodRecord,
    podText,
} from "../../platform/pod-interfaces/index.ts";

/**
 * DEL answers although OVS is away: what it could not remove goes with the reconcile. It waits so long for other work on
 * the container, and so long again for OVS.
 */
const deleteLimitMs = 5_000;

/**
 * Wires Pods to the bridge and unwires them.
 *
 * ADD: address, veth pair, then OVS port with the record (one transaction) beside the set-up of the Pod's end, then
 * flows, then the answer. While addresses are claimed from IPPools, veth pair and port come into being without them.
 * DEL: flows, port with record, then the address: it stays taken for as long as anything of the wiring may stand. Work is
 * serial per container and per interface of a Pod, and parallel across them.
 */
export class PodNetwork implements InterfaceControl {
    readonly #components: PodNetworkComponents;
    readonly #options: PodNetworkOptions;
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #table: PodInterfaces;
    readonly #known: KnownInterfaces;
    readonly #wiring: InterfaceWiring;
    readonly #unwiring: Unwiring;
    readonly #locks = new KeyedLock();
    readonly #podLocks = new KeyedLock();
    readonly #tombstones: Tombstones;
    /** ADDs under way, by container. */
    readonly #adding = new Map<string, number>();

    constructor(components: PodNetworkComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
        this.#clock = components.clock ?? systemClock;
        this.#tombstones = new Tombstones(options.now);
        this.#table = components.podInterfaces;
        this.#known = new KnownInterfaces(components);
        const parts = { ...components, known: this.#known };
        this.#wiring = new InterfaceWiring(parts, options);
        this.#unwiring = new Unwiring(parts);
    }

    get ofPorts(): OfPortNumbers {
        return this.#known.ofPorts;
    }

    /** Every interface that is wired. */
    interfaces(): readonly PodInterface[] {
        return this.#table.list();
    }

    find(containerId: string, ifName: string): PodInterface | undefined {
        return this.#table.get({ containerId, ifName });
    }

    /** Interfaces that were to be removed when OVS was away: still known, to be removed again by the reconcile. */
    isLeaving(known: PodInterface): boolean {
        return this.#table.isLeaving(known.record);
    }

    /** Serial work on one container, as ADD and DEL do it. */
    exclusively<T>(containerId: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        return this.#locks.run(containerId, work, signal);
    }

    /** Wires an interface, or returns the one that is wired already. All or nothing. */
    async add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        const { containerId, ifName, podUid } = request;
        const adding = [containerId, podUid];
        for (const one of adding) this.#adding.set(one, (this.#adding.get(one) ?? 0) + 1);
        try {
            const add = (): Promise<PodRecord> =>
                this.exclusively(containerId, () => this.#add(request, signal), signal);
            // kubelet tries again with another container: the claim of the Pod's interface must not be fought for.
            return await this.#podLocks.run(`${podUid === "" ? containerId : podUid}/${ifName}`, add, signal);
        } finally {
            for (const one of adding) {
                const left = (this.#adding.get(one) ?? 1) - 1;
                if (left === 0) this.#adding.delete(one);
                else this.#adding.set(one, left);
            }
        }
    }

    /** True while an ADD of this container, or of the Pod with this UID, is under way. */
    isAdding(containerIdOrPodUid: string): boolean {
        return this.#adding.has(containerIdOrPodUid);
    }

    /**
     * Unwires an interface; what is gone already is a success. Never fails because of what is away, and waits for it no
     * longer than 10 s.
     */
    async delete(containerId: string, ifName: string): Promise<void> {
        this.#tombstones.add(containerId);
        let hasBegun = false;
        const work = async (): Promise<void> => {
            hasBegun = true;
            const found = this.find(containerId, ifName);
            if (found !== undefined) await this.remove(found, "release");
            // An ADD that never came to its record may have claimed already.
            else await this.#components.pools?.release({ containerId, ifName });
        };
        using limit = new Limit(this.#clock, deleteLimitMs, "other work on the container");
        try {
            await this.exclusively(containerId, work, limit.signal);
        } catch (error) {
            if (hasBegun) throw error;
            this.#leaveToReconcile(containerId, ifName, messageOf(error));
        }
    }

    /** An ADD under way, which has the lock, finds the tombstone and takes back what it made. */
    #leaveToReconcile(containerId: string, ifName: string, reason: string): void {
        const found = this.find(containerId, ifName);
        if (found !== undefined) this.#table.leave(found.record, "release");
        this.#logger.warn("unwiring is left to the reconcile", {
            ...(found === undefined ? {} : { pod: podText(found.record) }),
            container: containerId,
            reason,
        });
    }

    /** Takes over an interface that is wired already, at start; see `isUndecided`. The caller has noted its addresses. */
    adopt(record: PodRecord, ofPort: number, o: { readonly isUndecided?: boolean | undefined } = {}): void {
        this.#known.note(record, ofPort, 0);
        if (o.isUndecided === true) this.#table.setUndecided(record);
        if (record.isolated !== true) this.#wiring.stage(record, ofPort);
    }

    /** Completes the record of a known interface by the names of its Pod; the caller is inside `exclusively`. */
    rename(record: PodRecord): void {
        const known = this.#table.get(record);
        if (known !== undefined) this.#table.put({ ...known, record });
    }

    /**
     * Puts port and flows of a known interface in place again; for the start and after OVS lost them. Rejects when OVS
     * does not answer in 20 s: flows stay desired and come with the next replay, the rest with the next reconcile.
     */
    async restore(known: PodInterface, signal?: AbortSignal): Promise<void> {
        if (!this.isLeaving(known)) await this.#wiring.restoreSoon(known, signal);
    }

    /** The MTU that new interfaces get, and running ones with the next `restore`. */
    get mtu(): number {
        return this.#options.mtu;
    }

    /** Whether the interface is isolated, as its record says. */
    isIsolated(known: PodInterface): boolean {
        return this.#table.isIsolated(known.record);
    }

    /**
     * Isolates an interface: its address turned out to be another's. Port and record stay until the container ends, and
     * the record says it, for an agent that starts again. Rejects when a part of it failed; to be repeated then.
     */
    isolate(known: PodInterface): Promise<void> {
        return this.#wiring.isolate(known);
    }

    /**
     * Undoes `isolate`. The interface stays isolated by its record until all of it is in place; rejects otherwise, with
     * PodNetworkError `ADDRESS_IN_USE` while another interface of this Node uses one of its addresses: to be repeated then.
     */
    reconnect(known: PodInterface): Promise<void> {
        return this.#wiring.reconnect(known);
    }

    /**
     * Removes a wired interface; the caller is inside `exclusively`. False when flows or port cannot be removed in time:
     * the interface stays known then, its address taken, and the next reconcile goes on.
     */
    remove(known: PodInterface, claims: Claims): Promise<boolean> {
        return this.#unwiring.remove(known, claims);
    }

    async #add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        this.#refuseIfDeleted(request);
        const existing = this.#table.get(request);
        if (existing !== undefined) {
            const repeated = await this.#repeated(existing, request, signal);
            if (repeated !== undefined) return repeated;
        }
        await this.#refuseMisplaced(request);
        const wanted = await this.#components.pools?.requestOf(request, signal);
        if (wanted === undefined) await this.#components.confirmSubnet?.();
        this.#checkpoint(request, signal);
        const draft = this.#draft(request);
        const record =
            wanted === undefined
                ? await this.#addFromSubnet(draft, request, signal)
                : await this.#addFromPools(draft, wanted, request, signal);
        this.#noteAnswer(record);
        this.#components.bridging?.announce(attachmentKey(record));
        this.#logger.info("Pod interface added", {
            pod: podText(record),
            container: record.containerId,
            addresses: record.addresses.map((address) => formatIp(address.ip)),
        });
        return record;
    }

    async #addFromSubnet(draft: PodDraft, request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        const { podUid } = draft;
        // After a reboot the API server still shows the addresses of the Pods before it, and they are held: for them.
        const heldBy = podUid === "" ? undefined : heldOwner(podUid);
        const addresses = this.#components.subnet.allocate(attachmentKey(draft), heldBy);
        const record = recordOf(draft, { addresses, vlan: 0 });
        const ofPort = this.#takeOfPort(record);
        try {
            await createPodLink(this.#components.netlink, record, this.#options);
        } catch (error) {
            // Nothing was wired: whatever has the name of the link or of the port is somebody else's.
            this.#known.forget({ record, ofPort, addedAt: 0 });
            throw error;
        }
        try {
            this.#checkpoint(request, signal);
            await this.#wiring.wire(record, ofPort, this.#progress(request, signal));
            // From here on a look at new claims finds the interface.
            this.#components.subnet.refuseTaken(addresses);
        } catch (error) {
            await this.#unwiring.rollBack(record, ofPort);
            throw error;
        }
        return record;
    }

    /** Claims the addresses, and makes link and port meanwhile: only their set-up waits for the API server. */
    async #addFromPools(
        draft: PodDraft,
        wanted: AddressRequest,
        request: AddRequest,
        signal: AbortSignal,
    ): Promise<PodRecord> {
        await this.#removeOlder(request, signal);
        const ofPort = this.ofPorts.take();
        let record: PodRecord | undefined;
        try {
            const progress = this.#progress(request, signal);
            const [allocation] = await settleAll([wanted.claim(signal), this.#wiring.prepare(draft, ofPort, progress)]);
            record = recordOf(draft, allocation);
            this.#checkpoint(request, signal);
            await this.#wiring.wire(record, ofPort, this.#progress(request, signal));
            await completePodLink(this.#components.netlink, record);
        } catch (error) {
            if (record === undefined) await this.#unwiring.undoDraft(draft, ofPort);
            else await this.#unwiring.rollBack(record, ofPort);
            throw error;
        }
        return record;
    }

    /** Removes what earlier sandboxes of the Pod left of this interface; the claim is for the one that comes. */
    async #removeOlder({ containerId, ifName, netns, podUid }: AddRequest, signal: AbortSignal): Promise<void> {
        if (podUid === "") return;
        for (const { record } of this.interfaces()) {
            if (record.podUid !== podUid || record.ifName !== ifName || record.containerId === containerId) continue;
            // An ADD that comes late may be of a sandbox that is gone, and the other one the Pod's present one.
            checkNamespace(netns, this.#options);
            // Nobody who holds the lock of an older container waits for the one that this ADD holds.
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

    /** The record of an ADD that is repeated; undefined when what was wired is gone and is to be made anew. */
    async #repeated(existing: PodInterface, request: AddRequest, signal: AbortSignal): Promise<PodRecord | undefined> {
        const link = this.isLeaving(existing)
            ? undefined
            : await this.#components.netlink.link(existing.record.hostIfName);
        if (link !== undefined) refuseOtherNetwork(existing, request);
        if (link !== undefined && existing.record.netns !== request.netns && existing.record.netns !== "") {
            throw new PodNetworkError(
                "OTHER_NETNS",
                "caller",
                `container ${request.containerId} has interface ${request.ifName} in ${existing.record.netns} already, not in ${request.netns}; DEL it first`,
            );
        }
        if (link !== undefined) return this.#mend(existing, request, signal);
        if (await this.remove(existing, "keep")) return undefined;
        throw new PodNetworkError(
            "STILL_REMOVED",
            "timeout",
            `an earlier interface ${request.ifName} of container ${request.containerId} is not removed yet; is ovs-vswitchd up?`,
        );
    }

    /** Puts all parts of a wired interface in place again, whichever is missing; a record that was rebuilt is completed. */
    async #mend(existing: PodInterface, request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        const { netns, podNamespace, podName, podUid, network } = request;
        const record = { ...existing.record, netns, podNamespace, podName, podUid, network };
        await this.#wiring.configurePodEnd(record);
        await this.#wiring.restore({ ...existing, record, addedAt: Infinity }, signal);
        this.#checkpoint(request, signal);
        this.#noteAnswer(record);
        return record;
    }

    #noteAnswer(record: PodRecord): void {
        const known = this.#table.get(record);
        if (known !== undefined) this.#table.put({ ...known, addedAt: this.#options.now() });
    }

    #draft(request: AddRequest): PodDraft {
        const { containerId, ifName, netns, podNamespace, podName, podUid, network } = request;
        const taken = new Set(this.interfaces().map((other) => other.record.hostIfName));
        let attempt = 0;
        while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
        const hostIfName = hostInterfaceName(podName, containerId, ifName, attempt);
        const { bootId } = this.#options;
        return { containerId, ifName, netns, podNamespace, podName, podUid, hostIfName, bootId, network };
    }

    /** The number to ask OVS for; without one the addresses of the record are given back. */
    #takeOfPort(record: PodRecord): number {
        try {
            return this.ofPorts.take();
        } catch (error) {
            this.#known.freeAddresses(record);
            throw error;
        }
    }

    #progress(request: AddRequest, signal: AbortSignal): Progress {
        return { signal, checkpoint: () => this.#checkpoint(request, signal) };
    }

    #checkpoint(request: AddRequest, signal: AbortSignal): void {
        if (signal.aborted) {
            const { reason }: { readonly reason: unknown } = signal;
            const fault = reason instanceof AntreaError ? reason.fault : "aborted";
            throw new PodNetworkError("CANCELLED", fault, `ADD of container ${request.containerId} was stopped`, {
                cause: reason,
            });
        }
        this.#refuseIfDeleted(request);
    }

    async #refuseMisplaced(request: AddRequest): Promise<void> {
        refuseSecond(
            request,
            this.interfaces().filter((one) => !this.isLeaving(one)),
        );
        const { namespaces = kernelNamespaces } = this.#options;
        await refuseOthersNamespace(request, this.#components.netlink, namespaces);
    }

    #refuseIfDeleted(request: AddRequest): void {
        if (!this.#tombstones.hasSince(request.containerId, request.receivedAt)) return;
        throw new PodNetworkError(
            "DELETED_MEANWHILE",
            "caller",
            `container ${request.containerId} was deleted after this ADD was asked for`,
        );
    }
}
