import { AntreaError, messageOf } from "@antrea/errors";
import { podFlows } from "@antrea/flows";
import { formatIp, parseMac } from "@antrea/ip";
import { isNetlinkError, type Netlink } from "@antrea/netlink";
import { KeyedLock, type Logger } from "@antrea/runtime";
import {
    configurePodEnd,
    createPodLink,
    deletePodLink,
    raisePodLink,
    releasePodLink,
    type PodLinkOptions,
} from "./link.ts";
import { hostInterfaceName, macOf } from "./names.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import { OfPortNumbers } from "./of-ports.ts";
import { recordKey, toExternalIds, type PodRecord } from "./record.ts";
import { Tombstones } from "./tombstones.ts";

/** The ports of the bridge, as Pod wiring needs them. */
export interface PodPorts {
    ensurePort(
        spec: {
            readonly name: string;
            readonly type: "";
            readonly ofPortRequest: number;
            readonly externalIds: Readonly<Record<string, string>>;
        },
        signal?: AbortSignal,
    ): Promise<void>;
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

/** The desired flows by owner. */
export interface PodFlowTable {
    stage(owner: string, flows: ReturnType<typeof podFlows>): void;
    set(owner: string, flows: ReturnType<typeof podFlows>, signal?: AbortSignal): Promise<void>;
    remove(owner: string, signal?: AbortSignal): Promise<void>;
}

export interface PodNetworkComponents {
    readonly ports: PodPorts;
    readonly flowTable: PodFlowTable;
    readonly netlink: Netlink;
    readonly subnet: NodeSubnet;
    readonly logger: Logger;
}

export interface PodNetworkOptions extends PodLinkOptions {
    readonly gatewayMac: () => Uint8Array;
    readonly bootId: string;
    /** For tombstones and ages, in ms. */
    readonly now: () => number;
}

/** One ADD, as the CNI server understood it. */
export interface AddRequest {
    readonly containerId: string;
    readonly ifName: string;
    readonly netns: string;
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    /** When the call came in; a DEL that came later wins. */
    readonly receivedAt: number;
}

/** A wired interface. */
export interface PodInterface {
    readonly record: PodRecord;
    readonly ofPort: number;
    /** When its last ADD was answered; Infinity while one is under way, 0 for an interface that was rebuilt. */
    readonly addedAt: number;
}

export class PodNetworkError extends AntreaError<
    "DELETED_MEANWHILE" | "OTHER_NETNS" | "CANCELLED" | "STILL_REMOVED" | "NO_ADDRESS"
> {}

/** On the userspace datapath a port takes about 13 ms; a loaded Node has been seen to need seconds. */
const ofPortTimeoutMs = 20_000;
/** DEL answers although OVS is away: flows and port that it could not remove go with the reconcile. */
const deleteLimitMs = 5_000;

/**
 * Wires Pods to the bridge and unwires them.
 *
 * ADD: address, veth pair, then OVS port with the record (one transaction) beside the set-up of the Pod's end, then
 * flows, then the answer. DEL: flows, port with record, then the address: it stays taken for as long as anything of the
 * wiring may stand. Work is serial per container and parallel across containers.
 */
export class PodNetwork {
    readonly #components: PodNetworkComponents;
    readonly #options: PodNetworkOptions;
    readonly #logger: Logger;
    readonly #interfaces = new Map<string, PodInterface>();
    readonly #locks = new KeyedLock();
    readonly #tombstones: Tombstones;
    /** Keys of interfaces whose removal began and could not be ended yet. */
    readonly #leaving = new Set<string>();
    readonly ofPorts: OfPortNumbers = new OfPortNumbers();

    constructor(components: PodNetworkComponents, options: PodNetworkOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
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
    add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        return this.exclusively(request.containerId, () => this.#add(request, signal), signal);
    }

    /** Unwires an interface; what is gone already is a success. Never fails because of what is away. */
    delete(containerId: string, ifName: string): Promise<void> {
        this.#tombstones.add(containerId);
        return this.exclusively(containerId, async () => {
            const found = this.find(containerId, ifName);
            if (found !== undefined) await this.remove(found);
        });
    }

    /** Takes over an interface that is wired already, at start. The caller has noted its addresses. */
    adopt(record: PodRecord, ofPort: number): void {
        this.ofPorts.note(ofPort);
        this.#interfaces.set(keyOf(record), { record, ofPort, addedAt: 0 });
        this.#components.flowTable.stage(flowOwner(record), this.#flows(record, ofPort));
    }

    /** Puts port and flows of a known interface in place again; for the start and after OVS lost them. */
    async restore(known: PodInterface, signal?: AbortSignal): Promise<void> {
        const { record } = known;
        await this.#components.ports.ensurePort(portSpec(record, known.ofPort), signal);
        const ofPort = await this.#openedPort(record, signal);
        await this.#wireFlows(record, ofPort, known.addedAt, signal);
        if (ofPort !== known.ofPort) this.ofPorts.release(known.ofPort);
    }

    /**
     * Removes a wired interface; the caller is inside `exclusively`. False when flows or port cannot be removed in time:
     * the interface stays known then, its address taken, and the next reconcile goes on.
     */
    async remove(known: PodInterface): Promise<boolean> {
        const { record } = known;
        const limit = AbortSignal.timeout(deleteLimitMs);
        this.#leaving.add(keyOf(record));
        try {
            await this.#components.flowTable.remove(flowOwner(record), limit);
            await this.#components.ports.deletePort(record.hostIfName, limit);
        } catch (error) {
            this.#logger.warn("unwiring is left to the reconcile", { pod: podOf(record), reason: messageOf(error) });
            return false;
        }
        try {
            await releasePodLink(this.#components.netlink, record);
        } catch (error) {
            // ENODEV: the namespace ended between look and change, and the link with it.
            if (!isNetlinkError(error, "ENODEV")) {
                this.#logger.warn("the alias of a released link stays", {
                    link: record.hostIfName,
                    reason: messageOf(error),
                });
            }
        }
        this.#forget(known);
        this.#logger.info("Pod interface removed", { pod: podOf(record), container: record.containerId });
        return true;
    }

