import { systemClock, type Clock, orAborted } from "@antrea/async";
import { allocationName } from "@antrea/crd";
import { isAborted } from "@antrea/errors";
import { type IpAddress } from "@antrea/ip";
import { type Pool } from "@antrea/ipam";
import { type KubeError } from "@antrea/kube";
import { PoolAllocator } from "./allocator.ts";
import { Blocks } from "./blocks.ts";
import { AllocationReconciler } from "./allocation-reconciler.ts";
import { AllocationWriter } from "./allocation-writer.ts";
import { isForPod, namesContainer } from "./allocations.ts";
import { Cooldown } from "./cooldown.ts";
import { DelegatedAllocations, type WiredContainers } from "./delegated-allocations.ts";
import { IpPoolError, ofNetwork } from "./errors.ts";
import { GoneNodes } from "./gone-nodes.ts";
import { ipamMetrics, type IpamMetrics } from "./metrics.ts";
import { NamespacePools } from "./namespace-pools.ts";
import { NodePods } from "./node-pods.ts";
import { type IpPoolsComponents, type IpPoolsOptions } from "./options.ts";
import { OrdinalAllocations } from "./ordinal-allocations.ts";
import { OwnAllocations } from "./own-allocations.ts";
import { OwnNode } from "./own-node.ts";
import { PodCidrAllocations } from "./pod-cidr-allocations.ts";
import { PodEvents } from "./pod-events.ts";
import { PodPools } from "./pod-pools.ts";
import { PoolCache } from "./pool-cache.ts";
import { PoolSearch } from "./pool-search.ts";
import { ReservationHolders } from "./reservation-holders.ts";
import { Reservations } from "./reservations.ts";
import { SubnetHolders } from "./subnet-holders.ts";
import { type ClaimedAddress, type NetworkRequest, type PoolsWanted, type SetPlace, podOf } from "./types.ts";
import { type Wiring } from "./wiring.ts";
import type {
    AddressAllocation,
    AddressRequest,
    Attachment,
    NetworkAddresses,
    PodAttachment,
} from "../../platform/pod-interfaces/index.ts";

/** How long a DEL waits for its allocations to be freed, and how long that is retried. */
const releaseWaitMs = 1_000;
const releaseEndMs = 10_000;
/**
 * After this time without an allocation the watches of a pool's blocks are closed: each watch makes every write of an
 * IPAllocation more expensive for the API server.
 */
const idleMs = 60_000;

/**
 * All parts of the agent's pool allocation, built, started and closed together. Order: constructor, which declares the
 * metrics (so once per process) and starts no watch, `start` or `startAllocation`, the other methods, `close`.
 */
export class IpPools implements AsyncDisposable {
    readonly cache: PoolCache;
    readonly own: OwnAllocations;
    readonly pods: NodePods;
    readonly podPools: PodPools;
    readonly allocator: PoolAllocator;
    readonly subnetHolders: SubnetHolders;
    readonly podCidrs: PodCidrAllocations;
    readonly #components: IpPoolsComponents;
    readonly #options: IpPoolsOptions;
    readonly #clock: Clock;
    readonly #events: PodEvents;
    readonly #metrics: IpamMetrics;
    readonly #blocks: Blocks;
    readonly #goneNodes: GoneNodes;
    readonly #reservations: Reservations;
    readonly #writer: AllocationWriter;
    readonly #searches = new Map<string, PoolSearch>();
    readonly #node: OwnNode;
    #reconciler: AllocationReconciler | undefined;

