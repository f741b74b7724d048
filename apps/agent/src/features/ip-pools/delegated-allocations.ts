import { type Clock } from "@antrea/async";
import { allocationName, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type AllocationWriter } from "./allocation-writer.ts";
import { allocationIp, isDelegated, mayTake, namesContainer, type Holder } from "./allocations.ts";
import { type PoolAllocator } from "./allocator.ts";
import { IpPoolError } from "./errors.ts";
import { logged } from "./logged.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type NodePods } from "./node-pods.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type OwnNode } from "./own-node.ts";
import { type PodEvents } from "./pod-events.ts";
import { type PoolCache } from "./pool-cache.ts";
import { askLimitMs, lockLimitMs, within } from "./requests.ts";
import { type ClaimedAddress, type NetworkRequest } from "./types.ts";
import { attachmentKey, type Attachment } from "../../platform/pod-interfaces/index.ts";

/** The interfaces of this Node that this agent makes. */
export interface WiredContainers {
    /** Whether the container has an interface on the Pod network that is not being removed. */
    hasContainer(containerId: string): boolean;
    /** Whether this agent made the interface, or is making or removing it. */
    isOwn(attachment: Attachment): boolean;
}

/** Dependencies of DelegatedAllocations. */
export interface DelegatedAllocationsComponents {
    readonly own: OwnAllocations;
    readonly writer: Pick<AllocationWriter, "create" | "find" | "take">;
    readonly allocator: Pick<PoolAllocator, "claim" | "exclusively" | "isReleaseDue" | "releaseAll">;
    readonly cache: Pick<PoolCache, "known">;
    readonly pods: Pick<NodePods, "isOver">;
    readonly node: Pick<OwnNode, "isGone">;
    readonly containers: WiredContainers;
    readonly events: Pick<PodEvents, "heldByAnother">;
    readonly metrics: Pick<IpamMetrics, "recordMended">;
    readonly clock: Clock;
    readonly logger: Logger;
}

interface InForce {
    readonly holder: Holder;
    readonly addresses: readonly HeldAddress[];
    /** Monotonic time (ms) at which its ADD was answered; 0 if that was by an earlier start of the agent. */
    readonly addedAt: number;
    /** Addresses that another holder has, by text, of which an event was recorded. */
    readonly reported: Set<string>;
}

interface HeldAddress {
    readonly ip: IpAddress;
    readonly pool: string;
    readonly owner: AllocationOwner;
}

/** How often it is asked whether the Pod of an ended container is over, and how long. */
const askAgainMs = 3_000;
const askForMs = 60_000;
/** How long a DEL is remembered: longer than any runtime repeats or delays an ADD. */
const rememberMs = 600_000;

/**
 * The allocations for interfaces that other CNI plugins make with addresses of ours. There is no record of such an
 * interface: its addresses are in use as long as the container has an interface of this agent, whose link is the sign of
 * life. What is in force is kept in memory; after a restart of the agent it is what the allocations have.
 */
export class DelegatedAllocations {
    readonly #components: DelegatedAllocationsComponents;
    readonly #nodeName: string;
    /** By attachment. */
    readonly #inForce = new Map<string, InForce>();
    /** Those whose container has ended without their DEL, with the monotonic time (ms) when that was seen. */
    readonly #ended = new Map<string, { readonly holder: Holder; readonly since: number }>();
    /** Number of ADDs in progress, by attachment. */
    readonly #adding = new Map<string, number>();
    /** Monotonic time (ms) of the last DEL, by attachment: a late ADD must not claim for what is gone. */
    readonly #deletedAt = new Map<string, number>();
    #hasRecalled = false;