    async #add(request: AddRequest, signal: AbortSignal): Promise<PodRecord> {
        this.#refuseIfDeleted(request);
        const key = recordKey(request.containerId, request.ifName);
        const existing = this.#interfaces.get(key);
        if (existing !== undefined) {
            const repeated = await this.#repeated(existing, request, signal);
            if (repeated !== undefined) return repeated;
        }
        const record = this.#newRecord(request, key);
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
            await allDone([
                this.#components.ports.ensurePort(portSpec(record, ofPort), signal),
                configurePodEnd(record, this.#options),
            ]);
            this.#checkpoint(request, signal);
            const [actual] = await Promise.all([
                this.#openedPort(record, signal),
                this.#wireFlows(record, ofPort, Infinity, signal),
            ]);
            if (actual !== ofPort) {
                await this.#wireFlows(record, actual, Infinity, signal);
                this.ofPorts.release(ofPort);
            }
            this.#checkpoint(request, signal);
        } catch (error) {
            await this.#rollBack(record, ofPort);
            throw error;
        }
        this.#noteAnswer(record);
        this.#logger.info("Pod interface added", {
            pod: podOf(record),
            container: record.containerId,
            addresses: record.addresses.map((address) => formatIp(address.ip)),
        });
        return record;
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
        if (await this.remove(existing)) return undefined;
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
        await configurePodEnd(record, this.#options);
        await this.restore({ ...existing, record, addedAt: Infinity }, signal);
        this.#checkpoint(request, signal);
        this.#noteAnswer(record);
        return record;
    }

    #noteAnswer(record: PodRecord): void {
        const known = this.#interfaces.get(keyOf(record));
        if (known !== undefined) this.#interfaces.set(keyOf(record), { ...known, addedAt: this.#options.now() });
    }

    #newRecord(request: AddRequest, key: string): PodRecord {
        const { containerId, ifName, podName } = request;
        const taken = new Set(this.interfaces().map((other) => other.record.hostIfName));
        let attempt = 0;
        while (taken.has(hostInterfaceName(podName, containerId, ifName, attempt))) attempt += 1;
        const addresses = this.#components.subnet.allocate(key);
        const first = addresses[0];
        if (first === undefined)
            throw new PodNetworkError("NO_ADDRESS", "internal", "an allocation without an address");
        return {
            containerId,
            ifName,
            podNamespace: request.podNamespace,
            podName,
            podUid: request.podUid,
            netns: request.netns,
            hostIfName: hostInterfaceName(podName, containerId, ifName, attempt),
            mac: macOf(first.ip),
            addresses,
            bootId: this.#options.bootId,
        };
    }

    /** The number of the port, once OVS has opened its link. */
    async #openedPort(record: PodRecord, signal?: AbortSignal): Promise<number> {
        const ofPort = await this.#components.ports.ofPort(record.hostIfName, ofPortTimeoutMs, signal);
        await raisePodLink(this.#components.netlink, record);
        return ofPort;
    }

    async #wireFlows(record: PodRecord, ofPort: number, addedAt: number, signal?: AbortSignal): Promise<void> {
        this.ofPorts.note(ofPort);
        this.#interfaces.set(keyOf(record), { record, ofPort, addedAt });
        await this.#components.flowTable.set(flowOwner(record), this.#flows(record, ofPort), signal);
    }

    #flows(record: PodRecord, ofPort: number): ReturnType<typeof podFlows> {
        return podFlows({
            ofPort,
            mac: parseMac(record.mac),
            ips: record.addresses.map((address) => address.ip),
            gatewayMac: this.#options.gatewayMac(),
        });
    }

    async #rollBack(record: PodRecord, ofPort: number): Promise<void> {
        const known = this.#interfaces.get(keyOf(record)) ?? { record, ofPort, addedAt: 0 };
        // Known from here on, so that the reconcile goes on where this cannot.
        this.#interfaces.set(keyOf(record), known);
        if (known.ofPort !== ofPort) this.ofPorts.release(ofPort);
        await this.remove(known);
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

/** What the flow table knows an interface's flows by. */
export function flowOwner(record: PodRecord): string {
    return `pod/${recordKey(record.containerId, record.ifName)}`;
}

function portSpec(record: PodRecord, ofPortRequest: number): Parameters<PodPorts["ensurePort"]>[0] {
    return { name: record.hostIfName, type: "", ofPortRequest, externalIds: toExternalIds(record) };
}

function keyOf(record: PodRecord): string {
    return recordKey(record.containerId, record.ifName);
}

/** Waits for all, then rejects with the first failure: what is rolled back after it must not be under way. */
async function allDone(work: readonly Promise<void>[]): Promise<void> {
    const failed = (await Promise.allSettled(work)).find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
}

function podOf(record: PodRecord): string {
    return `${record.podNamespace}/${record.podName}`;
}