    constructor(components: IpPoolsComponents, options: IpPoolsOptions) {
        const { api, logger, nodes, record } = components;
        const { nodeName } = options;
        const clock = components.clock ?? systemClock;
        const random = components.random ?? Math.random;
        this.#components = components;
        this.#options = options;
        this.#clock = clock;
        const metrics = ipamMetrics(components.metrics, {
            blockViews: () => this.#blocks.size,
            ownAllocations: () => this.own.size,
            leakCandidates: () => this.#reconciler?.suspects ?? 0,
            isolated: () => (this.#reconciler?.isolated ?? 0) + this.podCidrs.isolated,
            poolChanged: () => this.#reconciler?.changed ?? 0,
        });
        this.#metrics = metrics;
        const cooldown = new Cooldown({ clock }, { cooldownMs: options.cooldownMs ?? 30_000 });
        this.cache = new PoolCache({ api, logger, nodes });
        this.own = new OwnAllocations({ api, logger, clock, freed: (ip) => cooldown.freed(ip) }, { nodeName });
        this.#node = new OwnNode({ api, nodes, clock, logger }, { nodeName });
        this.subnetHolders = new SubnetHolders({ nodes }, { nodeName });
        this.pods = new NodePods({ api, logger, clock }, { nodeName });
        const namespaces = new NamespacePools({ api, clock });
        this.podPools = new PodPools({ pods: this.pods, namespaces, cache: this.cache, clock });
        this.#events = new PodEvents({ record, objectUid: (pod) => this.pods.objectUid(pod) });
        this.podCidrs = new PodCidrAllocations({
            api,
            logger,
            metrics,
            cache: this.cache,
            events: this.#events,
            pods: this.pods,
            holders: this.subnetHolders,
        });
        this.#writer = new AllocationWriter({ api, own: this.own, cooldown, clock, metrics });
        this.#blocks = new Blocks({ api, logger, clock, cooldown });
        this.#goneNodes = new GoneNodes({ nodes, clock });
        const holders = new ReservationHolders({
            api,
            clock,
            own: this.own,
            writer: this.#writer,
            nodes: this.#goneNodes,
        });
        this.#reservations = new Reservations(
            { api, logger, clock, writer: this.#writer, holders, events: this.#events },
            { waitMs: options.reservationWaitMs },
        );
        const search = (pool: string): PoolSearch => {
            const known = this.#searches.get(pool);
            if (known !== undefined) return known;
            const overlapping = (of: Pool): readonly string[] => this.cache.overlapping(of);
            const made = new PoolSearch(
                { api, clock, cooldown, metrics, random, blocks: this.#blocks, overlapping },
                { nodeName },
            );
            this.#searches.set(pool, made);
            return made;
        };
        this.allocator = new PoolAllocator(
            {
                cache: this.cache,
                own: this.own,
                writer: this.#writer,
                reservations: this.#reservations,
                ordinals: new OrdinalAllocations({ api, clock, metrics, writer: this.#writer }),
                search,
                clock,
                events: this.#events,
                metrics,
                logger,
                node: this.#node,
            },
            { nodeName, bridged: options.bridged },
        );
    }

    /**
     * Starts only the watches needed to allocate and release addresses: IPPools, Service CIDRs and the allocations of
     * this Node, but not Pods, so without `requestOf` and `reconcile`. `start` includes it.
     */
    startAllocation(signal: AbortSignal): void {
        this.cache.start(signal);
        this.own.informer.start(signal);
    }

    /** Starts all watches; they end when the signal aborts, or by `close`. */
    start(signal: AbortSignal): void {
        this.startAllocation(signal);
        this.pods.informer.start(signal);
    }

    /** Resolves when pools, exclusions and own allocations are synced; KubeError `ABORTED` if the signal aborts. */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([this.cache.synced(signal), this.own.synced(signal)]);
    }

    /**
     * The pools that a Pod requests; undefined if it gets addresses of its Node's podCIDRs. `claim` of the result is
     * that of PoolAllocator; its `vlan` is 0 for untagged. Both reject with IpPoolError or KubeError, counted and
     * recorded as an event on the Pod, or on abort with the signal's reason or AsyncError `ABORTED`.
     */
    async requestOf(attachment: PodAttachment, signal: AbortSignal): Promise<AddressRequest | undefined> {
        const { containerId, ifName } = attachment;
        const pod = podOf(attachment);
        const wanted = await this.#resolve(attachment, signal);
        if (wanted === undefined) return undefined;
        const claim = async (limit: AbortSignal): Promise<AddressAllocation> => {
            const addresses = await this.allocator.claim({ ...wanted, pod, containerId, ifName }, limit);
            return { addresses, vlan: Math.max(0, ...addresses.map(({ vlan }) => vlan)) };
        };
        return { claim };
    }

    /**
     * The request of an interface of a network, for `DelegatedAllocations.claim`, with the place of the Pod in its
     * StatefulSet. Rejects as `requestOf`.
     */
    async networkRequest(asked: NetworkAddresses, signal: AbortSignal): Promise<NetworkRequest> {
        const pod = podOf(asked);
        const { containerId, ifName, network, demands } = asked;
        const placeOf = async (): Promise<SetPlace | undefined> => {
            try {
                return await this.podPools.placeOf(pod, signal);
            } catch (error) {
                throw ofNetwork(error, asked);
            }
        };
        const statefulSet = await this.#reported(asked, placeOf);
        return { pod, containerId, ifName, network, demands, statefulSet };
    }

    /** The request error that prevents the sync; undefined if there is none. */
    get lastError(): KubeError | undefined {
        return this.cache.lastError ?? this.own.lastError;
    }

    /** Records on the Pod that an interface of a network got no addresses, and counts it. */
    networkFailed(asked: PodAttachment, error: unknown): void {
        this.#metrics.failed(error instanceof IpPoolError ? error.code : "INTERNAL");
        this.#events.allocationFailed(podOf(asked), error, asked);
    }

    /** The allocations for interfaces that other plugins make in these containers. To be called once. */
    delegated(containers: WiredContainers): DelegatedAllocations {
        const { logger } = this.#components;
        return new DelegatedAllocations(
            {
                own: this.own,
                writer: this.#writer,
                allocator: this.allocator,
                cache: this.cache,
                pods: this.pods,
                node: this.#node,
                containers,
                events: this.#events,
                metrics: this.#metrics,
                clock: this.#clock,
                logger,
            },
            { nodeName: this.#options.nodeName },
        );
    }

    /**
     * Frees all allocations of a container's interface. Resolves within one second and never rejects: the release goes
     * on for 10 s in the background, and `reconcile` frees what remains.
     *
     * @param free default that of PoolAllocator
     */
    async release(
        attachment: Attachment,
        free: (attachment: Attachment, signal: AbortSignal) => Promise<void> = (...args) =>
            this.allocator.releaseAll(...args),
    ): Promise<void> {
        const released = free(attachment, AbortSignal.timeout(releaseEndMs));
        try {
            await orAborted(released, AbortSignal.timeout(releaseWaitMs));
        } catch (error) {
            this.#components.logger.warn("allocations of an interface not released; left to the next reconcile", {
                container: attachment.containerId,
                error,
            });
        }
    }

    /** The pool that an address of this Node is allocated from; undefined if no allocation of it is known. */
    poolOf(ip: ClaimedAddress["ip"]): string | undefined {
        return this.own.get(allocationName(ip))?.spec.pool;
    }

    /**
     * Whether each address is allocated to the interface or its Pod, according to the known allocations of this Node.
     */
    hasAllocations(holder: Attachment & Pick<PodAttachment, "podUid">, ips: readonly IpAddress[]): boolean {
        return ips.every((ip) => {
            const allocation = this.own.get(allocationName(ip));
            if (allocation === undefined) return false;
            return namesContainer(allocation, holder) || isForPod(allocation, holder.podUid, holder.ifName);
        });
    }

    /**
     * Restores the deletion time of this Node (wall time, milliseconds) that an earlier run of the agent observed; no
     * effect once it is known whether the Node exists.
     */
    recallGone(goneAt: number): void {
        this.#node.recall(goneAt);
    }

    /** The earliest possible deletion time of this Node (wall time, milliseconds); undefined while it exists. */
    get nodeGoneAt(): number | undefined {
        return this.#node.goneAt;
    }

    /**
     * Isolates the pool interfaces once the Node has been deleted for 4 min; to be called every few seconds. Failures
     * to isolate are logged and retried by the next call; rejects if the signal aborts before the Nodes are known.
     */
    checkOwnNode(wiring: Wiring, signal: AbortSignal): Promise<void> {
        return this.#node.check(wiring, signal);
    }

    /**
     * Registers a listener, for good, that is called when `reconcile` is due: an allocation of this Node is gone, or a
     * range of an IPPool was added, removed or changed, and with it the potential holder of an address in use here
     * without an allocation.
     */
    onReconcileDue(listener: () => void): void {
        this.own.onGone(listener);
        this.cache.onRanges(listener);
    }

    /** Whether `reconcile` is due now that no ADD of a container, or of the Pod with this UID, is in progress any more. */
    isDueAfterAdds(containerIdOrPodUid: string): boolean {
        return this.#reconciler?.isWaiting(containerIdOrPodUid) ?? false;
    }

    /**
     * Reconciles allocations and records, and closes unused watches. Rejects if the allocations are not synced when the
     * signal aborts, or at the end if it is to be repeated soon. `wiring` must be the same object on each call.
     */
    async reconcile(wiring: Wiring, signal: AbortSignal): Promise<void> {
        this.#reconciler ??= this.#newReconciler(wiring);
        try {
            await this.#reconciler.reconcile(signal);
        } finally {
            await this.closeIdle();
        }
    }

    /** Ends the watches of pools from which nothing was allocated for a minute; the next allocation reopens them. */
    async closeIdle(): Promise<void> {
        for (const [pool, search] of this.#searches) {
            if (this.#clock.monotonic() - search.lastUsed <= idleMs) continue;
            this.#searches.delete(pool);
            search.close();
        }
        await this.#reservations.closeIdle();
    }

    /** Ends all watches and waits for them; removes its listeners from the Nodes. */
    async close(): Promise<void> {
        this.#node[Symbol.dispose]();
        this.#goneNodes[Symbol.dispose]();
        await Promise.all([
            this.cache.close(),
            this.own.informer.close(),
            this.pods.informer.close(),
            this.#blocks.close(),
            this.#reservations.close(),
            this.podCidrs.close(),
        ]);
    }

    /** Calls `close`. */
    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    #resolve(attachment: PodAttachment, signal: AbortSignal): Promise<PoolsWanted | undefined> {
        return this.#reported(attachment, () => this.podPools.resolve(podOf(attachment), signal));
    }

    /** Counts a failure of the work, and records it as an event on the Pod. */
    async #reported<T>(asked: PodAttachment, work: () => Promise<T>): Promise<T> {
        try {
            return await work();
        } catch (error) {
            if (!isAborted(error)) {
                this.#metrics.failed(error instanceof IpPoolError ? error.code : "INTERNAL");
                this.#events.allocationFailed(podOf(asked), error, asked);
            }
            throw error;
        }
    }

    #newReconciler(wiring: Wiring): AllocationReconciler {
        const { allocator, cache, own, pods } = this;
        return new AllocationReconciler(
            {
                allocator,
                cache,
                own,
                pods,
                wiring,
                node: this.#node,
                clock: this.#clock,
                writer: this.#writer,
                events: this.#events,
                metrics: this.#metrics,
                logger: this.#components.logger,
                holders: this.subnetHolders,
            },
            { nodeName: this.#options.nodeName, confirmMs: this.#options.confirmMs },
        );
    }
}