    constructor(components: DelegatedAllocationsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /**
     * Allocates the addresses of an interface, as `PoolAllocator.claim`, and keeps them until `release`. Rejects also with
     * IpPoolError `DELETED_MEANWHILE` if the interface was deleted after the call was received at `receivedAt` (monotonic,
     * ms), or its container has no interface of this agent any more; nothing is allocated then.
     */
    async claim(request: NetworkRequest, receivedAt: number, signal: AbortSignal): Promise<readonly ClaimedAddress[]> {
        const { allocator, clock, own } = this.#components;
        const { pod, containerId, ifName, network } = request;
        const key = attachmentKey(request);
        const checkpoint = (): void => this.#refuseDeleted(request, receivedAt);
        this.#adding.set(key, (this.#adding.get(key) ?? 0) + 1);
        try {
            const claimed = await allocator.claim(request, signal, checkpoint);
            try {
                checkpoint();
            } catch (error) {
                await allocator.releaseAll(request, AbortSignal.timeout(askForMs));
                throw error;
            }
            const holder: Holder = { pod, nodeName: this.#nodeName, containerId, ifName, network };
            this.#endOlder(holder);
            this.#note(holder, own.ofContainer(request), clock.monotonic());
            return claimed;
        } finally {
            const left = (this.#adding.get(key) ?? 1) - 1;
            if (left === 0) this.#adding.delete(key);
            else this.#adding.set(key, left);
        }
    }

    /** Whether the interface of the Pod has allocations, from any of its sandboxes. */
    hasAny(podUid: string, ifName: string): boolean {
        return this.#components.own.ofPod(podUid, ifName).length > 0;
    }

    /**
     * Frees the allocations of an interface, as `PoolAllocator.releaseAll`: what is left if it rejects is freed by the
     * next reconcile. An ADD that is in progress, or was received before, gets none. No effect on an interface that this
     * agent makes.
     */
    async release(attachment: Attachment, signal: AbortSignal): Promise<void> {
        // Its addresses are freed by its own DEL.
        if (this.#components.containers.isOwn(attachment)) return;
        const key = attachmentKey(attachment);
        this.#inForce.delete(key);
        this.#noteDeleted(key);
        await this.#components.allocator.releaseAll(attachment, signal);
    }

    /** The known allocations that name this container and interface, by their addresses as text. */
    addressesOf(attachment: Attachment): readonly string[] {
        return this.#components.own.ofContainer(attachment).map(({ spec }) => spec.address);
    }

    /**
     * The interfaces of a network that have allocations and are not in the list, without those whose ADD was answered at
     * this time (monotonic, ms) or later, or is in progress.
     */
    garbage(network: string, valid: readonly Attachment[], before: number): readonly Attachment[] {
        const keep = new Set(valid.map(attachmentKey));
        const found = new Map<string, Attachment>();
        for (const { spec } of this.#components.own.list()) {
            if (spec.pod?.network !== network) continue;
            const attachment = { containerId: spec.pod.containerID, ifName: spec.pod.interface };
            const key = attachmentKey(attachment);
            const addedAt = this.#inForce.get(key)?.addedAt ?? 0;
            if (!keep.has(key) && !this.#adding.has(key) && addedAt < before) found.set(key, attachment);
        }
        return [...found.values()];
    }

    /**
     * Restores allocations of running containers that are gone, as long as nobody else has the address; else records an
     * event on the Pod, once. Frees those of containers that have ended without a DEL, once their Pod is over: until
     * then its next sandbox may take them. Failures are logged and left to the next call. Resolves with the time (ms)
     * after which it is to be called again, undefined if nothing is waited for. Rejects only if the signal aborts before
     * the allocations are synced.
     */
    async check(signal: AbortSignal): Promise<number | undefined> {
        await this.#components.own.synced(signal);
        this.#recall();
        await this.#restoreLost(signal);
        await this.#freeEnded(signal);
        return this.#ended.size > 0 ? askAgainMs : undefined;
    }

    async #restoreLost(signal: AbortSignal): Promise<void> {
        const { allocator, clock, containers, logger, node } = this.#components;
        for (const [key, entry] of [...this.#inForce]) {
            if (signal.aborted) return;
            if (!containers.hasContainer(entry.holder.containerId)) {
                this.#inForce.delete(key);
                this.#ended.set(key, { holder: entry.holder, since: clock.monotonic() });
                continue;
            }
            // The controller frees the allocations of a deleted Node.
            if (node.isGone || this.#lost(entry).length === 0) continue;
            const restore = async (): Promise<void> => {
                for (const address of this.#inForce.get(key) === entry ? this.#lost(entry) : []) {
                    await this.#restore(entry, address, signal);
                }
            };
            await logged(logger, "an allocation of a running container is not restored yet", () =>
                allocator.exclusively(entry.holder, restore, within(signal, lockLimitMs)),
            );
        }
    }

    /** What is not freed within a minute is left to the check of unused allocations. */
    async #freeEnded(signal: AbortSignal): Promise<void> {
        const { allocator, clock, logger, own, pods } = this.#components;
        for (const [key, { holder, since }] of [...this.#ended]) {
            if (signal.aborted) return;
            if (own.ofContainer(holder).length === 0 || clock.monotonic() - since > askForMs) this.#ended.delete(key);
            if (!this.#ended.has(key)) continue;
            await logged(logger, "allocations of an ended container are not freed yet", async () => {
                const limit = within(signal, askLimitMs);
                if (!(await pods.isOver(holder.pod, limit))) return;
                await allocator.releaseAll(holder, limit);
                this.#ended.delete(key);
            });
        }
    }

    /** After a restart of the agent: what its allocations have of running containers. */
    #recall(): void {
        if (this.#hasRecalled) return;
        this.#hasRecalled = true;
        const { allocator, containers, own } = this.#components;
        const all = own.list().filter(isDelegated);
        const ofInterface = ({ spec: { pod } }: IpAllocation): string => `${pod?.containerID}/${pod?.interface}`;
        for (const [key, allocations] of Map.groupBy(all, ofInterface)) {
            const pod = allocations[0]?.spec.pod;
            if (pod === undefined || this.#inForce.has(key) || this.#adding.has(key)) continue;
            const { namespace, name, uid, containerID, nodeName, network } = pod;
            const holder: Holder = {
                pod: { namespace, name, uid },
                nodeName,
                containerId: containerID,
                ifName: pod.interface,
                network,
            };
            if (containers.hasContainer(containerID) && !allocator.isReleaseDue(holder))
                this.#note(holder, allocations, 0);
        }
    }

    #noteDeleted(key: string): void {
        const now = this.#components.clock.monotonic();
        this.#deletedAt.delete(key);
        this.#deletedAt.set(key, now);
        // Insertion order is age: stop at the first entry that has not expired.
        for (const [other, at] of this.#deletedAt) {
            if (now - at <= rememberMs) break;
            this.#deletedAt.delete(other);
        }
    }

    #refuseDeleted(attachment: Attachment, receivedAt: number): void {
        const { containerId, ifName } = attachment;
        const deletedAt = this.#deletedAt.get(attachmentKey(attachment));
        if (deletedAt !== undefined && deletedAt >= receivedAt) {
            throw new IpPoolError(
                "DELETED_MEANWHILE",
                `interface ${ifName} of container ${containerId} was deleted after its addresses were asked for`,
            );
        }
        if (this.#components.containers.hasContainer(containerId)) return;
        throw new IpPoolError(
            "DELETED_MEANWHILE",
            `container ${containerId} has no interface on the Pod network any more; it was deleted after addresses for ${ifName} were asked for`,
        );
    }

    /** An earlier sandbox of the Pod no longer has what the next one took. */
    #endOlder({ pod, containerId, ifName }: Holder): void {
        for (const [key, { holder }] of this.#inForce) {
            const isSame = holder.pod.uid === pod.uid && holder.ifName === ifName;
            if (isSame && holder.containerId !== containerId) this.#inForce.delete(key);
        }
    }

    #note(holder: Holder, allocations: readonly IpAllocation[], addedAt: number): void {
        const addresses = allocations.map((allocation): HeldAddress => {
            return { ip: allocationIp(allocation), pool: allocation.spec.pool, owner: allocation.spec.owner };
        });
        this.#inForce.set(attachmentKey(holder), { holder, addresses, addedAt, reported: new Set() });
    }

    #lost({ holder, addresses }: InForce): readonly HeldAddress[] {
        const { own } = this.#components;
        return addresses.filter(({ ip }) => {
            const known = own.get(allocationName(ip));
            return known === undefined || !namesContainer(known, holder);
        });
    }

    async #restore(entry: InForce, { ip, pool, owner }: HeldAddress, signal: AbortSignal): Promise<void> {
        const { cache, clock, events, logger, metrics, own, writer } = this.#components;
        const { holder, reported } = entry;
        const limit = within(signal, askLimitMs);
        const askedAt = clock.monotonic();
        const live = await writer.find(ip, limit, askLimitMs);
        if (live !== undefined && namesContainer(live, holder)) return own.note(live, askedAt);
        // The next sandbox of the Pod has taken it.
        if (live?.spec.pod?.uid === holder.pod.uid) return void this.#inForce.delete(attachmentKey(holder));
        const version = cache.known(pool)?.version;
        const restored =
            live === undefined
                ? await writer.create(ip, pool, holder, {
                      signal: limit,
                      readExisting: true,
                      owner,
                      version,
                      requestMs: lockLimitMs,
                  })
                : mayTake(live, holder)
                  ? await writer.take(live, holder, limit, version, lockLimitMs)
                  : undefined;
        const address = formatIp(ip);
        if (restored !== undefined) {
            reported.delete(address);
            metrics.recordMended();
            logger.warn("allocation of a running container restored", {
                pod: `${holder.pod.namespace}/${holder.pod.name}`,
                network: holder.network,
                interface: holder.ifName,
                address,
            });
        } else if (live !== undefined && !reported.has(address)) {
            reported.add(address);
            events.heldByAnother(holder, address, live);
        }
    }
}
