import { AntreaError, messageOf } from "@antrea/errors";
import { podFlows, type FlowSet, type PodInput } from "@antrea/flows";
import { formatIp, parseMac } from "@antrea/ip";
import { isNetlinkError } from "@antrea/netlink";
import { KeyedLock, systemClock, type Clock, type Logger } from "@antrea/runtime";
import { allDone } from "../all-done.ts";
import {
    adjustPodLink,
    adjustPodNeighbours,
    checkNamespace,
    completePodLink,
    configurePodEnd,
    createPodLink,
    deletePodLink,
    preparePodEnd,
    raisePodLink,
    releasePodLink,
    type PodEndOptions,
} from "./link.ts";
import { Limit } from "./limit.ts";
import { hostInterfaceName } from "./names.ts";
import { heldOwner } from "./node-subnet.ts";
import { OfPortNumbers } from "./of-ports.ts";
import { bridgedPod, flowOwner, keyOf, podOf, portSpec, recordOf, type PodDraft } from "./parts.ts";
import { isPoolRecord, recordKey, unfinishedExternalIds, type PodRecord } from "./record.ts";
import { Tombstones } from "./tombstones.ts";
import {
    PodNetworkError,
    type AddRequest,
    type PodInterface,
    type PodNetworkComponents,
    type PodNetworkOptions,
    type PoolWish,
} from "./types.ts";

/** On the userspace datapath a port takes about 13 ms; a loaded Node has been seen to need seconds. */
const ofPortTimeoutMs = 20_000;
/**
 * DEL answers although OVS is away: what it could not remove goes with the reconcile. It waits so long for other work on
 * the container, and so long again for OVS.
 */
const deleteLimitMs = 5_000;
/** How long other work on a wired interface waits for OVS, and holds the lock of its container meanwhile. */
const rewireLimitMs = 20_000;

/** Whether an interface's claims go with it, or stay for the next sandbox of its Pod. */
type Claims = "release" | "keep";

/**
 * Wires Pods to the bridge and unwires them.
 *
 * ADD: address, veth pair, then OVS port with the record (one transaction) beside the set-up of the Pod's end, then
 * flows, then the answer. While addresses are claimed from IPPools, veth pair and port come into being without them.
 * DEL: flows, port with record, then the address: it stays taken for as long as anything of the wiring may stand. Work is
 * serial per container and per interface of a Pod, and parallel across them.
 */
export class PodNetwork {
    readonly #components: PodNetworkComponents;
    readonly #options: PodNetworkOptions;
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #interfaces = new Map<string, PodInterface>();
    readonly #locks = new KeyedLock();
    readonly #podLocks = new KeyedLock();
    readonly #tombstones: Tombstones;
    /** ADDs under way, by container. */
    readonly #adding = new Map<string, number>();
    /** Keys of interfaces whose removal began and could not be ended yet. */
    readonly #leaving = new Map<string, Claims>();
    /** By key, the other number that a port has got, while it is not known that its flows have it in OVS. */
    readonly #unsettledOfPorts = new Map<string, number>();
    readonly ofPorts: OfPortNumbers = new OfPortNumbers();

    constructor(components: PodNetworkComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
        this.#clock = components.clock ?? systemClock;
        this.#tombstones = new Tombstones(options.now);
    }

    /** Every interface that is wired. */
    interfaces(): readonly PodInterface[] {
        return [...this.#interfaces.values()];
    }

    find(containerId: string, ifName: string): PodInterface | undefined {
        return this.#interfaces.get(recordKey(containerId, ifName));
    }

    /** Interfaces that were to be removed when OVS was away: still known, to be removed again by the reconcile. */
    isLeaving(known: PodInterface): boolean {
        return this.#leaving.has(keyOf(known.record));
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
        if (found !== undefined) this.#leaving.set(keyOf(found.record), "release");
        this.#logger.warn("unwiring is left to the reconcile", {
            ...(found === undefined ? {} : { pod: podOf(found.record) }),
            container: containerId,
            reason,
        });
    }

    /** Takes over an interface that is wired already, at start. The caller has noted its addresses. */
    adopt(record: PodRecord, ofPort: number): void {
        this.ofPorts.note(ofPort);
        this.#interfaces.set(keyOf(record), { record, ofPort, addedAt: 0 });
        if (record.isolated === true) return;
        this.#components.flowTable.stage(flowOwner(record), this.#flows(record, ofPort));
        if (isPoolRecord(record)) this.#components.bridging?.stage(bridgedPod(record, ofPort));
    }

    /**
     * Puts port and flows of a known interface in place again; for the start and after OVS lost them. Rejects when OVS
     * does not answer in 20 s: flows stay desired and come with the next replay, the rest with the next reconcile.
     */
    async restore(known: PodInterface, signal?: AbortSignal): Promise<void> {
        if (this.isLeaving(known)) return;
        using limit = new Limit(this.#clock, rewireLimitMs, "restoring the interface", signal);
        await this.#restore(known, known.record.isolated !== true, limit.signal);
    }

    /** The MTU that new interfaces get, and running ones with the next `restore`. */
    get mtu(): number {
        return this.#options.mtu;
    }

    /** Whether the interface is cut off, as its record says. */
    isCutOff(known: PodInterface): boolean {
        return this.#interfaces.get(keyOf(known.record))?.record.isolated === true;
    }

    /**
     * Isolates an interface: its address turned out to be another's. Port and record stay until the container ends, and
     * the record says it, for an agent that starts again. Rejects when a part of it failed; to be repeated then.
     */
    async cutOff(known: PodInterface): Promise<void> {
        const record = { ...known.record, isolated: true };
        const key = keyOf(record);
        this.#interfaces.set(key, { ...known, record });
        using limit = new Limit(this.#clock, rewireLimitMs, "isolating the interface");
        await allDone([
            this.#components.flowTable.remove(flowOwner(record), limit.signal),
            this.#components.bridging?.remove(key, limit.signal) ?? Promise.resolve(),
            this.#components.hostRoutes.remove(record),
            this.#writeRecord(record, known.ofPort, limit.signal),
        ]);
    }

    /** Undoes `cutOff`. The interface stays isolated by its record until all of it is in place; rejects otherwise. */
    async reconnect(known: PodInterface): Promise<void> {
        using limit = new Limit(this.#clock, rewireLimitMs, "reconnecting the interface");
        await this.#restore(known, true, limit.signal);
        const current = this.#interfaces.get(keyOf(known.record)) ?? known;
        const { isolated: _, ...record } = current.record;
        await this.#writeRecord(record, current.ofPort, limit.signal);
        this.#interfaces.set(keyOf(record), { ...current, record });
    }

    /**
     * Removes a wired interface; the caller is inside `exclusively`. False when flows or port cannot be removed in time:
     * the interface stays known then, its address taken, and the next reconcile goes on.
     */
    async remove(known: PodInterface, claims: Claims): Promise<boolean> {
        const { record } = known;
        using limit = new Limit(this.#clock, deleteLimitMs, "unwiring");
        // A DEL that could not be carried out is still a DEL when the reconcile goes on with it.
        const fate = claims === "release" ? claims : (this.#leaving.get(keyOf(record)) ?? claims);
        this.#leaving.set(keyOf(record), fate);
        // First: OVS, which gives a link that it closes the flags back that it knows, must know of this before.
        await this.#releaseLink(record);
        try {
            await this.#components.flowTable.remove(flowOwner(record), limit.signal);
            await this.#components.bridging?.remove(keyOf(record), limit.signal);
            await this.#components.ports.deletePort(record.hostIfName, limit.signal);
        } catch (error) {
            this.#logger.warn("unwiring is left to the reconcile", { pod: podOf(record), reason: messageOf(error) });
            return false;
        }
        try {
            await this.#components.hostRoutes.remove(record);
        } catch (error) {
            this.#logger.warn("a route stays for the reconcile", { pod: podOf(record), reason: messageOf(error) });
        }
        this.#forget(known);
        if (fate === "release" && isPoolRecord(record)) await this.#components.pools?.release(record);
        this.#logger.info("Pod interface removed", { pod: podOf(record), container: record.containerId });
        return true;
    }

    async #releaseLink(record: PodRecord): Promise<void> {
        try {
            await releasePodLink(this.#components.netlink, record);
        } catch (error) {
            // ENODEV: the namespace ended between look and change, and the link with it.
            if (isNetlinkError(error, "ENODEV")) return;
            this.#logger.warn("the link of a Pod stays on", { link: record.hostIfName, reason: messageOf(error) });
        }
    }

    async #add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        this.#refuseIfDeleted(request);
        const key = recordKey(request.containerId, request.ifName);
        const existing = this.#interfaces.get(key);
        if (existing !== undefined) {
            const repeated = await this.#repeated(existing, request, signal);
            if (repeated !== undefined) return repeated;
        }
        const wish = await this.#components.pools?.wishOf(request, signal);
        this.#checkpoint(request, signal);
        const draft = this.#draft(request);
        const record =
            wish === undefined
                ? await this.#addFromSubnet(draft, request, signal)
                : await this.#addFromPools(draft, wish, request, signal);
        this.#noteAnswer(record);
        this.#components.bridging?.announce(keyOf(record));
        this.#logger.info("Pod interface added", {
            pod: podOf(record),
            container: record.containerId,
            addresses: record.addresses.map((address) => formatIp(address.ip)),
        });
        return record;
    }

    async #addFromSubnet(draft: PodDraft, request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        const { containerId, ifName, podUid } = draft;
        // After a reboot the API server still shows the addresses of the Pods before it, and they are held: for them.
        const heldBy = podUid === "" ? undefined : heldOwner(podUid);
        const addresses = this.#components.subnet.allocate(recordKey(containerId, ifName), heldBy);
        const record = recordOf(draft, { addresses, vlan: 0 });
        const ofPort = this.#takeOfPort(record);
        try {
            await createPodLink(this.#components.netlink, record, this.#options);
        } catch (error) {
            // Nothing was wired: whatever has the name of the link or of the port is somebody else's.
            this.#forget({ record, ofPort, addedAt: 0 });
            throw error;
        }
        try {
            this.#checkpoint(request, signal);
            await this.#wire(record, ofPort, request, signal);
        } catch (error) {
            await this.#rollBack(record, ofPort);
            throw error;
        }
        return record;
    }

    /** Claims the addresses, and makes link and port meanwhile: only their set-up waits for the API server. */
    async #addFromPools(draft: PodDraft, wish: PoolWish, request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        await this.#removeOlder(request, signal);
        const ofPort = this.ofPorts.take();
        let record: PodRecord | undefined;
        try {
            const [grant] = await allDone([wish.claim(signal), this.#prepare(draft, ofPort, request, signal)]);
            record = recordOf(draft, grant);
            this.#checkpoint(request, signal);
            await this.#wire(record, ofPort, request, signal);
            await completePodLink(this.#components.netlink, record);
        } catch (error) {
            if (record === undefined) await this.#undoDraft(draft, ofPort);
            else await this.#rollBack(record, ofPort);
            throw error;
        }
        return record;
    }

    async #prepare(draft: PodDraft, ofPort: number, request: AddRequest, signal: AbortSignal): Promise<void> {
        await createPodLink(this.#components.netlink, draft, this.#options);
        this.#checkpoint(request, signal);
        const externalIds = unfinishedExternalIds(draft);
        await this.#components.ports.ensurePort(
            { name: draft.hostIfName, type: "", ofPortRequest: ofPort, externalIds },
            signal,
        );
        preparePodEnd(draft, this.#options);
    }

    /** Record, Pod end, flows, in this order of what others see. */
    async #wire(record: PodRecord, ofPort: number, request: AddRequest, signal: AbortSignal): Promise<void> {
        await allDone([
            this.#components.ports.ensurePort(portSpec(record, ofPort), signal),
            configurePodEnd(record, this.#linkOptions),
        ]);
        this.#checkpoint(request, signal);
        const [actual] = await allDone([
            this.#openedPort(record, signal),
            this.#wireFlows(record, ofPort, Infinity, signal),
            this.#components.hostRoutes.add(record),
        ]);
        if (actual !== ofPort) {
            await this.#wireFlows(record, actual, Infinity, signal);
            this.ofPorts.release(ofPort);
        }
        this.#checkpoint(request, signal);
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
                    `the interface ${ifName} of an earlier sandbox of Pod ${podOf(record)} is not removed yet; is ovs-vswitchd up?`,
                );
            };
            await this.exclusively(record.containerId, remove, signal);
        }
    }

    /** Takes back what an ADD made before it had addresses. What it cannot, port and link, the reconcile removes. */
    async #undoDraft(draft: PodDraft, ofPort: number): Promise<void> {
        const { netlink, pools, ports } = this.#components;
        using limit = new Limit(this.#clock, deleteLimitMs, "unwiring");
        try {
            await ports.deletePort(draft.hostIfName, limit.signal);
            await deletePodLink(netlink, draft);
        } catch (error) {
            const reason = messageOf(error);
            this.#logger.warn("an unfinished port is left to the reconcile", { port: draft.hostIfName, reason });
        }
        // Also while the port still has it: nobody is given it again for long, and OVS would give another one then.
        this.ofPorts.release(ofPort);
        await pools?.release(draft);
    }

    /** The record of an ADD that is repeated; undefined when what was wired is gone and is to be made anew. */
    async #repeated(existing: PodInterface, request: AddRequest, signal: AbortSignal): Promise<PodRecord | undefined> {
        const link = this.isLeaving(existing)
            ? undefined
            : await this.#components.netlink.link(existing.record.hostIfName);
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
        const { netns, podNamespace, podName, podUid } = request;
        const record = { ...existing.record, netns, podNamespace, podName, podUid };
        await configurePodEnd(record, this.#linkOptions);
        await this.#restore({ ...existing, record, addedAt: Infinity }, record.isolated !== true, signal);
        this.#checkpoint(request, signal);
        this.#noteAnswer(record);
        return record;
    }

    async #restore(known: PodInterface, isConnected: boolean, signal: AbortSignal): Promise<void> {
        const { record } = known;
        await this.#adjustLink(record);
        await this.#components.ports.ensurePort(portSpec(record, known.ofPort), signal);
        const ofPort = await this.#openedPort(record, signal);
        // With the number that its flows have: a reconcile that sees another in OVS does this again.
        this.#note(record, known.ofPort, known.addedAt);
        this.#useUnsettled(record, known.ofPort, ofPort);
        if (isConnected) {
            await this.#setFlows(record, ofPort, signal);
            await this.#components.hostRoutes.add(record);
        }
        this.#unsettledOfPorts.delete(keyOf(record));
        this.#note(record, ofPort, known.addedAt);
        if (ofPort !== known.ofPort) this.ofPorts.release(known.ofPort);
    }

    /** Keeps both numbers taken: OVS has the port by the second, also if the flows do not come to it now. */
    #useUnsettled(record: PodRecord, knownOfPort: number, ofPort: number): void {
        const earlier = this.#unsettledOfPorts.get(keyOf(record));
        if (earlier !== undefined && earlier !== ofPort) this.ofPorts.release(earlier);
        this.#unsettledOfPorts.delete(keyOf(record));
        if (ofPort === knownOfPort) return;
        this.ofPorts.note(ofPort);
        this.#unsettledOfPorts.set(keyOf(record), ofPort);
    }

    /** The record where an agent that starts again finds it: in OVSDB, and in the link for when the database is lost. */
    async #writeRecord(record: PodRecord, ofPort: number, signal: AbortSignal): Promise<void> {
        await allDone([
            this.#components.ports.ensurePort(portSpec(record, ofPort), signal),
            completePodLink(this.#components.netlink, record),
        ]);
    }

    #noteAnswer(record: PodRecord): void {
        const known = this.#interfaces.get(keyOf(record));
        if (known !== undefined) this.#interfaces.set(keyOf(record), { ...known, addedAt: this.#options.now() });
    }

    #draft(request: AddRequest): PodDraft {
        const { containerId, ifName, netns, podNamespace, podName, podUid } = request;
        const taken = new Set(this.interfaces().map((other) => other.record.hostIfName));
        let attempt = 0;
        while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
        const hostIfName = hostInterfaceName(podName, containerId, ifName, attempt);
        const { bootId } = this.#options;
        return { containerId, ifName, netns, podNamespace, podName, podUid, hostIfName, bootId };
    }

    /** A namespace that just ended, or was never known, keeps no interface from being restored. */
    async #adjustLink(record: PodRecord): Promise<void> {
        try {
            await adjustPodLink(this.#components.netlink, record, this.#options);
            if (isPoolRecord(record)) await adjustPodNeighbours(record, this.#linkOptions);
        } catch (error) {
            this.#logger.warn("the link of a Pod stays as it was", { pod: podOf(record), reason: messageOf(error) });
        }
    }

    /** The number of the port, once OVS has opened its link. */
    async #openedPort(record: PodRecord, signal?: AbortSignal): Promise<number> {
        const ofPort = await this.#components.ports.ofPort(record.hostIfName, ofPortTimeoutMs, signal);
        await raisePodLink(this.#components.netlink, record);
        return ofPort;
    }

    async #wireFlows(record: PodRecord, ofPort: number, addedAt: number, signal?: AbortSignal): Promise<void> {
        this.#note(record, ofPort, addedAt);
        await this.#setFlows(record, ofPort, signal);
    }

    #note(record: PodRecord, ofPort: number, addedAt: number): void {
        this.ofPorts.note(ofPort);
        this.#interfaces.set(keyOf(record), { record, ofPort, addedAt });
    }

    async #setFlows(record: PodRecord, ofPort: number, signal?: AbortSignal): Promise<void> {
        await allDone([
            this.#components.flowTable.set(flowOwner(record), this.#flows(record, ofPort), signal),
            this.#bridge(record, ofPort, signal),
        ]);
    }

    async #bridge(record: PodRecord, ofPort: number, signal: AbortSignal | undefined): Promise<void> {
        if (isPoolRecord(record)) await this.#components.bridging?.add(bridgedPod(record, ofPort), signal);
    }

    get #linkOptions(): PodEndOptions {
        const { mtu, disableTxChecksumOffload, gatewayMac, namespaces } = this.#options;
        return {
            mtu,
            disableTxChecksumOffload,
            gatewayMac,
            namespaces,
            bridged: this.#components.bridging !== undefined,
        };
    }

    #flows(record: PodRecord, ofPort: number): FlowSet {
        return podFlows({
            ofPort,
            mac: parseMac(record.mac),
            ips: record.addresses.map((address) => address.ip),
            gatewayMac: this.#options.gatewayMac(),
            ...this.#poolPart(record),
        });
    }

    #poolPart(record: PodRecord): Pick<PodInput, "bridged" | "foreignSubnet"> {
        if (!isPoolRecord(record)) return {};
        const { bridging } = this.#components;
        return bridging === undefined
            ? { foreignSubnet: true }
            : { bridged: { vlan: record.vlan, hostMac: bridging.hostMac } };
    }

    async #rollBack(record: PodRecord, ofPort: number): Promise<void> {
        const known = this.#interfaces.get(keyOf(record)) ?? { record, ofPort, addedAt: 0 };
        // Known from here on, so that the reconcile goes on where this cannot.
        this.#interfaces.set(keyOf(record), known);
        if (known.ofPort !== ofPort) this.ofPorts.release(ofPort);
        await this.remove(known, "release");
        try {
            await deletePodLink(this.#components.netlink, record);
        } catch (error) {
            this.#logger.warn("a veth pair stays for the sweep", { link: record.hostIfName, reason: messageOf(error) });
        }
    }

    /** The number to ask OVS for; without one the addresses of the record are given back. */
    #takeOfPort(record: PodRecord): number {
        try {
            return this.ofPorts.take();
        } catch (error) {
            this.#freeAddresses(record);
            throw error;
        }
    }

    #forget(known: PodInterface): void {
        this.#freeAddresses(known.record);
        this.ofPorts.release(known.ofPort);
        const unsettled = this.#unsettledOfPorts.get(keyOf(known.record));
        if (unsettled !== undefined) this.ofPorts.release(unsettled);
        this.#unsettledOfPorts.delete(keyOf(known.record));
        this.#interfaces.delete(keyOf(known.record));
        this.#leaving.delete(keyOf(known.record));
    }

    #freeAddresses(record: PodRecord): void {
        for (const { ip } of record.addresses) this.#components.subnet.release(ip, keyOf(record));
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

    #refuseIfDeleted(request: AddRequest): void {
        if (!this.#tombstones.hasSince(request.containerId, request.receivedAt)) return;
        throw new PodNetworkError(
            "DELETED_MEANWHILE",
            "caller",
            `container ${request.containerId} was deleted after this ADD was asked for`,
        );
    }
}
